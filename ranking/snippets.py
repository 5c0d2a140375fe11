"""Snippets: the part of a text where most of the query's words stand together, with those words marked.

    the **database** is **locked** because the WAL switch …

The index is contentless, so FTS5's own highlight() has no text: snippets are cut from the truth.
"""

from collections.abc import Collection

from ctxrank.indexer.fts import Index
from ctxrank.indexer.lines import one_line
from ctxrank.indexer.records import NamedTuple

WINDOW_TOKENS = 32
MARK = "**"
ELLIPSIS = "…"
_MAX_SEARCHED_CHARS = 20_000


class _Hit(NamedTuple):
    position: int  # in tokens
    start: int  # in bytes
    end: int
    term: str


def snippet(index: Index, text: str, terms: Collection[str], prefixes: Collection[str] = ()) -> str:
    """The best window of the text on one line; its beginning where nothing in it matches.

    `terms` are as the index holds them (stemmed); `prefixes` are lower case.
    """
    text = text[:_MAX_SEARCHED_CHARS]
    cuts = index.tokens_at(text)
    starts_with = tuple(prefixes)
    hits = [
        _Hit(position, start, end, term)
        for position, (start, end, term) in enumerate(cuts)
        if term in terms or (starts_with and term.startswith(starts_with))
    ]
    encoded = text.encode("utf-8", "replace")
    if not cuts:
        return one_line(text)
    first, last = _window(hits, len(cuts))
    start = 0 if first == 0 else cuts[first][0]
    end = len(encoded) if last >= len(cuts) - 1 else cuts[last][1]
    pieces: list[str] = []
    at = start
    for hit in hits:
        if hit.start < start or hit.end > end:
            continue
        pieces += [_decode(encoded[at : hit.start]), MARK, _decode(encoded[hit.start : hit.end]), MARK]
        at = hit.end
    pieces.append(_decode(encoded[at:end]))
    return (
        (f"{ELLIPSIS} " if start else "")
        + one_line("".join(pieces)).replace(f"{MARK}{MARK}", "")
        + (f" {ELLIPSIS}" if end < len(encoded) else "")
    )


def _window(hits: list[_Hit], length: int) -> tuple[int, int]:
    """First and last token of the window with the most distinct terms, then the most hits, then the first."""
    if not hits:
        return 0, min(WINDOW_TOKENS, length) - 1
    best, best_key = hits[0].position, (-1, -1)
    for at, hit in enumerate(hits):
        inside = [
            other.term for other in hits[at : at + WINDOW_TOKENS] if other.position < hit.position + WINDOW_TOKENS
        ]
        key = (len(set(inside)), len(inside))
        if key > best_key:
            best, best_key = hit.position, key
    # A little of what comes before, so that the first marked word has a context.
    first = max(0, min(best - WINDOW_TOKENS // 5, length - WINDOW_TOKENS))
    return first, min(first + WINDOW_TOKENS, length) - 1


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
