r"""Characters that show nothing: what of them a text needs, and what is only there to hide or to carry something.

    without_invisible("gh\u200bp_")        "ghp_"
    without_invisible("❤\ufe0f\u200d🔥")      as it is: a selector and a joiner where the rules of Unicode put them

A text keeps, one at a time (two where an emoji has a selector and a joiner):

    U+FE0E, U+FE0F   behind a pictograph; U+FE0F between a digit, # or * and U+20E3 (a keycap)
    U+200D           between pictographs; next to a virama of an Indic script; after an Arabic letter
    U+200C           behind a virama; before an Arabic letter and behind a letter, a digit or a mark
    tags             behind U+1F3F4, where they say England, Scotland or Wales

Everything else that is default-ignorable goes, with the controls, private, unassigned and other characters of the
category C, and the blank of Braille. So do selectors behind letters and ideographs: a sentence fits into them.
"""

from _bisect import bisect_right
from collections.abc import Iterator

from ctxrank.indexer.light_typing import cache
from ctxrank.indexer.text.tables import rows

_Ranges = list[tuple[int, int]]


@cache
def _ranges() -> dict[str, _Ranges]:
    """The first and last character of each range with a property, by its name."""
    ranges: dict[str, _Ranges] = {"ignorable": [], "pictographic": []}
    for name, first, last in rows(__file__, "characters"):
        ranges[name].append((int(first, 16), int(last, 16)))
    return ranges


# It is a pattern without dots, and looks like a space; no rule of Unicode's calls it ignorable.
_BRAILLE_BLANK = "\u2800"
_ASCII, _SHOWN_ASCII = bytes(range(0x80)), bytes(range(0x20, 0x7F))

_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

_JOINING = _NON_JOINER, _JOINER, _TEXT_STYLE, _EMOJI_STYLE = "\u200c", "\u200d", "\ufe0e", "\ufe0f"
_KEYCAP, _KEYCAP_BASES = "\u20e3", "0123456789#*"
_BLACK_FLAG, _FIRST_TAG, _LAST_TAG = "\U0001f3f4", 0xE0020, 0xE007F
_FLAG_TAGS = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + chr(_LAST_TAG) for region in ("gbeng", "gbsct", "gbwls")
)
# The scripts whose letters join; in them a non-joiner parts a word's stem from its ending.
_ARABIC = (("\u0620", "\u074f"), ("\u0750", "\u08ff"), ("\ufb50", "\ufdff"), ("\ufe70", "\ufefc"))
_VIRAMA = 9  # Canonical_Combining_Class


_invisible: dict[str, bool] = {}  # of the characters that this process has met
_MAX_KNOWN = 1 << 14


def is_ignorable(char: str) -> bool:
    """Whether Unicode calls the character default-ignorable: shown as nothing by whatever does not know it."""
    return _is_in("ignorable", ord(char))


def is_invisible(char: str) -> bool:
    """Whether an output keeps the character only where Unicode's rules put it, or never; newline and tab are kept."""
    known = _invisible.get(char)
    if known is None:
        if len(_invisible) == _MAX_KNOWN:
            _invisible.clear()
        # Of the category C is what is neither printed nor a space.
        is_other = not char.isprintable() and (char < "\xa0" or not char.isspace())
        is_hidden = is_other or is_ignorable(char) or char == _BRAILLE_BLANK
        known = _invisible[char] = is_hidden and char not in "\n\t"
    return known


def without_invisible(text: str) -> str:
    """The text without what shows nothing, but for joiners, selectors and tags where Unicode's rules put them."""
    hidden = {char for char in _beyond(text, _SHOWN_ASCII) if is_invisible(char)}
    return _without(text, hidden) if hidden else text


def without_ignorable(text: str) -> str:
    """The same, of the default-ignorable and the blank of Braille alone: controls and private characters stay."""
    if text.isascii():
        return text
    hidden = {char for char in _beyond(text, _ASCII) if is_ignorable(char) or char == _BRAILLE_BLANK}
    return _without(text, hidden) if hidden else text


def _beyond(text: str, plain: bytes) -> set[str]:
    # What is plain is cut out as bytes: a set of all characters takes five times as long.
    return set(text.encode("utf-8", "surrogatepass").translate(None, plain).decode("utf-8", "surrogatepass"))


def _without(text: str, hidden: set[str]) -> str:
    kept = {char for char in hidden if char in _JOINING or _FIRST_TAG <= ord(char) <= _LAST_TAG}
    if hidden != kept:
        text = text.translate({ord(char): None for char in hidden - kept})
    if not kept:
        return text
    parts: list[str] = []
    at = 0
    for start, end in _runs(text, kept):
        parts += text[at:start], _needed(text[start:end], text[start - 1 : start], text[end : end + 1])
        at = end
    return "".join((*parts, text[at:]))


def _runs(text: str, chars: set[str]) -> Iterator[tuple[int, int]]:
    """Where runs of these characters begin and end; without an expression, which takes half of a bare start."""
    starts: list[int] = []
    for char in chars:
        at = text.find(char)
        while at >= 0:
            starts.append(at)
            at = text.find(char, at + 1)
    end = -1
    for start in sorted(starts):
        if start < end:
            continue
        end = start + 1
        while text[end : end + 1] in chars:
            end += 1
        yield start, end


def _needed(run: str, before: str, behind: str) -> str:
    """What of a run of joiners, selectors and tags is needed between these two characters; '' is a text's end."""
    if run[0] == _EMOJI_STYLE and before and before in _KEYCAP_BASES and behind == _KEYCAP:
        return _EMOJI_STYLE
    if run[0] in (_TEXT_STYLE, _EMOJI_STYLE) and _is_pictograph(before):
        is_joined = run[:2] == _EMOJI_STYLE + _JOINER and _is_pictograph(behind)
        return run[:2] if is_joined else run[0]
    if run[0] == _JOINER:
        is_emoji = (_is_pictograph(before) or before in tuple(_SKIN_TONES)) and _is_pictograph(behind)
        is_indic = _is_virama(before) or (before.isalpha() and _is_virama(behind))
        return run[0] if is_emoji or is_indic or _is_arabic(before) else ""
    if run[0] == _NON_JOINER:
        import unicodedata  # noqa: PLC0415  start-up: few texts have joiners

        is_of_word = before.isalnum() or (before != "" and unicodedata.category(before)[0] == "M")
        return run[0] if _is_virama(before) or (is_of_word and _is_arabic(behind)) else ""
    return run if before == _BLACK_FLAG and run in _FLAG_TAGS else ""


def _is_pictograph(char: str) -> bool:
    return char != "" and _is_in("pictographic", ord(char))


def _is_virama(char: str) -> bool:
    import unicodedata  # noqa: PLC0415  as above

    return char != "" and unicodedata.combining(char) == _VIRAMA


def _is_arabic(char: str) -> bool:
    return char.isalpha() and any(first <= char <= last for first, last in _ARABIC)


def _is_in(name: str, code: int) -> bool:
    ranges = _ranges()[name]
    at = bisect_right(ranges, (code, 0x110000)) - 1
    return at >= 0 and code <= ranges[at][1]
