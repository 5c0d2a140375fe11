"""Spans of a file: what a name defines there, and where the text of a span is found again.

    source = Source("config.py", text)
    span = source.defined("load")[0]                Span(41, 52)
    kept = source.fingerprint(span)                 checksums of its lines, and of those around it
    Source("config.py", newer).find(kept, "load", 41)       Located(Span(57, 68), changed=3)
    Source("config.py", newer).find(kept, "", 41, Before(source, span))     what its lines have become

White space is no difference: lines are compared by checksums without it, and empty ones are passed over. A definition
goes on while lines are further in than its first one; what has no such shape is one line. A span is looked for by its
name, else by its own lines, else between those that were around it, as its file was: what that had elsewhere is no part
of what the span has become.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import compress, count, pairwise, repeat
from zlib import crc32

from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.languages import language_of
from ctxrank.indexer.text.tables import compiled

MAX_LINES = 1000  # of a span: what is behind them is not compared
_SPACE = b" \t\r\f\v"
_NO_WORD = _SPACE + bytes(one for one in range(0x21, 0x7F) if not chr(one).isalnum())
_NO_WORDS = crc32(b"")
_STAYED_LINES = 2  # that must have stayed, too, above and below what is not looked for
_LEAST_EDITED = 0.5  # of the words of a line and of what it may be now
_LEAST_LEFT, _LEAST_RENAMED = 0.2, 0.5  # of the words of a span; of a definition that has another name now
_MOST_BETWEEN = 200  # lines, of which one may be what a line is now
_MOST_COMPARED = 1_000_000  # pairs of lines that are there more than once
_REGION_LINES = 12  # on each side of a span, by which a file is told that may have it
_DECORATORS = ("@", "#[")
_CLOSERS = (")", "]", "}", ">", "where ", "rescue ", "ensure ")  # and what else is no further in than a definition
_TABLES = tuple(".toml .yaml .yml .json .ini .cfg .conf .env .mk .properties makefile justfile".split())
_WORD = re.compile(r"\w+")
_LAST_COMMA = re.compile(rb",(?=[)\]}])")
SEPARATOR = re.compile(r"::|->|[.#]")
_KEY = r"""[ \t]*(?:\[+[\w."-]*?{0}"?\]|(?:[-\w.]+\.)?(["']?){0}\1[ \t]*[:=])"""


class Span(NamedTuple):
    """Lines from 1, both ends inside."""

    start: int
    end: int


class Fingerprint(NamedTuple):
    """Checksums of the lines of a span, of their words alone, and of all its text, however it is laid out."""

    lines: tuple[int, ...]
    words: tuple[int, ...]
    text: tuple[int, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Fingerprint":
        """A fingerprint as it is stored, in hexadecimal digits; an earlier one has six parts."""
        parts = [tuple(map(int, one.split(), repeat(16))) for one in text.split("|")]
        return cls(*parts) if len(parts) <= len(cls._fields) else cls(parts[0], parts[2], *parts[5:6])

    def __str__(self) -> str:
        return "|".join(" ".join(f"{one:x}" for one in part) for part in self)


class Located(NamedTuple):
    """Where a span is now, and how many of its lines differ: of the old ones that are gone, or of the new, the more."""

    span: Span
    changed: int = 0


class Before(NamedTuple):
    """A file when a span of it was last seen, and where it was."""

    source: "Source"
    span: Span

    @property
    def around(self) -> frozenset[int]:
        """Checksums of the words of its lines, and of more of those around it than are kept."""
        first, last = self.source.rows(self.span)
        return frozenset(self.source.words[max(first - _REGION_LINES, 0) : last + _REGION_LINES]) - {_NO_WORDS}


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
    def sums(self) -> list[int]:
        """Their checksums."""
        return [*filter(None, self._all_sums)]

    @cached_property
    def words(self) -> list[int]:
        """Checksums of their words: another style has the same."""
        return [*compress(_checksums(self._text, _NO_WORD), self._all_sums)]

    @cached_property
    def known_words(self) -> frozenset[int]:
        """The checksums of the words of its lines, of which there are any, each once."""
        return frozenset(_checksums(self._text, _NO_WORD)) - {_NO_WORDS}

    def words_at(self, at: int) -> frozenset[str]:
        """The words of one of the lines with a text."""
        return _words_in(self.lines[self._numbers[at] - 1])

    def _indent(self, at: int) -> int:
        """How far in a line is; one without a text as far as can be."""
        line = self.lines[at]
        return len(line) - len(text) if (text := line.lstrip()) else len(self._text)

    def fingerprint(self, span: Span) -> Fingerprint:
        """What a span is recognised by."""
        first, last = self.rows(span)
        return Fingerprint(self._lines_of(span), tuple(self.words[first:last][:MAX_LINES]), self._laid_out(span))

    def rows(self, span: Span) -> tuple[int, int]:
        """Which of the lines with a text a span has: the first, and the one behind them."""
        return bisect_left(self._numbers, span.start), bisect_right(self._numbers, span.end)

    def text_of(self, span: Span) -> str:
        """The lines of a span."""
        return self._text if span == self.whole else "\n".join(self.lines[span.start - 1 : span.end])

    def _lines_of(self, span: Span) -> tuple[int, ...]:
        """Checksums of the first lines of a span."""
        first, last = self.rows(span)
        return tuple(self.sums[first:last][:MAX_LINES])

    def _laid_out(self, span: Span) -> tuple[int]:
        """A checksum of the text of a span, which a formatter leaves as it is: lines may be cut anywhere."""
        return (crc32(_LAST_COMMA.sub(b"", _without_space(self.text_of(span)).replace(b"\n", b""))),)

    def known(self, kept: Fingerprint) -> Fingerprint:
        """The checksums of the lines that are here, and 0 for those of all else."""
        sums, words = {*self.sums}, {*self.words}
        of_each = zip(kept, (sums, words, ()), strict=True)
        return Fingerprint(*(tuple(one if one in here else 0 for one in part) for part, here in of_each))

    def trimmed(self, span: Span) -> Span:
        """A span without the empty lines at its ends; as it is where all of it is empty."""
        first, last = self.rows(span)
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
        if name.rstrip("?!") in defined_names(f"{line}{body}", self.path).code:
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
                if any(_places_of(self.lines[above], owner)):
                    return True
                indent = now
        return False

    def _definition(self, at: int) -> Span:
        """From the decorators above a definition to the bracket that closes it, else to the last line that is further
        in than its first.
        """
        indent, end, seen, quotes = self._indent(at), len(self.lines), at, 0
        is_open, is_python = self.lines[at].rstrip().endswith("{"), language_of(self.path).kind == "python"
        for place in range(at + 1, end):
            if self.lines[place][: indent + 1].isspace() or (depth := self._indent(place)) > indent:
                continue
            if is_python:  # what is in a long string may begin anywhere
                above = "\n".join(self.lines[seen:place])
                quotes, seen = quotes + above.count('"""') + above.count("'''"), place
            if not quotes % 2:
                line = self.lines[place].strip()
                is_body = line == "{" and self.lines[place - 1].rstrip()[-1:] not in ";}"  # nor empty
                is_on = depth == indent and (is_body or f"{line} ".startswith(_CLOSERS))
                if depth < indent or not (is_on or is_open):
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

    def carried(self, was: Before) -> Span | None:
        """Where a span is with the lines next to it, as they were; None where that is not certain."""
        first = max(was.span.start - _STAYED_LINES, 1)
        text = "\n".join(["", *was.source.lines[first - 1 : was.span.end + _STAYED_LINES], ""])
        old, new = f"\n{was.source._text}\n", f"\n{self._text}\n"
        # Two copies, one right behind the other, share a line end, and count() sees one of them.
        if (at := new.find(text)) < 0 or new.rfind(text) > at or old.find(text) < old.rfind(text):
            return None
        if old.endswith(text) and not new.endswith(text):  # it may go on
            return None
        moved = new.count("\n", 0, at) + 1 - first
        return Span(was.span.start + moved, was.span.end + moved)

    def find(self, kept: Fingerprint, name: str, near: int, was: Before | None = None) -> Located | None:
        """Where a span is, by its name, its lines, or what these have become; None where nothing of it is left."""
        if spans := self.defined(name) if name else []:
            found = (Located(span, self.difference(kept, span)) for span in spans)
            return min(found, key=lambda one: (one.changed, abs(one.span.start - near)))
        if was is None or (name and is_table(self.path)):
            return self.exact(kept, near)
        return self._edited(kept, was, _LEAST_RENAMED if name else _LEAST_LEFT)

    def _edited(self, kept: Fingerprint, was: Before, least: float) -> Located | None:
        """What the lines of a span have become, with a least share of their words: those that are where they were among
        all lines of their file, and the new ones between these that are most like the others.
        """
        first, last = was.source.rows(was.span)
        stayed = _stayed(was.source, self)
        places = sorted(stayed)
        own = {at: stayed[at] for at in range(first, last) if at in stayed}
        if not own and (located := self.exact(kept, was.span.start, {*stayed.values()})):
            return located
        for by in {now - at for at, now in own.items()}:
            if self.sums[first + by : last + by] == was.source.sums[first:last]:
                own = {at: at + by for at in range(first, last)}
        here, left, total = [*own.values()], 0.0, 0
        for at in range(first, last):
            words = was.source.words_at(at)
            total += len(words)
            new = [own[at]] if at in own else _between(stayed, places, at, len(self.sums))
            share, now = max(((_likeness(words, self.words_at(now)), -now) for now in new), default=(0.0, 0))
            if share >= _LEAST_EDITED:
                here.append(-now)
                left += share * len(words)
        if not here or left < least * total:
            return None
        span = Span(self._numbers[min(here)], self._numbers[max(here)])
        return Located(span, self.difference(kept, span))

    def difference(self, kept: Fingerprint, span: Span) -> int:
        """How many lines a span differs by from what it was; 1 where only their order does."""
        now = self._lines_of(span)
        if kept.text == self._laid_out(span) if any(kept.text) else now == kept.lines:
            return 0
        return max(len(now), len(kept.lines)) - (Counter(kept.lines) & Counter(now)).total() or 1

    def exact(self, kept: Fingerprint, near: int, others: Set[int] = frozenset()) -> Located | None:
        """Where the very lines of a span are, and none of some others: at the nearest place."""
        size = len(kept.lines)
        found = [at for at in self._places([*kept.lines]) if others.isdisjoint(range(at, at + size))]
        if not found:
            return None
        at = min(found, key=lambda at: abs(self._numbers[at] - near))
        return Located(Span(self._numbers[at], self._numbers[at + size - 1]))

    def _places(self, lines: list[int]) -> Iterator[int]:
        """Where lines with these checksums begin."""
        at = -1
        with suppress(ValueError):
            while lines:
                at = self.sums.index(lines[0], at + 1)
                if self.sums[at : at + len(lines)] == lines:
                    yield at


@lru_cache(maxsize=4)
def source_of(path: str, text: str) -> Source:
    """A text in which several spans of a file are looked for."""
    return Source(path, text)


@lru_cache(maxsize=4)
def _stayed(old: Source, new: Source) -> Mapping[int, int]:
    """The lines with a text that a file still has at their places among the others, and where these are now.

    Bram Cohen's patience diff: lines that both have once, as many as are in the same order, and so on between these.
    """
    was, now = old.sums, new.sums
    stayed, parts = dict[int, int](), [(0, len(was), 0, len(now))]
    while parts:
        start, end, to, stop = parts.pop()
        while start < end and to < stop and was[start] == now[to]:
            stayed[start] = to
            start, to = start + 1, to + 1
        while start < end and to < stop and was[end - 1] == now[stop - 1]:
            end, stop = end - 1, stop - 1
            stayed[end] = stop
        rest, rest_now = was[start:end], now[to:stop]
        if {*rest}.isdisjoint(rest_now):
            continue
        once, once_now = _once(rest, start), _once(rest_now, to)
        pairs = _longest_in_order({at: once_now[one] for one, at in once.items() if one in once_now})
        if not pairs and len(rest) * len(rest_now) < _MOST_COMPARED:
            blocks = SequenceMatcher(None, rest, rest_now, False).get_matching_blocks()
            stayed.update((start + at + by, to + at_now + by) for at, at_now, size in blocks for by in range(size))
        stayed.update(pairs)
        ends = [(start - 1, to - 1), *pairs, (end, stop)] if pairs else []
        steps = [(at + 1, next_at, to + 1, next_to) for (at, to), (next_at, next_to) in pairwise(ends)]
        parts += [step for step in steps if step[0] < step[1] and step[2] < step[3]]
    return stayed


def _once(sums: list[int], start: int) -> dict[int, int]:
    """Where those of some lines are that are there once."""
    counts = Counter(sums)
    return {one: at for at, one in enumerate(sums, start) if counts[one] == 1}


def _longest_in_order(pairs: dict[int, int]) -> list[tuple[int, int]]:
    """Many of some pairs, in the order of their first numbers, that are in that of their second ones, too."""
    by_second = sorted(pairs, key=pairs.__getitem__)
    if by_second == [*pairs]:
        return [*pairs.items()]
    blocks = SequenceMatcher(None, [*pairs], by_second, False).get_matching_blocks()
    return [(at, pairs[at]) for _, start, size in blocks for at in by_second[start : start + size]]


def _between(stayed: Mapping[int, int], places: list[int], at: int, size_now: int) -> range:
    """The lines that are now between those that stayed, whose `places` are in order, next to one that did not."""
    below = bisect_left(places, at)
    start = stayed[places[below - 1]] + 1 if below else 0
    end = stayed[places[below]] if below < len(places) else size_now
    return range(start, min(end, start + _MOST_BETWEEN))


@lru_cache(maxsize=1 << 12)
def _words_in(line: str) -> frozenset[str]:
    """The words of a line, whatever their case."""
    return frozenset(_WORD.findall(line.lower()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets have in common."""
    return 2 * len(one & other) / max(len(one) + len(other), 1)


def is_table(path: str) -> bool:
    """Whether the keys or targets of a file are definitions: of settings, a Makefile, package.json and the like."""
    return path.lower().endswith(_TABLES)


def _without_space(text: str) -> bytes:
    """A text without white space, but for the ends of its lines."""
    return text.encode("utf-8", "replace").translate(None, _SPACE)


def _checksums(text: str, without: bytes) -> list[int]:
    """A checksum of each line of a text without some bytes; 0 where it has no others."""
    encoded, code = text.encode("utf-8", "replace"), compiled("_code")
    if code is None:
        return [*map(crc32, encoded.translate(None, without).split(b"\n"))]
    return cast("list[int]", code.line_checksums(encoded, without))


def _places_of(text: str, word: str) -> Iterator[int]:
    """Where a word is in a text, and not within a longer one: behind how many characters, one more than that."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not any(char.isalnum() or char in "_$" for char in text[at - 1 : at] + text[end : end + 1]):
            yield at + 1
        at = text.find(word, end)
