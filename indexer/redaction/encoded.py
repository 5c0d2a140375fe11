"""Parts of a text that say something in another spelling: base64, percent signs, the escapes of JSON.

    find_in_any_encoding("Basic dTpodW50ZXIy", finder_of("hunter2"))        the place of its encoded form: 8, 18

What is looked for is never spelt here: each part is decoded, looked through as any text is, and what was found is
mapped back to its place. So it does not matter how a spelling was padded, where in it a word begins (base64 has
three ways to write one, depending on what precedes it), or which of its letters were left as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from ctxrank.indexer.redaction.guards import compiled

Spans = Iterable[tuple[int, int]]

# Six characters, the shortest secret that any version took, are eight of base64, whatever the alignment: 48 bits that
# have to match, which nothing does by chance. So no secret is too short to be looked for.
_LEAST_CHARS = 6
_LEAST_CODED = 8
_QUAD = 4


# A part decoded; where each character of it began, and where it ended.
DecodedPart = tuple[str, Sequence[int], Sequence[int]]


def find_in_any_encoding(text: str, find: Callable[[str], Spans]) -> Iterator[tuple[int, int]]:
    """What `find` sees in the text, and in each decoded part of it, as places in the text."""
    yield from find(text)
    for decoded, starts, ends in readings(text):
        for start, end in find(decoded):
            yield starts[start], ends[end - 1]


def contains_in_any_encoding(text: str, find: Callable[[str], Spans]) -> bool:
    """Whether `find` sees anything in the text, or in a decoded part of it."""
    return any(True for _ in find_in_any_encoding(text, find))


def readings(text: str) -> Iterator[DecodedPart]:
    """The parts of a text that are spelt otherwise, decoded."""
    for run in compiled(_BASE64).finditer(text):
        yield from _base64(run[0], run.start())
    if "%" in text:
        for word in compiled(_WORD).finditer(text):
            if "%" in word[0] and compiled(_PERCENT).search(word[0]):
                yield from _percent(word[0], word.start())
    if "\\" in text:
        for line in compiled(_LINE).finditer(text):
            if "\\" in line[0] and compiled(_ESCAPE).search(line[0]):
                yield _escapes(line[0], line.start())


_BASE64 = rf"[A-Za-z0-9+/_-]{{{_LEAST_CODED},}}={{0,2}}"
_WORD, _LINE = r"[^\s\"<>]+", r"[^\n]+"
_PERCENT = r"%([0-9A-Fa-f]{2})"
_ESCAPE = r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])"
# Characters of UTF-8 but for those that steer a terminal: a secret is one line.
_UTF_8 = (
    rb"(?:[\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}){%d,}" % _LEAST_CHARS
)


_STANDARD = str.maketrans("-_", "+/")


def _base64(run: str, place: int) -> Iterator[DecodedPart]:
    """What a run of base64 says, begun at each of four characters: where its first quartet begins is not known."""
    from binascii import a2b_base64  # noqa: PLC0415  start-up: only for base64

    coded = run.rstrip("=").translate(_STANDARD)
    end = place + len(run)
    for first in range(_QUAD):
        part = coded[first:]
        if len(part) < _LEAST_CODED:
            break
        if len(part) % _QUAD == 1:
            part = part[:-1]
        data = a2b_base64(part + "=" * (-len(part) % _QUAD))
        for text, at, widths in _texts(data):
            begin, *behind = accumulate(widths, initial=at)
            starts = [place + first + one * 8 // 6 for one in (begin, *behind[:-1])]
            lasts = [place + first + (one * 8 + 5) // 6 for one in behind]
            # With its padding, where it ends with the run.
            yield text, starts, [end if one >= place + len(coded) else one for one in lasts]


def _percent(run: str, place: int) -> Iterator[DecodedPart]:
    """What percent signs encode; a plus sign may be one, or a space of a form."""
    for spelt in (run, run.replace("+", " ")) if "+" in run else (run,):
        data, places = _bytes_of(spelt, place)
        for text, first, widths in _texts(data):
            bounds = [places[one] for one in accumulate(widths, initial=first)]
            yield text, bounds[:-1], bounds[1:]


def _bytes_of(run: str, place: int) -> tuple[bytes, list[int]]:
    """The bytes that a percent-encoded run encodes, and where each of them was."""
    pieces: list[bytes] = []
    places: list[int] = []
    at = 0
    for sign in (*compiled(_PERCENT).finditer(run), None):
        end = len(run) if sign is None else sign.start()
        between = run[at:end]
        pieces.append(between.encode("utf-8", "replace"))
        if between.isascii():
            places += range(place + at, place + end)
        else:
            for number, char in enumerate(between):
                places += [place + at + number] * len(char.encode("utf-8", "replace"))
        if sign is not None:
            pieces.append(bytes.fromhex(sign[1]))
            places.append(place + end)
            at = sign.end()
    places.append(place + len(run))
    return b"".join(pieces), places


def _texts(data: bytes) -> Iterator[tuple[str, int, Sequence[int]]]:
    """The parts of some bytes that are text: each with where it begins, and how many bytes its characters take."""
    for found in re.finditer(_UTF_8, data):
        text = found[0].decode("utf-8", "replace")
        yield text, found.start(), [1] * len(text) if text.isascii() else [len(char.encode()) for char in text]


_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _escapes(line: str, place: int) -> DecodedPart:
    """A line as a reader of JSON understands its escapes."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for escape in compiled(_ESCAPE).finditer(line):
        pieces.append(line[at : escape.start()])
        starts += range(place + at, place + escape.start())
        ends += range(place + at + 1, place + escape.start() + 1)
        said = escape[0][1:]
        if said[0] == "u":
            units = b"".join(bytes.fromhex(unit) for unit in said.replace("\\", "").split("u")[1:])
            pieces.append(units.decode("utf-16-be", "replace"))
        else:
            pieces.append(_ESCAPED.get(said, said))
        starts.append(place + escape.start())
        ends.append(place + escape.end())
        at = escape.end()
    pieces.append(line[at:])
    starts += range(place + at, place + len(line))
    ends += range(place + at + 1, place + len(line) + 1)
    return "".join(pieces), starts, ends
