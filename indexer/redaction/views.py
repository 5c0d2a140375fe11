r"""A text as the rules look at it, with each place's own in the text.

    view = seen("gh\u200bp_\uff10x")
    view.text                  "ghp_0x"
    view.span(0, 3)            (0, 4): what is redacted is all of the text that the part was seen in

What an output drops is not there to be seen, whatever a text needs it for: or else a token that it parts would be
stored, and shown whole. Letters, digits and signs that only look otherwise (full width, mathematical bold) count as
those of ASCII.
"""

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from re import compile as compile_pattern

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.text.escapes import INTRODUCERS, escape_sequence, has_escapes
from ctxrank.indexer.text.invisible import is_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Pattern

# ASCII that is what it looks like; a carriage return is shown as a line's end.
_PLAIN_BYTES = bytes(byte for byte in range(0x80) if 0x20 <= byte < 0x7F or byte in b"\t\n\r")
# What no text of two kinds of characters is asked twice about.
_MAX_KNOWN = 1 << 16
_PART_CHARS = 1 << 18
_known_plain: set[str] = set()

# What parts a name from its value and occurs within tokens; commas and stops of full width are in all Chinese prose.
_SIGNS = "=:_-./+@\"'"
_FEW = 20
_INTRODUCER = rf"\x1b[\[\]^_\\]?|[{INTRODUCERS}]"
_NOTHING = "\0"  # in a text of the same length: what is not there to be seen


class View:
    """A text as it is seen, and where each part of it stands in the original.

    Most texts show no secret: where the parts stand is worked out when it is first asked for.
    """

    __slots__ = ("_marked", "_origins", "_starts", "text")

    def __init__(self, text: str, marked: "Callable[[], str] | None" = None) -> None:
        """`marked` gives the original in its length, with nothing in place of what is not seen; None: it is as seen."""
        self.text = text
        self._marked = marked
        self._starts = [0]  # the stretches of the original that are in it, by where they begin in either
        self._origins = [0]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that the part from `start` to `end` was seen in."""
        if self._marked is not None:
            self._starts, self._origins = _stretches(self._marked())
            self._marked = None
        return self._origin(start), self._origin(end - 1) + 1

    def _origin(self, place: int) -> int:
        at = bisect_right(self._starts, place) - 1
        return self._origins[at] + place - self._starts[at]


def is_plain(text: str) -> bool:
    """Whether a text is seen as it is: the rules need no view of it."""
    for chars in _unusual(text):
        if any((is_invisible(char) and char != "\r") or _ascii_form(char) for char in chars):
            return False
        if len(_known_plain) > _MAX_KNOWN:
            _known_plain.clear()
        _known_plain.update(chars)
    return True


def _unusual(text: str) -> "Iterator[set[str]]":
    """The characters of each part of a text but for those that are known to be what they look like."""
    for start in range(0, len(text), _PART_CHARS):  # bytes of a large text are not held twice
        part = text[start : start + _PART_CHARS].encode("utf-8", "replace")
        yield set(part.translate(None, _PLAIN_BYTES).decode()) - _known_plain


def is_control(char: str) -> bool:
    """Whether it is an ASCII control that no view has."""
    return (char < " " and char not in "\t\n\r") or char == "\x7f"


def seen(text: str) -> View:
    """The text as a terminal shows it, with its escapes taken out whole."""
    return _seen_without(escape_sequence(), text) if has_escapes(text) else _seen_without(None, text)


def seen_literally(text: str) -> View:
    """The same with nothing but the introducers of escapes taken out: what follows may be letters of a secret."""
    return _seen_without(compile_pattern(_INTRODUCER), text)


def _seen_without(hidden: "Pattern[str] | None", text: str) -> View:
    table = _disguises(text)

    def marked() -> str:
        with_marks = hidden.sub(lambda found: _NOTHING * len(found[0]), text) if hidden else text
        return _translated(with_marks, table)

    shown = hidden.sub("", text) if hidden else text
    return View(_translated(shown, table).replace(_NOTHING, ""), marked)


def _disguises(text: str) -> dict[int, str]:
    """What is to stand for each character of the text that is not seen as it is."""
    table: dict[int, str] = {}
    for char in set[str]().union(*_unusual(text)):
        if is_invisible(char) and char != "\r":
            table[ord(char)] = _NOTHING
        elif form := _ascii_form(char):
            table[ord(char)] = form
    return table


def _translated(text: str, table: dict[int, str]) -> str:
    if len(table) > _FEW:
        return text.translate(table)
    for code, form in table.items():  # for a few, each in a pass of its own is a multiple as fast
        text = text.replace(chr(code), form)
    return text


def _stretches(marked: str) -> tuple[list[int], list[int]]:
    """The stretches of a text between what is not seen: by where each begins without it, and where with it."""
    spans = [piece.span() for piece in compile_pattern(f"[^{_NOTHING}]+").finditer(marked)]
    return [*accumulate((end - start for start, end in spans), initial=0)], [start for start, _ in spans]


@lru_cache(maxsize=1 << 14)
def _ascii_form(char: str) -> str:
    """The letter, digit or sign of ASCII that a character is a form of (NFKC), or ''."""
    if char.isascii():
        return ""
    import unicodedata  # noqa: PLC0415  start-up: few texts are spelt so

    form = unicodedata.normalize("NFKC", char)
    return form if len(form) == 1 and form.isascii() and (form.isalnum() or form in _SIGNS) else ""
