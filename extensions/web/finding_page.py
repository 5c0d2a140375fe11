"""A finding: its text, its versions side by side, who took it, which blocks held it, and its score for a query."""

import difflib
from urllib.parse import parse_qsl

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.error_story import story
from ctxrank.extensions.web.rendering import said, words_of
from ctxrank.extensions.web.search_page import LIMIT, MOST, segments
from ctxrank.extensions.web.text_line import TextLine
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.ids import local_ref, whose

_BLANK_LINES = 2  # between two passages: nothing is missing there
_PLACES = words_of("place")
_LOOKED_AT = (LIMIT, MOST)  # hits of a query among which a finding is looked for: mostly it was opened from the first


class TextPart(NamedTuple):
    """A passage of a finding: its lines, and the heading that it stands under."""

    heading: str
    lines: list[TextLine]
    is_cut: bool = False  # lines are missing after it


def values(ask: Commands, given: Parameters) -> Json:
    """What the page shows of a document, for the query that led to it, beside another version."""
    id_, other, back = given("id"), given("other"), given("back")
    path, _, rest = back.partition("?")
    place = _PLACES.get(path)  # where it was opened; of an address that is none of ours, nowhere
    query = given("q") or (dict(parse_qsl(rest)).get("task", "") if place else "")
    found = _read(ask, id_)
    document, related = found["document"], found["related"]
    for one in related["receipts"]:
        one["reason"] = said(one["reason"], one["agent"])
    text = "\n".join(plain_lines(document)).strip()
    with ask.open() as store:
        told_by = whose(store.primary, local_ref(store.primary, id_).number)
    followed = ask("drifted", document=id_).fields["drifted"]
    shown: Json = {
        "q": query, "back": back if place else "", "came_from": place, "document": document, "related": related,
        "sections": [] if text == document["title"] else sections(document), "told_by": told_by,
        "summary": "" if document["body"] in (document["title"], text) else document["body"],
        "beside": None, "hit": None, "segments": [], "error": None,
        "anchors": followed[0]["anchors"] if followed else [],
    }  # fmt: skip
    if place:
        shown["page"] = place
    if query:
        shown |= _place(ask, query, document["id"])
    if document["kind"] == "error":
        error = ask("error show", error=id_).fields
        shown |= {"error": error, "story": story(ask, id_, error["error"]["solution"])}
    if other:
        old = _read(ask, other)["document"]
        shown["beside"] = old
        shown["compared"] = compared(plain_lines(old), plain_lines(document))
    return shown


def _read(ask: Commands, id_: str) -> Json:
    """What `show` says of a document. Raises UsageError for a receipt and a session, which have views of their own."""
    fields = ask("show", document=id_, is_related=True).fields
    if "document" not in fields:
        raise UsageError(f"{id_} is not a finding.", "Receipts and Sessions, above, show the others.")
    return fields


def _place(ask: Commands, query: str, id_: str) -> Json:
    """Which hit of a query a finding is, and what its score is made of; 0 where it is not among the best."""
    for limit in _LOOKED_AT:
        hits = ask("search", query=(query,), limit=limit, explain=True).fields.get("hits", [])
        for place, hit in enumerate(hits, 1):
            if hit["id"] == id_:
                return {"place": place, "hit": hit, "segments": segments(hit.get("shares") or {})}
        if len(hits) < limit:
            break
    return {"place": 0}


def sections(document: Json) -> list[TextPart]:
    """The text of a document by its passages; of one without any, its body."""
    made: list[TextPart] = []
    for passage in document.get("passages", []):
        start = passage["start_line"]
        lines = passage["text"].rstrip("\n").split("\n")
        if made and start > made[-1].lines[-1].number + _BLANK_LINES + 1:
            made[-1] = made[-1]._replace(is_cut=True)
        made.append(TextPart(passage["heading"], [TextLine(start + at, line) for at, line in enumerate(lines)]))
    if not made:
        made.append(TextPart("", [TextLine(at, line) for at, line in enumerate(document["body"].split("\n"), 1)]))
    return made


def plain_lines(document: Json) -> list[str]:
    """The same as lines alone."""
    return [line.text for section in sections(document) for line in section.lines]


def compared(old: list[str], new: list[str]) -> tuple[list[TextLine], list[TextLine]]:
    """Two texts side by side: each one's lines, marked where the other has none such.

    In long texts a line that is there again and again (a blank one) leads nowhere: what is tried for it grows with the
    square of its number.
    """
    left: list[TextLine] = []
    right: list[TextLine] = []
    matcher = difflib.SequenceMatcher(None, old, new)
    for what, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        same = what == "equal"
        left += [TextLine(at + 1, old[at], "" if same else "removed") for at in range(old_start, old_end)]
        right += [TextLine(at + 1, new[at], "" if same else "added") for at in range(new_start, new_end)]
    return left, right
