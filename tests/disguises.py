"""What hides in a text: each character that is shown as nothing, and each form of a terminal's escapes."""

import unicodedata

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 14.0 to 16.0.
IGNORABLE: tuple[str, ...] = tuple(
    chr(code)
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
# A line's end and a tab are shown.
CONTROLS = tuple(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r")
ESCAPES = (
    "\x1b[31m", "\x1b[0m", "\x1b[m", "\x1b[01;31m\x1b[K", "\x1b[38;5;196m", "\x1b[2K", "\x1b[10;20H", "\x1b[?25l",
    "\x1b[1 q",
    "\x1b[!p", "\x9b31m", "\x9b?25h",
    "\x1b]0;a title\x07", "\x1b]0;a title\x1b\\", "\x1b]8;;https://example.org/\x1b\\", "\x1b]8;;\x07", 
    "\x9d0;a title\x9c",
    "\x1bP1$r0m\x1b\\", "\x90q\x9c", "\x1bXa string\x1b\\", "\x1b^a message\x1b\\", "\x1b_a command\x1b\\",
    "\x9fa command\x9c",
    "\x1b(B", "\x1b)0", "\x1b#8", "\x1b%G", "\x1b $F", "\x1bM", "\x1bc", "\x1b7", "\x1b8", "\x1b=", "\x1b>", 
    "\x1b\\", "\x1bD",
    "\x1bN", "\x1b~", "\x1b[", "\x1b]", "\x1b",
)  # fmt: skip
BRAILLE_BLANK = "\u2800"
# One of each class: what is inserted at every place of every secret.
CLASSES = (
    "\u200b", "\u200d", "\u200c", "\xad", "\ufeff", "\u202e", "\u2066", "\ufe0f", "\U000e0100", "\U000e0041", "\u034f",
    "\u3164",
    "\u115f", "\u17b4", "\u180b", "\u2065", "\ufff0", "\U0001d173", BRAILLE_BLANK, "\ue000", "\x00",
    "\x01", "\x08", "\x0b",
    "\x0c", "\x1b", "\x7f", "\x85", "\x9b", "\x1b[01;31m\x1b[K", "\x1b]8;;https://h.example/\x1b\\", "\x1bM",
)  # fmt: skip


def is_hidden(char: str) -> bool:
    """Whether a person would not see the character."""
    return unicodedata.category(char)[0] == "C" or char in IGNORABLE or char == BRAILLE_BLANK
