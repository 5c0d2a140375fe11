r"""Terminal escapes: what a program prints to colour, link or move, and no person reads.

    without_escapes("\x1b[31merror\x1b[0m: see \x1b]8;;https://h\x07the log\x1b]8;;\x07")     "error: see the log"

Both spellings are known: ESC and a character, and the one control (C1) that says the same. A sequence that is cut off
loses its introducer alone, so that nothing of a text is swallowed by it.
"""

import re
from functools import cache

# Each of these begins or ends a sequence; without the rest of one it says nothing.
INTRODUCERS = "\x1b\x90\x98\x9b\x9c\x9d\x9e\x9f"

# It never goes past another introducer, so that each character is looked at once.
_STRING = r"[^\x07\x1b\x80-\x9f\n]{0,4096}+"
_SEQUENCE = (
    # Each kind stands behind the one class that all begin with: so the places without one are left out in a quarter
    # of the time that a choice between beginnings takes.
    rf"[{INTRODUCERS}](?:"
    # CSI: colours and movement
    r"(?:(?<=\x1b)\[|(?<=\x9b))[0-?]*+[ -/]*+[@-~]"
    # OSC: titles and links; ended by BEL, ST, another sequence or a cut
    rf"|(?:(?<=\x1b)\]|(?<=\x9d)){_STRING}(?:\x07|\x1b\\|\x9c|(?=\x1b)|\Z)"
    # DCS, SOS, PM, APC: strings for the terminal itself
    rf"|(?:(?<=\x1b)[PX^_]|(?<=[\x90\x98\x9e\x9f])){_STRING}(?:\x1b\\|\x9c)"
    # character sets (two characters and more), then all others of two; `ESC [` of what was cut off keeps its bracket
    r"|(?<=\x1b)[ -/]++[0-~]|(?<=\x1b)[0-OQ-WYZ\\`-~]"
    r")?"  # no `?+`: Python 3.11.2 repeats a possessive group that matches nothing until memory ends
)


@cache
def escape_sequence() -> re.Pattern[str]:
    """A whole sequence, or the introducer of one that was cut off; linear on any text."""
    return re.compile(_SEQUENCE)


def has_escapes(text: str) -> bool:
    """Whether a sequence begins anywhere."""
    return "\x1b" in text or (not text.isascii() and any(sign in text for sign in INTRODUCERS))


def without_escapes(text: str) -> str:
    """The text as a person would read it in a terminal; no introducer is left."""
    return escape_sequence().sub("", text) if has_escapes(text) else text
