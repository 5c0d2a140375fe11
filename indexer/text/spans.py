"""Spans of a file: what a name defines there, and where the text of a span is found again.

    source = Source("config.py", text)
    span = source.defined("load")[0]                Span(41, 52)
    kept = source.fingerprint(span)                 checksums of its lines, and of those around it
    Source("config.py", newer).find(kept, "load", 41)       Located(Span(57, 68), changed=3)

White space is no difference: lines are compared by checksums without it, and empty ones are passed over. A definition
goes on while lines are further in than its first one; what has no such shape is one line. A span without a name is
looked for by its own lines, then between the lines that were around it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from zlib import crc32

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.languages import language_of

if TYPE_CHECKING:
    from difflib import SequenceMatcher

MAX_LINES = 1000  # of a span: what is behind them is not compared
_CONTEXT_LINES = 4  # around a span, on each side
_SKETCHED = 32  # lines of a file
_LEAST_SHARE = 0.25  # of the lines of a span that another file has where its name is, too
_LEAST_MAPPED = 3  # lines of a span and around it that lead to what is between them
_TELLING_CHARS = 16  # a line of more is known without its neighbours
_DECORATORS = ("@", "#[")
# Files whose keys and targets are definitions: settings, and commands of Makefile, package.json and the like.
_TABLES = tuple(".toml .yaml .yml .json .ini .cfg .conf .env .mk .properties makefile justfile".split())
_SEPARATOR = re.compile(r"::|->|[.#]")
_KEY = r"""[ \t]*(?:\[+[\w."-]*?{0}"?\]|(?:[-\w.]+\.)?(["']?){0}\1[ \t]*[:=])"""


class Span(NamedTuple):
    """Lines from 1, both ends inside."""

    start: int
    end: int


class Fingerprint(NamedTuple):
    """Checksums of the lines of a span, and of the nearest ones before and after it."""

    lines: tuple[int, ...]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

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
        self._matcher: SequenceMatcher[int] | None = None

    @property
    def whole(self) -> Span:
        """All of it."""
        return Span(1, len(self.lines))

    @cached_property
    def _numbers(self) -> list[int]:
        """The lines with a text."""
        return [number for number, line in enumerate(self.lines, 1) if line and not line.isspace()]

    @cached_property
    def _sums(self) -> list[int]:
        """Their checksums."""
        return _checksums(self.lines)

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """Where each checksum is among them."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        for at, checksum in enumerate(self._sums):
            places[checksum].append(at)
        return places

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self._sums)

    @property
    def sketch(self) -> tuple[int, ...]:
        """Some of the longer lines, the same ones of equal files: what a file is known by under another name."""
        return tuple(sorted(set(_checksums([line for line in self.lines if len(line) >= _TELLING_CHARS])))[:_SKETCHED])

    def likeness(self, sketch: Sequence[int]) -> float:
        """The share of the lines of a sketch that are here."""
        return len(self._known.intersection(sketch)) / max(len(set(sketch)), 1)

    def fingerprint(self, span: Span) -> Fingerprint:
        """What a span is recognised by."""
        around = 4 * _CONTEXT_LINES  # most lines have a text
        first, last = span.start - 1, span.end
        lines, before, after = self.lines[first:last], self.lines[max(first - around, 0) : first], self.lines[last:]
        return Fingerprint(
            tuple(_checksums(lines[:MAX_LINES])),
            tuple(_checksums(before)[-_CONTEXT_LINES:]),
            tuple(_checksums(after[:around])[:_CONTEXT_LINES]),
        )

    def defined(self, name: str) -> list[Span]:
        """The definitions of a name, the outermost ones: of `Store.open` those of `open` within `Store`."""
        *owners, own = _SEPARATOR.split(name)
        found = [at for at in self._lines_with(own) if self._defines(at, own)]
        found = [at for at in found if not owners or self._is_within(at, owners[-1], own)]
        outermost = min((_indent(self.lines[at]) for at in found), default=0)
        return [self._definition(at) for at in found if _indent(self.lines[at]) == outermost]

    def _lines_with(self, name: str) -> Iterator[int]:
        if name and name in self._text:
            word = _word(name)
            yield from (at for at, line in enumerate(self.lines) if name in line and word.search(line))

    def _defines(self, at: int, name: str) -> bool:
        line, below = self.lines[at], self.lines[at + 1 : at + 2]
        body = "\n{" if below and below[0].strip() == "{" else ""
        if name in defined_names(f"{line}{body}", self.path).code:
            return True
        return self.path.lower().endswith(_TABLES) and re.match(_KEY.format(re.escape(name)), line) is not None

    def _is_within(self, at: int, owner: str, name: str) -> bool:
        """Whether a definition names its owner before it, or is further in than the definition of that."""
        indent = _indent(self.lines[at])
        if _word(owner).search(self.lines[at].partition(name)[0]):
            return True
        for above in range(at - 1, -1, -1):
            line = self.lines[above]
            if line and not line.isspace() and _indent(line) < indent:
                if self._defines(above, owner):
                    return True
                indent = _indent(line)
        return False

    def _definition(self, at: int) -> Span:
        """From the decorators above a definition to the last line that is further in than its first, or closes it."""
        first = last = at
        while first and self.lines[first - 1].strip().startswith(_DECORATORS):
            first -= 1
        indent, quotes = _indent(self.lines[at]), 0
        is_python = language_of(self.path).kind == "python"
        for place in range(at, len(self.lines)):
            line = self.lines[place].strip()
            if place > at and line and not quotes % 2 and _indent(self.lines[place]) <= indent:
                is_on = _indent(self.lines[place]) == indent and line.startswith((")", "]", "}"))
                if not (is_on or (line == "{" and place == at + 1)):
                    break
            last = place if line else last
            if is_python:  # what is in a long string may begin anywhere
                quotes += line.count('"""') + line.count("'''")
        return Span(first + 1, last + 1)

    def holding(self, text: str) -> list[Span]:
        """The lines that have a text in them, in which white space is one blank."""
        found = (number for number, line in enumerate(self.lines, 1) if text in " ".join(line.split()))
        return [Span(number, number) for number in found]

    def has_some(self, kept: Fingerprint) -> bool:
        """Whether enough of the lines of a span are here: a quick look."""
        return self.likeness(kept.lines) >= _LEAST_SHARE

    def find(self, kept: Fingerprint, name: str, near: int) -> Located | None:
        """Where a span is, by its name or else by its lines; None where nothing of it is left here."""
        if spans := self.defined(name):
            found = (Located(span, self.difference(kept, span)) for span in spans)
            return min(found, key=lambda one: (one.changed, abs(one.span.start - near)))
        least = len(kept.lines) / 2 if name else 0
        return self.exact(kept, near) or self._between(kept, least)

    def difference(self, kept: Fingerprint, span: Span) -> int:
        """How many lines a span differs by from what it was."""
        now = self.fingerprint(span).lines
        return 0 if now == kept.lines else max(len(now), len(kept.lines)) - _common(kept.lines, now) or 1

    def exact(self, kept: Fingerprint, near: int, least_chars: int = _TELLING_CHARS) -> Located | None:
        """Where the very lines of a span are: in the same surroundings, else at the nearest place.

        One or two lines need a neighbour of theirs, or else to be long enough and nowhere else.
        """
        size, found = len(kept.lines), list[tuple[int, int, Span]]()
        for at in self._places.get(kept.lines[0], ()) if kept.lines else ():
            if tuple(self._sums[at : at + size]) == kept.lines:
                span = Span(self._numbers[at], self._numbers[at + size - 1])
                around = self.fingerprint(span)
                neighbours = _same_end(kept.before, around.before) + _same_end(kept.after[::-1], around.after[::-1])
                found.append((neighbours, -abs(span.start - near), span))
        if not found:
            return None
        neighbours, _, span = max(found)
        length = sum(len(line.strip()) for line in self.lines[span.start - 1 : span.end])
        is_sure = neighbours or size > 2 or not (kept.before or kept.after)
        return Located(span) if is_sure or (len(found) == 1 and length >= least_chars) else None

    def _between(self, kept: Fingerprint, least: float) -> Located | None:
        """What is between the lines that were around a span now, with at least so many lines of it."""
        from difflib import SequenceMatcher  # noqa: PLC0415  start-up: only where something has changed

        if self._matcher is None:
            self._matcher = SequenceMatcher(None, (), self._sums, autojunk=False)
        self._matcher.set_seq1((*kept.before, *kept.lines, *kept.after))
        blocks = self._matcher.get_matching_blocks()
        mapped = {block.a + at: block.b + at for block in blocks for at in range(block.size)}
        first, last = len(kept.before), len(kept.before) + len(kept.lines)
        inside = [now for was, now in mapped.items() if first <= was < last]
        start = max((now for was, now in mapped.items() if was < first), default=-1) + 1
        end = min((now for was, now in mapped.items() if was >= last), default=len(self._sums)) - 1
        is_far = end - start > 2 * last or start == 0 or end + 1 == len(self._sums)  # a side of it is gone
        if inside and is_far:
            start, end = min(inside), max(inside)
        is_known = len(mapped) >= min(_LEAST_MAPPED, last + len(kept.after)) and len(inside) >= least
        if not is_known or start > end or (is_far and 2 * len(inside) < len(kept.lines)):
            return None
        span = Span(self._numbers[start], self._numbers[end])
        return Located(span, self.difference(kept, span) or 1)


def _checksums(lines: Sequence[str]) -> list[int]:
    """Of the lines that have a text; white space is one blank."""
    joined = (" ".join(line.split()) for line in lines)
    return [crc32(line.encode("utf-8", "replace")) for line in joined if line]


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _same_end(one: Sequence[int], other: Sequence[int]) -> int:
    """How many of the last items of two sequences are the same."""
    pairs = enumerate(zip(reversed(one), reversed(other), strict=False))
    return next((count for count, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many lines two texts have in common, in their order."""
    from difflib import SequenceMatcher  # noqa: PLC0415  start-up: only where something has changed

    return sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
