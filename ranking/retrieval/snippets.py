"""Snippets: the part of a text where most of the query's words are together, with those words marked.

    the **database** is **locked** because the WAL switch …

The index holds no text: snippets are cut from the primary database's. A text's
own `**` would be taken for marks: Markdown's bold is shown plain, any other pair is pulled apart.
"""

import re
from collections.abc import Collection, Iterator

from ctxrank.indexer.engine import Engine
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.identifiers import split_word
from ctxrank.indexer.text.lines import one_line

WINDOW_TOKENS = 32
MARK = "**"
ELLIPSIS = "…"
_MAX_SEARCHED_CHARS = 20_000
_BOLD = r"\*\*(\S(?:[^*\n]*\S)?)\*\*"  # compiled by the first text that has a mark


class _Match(NamedTuple):
    """A piece of the text that the query asked for."""

    position: int  # in tokens
    start: int  # in bytes
    end: int
    term: str


def snippet(engine: Engine, text: str, stems: Collection[str]) -> str:
    """The best window of the text on one line; its beginning where nothing in it matches.

    `stems` are what the query's words are in the index.
    """
    text = without_marks(text[:_MAX_SEARCHED_CHARS])
    cuts = engine.tokens_at(text)
    if not cuts:
        return one_line(text)
    encoded = text.encode("utf-8", "replace")
    matches = list(_matches(engine, encoded, cuts, stems))
    first, last = _window(matches, len(cuts))
    start = 0 if first == 0 else cuts[first][0]
    end = len(encoded) if last >= len(cuts) - 1 else cuts[last][1]
    pieces: list[str] = []
    at = start
    for match in sorted(matches, key=lambda match: match.start):
        match_start = max(match.start, at)  # pairs of a CJK run overlap
        if match.start >= start and match_start < match.end <= end:
            pieces += [_decode(encoded[at:match_start]), MARK, _decode(encoded[match_start : match.end]), MARK]
            at = match.end
    pieces.append(_decode(encoded[at:end]))
    return (
        (f"{ELLIPSIS} " if start else "")
        + one_line("".join(pieces)).replace(f"{MARK}{MARK}", "")
        + (f" {ELLIPSIS}" if end < len(encoded) else "")
    )


def without_marks(text: str) -> str:
    """The text without anything that could be taken for a mark."""
    if MARK not in text:
        return text
    return re.sub(_BOLD, r"\1", text).replace(MARK, "* *").replace(MARK, "* *")


def _matches(
    engine: Engine, encoded: bytes, cuts: list[tuple[int, int, str]], stems: Collection[str]
) -> Iterator[_Match]:
    for position, (start, end, term) in enumerate(cuts):
        if term in stems:
            yield _Match(position, start, end, term)
            continue
        word = encoded[start:end]
        if word.isalpha() and (word.islower() or word.istitle()):
            continue  # a plain word has no parts
        for part in split_word(_decode(word)):
            if " ".join(engine.tokens(part)) in stems:
                yield from _part_matches(word, part, _Match(position, start, end, part))


def _part_matches(word: bytes, part: str, whole: _Match) -> Iterator[_Match]:
    """An identifier is marked as a whole; in a CJK run, which may be a sentence, only what matched is."""
    if word.isascii():
        yield whole
        return
    at = word.find(part.encode())
    while at >= 0:
        yield whole._replace(start=whole.start + at, end=whole.start + at + len(part.encode()))
        at = word.find(part.encode(), at + 1)


def _window(matches: list[_Match], length: int) -> tuple[int, int]:
    """First and last token of the window with the most distinct terms, then the most matches, then the first."""
    if not matches:
        return 0, min(WINDOW_TOKENS, length) - 1
    best, best_key = matches[0].position, (-1, -1)
    for at, match in enumerate(matches):
        inside = [
            other.term for other in matches[at : at + WINDOW_TOKENS] if other.position < match.position + WINDOW_TOKENS
        ]
        key = (len(set(inside)), len(inside))
        if key > best_key:
            best, best_key = match.position, key
    # A little of what comes before, so that the first marked word has a context.
    first = max(0, min(best - WINDOW_TOKENS // 5, length - WINDOW_TOKENS))
    return first, min(first + WINDOW_TOKENS, length) - 1


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
