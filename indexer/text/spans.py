"""Spans of a file: what a name defines there, and where the text of a span is found again.

    source = Source("config.py", text)
    span = source.defined("load")[0]                Span(41, 52)
    kept = source.fingerprint(span)                 checksums of its lines, and of those around it
    Source("config.py", newer).find(kept, "load", 41)       Located(Span(57, 68), changed=3)

White space is no difference: lines are compared by checksums without it, and empty ones are passed over. A definition
goes on while lines are further in than its first one; what has no such shape is one line. A span is looked for by its
name, else by its own lines, else between the lines that were around it, in whatever style, else by what is left of it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain, compress, count, filterfalse, repeat, starmap
from zlib import crc32

from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.expressions import compiled_code
from ctxrank.indexer.text.languages import language_of

MAX_LINES = 1000  # of a span: what is behind them is not compared
_CONTEXT_LINES = 4  # around a span, on each side
_SPACE = b" \t\r\f\v"
_NO_WORD = _SPACE + bytes(one for one in range(0x21, 0x7F) if not chr(one).isalnum())
_WORDS_ALONE = bytes(one if one > 0x7F or chr(one).isalnum() or chr(one) == "_" else 0x20 for one in range(0x100))
_NO_WORDS = crc32(b"")
_TERM_LINES = 16  # of a span, whose words are noted
_MOST_ADDED = 3  # lines that a line may be broken into
_NEIGHBOUR = 10  # percent of likeness that a line counts for which was next to a span and still is
_LEAST_KEPT = 0.5  # of the lines of a definition that has another name now
_LEAST_WORDS, _LEAST_LIKENESS, _LEAST_SCORE = 2, 40, 70  # of lines that may be a span now: common words; percent
_SURE_SCORE = 105  # of lines without a word that the span alone had
_LEAST_FOUND = 60  # percent of the words of such lines that need no neighbour
_LEAST_ALONE, _LEAD = 50, 20  # percent of their words; of their score over that of all others
_TWIN_NEIGHBOURS = 2  # of a text that its file had elsewhere, too
_RENAMED_SCORE = 100  # of a definition that has another name now and of which most lines have changed
_DECORATORS = ("@", "#[")
_CLOSERS = (")", "]", "}")
_TABLES = tuple(".toml .yaml .yml .json .ini .cfg .conf .env .mk .properties makefile justfile".split())
SEPARATOR = re.compile(r"::|->|[.#]")
_KEY = r"""[ \t]*(?:\[+[\w."-]*?{0}"?\]|(?:[-\w.]+\.)?(["']?){0}\1[ \t]*[:=])"""


class Span(NamedTuple):
    """Lines from 1, both ends inside."""

    start: int
    end: int


class _Part:
    """A part of a fingerprint, read when it is first asked for: most spans are found by their lines alone."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __set_name__(self, _: object, name: str) -> None:
        self._name = name

    def __get__(self, kept: "Fingerprint", _: object) -> tuple[int, ...]:
        numbers = kept.__dict__[self._name] = tuple(map(int, kept.parts[self._at].split(), repeat(16)))
        return numbers


class Fingerprint:
    """Checksums of the lines of a span; of their words alone, and of those of the nearest lines before and after it; of
    each word of its first lines, and of those that no lines like it have; of a text that is there twice, of its first
    line instead. They are stored in hexadecimal digits.
    """

    lines, before, words, after, terms, own = map(_Part, range(6))

    def __init__(self, text: str) -> None:
        self.parts = text.split("|")

    @classmethod
    def of(cls, *parts: Iterable[int]) -> "Fingerprint":
        """The fingerprint that has these parts."""
        return cls("|".join(" ".join(f"{one:x}" for one in part) for part in parts))

    def __str__(self) -> str:
        return "|".join(self.parts)


class Located(NamedTuple):
    """Where a span is now, and how many of its lines differ: of the old ones that are gone, or of the new, the more."""

    span: Span
    changed: int = 0


class _Likeness(NamedTuple):
    """Lines that are like a span: the percentage of common words, with that of the neighbours, and how many these are;
    the first of the lines with a text, and the one behind them.
    """

    score: int
    neighbours: int
    start: int
    end: int


class Source:
    """The text of a file, by lines."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._text = text.removesuffix("\n")  # which ends the last line and begins none

    @cached_property
    def lines(self) -> list[str]:
        """All of them."""
        return self._text.split("\n")

    @cached_property
    def whole(self) -> Span:
        """All of it."""
        return Span(1, self._text.count("\n") + 1)

    @cached_property
    def _all_sums(self) -> list[int]:
        """Their checksums; 0 for a line without a text."""
        return _checksums(self._text, _SPACE)

    @cached_property
    def _numbers(self) -> list[int]:
        """The lines with a text."""
        return [*compress(count(1), self._all_sums)]

    @cached_property
    def _sums(self) -> list[int]:
        """Their checksums."""
        return [*filter(None, self._all_sums)]

    @cached_property
    def _words(self) -> list[int]:
        """Checksums of their words: another style has the same."""
        return [*compress(_checksums(self._text, _NO_WORD), self._all_sums)]

    @cached_property
    def _plain(self) -> list[str]:
        """The lines with a text."""
        return [*compress(self.lines, self._all_sums)]

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(_checksums(self._text, _NO_WORD))

    def _indent(self, at: int) -> int:
        """How far in a line is; one without a text as far as can be."""
        line = self.lines[at]
        return len(line) - len(text) if (text := line.lstrip()) else len(self._text)

    def likeness(self, words: Set[int]) -> float:
        """The share of the words of some lines that are here."""
        return len(self._known & words) / max(len(words), 1)

    def fingerprint(self, span: Span, *, is_named: bool) -> Fingerprint:
        """What a span is recognised by; where no name leads to it, also by which of its words no lines around it
        or like it have."""
        first, last = bisect_left(self._numbers, span.start), bisect_right(self._numbers, span.end)
        before, after = self._words[:first][-_CONTEXT_LINES:], self._words[last : last + _CONTEXT_LINES]
        lines, words = self._lines_of(span), self._words[first : min(last, first + MAX_LINES)]
        terms = self._terms_of(first, last)
        kept = Fingerprint.of(lines, before, words, after, terms, ())
        others = [(max(first - _CONTEXT_LINES, 0), first), (last, last + _CONTEXT_LINES)]
        if not is_named:
            others += [(one.start, one.end) for one in self._beside(kept, first, last) if one.score >= _LEAST_SCORE]
        is_once = len([*self._places([*lines[:MAX_LINES]])]) == 1
        own = terms.difference(*starmap(self._terms_of, others)) if is_once else lines[:1]
        return Fingerprint.of(lines, before, words, after, terms, own)

    def _lines_of(self, span: Span) -> tuple[int, ...]:
        """Checksums of the lines of a span; of all behind MAX_LINES one."""
        is_whole = span.start == 1 and span == self.whole
        text = self._text if is_whole else "\n".join(self.lines[span.start - 1 : span.end])
        sums = [*filter(None, self._all_sums if is_whole else _checksums(text, _SPACE))]
        if len(sums) > MAX_LINES:
            rest = [*filter(None, _without_space(text).split(b"\n"))][MAX_LINES:]
            sums[MAX_LINES:] = [crc32(b"\n".join(rest))]
        return tuple(sums)

    def _terms_of(self, start: int, end: int) -> frozenset[int]:
        """Checksums of the words of some of the lines with a text."""
        return frozenset[int]().union(*map(_terms_in, self._plain[start : min(end, start + _TERM_LINES)]))

    def known(self, kept: Fingerprint) -> Fingerprint:
        """The checksums of what is here, and 0 for those of all else."""
        sums, words, terms = {*self._sums}, {*self._words}, set[int]().union(*map(_terms_in, self._plain))
        parts = (kept.lines, kept.before, kept.words, kept.after, kept.terms, kept.own)
        of_each = zip(parts, (sums, words, words, words, terms, terms | sums), strict=True)
        return Fingerprint.of(*([one if one in here else 0 for one in part] for part, here in of_each))

    def trimmed(self, span: Span) -> Span:
        """A span without the empty lines at its ends; as it is where all of it is empty."""
        first, last = bisect_left(self._numbers, span.start), bisect_right(self._numbers, span.end)
        return Span(self._numbers[first], self._numbers[last - 1]) if first < last else span

    def defined(self, name: str) -> list[Span]:
        """The definitions of a name, the outermost ones: of `Store.open` those of `open` within `Store`."""
        *owners, own = SEPARATOR.split(name)
        found = [at for at in self._lines_with(own) if self._defines(at, own)]
        found = [at for at in found if not owners or self._is_within(at, owners[-1], own)]
        outermost = min((self._indent(at) for at in found), default=0)
        return [self._definition(at) for at in found if self._indent(at) == outermost]

    def _lines_with(self, word: str) -> Iterator[int]:
        """The lines that have a word, from 0, each once."""
        at, last, line_end = 0, 0, -1
        for place in _places_of(self._text, word):
            if place > line_end:
                at, last = at + self._text.count("\n", last, place), place
                line_end = self._text.find("\n", place) % (len(self._text) + 1)
                yield at

    def _defines(self, at: int, name: str) -> bool:
        line, below = self.lines[at], self.lines[at + 1 : at + 2]
        body = "\n{" if below and below[0].strip() == "{" else ""
        if name in defined_names(f"{line}{body}", self.path).code:
            return True
        return is_table(self.path) and re.match(_KEY.format(re.escape(name)), line) is not None

    def _is_within(self, at: int, owner: str, name: str) -> bool:
        """Whether a definition names its owner before it, or is further in than the definition of that."""
        indent = self._indent(at)
        if any(_places_of(self.lines[at].partition(name)[0], owner)):
            return True
        for above in range(at - 1, -1, -1):
            if not indent:
                break
            if not self.lines[above][:indent].isspace() and (now := self._indent(above)) < indent:
                if any(_places_of(self.lines[above], owner)) and self._defines(above, owner):
                    return True
                indent = now
        return False

    def _definition(self, at: int) -> Span:
        """From the decorators above a definition to the bracket that closes it, else to the last line that is further
        in than its first.
        """
        indent, end, seen, quotes = self._indent(at), len(self.lines), at, 0
        is_open = self.lines[at].rstrip().endswith("{")
        is_python = language_of(self.path).kind == "python"
        for place in range(at + 1, end):
            if self.lines[place][: indent + 1].isspace() or (depth := self._indent(place)) > indent:
                continue
            if is_python:  # what is in a long string may begin anywhere
                above = "\n".join(self.lines[seen:place])
                quotes, seen = quotes + above.count('"""') + above.count("'''"), place
            if not quotes % 2:
                line = self.lines[place].strip()
                is_on = depth == indent and line.startswith(_CLOSERS)
                if depth < indent or not (is_on or is_open or (line == "{" and place == at + 1)):
                    end = place
                    break
                is_open = is_open and not (is_on and not line.endswith("{"))
        while not self.lines[end - 1].strip():
            end -= 1
        return Span(self._decorated(at) + 1, end)

    def _decorated(self, at: int) -> int:
        """The first of the decorators above a definition, of which each may have several lines."""
        first, indent = at, self._indent(at)
        for above in range(at - 1, -1, -1):
            depth, line = self._indent(above), self.lines[above].strip()
            if not line or depth < indent:
                break
            if depth == indent and not line.startswith(_CLOSERS):
                if not line.startswith(_DECORATORS):
                    break
                first = above
        return first

    def holding(self, text: str) -> list[Span]:
        """The lines that have a text in them; white space is no difference."""
        bare, lines = _without_space(text), _without_space(self._text).split(b"\n")
        return [Span(number, number) for number, line in enumerate(lines, 1) if bare in line]

    def find(self, kept: Fingerprint, name: str, near: int) -> Located | None:
        """Where a span is, by its lines, its name or what is around it; None where nothing of it is left."""
        if spans := self.defined(name) if name else []:
            found = (Located(span, self.difference(kept, span)) for span in spans)
            return min(found, key=lambda one: (one.changed, abs(one.span.start - near)))
        if located := self.exact(kept, near):
            return located
        if not name:
            return self._likest(kept) or self._rest(kept)
        is_like = not is_table(self.path) and self.likeness({*kept.words}) >= _LEAST_KEPT
        return self._likest(kept, is_named=True) if is_like else None

    def _rest(self, kept: Fingerprint) -> Located | None:
        """The lines that are left of a span: those that are here once and have a word of its own."""
        once = [self._sums.index(one) for one in kept.lines if self._sums.count(one) == 1]
        left = sorted(at for at in once if not _terms_in(self._plain[at]).isdisjoint(kept.own))
        if not left:
            return None
        span = Span(self._numbers[left[0]], self._numbers[left[-1]])
        return Located(span, self.difference(kept, span))

    def difference(self, kept: Fingerprint, span: Span) -> int:
        """How many lines a span differs by from what it was; 1 where only their order does."""
        now = self._lines_of(span)
        if now == kept.lines:
            return 0
        common = Counter(kept.lines) & Counter(now)
        return max(len(now), len(kept.lines)) - common.total() or 1

    def exact(self, kept: Fingerprint, near: int, least_chars: int = 0) -> Located | None:
        """Where the very lines of a span are: in the same surroundings, else at the nearest place."""
        size = min(len(kept.lines), MAX_LINES)
        found = [*self._places([*kept.lines[:size]])]
        if not found:
            return None
        at = max(found, key=lambda at: (self._neighbours(kept, at, at + size), -abs(self._numbers[at] - near)))
        if not self._has_neighbours(kept, at, at + size):
            return None
        span = Span(self._numbers[at], self._numbers[at + size - 1])
        length = len(_without_space("".join(self.lines[span.start - 1 : span.end]))) if least_chars else 0
        return Located(span) if length >= least_chars else None

    def _places(self, lines: list[int]) -> Iterator[int]:
        """Where lines with these checksums begin."""
        at = -1
        with suppress(ValueError):
            while lines:
                at = self._sums.index(lines[0], at + 1)
                if self._sums[at : at + len(lines)] == lines:
                    yield at

    def _neighbours(self, kept: Fingerprint, start: int, end: int) -> int:
        """How many of the lines that were around a span are around these; right next to them, they count twice."""
        before, after = self._words[max(start - _CONTEXT_LINES, 0) : start], self._words[end : end + _CONTEXT_LINES]
        near = before[-1:] == [*kept.before[-1:]] != [], after[:1] == [*kept.after[:1]] != []
        return len({*before, *after}.intersection(kept.before + kept.after) - {_NO_WORDS}) + sum(near)

    def _has_neighbours(self, kept: Fingerprint, start: int, end: int) -> bool:
        """Whether some lines may be a span: of a text that was there twice, only those with some of its neighbours."""
        return kept.own != kept.lines[:1] or self._neighbours(kept, start, end) >= _TWIN_NEIGHBOURS

    def _like(self, kept: Fingerprint, starts: Iterable[tuple[int, int]]) -> Iterator[_Likeness]:
        """The lines from some places on that have words of a span, as far as they are like it: each place with the
        percentage that is asked of it.
        """
        size, terms = len(kept.lines), frozenset(kept.terms)
        others = {*kept.before, *kept.after}.difference(kept.words)
        least = max(_LEAST_WORDS, len(terms) / 4)
        for start, percent in starts:
            if terms.isdisjoint(_terms_in(self._plain[start])) or self._words[start] in others:
                continue
            lines = [*map(_terms_in, self._plain[start : start + size + _MOST_ADDED])]
            common = len(terms.intersection(chain.from_iterable(lines[:_TERM_LINES])))
            if common < least or common * (200 - percent) < percent * len(terms):
                continue
            here, own = set[int](), set[int]()  # words of the lines; of those that were not around the span
            for end, line in enumerate(lines, start + 1):
                if end - start <= _TERM_LINES:
                    here |= line
                    own |= terms & line if self._words[end - 1] not in others else set()
                likeness = 200 * len(terms & here) // (len(terms) + len(here)) if end - start >= size else 0
                if likeness >= percent and len(own) >= least:
                    neighbours = self._neighbours(kept, start, end)
                    score = likeness + _NEIGHBOUR * neighbours
                    if likeness >= _LEAST_FOUND or score >= _LEAST_SCORE:
                        yield _Likeness(score, neighbours, start, end)

    def _starts(self, kept: Fingerprint) -> range:
        """Where lines that are like a span may begin."""
        return range(len(self._numbers) - len(kept.lines) + 1 if kept.lines else 0)

    def _beside(self, kept: Fingerprint, start: int, end: int) -> Iterator[_Likeness]:
        """The lines that are like a span, without those that have one of some lines."""
        alike = self._like(kept, zip(self._starts(kept), repeat(_LEAST_LIKENESS)))
        return (one for one in alike if one.end <= start or one.start >= end)

    def _around(self, kept: Fingerprint) -> list[int]:
        """How many lines next to those from each place on may be ones that were around a span."""
        around, size = {*kept.before, *kept.after} - {_NO_WORDS}, len(kept.lines)
        counts = [0] * len(self._words)
        for at in compress(count(), map(around.__contains__, self._words)):
            above = range(at - size - _MOST_ADDED - _CONTEXT_LINES + 1, at - size + 1)
            for start in (*above, *range(at + 1, at + 1 + _CONTEXT_LINES)):
                if 0 <= start < len(counts):
                    counts[start] += 1
        return counts

    def _likest(self, kept: Fingerprint, *, is_named: bool = False) -> Located | None:
        """The lines that are most like a span: with a word of its own, or by far the likest; of a definition whose
        name is gone, where most of its lines are left or the score is high.

        They are looked for where most of the lines around are known, and on to where none can be as like them.
        """
        one, around = _Likeness(_LEAST_FOUND, 0, 0, 0), self._around(kept)
        places = self._starts(kept)
        wordless = (*kept.before[-1:], *kept.after[:1]).count(_NO_WORDS)  # neighbours that `around` does not count

        def starts() -> Iterator[tuple[int, int]]:
            near = sorted(filter(around.__getitem__, places), key=around.__getitem__, reverse=True)
            for start in chain(near, filterfalse(around.__getitem__, places)):
                least = one.score - _NEIGHBOUR * (around[start] + 2 if around[start] else wordless)
                if least > 100:
                    break
                yield start, max(least, _LEAST_LIKENESS)

        for like in self._like(kept, starts()):
            one = max(one, like)
        if one.start == one.end:
            return None
        if self._terms_of(one.start, one.end).isdisjoint(kept.own):
            others = (other.score for other in self._beside(kept, one.start, one.end))
            is_like = one.score - _NEIGHBOUR * one.neighbours >= _LEAST_ALONE
            is_clear = one.score >= _SURE_SCORE or (is_like and one.score >= max(others, default=_LEAST_FOUND) + _LEAD)
            if not (is_clear and self._has_neighbours(kept, one.start, one.end)):
                return None
        span = Span(self._numbers[one.start], self._numbers[one.end - 1])
        changed = self.difference(kept, span)
        is_lost = is_named and one.score < _RENAMED_SCORE and 2 * changed >= len(kept.lines)
        return None if is_lost else Located(span, changed)


@lru_cache(maxsize=1 << 12)
def _terms_in(line: str) -> frozenset[int]:
    """Checksums of the words of a line, of 16 bits, whatever their case."""
    words = line.lower().encode("utf-8", "replace").translate(_WORDS_ALONE).split()
    return frozenset([crc32(word) & 0xFFFF for word in words])


def is_table(path: str) -> bool:
    """Whether the keys or targets of a file are definitions: of settings, a Makefile, package.json and the like."""
    return path.lower().endswith(_TABLES)


def _without_space(text: str) -> bytes:
    """A text without white space, but for the ends of its lines."""
    return text.encode("utf-8", "replace").translate(None, _SPACE)


def _checksums(text: str, without: bytes) -> list[int]:
    """A checksum of each line of a text without some bytes; 0 where it has no others."""
    encoded, compiled = text.encode("utf-8", "replace"), compiled_code()
    if compiled is None:
        return [*map(crc32, encoded.translate(None, without).split(b"\n"))]
    return cast("list[int]", compiled.line_checksums(encoded, without))


def _places_of(text: str, word: str) -> Iterator[int]:
    """Where a word is in a text, and not within a longer one: behind how many characters, one more than that."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_is_in_word(text[at - 1 : at]) or _is_in_word(text[end : end + 1])):
            yield at + 1
        at = text.find(word, end)


def _is_in_word(char: str) -> bool:
    return char.isalnum() or char in ("_", "$")
