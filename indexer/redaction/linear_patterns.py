"""Patterns that other people wrote, matched by an engine whose time grows with the text alone.

    pattern = LinearPattern("ACME-[0-9a-f]{8}", "redaction rule 'acme-key'")
    list(pattern.spans("日本 ACME-deadbeef"))      [(3, 16)]

The engine is RE2 (the package google-re2). It has neither lookarounds nor backreferences, which is why it needs no
clock: no pattern makes it try a text in more ways than one. Places are in characters, whatever the text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple

MAX_PATTERN_CHARS = 1000
# Of the compiled pattern: the engine's slowest way takes a time in step with it, 10 s for 1 MB at this size.
_MAX_INSTRUCTIONS = 2500
_SECRET = "secret"

# Before each match the engine may look at all that follows and find that it was not needed (`a.*b|a` on a text of a
# alone). That is one look for each match, so after some matches it is shown a piece at a time.
_MATCHES_IN_WHOLE_TEXT = 256
_PIECE_CHARS = 2048
MAX_MATCH_CHARS = _PIECE_CHARS // 2  # of a match after those; what is longer is found in parts or not at all

_NO_SUCH_SYNTAX = (
    ("(?=", "a lookahead"),
    ("(?!", "a lookahead"),
    ("(?<=", "a lookbehind"),
    ("(?<!", "a lookbehind"),
    ("(?P=", "a backreference"),
    ("(?>", "an atomic group"),
)


class LinearPattern(NamedTuple):
    """A pattern, and whose it is where it cannot be compiled. Two of one text are equal; compiled when first used."""

    pattern: str
    owner: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearPattern) and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    def compiled(self) -> "re.Pattern[str]":
        """Raises UsageError, which says whose the pattern is, what is wrong with it, and what to write instead."""
        return _compiled(self.pattern, self.owner)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The span of the group `secret` of each match, or else of the match; in order, disjoint, none empty."""
        regexp = self.compiled()
        group = regexp.groupindex.get(_SECRET, 0)
        start = count = 0
        for match in regexp.finditer(text):
            first, last = match.span(group)
            if first < last:
                yield first, last
            start, count = match.end(), count + 1
            if count == _MATCHES_IN_WHOLE_TEXT:
                break
        else:
            return
        yield from _spans_in_pieces(regexp, group, text, start)


def _spans_in_pieces(regexp: "re.Pattern[str]", group: int, text: str, start: int) -> Iterator[tuple[int, int]]:
    """As before, from there on; each piece overlaps the next by as much as a match may have."""
    done = start
    while start < len(text):
        piece = text[start : start + _PIECE_CHARS]
        is_last = start + len(piece) == len(text)
        for match in regexp.finditer(piece, done - start):
            first, last = match.span()
            if last == len(piece) and not is_last and first >= len(piece) - MAX_MATCH_CHARS:
                break  # it may go on; the next piece holds all of it
            first, last = match.span(group)
            if first < last:
                yield start + first, start + last
            done = start + match.end()
        if is_last:
            return
        start = max(start + len(piece) - MAX_MATCH_CHARS, done - 1)  # what precedes a match counts for `\b`
        done = max(done, start)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, owner: str) -> "re.Pattern[str]":
    """The pattern in RE2, of which nothing is used but what a pattern of `re` has, too."""
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  start-up: only where a user has rules

    engine: Any = re2
    if len(pattern) > MAX_PATTERN_CHARS:
        raise UsageError(f"{owner}: the pattern has {len(pattern)} characters.", f"At most {MAX_PATTERN_CHARS} count.")
    options = engine.Options()
    options.log_errors = False
    try:
        regexp = engine.compile(pattern, options)
    except UnicodeEncodeError as error:
        raise UsageError(f"{owner}: the pattern holds half a character.", "Write it in UTF-8.") from error
    except engine.error as error:
        said = error.args[0]
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise UsageError(f"{owner}: the pattern cannot be used: {_named(pattern, reason)}.", _advice(reason)) from error
    if regexp.programsize > _MAX_INSTRUCTIONS:
        raise UsageError(
            f"{owner}: the pattern is too large ({regexp.programsize} steps, at most {_MAX_INSTRUCTIONS}).",
            "Repeat fewer times, or repeat one class of characters, as in [a-z]{1,40}.",
        )
    if regexp.fullmatch("") is not None:
        raise UsageError(f"{owner}: the pattern matches nothing at all.", "Let it ask for at least one character.")
    return cast("re.Pattern[str]", regexp)


def _named(pattern: str, reason: str) -> str:
    """The engine's words, and the name of what it does not have."""
    if "perl operator" in reason:
        for sign, name in _NO_SUCH_SYNTAX:
            if sign in pattern:
                return f"it has {name} ({sign})"
    if reason.startswith("invalid escape sequence: \\") and reason[-1].isdigit():
        return f"it has a backreference ({reason[-2:]})"
    return reason


def _advice(reason: str) -> str:
    if "\\Z" in reason:
        return "Write \\z for the end of the text."
    if "\\u" in reason or "\\N" in reason or "\\U" in reason:
        return "Write the character itself, or \\x{200B}."
    return (
        "Patterns are RE2's: no lookarounds and no backreferences. Let the pattern match what is around the secret,"
        " and name the part that goes: key=(?P<secret>[a-z0-9]{32})."
    )
