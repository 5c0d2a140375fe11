"""Many regular expressions against one name at once, in time that is linear in the name whatever the expressions are.

    patterns = PatternSet([rb"(?:.+/)?[^/]*\\.log", rb"a/b"])
    patterns.last_match(b"logs/today.log")       0: the last of those that match the whole name; None for none

The expressions are other people's, so they are matched by RE2, which never backtracks; what RE2 does not understand
matches nothing. Expressions and names are bytes, and a character is a byte.
"""

from collections.abc import Callable, Iterable
from functools import cache

from ctxrank.indexer.light_typing import Any

# A set is compiled as one automaton. These keep each small enough to be compiled and to run in its memory.
_CHUNK_PATTERNS = 1000
_CHUNK_BYTES = 128 * 1024
_MAX_MEMORY_BYTES = 16 * 1024 * 1024

# An automaton that runs out of memory finds nothing and does not say so, but then it does not find this either.
_ANYTHING = b"(?s:.*)"

_Match = Callable[[bytes], "list[int] | None"]
# Some patterns, each with its place among all, and a function for which of them match: 0 and numbers from 1.
_Chunk = tuple[list[tuple[int, bytes]], _Match]


class PatternSet:
    """Compiled patterns in their order."""

    def __init__(self, patterns: Iterable[bytes]) -> None:
        chunks: list[_Chunk] = []
        waiting: list[tuple[int, bytes]] = []
        size = 0
        for place, pattern in enumerate(patterns):
            if waiting and (len(waiting) == _CHUNK_PATTERNS or size + len(pattern) > _CHUNK_BYTES):
                chunks.append(_compiled(waiting))
                waiting, size = [], 0
            waiting.append((place, pattern))
            size += len(pattern)
        if waiting:
            chunks.append(_compiled(waiting))
        self._chunks = chunks[::-1]

    def last_match(self, name: bytes) -> int | None:
        """The place of the last pattern that matches the whole name."""
        for patterns, match in self._chunks:
            found = match(name)
            if found is None or 0 not in found:
                found = [0, *_matches_one_by_one(patterns, name)]
            if len(found) > 1:
                return patterns[max(found) - 1][0]
        return None


def _compiled(patterns: list[tuple[int, bytes]]) -> _Chunk:
    engine, options = _engine()
    compiled = engine.Set.FullMatchSet(options)
    compiled.Add(_ANYTHING)
    understood: list[tuple[int, bytes]] = []
    for place, pattern in patterns:
        try:
            compiled.Add(pattern)
        except engine.error:
            continue
        understood.append((place, pattern))
    try:
        compiled.Compile()
    except engine.error:  # too large together
        return understood, lambda _name: None
    return understood, compiled.Match


@cache
def _engine() -> tuple[Any, object]:
    """RE2, which has no types, and how it is asked."""
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  10 ms that only a run with ignore files pays

    engine: Any = re2
    options = engine.Options()
    options.encoding = options.Encoding.LATIN1
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    return engine, options


def _matches_one_by_one(patterns: list[tuple[int, bytes]], name: bytes) -> list[int]:
    """The numbers, from 1, of the patterns that match: what a set does, without its automaton."""
    engine, options = _engine()
    compiled = engine.compile
    return [number for number, (_, pattern) in enumerate(patterns, 1) if compiled(pattern, options).fullmatch(name)]
