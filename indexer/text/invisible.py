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

import re
import unicodedata
from bisect import bisect_right
from functools import cache, lru_cache

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 14.0 to 16.0: first and last of each range.
_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# It is a pattern without dots, and looks like a space; no rule of Unicode's calls it ignorable.
_BRAILLE_BLANK = "\u2800"
_ASCII = bytes(range(0x80))

# Extended_Pictographic of emoji-data.txt, Unicode 14.0 to 16.0, likewise.
_PICTOGRAPHS = (
    (0x00A9, 0x00A9), (0x00AE, 0x00AE), (0x203C, 0x203C), (0x2049, 0x2049), (0x2122, 0x2122), (0x2139, 0x2139),
    (0x2194, 0x2199), (0x21A9, 0x21AA), (0x231A, 0x231B), (0x2328, 0x2328), (0x2388, 0x2388), (0x23CF, 0x23CF),
    (0x23E9, 0x23F3), (0x23F8, 0x23FA), (0x24C2, 0x24C2), (0x25AA, 0x25AB), (0x25B6, 0x25B6), (0x25C0, 0x25C0),
    (0x25FB, 0x25FE), (0x2600, 0x2605), (0x2607, 0x2612), (0x2614, 0x2685), (0x2690, 0x2705), (0x2708, 0x2712),
    (0x2714, 0x2714), (0x2716, 0x2716), (0x271D, 0x271D), (0x2721, 0x2721), (0x2728, 0x2728), (0x2733, 0x2734),
    (0x2744, 0x2744), (0x2747, 0x2747), (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755), (0x2757, 0x2757),
    (0x2763, 0x2767), (0x2795, 0x2797), (0x27A1, 0x27A1), (0x27B0, 0x27B0), (0x27BF, 0x27BF), (0x2934, 0x2935),
    (0x2B05, 0x2B07), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55), (0x3030, 0x3030), (0x303D, 0x303D),
    (0x3297, 0x3297), (0x3299, 0x3299), (0x1F000, 0x1F0FF), (0x1F10D, 0x1F10F), (0x1F12F, 0x1F12F),
    (0x1F16C, 0x1F171), (0x1F17E, 0x1F17F), (0x1F18E, 0x1F18E), (0x1F191, 0x1F19A), (0x1F1AD, 0x1F1E5),
    (0x1F201, 0x1F20F), (0x1F21A, 0x1F21A), (0x1F22F, 0x1F22F), (0x1F232, 0x1F23A), (0x1F23C, 0x1F23F),
    (0x1F249, 0x1F3FA), (0x1F400, 0x1F53D), (0x1F546, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F774, 0x1F77F),
    (0x1F7D5, 0x1F7FF), (0x1F80C, 0x1F80F), (0x1F848, 0x1F84F), (0x1F85A, 0x1F85F), (0x1F888, 0x1F88F),
    (0x1F8AE, 0x1F8FF), (0x1F90C, 0x1F93A), (0x1F93C, 0x1F945), (0x1F947, 0x1FAFF), (0x1FC00, 0x1FFFD),
)  # fmt: skip
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

_NON_JOINER, _JOINER, _TEXT_STYLE, _EMOJI_STYLE = "\u200c", "\u200d", "\ufe0e", "\ufe0f"
_KEYCAP, _KEYCAP_BASES = "\u20e3", "0123456789#*"
_BLACK_FLAG, _FIRST_TAG, _LAST_TAG = "\U0001f3f4", 0xE0020, 0xE007F
_FLAG_TAGS = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + chr(_LAST_TAG) for region in ("gbeng", "gbsct", "gbwls")
)
# The scripts whose letters join; in them a non-joiner parts a word's stem from its ending.
_ARABIC = (("\u0620", "\u074f"), ("\u0750", "\u08ff"), ("\ufb50", "\ufdff"), ("\ufe70", "\ufefc"))
_VIRAMA = 9  # Canonical_Combining_Class


def is_ignorable(char: str) -> bool:
    """Whether Unicode calls the character default-ignorable: shown as nothing by whatever does not know it."""
    return _is_in(_IGNORABLE, ord(char))


