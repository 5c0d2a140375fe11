r"""A text as the rules look at it, with each place's own in the text.

    view = seen("gh\u200bp_\uff10x")
    view.text                  "ghp_0x"
    view.span(0, 3)            (0, 4): what is redacted is all of the text that the part was seen in

What an output drops is not there to be seen, whatever a text needs it for: or else a token that it parts would be
stored, and shown whole. Letters, digits and signs that only look otherwise (full width, mathematical bold) count as
those of ASCII.
"""

import unicodedata
from bisect import bisect_right
from functools import cache, lru_cache
from re import Pattern
from re import compile as compile_pattern

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.escapes import INTRODUCERS, escape_sequence, has_escapes
from ctxrank.indexer.text.invisible import is_invisible

# ASCII that is what it looks like; a carriage return is shown as a line's end.
_PLAIN_BYTES = bytes(byte for byte in range(0x80) if 0x20 <= byte < 0x7F or byte in b"\t\n\r")
# What no text of two kinds of characters is asked twice about.
_MAX_KNOWN = 1 << 16
_PART_CHARS = 1 << 18
_known_plain: set[str] = set()

# What parts a name from its value and occurs within tokens; commas and stops of full width are in all Chinese prose.
_SIGNS = "=:_-./+@\"'"
_FEW = 20
_NOTHING = "\0"  # in a text of the same length: what is not there to be seen


class View(NamedTuple):
    """A text as it is seen: the stretches of the original that are in it, by where they begin in either."""

    text: str
    starts: list[int]
    origins: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that the part from `start` to `end` was seen in."""
        return self._origin(start), self._origin(end - 1) + 1

    def _origin(self, place: int) -> int:
        at = bisect_right(self.starts, place) - 1
        return self.origins[at] + place - self.starts[at]


def is_plain(text: str) -> bool:
    """Whether a text is seen as it is: the rules need no view of it."""
    for start in range(0, len(text), _PART_CHARS):  # bytes of a large text are not held twice
        part = text[start : start + _PART_CHARS].encode("utf-8", "replace")
        chars = set(part.translate(None, _PLAIN_BYTES).decode()) - _known_plain
        if any(_is_disguise(char) for char in chars):
            return False
        if len(_known_plain) > _MAX_KNOWN:
            _known_plain.clear()
        _known_plain.update(chars)
    return True


def is_control(char: str) -> bool:
    """Whether it is an ASCII control that no view has."""
    return (char < " " and char not in "\t\n\r") or char == "\x7f"


def as_it_is(text: str) -> View:
    """Nothing but the text, for rules that a user wrote for it."""
    return View(text, [0], [0])


def seen(text: str) -> View:
    """The text as a terminal shows it, with its escapes taken out whole."""
    if has_escapes(text):
        text = escape_sequence().sub(lambda found: _NOTHING * len(found[0]), text)
    return _without_disguises(text)


def seen_literally(text: str) -> View:
    """The same with nothing but the introducers of escapes taken out: what follows may be letters of a secret."""
    return _without_disguises(_introducer().sub(lambda found: _NOTHING * len(found[0]), text))


def _without_disguises(text: str) -> View:
    table: dict[int, str] = {}
    for char in set(text) - _known_plain:
        if is_invisible(char) and char != "\r":
            table[ord(char)] = _NOTHING
        elif form := _ascii_form(char):
            table[ord(char)] = form
    if len(table) > _FEW:
        text = text.translate(table)
    else:  # for a few, each in a pass of its own is a multiple as fast
        for code, form in table.items():
            text = text.replace(chr(code), form)
    pieces = text.split(_NOTHING)
    starts: list[int] = []
    origins: list[int] = []
    size = origin = 0
    for piece in pieces:
        if piece:
            starts.append(size)
            origins.append(origin)
            size += len(piece)
        origin += len(piece) + 1
    return View("".join(pieces), starts, origins)


@cache
def _introducer() -> Pattern[str]:
    return compile_pattern(rf"\x1b[\[\]^_\\]?|[{INTRODUCERS}]")


def _is_disguise(char: str) -> bool:
    return (is_invisible(char) and char != "\r") or _ascii_form(char) != ""


@lru_cache(maxsize=1 << 14)
def _ascii_form(char: str) -> str:
    """The letter, digit or sign of ASCII that a character is a form of (NFKC), or ''."""
    if char.isascii():
        return ""
    form = unicodedata.normalize("NFKC", char)
    return form if len(form) == 1 and form.isascii() and (form.isalnum() or form in _SIGNS) else ""
