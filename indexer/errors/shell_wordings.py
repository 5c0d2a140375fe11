"""What shells say of the same failure, in one wording: bash's.

    in_one_wording("command not found: jq")          ->  "jq: command not found"       zsh
    in_one_wording("can't cd to build")              ->  "cd: build: No such file or directory"    dash
    in_one_wording("Unknown command: jq")            ->  "jq: command not found"       fish

A script that fails under /bin/sh on one machine fails under bash on another, and the cause is the same. Messages that
are no shell's come back as they are.
"""

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import rows

# Who speaks: a shell that names itself, and the line.
_WHO = r"^(?:(?:ba|z|da|k|c|fi)?sh: |line \d+: |\d+: )*"


def in_one_wording(message: str) -> str:
    """The message in bash's words if it is a shell's of a known kind, else as it is."""
    for sign, pattern, instead in rows("shell_wordings"):
        if sign in message and (match := kept.match(rf"{_WHO}{pattern}$", message)) is not None:
            return instead.replace("…", match["a"])
    return message