@lru_cache(maxsize=1 << 14)
def is_invisible(char: str) -> bool:
    """Whether an output keeps the character only where Unicode's rules put it, or never; newline and tab are kept."""
    if char in "\n\t":
        return False
    return unicodedata.category(char)[0] == "C" or is_ignorable(char) or char == _BRAILLE_BLANK


def without_invisible(text: str) -> str:
    """The text without what shows nothing, but for joiners, selectors and tags where Unicode's rules put them."""
    if text.isascii() and text.isprintable():
        return text
    hidden = {char for char in set(text) if is_invisible(char)}
    return _without(text, hidden) if hidden else text


def without_ignorable(text: str) -> str:
    """The same, of the default-ignorable and the blank of Braille alone: controls and private characters stay."""
    if text.isascii():
        return text
    if len(text) < _SHORT_CHARS:
        # What is not ASCII is cut out as bytes: a set of all characters takes five times as long.
        others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
        hidden = {char for char in set(others) if is_ignorable(char) or char == _BRAILLE_BLANK}
    else:
        hidden = set(_ignorable().findall(text))
    return _without(text, hidden) if hidden else text


# Compiling the pattern takes as long as going through this many characters without it.
_SHORT_CHARS = 20_000


@cache
def _ignorable() -> re.Pattern[str]:
    """One character that is default-ignorable, or the blank of Braille."""
    ranges = "".join(f"{chr(first)}-{chr(last)}" for first, last in _IGNORABLE)
    return re.compile(f"[{ranges}{_BRAILLE_BLANK}]")


def _without(text: str, hidden: set[str]) -> str:
    kept = {char for char in hidden if char in f"{_NON_JOINER}{_JOINER}{_TEXT_STYLE}{_EMOJI_STYLE}" or _is_tag(char)}
    if hidden != kept:
        text = text.translate({ord(char): None for char in hidden - kept})
    if not kept:
        return text
    return re.sub(
        f"[{_NON_JOINER}{_JOINER}{_TEXT_STYLE}{_EMOJI_STYLE}{chr(_FIRST_TAG)}-{chr(_LAST_TAG)}]+",
        lambda run: _needed(run[0], text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]),
        text,
    )


def _needed(run: str, before: str, behind: str) -> str:
    """What of a run of joiners, selectors and tags is needed between these two characters; '' is a text's end."""
    if run[0] == _EMOJI_STYLE and before and before in _KEYCAP_BASES and behind == _KEYCAP:
        return _EMOJI_STYLE
    if run[0] in (_TEXT_STYLE, _EMOJI_STYLE) and _is_pictograph(before):
        is_joined = run[:2] == _EMOJI_STYLE + _JOINER and _is_pictograph(behind)
        return run[:2] if is_joined else run[0]
    if run[0] == _JOINER:
        return run[0] if _takes_joiner(before, behind) else ""
    if run[0] == _NON_JOINER:
        return run[0] if _takes_non_joiner(before, behind) else ""
    return run if before == _BLACK_FLAG and run in _FLAG_TAGS else ""


def _takes_joiner(before: str, behind: str) -> bool:
    is_emoji = (_is_pictograph(before) or before in tuple(_SKIN_TONES)) and _is_pictograph(behind)
    return is_emoji or _is_virama(before) or (before.isalpha() and _is_virama(behind)) or _is_arabic(before)


def _takes_non_joiner(before: str, behind: str) -> bool:
    is_of_word = before.isalnum() or (before != "" and unicodedata.category(before)[0] == "M")
    return _is_virama(before) or (is_of_word and _is_arabic(behind))


def _is_tag(char: str) -> bool:
    return _FIRST_TAG <= ord(char) <= _LAST_TAG


def _is_pictograph(char: str) -> bool:
    return char != "" and _is_in(_PICTOGRAPHS, ord(char))


def _is_virama(char: str) -> bool:
    return char != "" and unicodedata.combining(char) == _VIRAMA


def _is_arabic(char: str) -> bool:
    return char.isalpha() and any(first <= char <= last for first, last in _ARABIC)


def _is_in(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    at = bisect_right(ranges, (code, 0x110000)) - 1
    return at >= 0 and code <= ranges[at][1]
