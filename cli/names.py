"""What a word means that is not ours: a command's name of before, or what other programs call what we have."""

import sys
from collections.abc import Collection

from ctxrank.cli.command_table import GLOBALS, rows_of

_ROWS = rows_of("ctxrank.cli", "names")
OLD_NAMES = {word: now for kind, word, now in _ROWS if kind == "name"}
OTHER_WORDS = {(kind, word): ours for kind, word, ours in _ROWS if kind != "name"}


def meant(kind: str, word: str, known: Collection[str]) -> str:
    """A sentence on what a word that is not known means: what the table says, or near words; '' for neither."""
    ours = OTHER_WORDS.get((kind, word), "")
    if kind != "command":
        ours = next((f"'{one}'" for one in ours.split() if one in known), "")
    if ours:
        return f" Here it is {ours}."
    from difflib import get_close_matches  # noqa: PLC0415  only for a typing error

    near = get_close_matches(word, known, n=2)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def renamed(arguments: list[str]) -> list[str]:
    """The arguments with an old name replaced by today's, which stderr says; the same where there is none."""
    valued = {word for one in GLOBALS if not one.is_flag for word in one.on_words}
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in valued else 1
    for count in (2, 1):
        old = " ".join(arguments[at : at + count])
        if old in OLD_NAMES:
            if not {"-q", "--quiet"} & set(arguments):
                print(f"ctxrank: '{old}' is '{OLD_NAMES[old]}' now.", file=sys.stderr)
            return [*arguments[:at], *OLD_NAMES[old].split(), *arguments[at + count :]]
    return arguments
