"""Spans of a file: what a name defines there, and where the text of a span is found again.

    source = Source("config.py", text)
    span = source.defined("load")[0]                Span(41, 52)
    kept = source.fingerprint(span)                 checksums of its lines, and of those around it
    Source("config.py", newer).find(kept, "load", 41)       Located(Span(57, 68), changed=3)

White space is no difference: lines are compared by checksums without it, and empty ones are passed over. A definition
goes on while lines are further in than its first one; what has no such shape is one line. A span is looked for by its
name, else by its own lines, else between the lines that were around it, in whatever style.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from zlib import crc32

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.languages import language_of

MAX_LINES = 1000  # of a span: what is behind them is not compared
_CONTEXT_LINES = 4  # around a span, on each side
_LEAST_MAPPED = 3  # lines of a span and around it that lead to what is between them
_TELLING_CHARS = 16  # a line of more is known without its neighbours
_NO_WORD = b" \t\r\f\v" + bytes(one for one in range(0x21, 0x7F) if not chr(one).isalnum())
_DECORATORS = ("@", "#[")
_TABLES = tuple(".toml .yaml .yml .json .ini .cfg .conf .env .mk .properties makefile justfile".split())
SEPARATOR = re.compile(r"::|->|[.#]")
_KEY = r"""[ \t]*(?:\[+[\w."-]*?{0}"?\]|(?:[-\w.]+\.)?(["']?){0}\1[ \t]*[:=])"""


class Span(NamedTuple):
    """Lines from 1, both ends inside."""

    start: int
    end: int


class Fingerprint(NamedTuple):
    """Checksums of the lines of a span; of their words alone, and of those of the nearest lines before and after it."""

    lines: tuple[int, ...]
    before: tuple[int, ...]
    words: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> "Fingerprint":
        """What `str` has written."""
        return cls._make(tuple(int(one, 16) for one in part.split()) for part in text.split("|"))

    def __str__(self) -> str:
        return "|".join(" ".join(f"{one:x}" for one in part) for part in self)


class Located(NamedTuple):
    """Where a span is now, and how many of its lines differ: of the old ones that are gone, or of the new, the more."""

    span: Span
    changed: int = 0


class Source:
    """The text of a file, by lines."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self._text = text

    @property
    def whole(self) -> Span:
        """All of it."""
        return Span(1, len(self.lines))

    @cached_property
    def _bare(self) -> list[bytes]:
        """The lines without their white space."""
        return _without_space(self._text).split(b"\n")

    @cached_property
    def _numbers(self) -> list[int]:
        """The lines with a text."""
        return [number for number, line in enumerate(self._bare, 1) if line]

    @cached_property
    def _sums(self) -> list[int]:
        """Their checksums."""
        return [*map(crc32, filter(None, self._bare))]

    @cached_property
    def _words(self) -> list[int]:
        """Checksums of their words: another style has the same."""
        words = [*map(crc32, self._text.encode("utf-8", "replace").translate(None, _NO_WORD).split(b"\n"))]
        return [words[number - 1] for number in self._numbers]

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self._words)

    def _indent(self, at: int) -> int:
        """How far in a line is; one without a text as far as can be."""
        line = self.lines[at]
        return len(line) - len(text) if (text := line.lstrip()) else len(self._text)

    def likeness(self, words: Collection[int]) -> float:
        """The share of the words of some lines that are here."""
        return len(self._known.intersection(words)) / max(len(set(words)), 1)

    def fingerprint(self, span: Span) -> Fingerprint:
        """What a span is recognised by."""
        first, last = bisect_left(self._numbers, span.start), bisect_right(self._numbers, span.end)
        cut = min(last, first + MAX_LINES)
        words = self._words[:first][-_CONTEXT_LINES:], self._words[first:cut], self._words[last : last + _CONTEXT_LINES]
        return Fingerprint(tuple(self._sums[first:cut]), *map(tuple, words))

    def trimmed(self, span: Span) -> Span:
        """A span without the empty lines at its ends; as it is where all of it is empty."""
        first, last = bisect_left(self._numbers, span.start), bisect_right(self._numbers, span.end)
        return Span(self._numbers[first], self._numbers[last - 1]) if first < last else span

    def defined(self, name: str) -> list[Span]:
        """The definitions of a name, the outermost ones: of `Store.open` those of `open` within `Store`."""
        *owners, own = SEPARATOR.split(name)
        if own not in self._text:
            return []
        found = [at for at, line in enumerate(self.lines) if own in line and self._defines(at, own)]
        found = [at for at in found if not owners or self._is_within(at, owners[-1], own)]
        outermost = min((self._indent(at) for at in found), default=0)
        return [self._definition(at) for at in found if self._indent(at) == outermost]

    def _defines(self, at: int, name: str) -> bool:
        line, below = self.lines[at], self.lines[at + 1 : at + 2]
        if not _has_word(line, name):
            return False
        body = "\n{" if below and below[0].strip() == "{" else ""
        if name in defined_names(f"{line}{body}", self.path).code:
            return True
        return is_table(self.path) and re.match(_KEY.format(re.escape(name)), line) is not None

    def _is_within(self, at: int, owner: str, name: str) -> bool:
        """Whether a definition names its owner before it, or is further in than the definition of that."""
        indent = self._indent(at)
        if _has_word(self.lines[at].partition(name)[0], owner):
            return True
        for above in range(at - 1, -1, -1):
            if (now := self._indent(above)) < indent:
                if self._defines(above, owner):
                    return True
                indent = now
        return False

    def _definition(self, at: int) -> Span:
        """From the decorators above a definition to the last line that is further in than its first, or closes it."""
        first = last = at
        while first and self.lines[first - 1].strip().startswith(_DECORATORS):
            first -= 1
        indent, quotes = self._indent(at), 0
        is_python = language_of(self.path).kind == "python"
        for place in range(at, len(self.lines)):
            line = self.lines[place].strip()
            if place > at and not quotes % 2 and self._indent(place) <= indent:
                is_on = self._indent(place) == indent and line.startswith((")", "]", "}"))
                if not (is_on or (line == "{" and place == at + 1)):
                    break
            last = place if line else last
            if is_python:  # what is in a long string may begin anywhere
                quotes += line.count('"""') + line.count("'''")
        return Span(first + 1, last + 1)

    def holding(self, text: str) -> list[Span]:
        """The lines that have a text in them; white space is no difference."""
        bare = _without_space(text)
        return [Span(number, number) for number, line in enumerate(self._bare, 1) if bare in line]

    def find(self, kept: Fingerprint, name: str, near: int) -> Located | None:
        """Where a span is, by its lines, its name or what is around it; None where nothing of it is left."""
        if spans := self.defined(name) if name else []:
            found = (Located(span, self.difference(kept, span)) for span in spans)
            return min(found, key=lambda one: (one.changed, abs(one.span.start - near)))
        return self.exact(kept, near) or self._between(kept, len(kept.lines) / 2 if name else 0)

    def difference(self, kept: Fingerprint, span: Span) -> int:
        """How many lines a span differs by from what it was; 1 where only their order does."""
        bare = _without_space("\n".join(self.lines[span.start - 1 : span.end])).split(b"\n")
        now = (*map(crc32, filter(None, bare)),)[:MAX_LINES]
        common = Counter(kept.lines) & Counter(now)
        return 0 if now == kept.lines else max(len(now), len(kept.lines)) - common.total() or 1

    def exact(self, kept: Fingerprint, near: int, least_chars: int = _TELLING_CHARS) -> Located | None:
        """Where the very lines of a span are: in the same surroundings, else at the nearest place.

        One or two lines need a neighbour of theirs, or else to be long enough and nowhere else.
        """
        size, found = len(kept.lines), list[tuple[int, int, Span]]()
        starts = kept.lines[0] if kept.lines else -1
        if starts not in self._sums:
            return None
        for at, one in enumerate(self._sums):
            if one == starts and tuple(self._sums[at : at + size]) == kept.lines:
                span = Span(self._numbers[at], self._numbers[at + size - 1])
                before, after = self._words[:at], self._words[at + size :][: len(kept.after)]
                neighbours = _same_end(kept.before, before) + _same_end(kept.after[::-1], after[::-1])
                found.append((neighbours, -abs(span.start - near), span))
        if not found:
            return None
        neighbours, _, span = max(found)
        length = sum(map(len, self._bare[span.start - 1 : span.end]))
        is_sure = neighbours or size > 2 or not (kept.before or kept.after)
        return Located(span) if is_sure or (len(found) == 1 and length >= least_chars) else None

    def _between(self, kept: Fingerprint, least: float) -> Located | None:
        """What is between the lines that were around a span now, with at least so many lines of it."""
        from difflib import SequenceMatcher  # noqa: PLC0415  start-up: only where something has changed

        was = (*kept.before, *kept.words, *kept.after)
        known = set(was)
        here = [at for at, one in enumerate(self._words) if one in known]
        blocks = SequenceMatcher(None, was, [self._words[at] for at in here], autojunk=False).get_matching_blocks()
        mapped = {block.a + at: here[block.b + at] for block in blocks for at in range(block.size)}
        first, last = len(kept.before), len(kept.before) + len(kept.lines)
        inside = [now for was, now in mapped.items() if first <= was < last]
        start = max((now for was, now in mapped.items() if was < first), default=-1) + 1
        end = min((now for was, now in mapped.items() if was >= last), default=len(self._sums)) - 1
        is_far = end - start > 2 * last or start == 0 or end + 1 == len(self._sums)  # a side of it is gone
        is_whole = len(inside) == len(kept.words) == max(inside, default=0) - min(inside, default=0) + 1
        if inside and (is_far or is_whole):  # what was put next to it is no part of it
            start, end = min(inside), max(inside)
        is_known = len(mapped) >= min(_LEAST_MAPPED, last + len(kept.after)) and len(inside) >= least
        if not is_known or start > end or (is_far and 2 * len(inside) < len(kept.lines)):
            return None
        span = Span(self._numbers[start], self._numbers[end])
        return Located(span, self.difference(kept, span))


def is_table(path: str) -> bool:
    """Whether the keys or targets of a file are definitions: of settings, a Makefile, package.json and the like."""
    return path.lower().endswith(_TABLES)


def _without_space(text: str) -> bytes:
    """A text without white space, but for the ends of its lines."""
    return text.encode("utf-8", "replace").translate(None, b" \t\r\f\v")


def _has_word(line: str, word: str) -> bool:
    """Whether a word is in a line, and not within a longer one."""
    before, found, after = line.partition(word)
    while found:
        if not (_is_in_word(before[-1:]) or _is_in_word(after[:1])):
            return True
        before, found, after = after.partition(word)
    return False


def _is_in_word(char: str) -> bool:
    return char.isalnum() or char in ("_", "$")


def _same_end(one: Sequence[int], other: Sequence[int]) -> int:
    """How many of the last items of two sequences are the same."""
    pairs = enumerate(zip(reversed(one), reversed(other), strict=False))
    return next((count for count, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
