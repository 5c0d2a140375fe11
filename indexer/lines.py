"""Text that is safe to show on one line: no control characters, no terminal or bidirectional tricks."""

import unicodedata

# Characters that reorder or hide the text around them (Unicode TR9 and TR36).
_INVISIBLE = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x00AD]
)


def one_line(text: str) -> str:
    """The text on one line: line breaks and runs of white space become one space, controls go."""
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """The text without terminal escapes, control characters (but newline and tab) and bidi overrides."""
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_INVISIBLE)
    return "".join(
        character
        for character in text
        if character in "\n\t" or character == "\r" or not unicodedata.category(character).startswith("C")
    ).replace("\r", "\n")
