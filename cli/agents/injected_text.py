"""Text that goes before a model, and what is kept of a model's text.

What is injected lies between two tags and begins with the line that says that it is reference data. What comes back
is not kept again: neither what is between the tags, nor a line that was injected, nor what a person calls <private>.
"""

from ctxrank.indexer.records.injections import is_comparable, line_digest
from ctxrank.indexer.text.lines import fence, printable, shorten
from ctxrank.ranking.context.assembly.block import REFERENCE_LINE
from ctxrank.ranking.context.prices import Prices

OPENING, CLOSING = "<ctxrank>", "</ctxrank>"
PRIVATE, END_OF_PRIVATE = "<private>", "</private>"
MAX_CHARACTERS = 10_000  # of an answer: what a runner takes
ROOM_FOR_JSON = 1_000  # of these, for the JSON around a text and its escapes
MAX_CONTEXT_CHARACTERS = MAX_CHARACTERS - ROOM_FOR_JSON


def tagged(text: str) -> str:
    """A text between the tags, which nothing in it can close."""
    inside = text.replace(CLOSING, "< /ctxrank>").replace(OPENING, "< ctxrank>").strip("\n")
    return f"{OPENING}\n{inside}\n{CLOSING}\n"


def reference(heading: str, items: list[str], max_tokens: int) -> tuple[str, int]:
    """As many items as have room, below the reference line and a heading, between the tags; and how many these are."""
    price = Prices(1.0)
    for count in range(len(items), 0, -1):
        text = tagged("\n".join([REFERENCE_LINE, heading, *items[:count]]))
        if price.of(text) <= max_tokens and len(text) <= MAX_CONTEXT_CHARACTERS:
            return text, count
    return "", 0


def fenced(text: str, limit: int) -> str:
    """The beginning of a text in a fence that it cannot close."""
    inside = shorten(printable(text).strip("\n"), limit)
    around = fence(inside)
    return f"{around}text\n{inside}\n{around}\n"


def tokens_of(text: str) -> int:
    """What an injected text costs, at most."""
    return Prices(1.0).of(text)


def public_part(text: str) -> str:
    """A text without what is private and what we injected; a tag that is never closed reaches to the end."""
    return _without(_without(text, PRIVATE, END_OF_PRIVATE), OPENING, CLOSING)


def without_echo(text: str, injected: frozenset[str]) -> str:
    """A text without the lines that were injected, by their digests."""
    if not injected:
        return text
    lines = text.split("\n")
    return "\n".join(line for line in lines if not is_comparable(line) or line_digest(line) not in injected)


def _without(text: str, opening: str, closing: str) -> str:
    """A text without all that is between two tags, in whichever case these are written."""
    if opening not in text.lower():
        return text
    kept: list[str] = []
    folded = text.lower()  # İ and its like are longer in lower case; then the positions of the tags are not those here
    if len(folded) != len(text):
        text = folded
    at = 0
    while (start := folded.find(opening, at)) >= 0:
        kept.append(text[at:start])
        end = folded.find(closing, start)
        if end < 0:
            return "".join(kept)
        at = end + len(closing)
    return "".join([*kept, text[at:]])
