"""Text that goes before a model, and what is kept of a model's text.

What is injected lies between two tags and begins with the line that says that it is reference data. What comes back
is not kept again: neither what is between the tags, nor a line that was injected, nor what a person calls <private>.

Tags are read as HTML has them, in either case and with spaces before their end.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.records.injections import is_comparable, line_digest
from ctxrank.indexer.store.freshness import shown_path
from ctxrank.indexer.text.lines import REFERENCE_LINE, fence, name_and_text, one_line, printable, shorten

if TYPE_CHECKING:
    import re

    from ctxrank.indexer.store.parents import ParentDocument

_OURS, _PRIVATE = "ctxrank", "private"
_OPENING, _CLOSING = r"<{}\s*>", r"</{}\s*>"  # `<private key>` is no tag
# What a reader of markup, however lenient, may pass over between the start of a tag and its name.
_BEFORE_NAME = (
    "/\\ \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
MAX_CHARACTERS = 10_000  # of an answer: what a runner takes
ROOM_FOR_JSON = 1_000  # of these, for the JSON around a text and its escapes
MAX_CONTEXT_CHARACTERS = MAX_CHARACTERS - ROOM_FOR_JSON


def tagged(text: str) -> str:
    """A text between the tags, which nothing in it can close."""
    if _OURS in text.lower():
        first, *others = text.split("<")
        text = first + "".join(f"{'&lt;' if _begins_with_name(other) else '<'}{other}" for other in others)
    inside = text.strip("\n")
    return f"<{_OURS}>\n{inside}\n</{_OURS}>\n"


def _begins_with_name(text: str) -> bool:
    return text.lstrip(_BEFORE_NAME)[: len(_OURS)].lower() == _OURS


def is_tagged(text: str) -> bool:
    """Whether a text has a block already."""
    return _has(text, _OURS)


def may_not_be_kept(text: str) -> bool:
    """Whether a text has a part that is private or was injected."""
    return _has(text, _OURS) or _has(text, _PRIVATE)


def reference(heading: str, items: list[str], max_tokens: int) -> tuple[str, int]:
    """As many items as have room, below the reference line and a heading, between the tags; and how many these are."""
    for count in range(len(items), 0, -1):
        text = tagged("\n".join([REFERENCE_LINE, heading, *items[:count]]))
        if tokens_of(text) <= max_tokens and len(text) <= MAX_CONTEXT_CHARACTERS:
            return text, count
    return "", 0


def named(finding: "ParentDocument", name_chars: int, text_chars: int) -> tuple[str, str]:
    """What a finding is called, behind its priority, and the beginning of its text, each on one line of so many
    characters; a text that is its own name has the room of a text.
    """
    # An error is called one in its line: a line of its own is what a tool prints, and would count as our echo there.
    head = "**Known error** " if finding.kind == "error" else ""
    head = f"**[{finding.priority.upper()}]** " if finding.priority else head
    name, said = name_and_text(shown_path(finding.path), finding.title, finding.body)
    return head + shorten(one_line(name), name_chars if said else text_chars), shorten(one_line(said), text_chars)


def fenced(text: str, limit: int) -> str:
    """The beginning of a text in a fence that it cannot close."""
    inside = shorten(printable(text).strip("\n"), limit)
    around = fence(inside)
    return f"{around}text\n{inside}\n{around}\n"


def tokens_of(text: str) -> int:
    """What an injected text costs, at most."""
    from ctxrank.ranking.context.prices import Prices  # noqa: PLC0415  at most events nothing is said

    return Prices(1.0).of(text)


def public_part(text: str) -> str:
    """A text without what is private and what we injected; a tag that is never closed reaches to the end."""
    return _without(_without(text, _PRIVATE), _OURS)


def without_echo(text: str, injected: frozenset[str]) -> str:
    """A text without the lines that were injected, by their digests."""
    if not injected:
        return text
    lines = text.split("\n")
    return "\n".join(line for line in lines if not is_comparable(line) or line_digest(line) not in injected)


def _without(text: str, name: str) -> str:
    """A text without all that is between two tags of this name."""
    if not _has(text, name):
        return text
    kept: list[str] = []
    at = 0
    while (start := _tag(_OPENING, name).search(text, at)) is not None:
        kept.append(text[at : start.start()])
        end = _tag(_CLOSING, name).search(text, start.end())
        if end is None:
            return "".join(kept)
        at = end.end()
    return "".join([*kept, text[at:]])


def _has(text: str, name: str) -> bool:
    """Whether a text has an opening tag of this name."""
    return f"<{name}" in text.lower() and _tag(_OPENING, name).search(text) is not None


def _tag(form: str, name: str) -> "re.Pattern[str]":
    import re  # noqa: PLC0415  start-up: few texts have a tag

    return re.compile(form.format(name), re.IGNORECASE)
