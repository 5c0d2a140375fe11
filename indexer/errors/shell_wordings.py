"""What shells say of the same failure, in one wording: bash's.

    in_one_wording("command not found: jq")          ->  "jq: command not found"       zsh
    in_one_wording("can't cd to build")              ->  "cd: build: No such file or directory"    dash
    in_one_wording("Unknown command: jq")            ->  "jq: command not found"       fish

A script that fails under /bin/sh on one machine fails under bash on another, and the cause is the same. Messages that
are no shell's come back as they are.
"""

import re

_NOT_FOUND = r"\g<a>: command not found"
_NO_FILE = r"\g<a>: No such file or directory"
_NO_FOLDER = r"cd: \g<a>: No such file or directory"
_DENIED = r"\g<a>: Permission denied"
_UNSET = r"\g<a>: unbound variable"
_IS_DIRECTORY = r"\g<a>: Is a directory"
# Who speaks: a shell that names itself, and the line.
_WHO = r"^(?:(?:ba|z|da|k|c|fi)?sh: |line \d+: |\d+: )*"

# Each with what a message must hold, its whole expression, and the wording instead.
_WORDINGS: tuple[tuple[str, str, str], ...] = (
    ("not found", r"(?P<a>[^\s:]+): (?:applet )?not found", _NOT_FOUND),
    ("command not found: ", r"command not found: (?P<a>\S+)", _NOT_FOUND),
    ("Unknown command", r"Unknown command:? (?P<a>[^\s'\"]+)", _NOT_FOUND),
    (
        "is not recognized as ",
        r"(?:[^:]+ ?: )?(?:The term )?'(?P<a>[^']+)' is not recognized as (?:a|an|the) (?:name of a cmdlet"
        r"|internal or external command).*",
        _NOT_FOUND,
    ),
    ("can't cd to ", r"(?:[\w-]+: )*can't cd to (?P<a>\S+?)(?:: No such file or directory)?", _NO_FOLDER),
    ("cd: no such file or directory: ", r"cd: no such file or directory: (?P<a>.+)", _NO_FOLDER),
    ("does not exist", r"cd: The directory '(?P<a>[^']+)' does not exist", _NO_FOLDER),
    (
        "Cannot find path",
        r"(?:Set-Location|cd) ?: Cannot find path '(?P<a>[^']+)' because it does not exist\.",
        _NO_FOLDER,
    ),
    ("Cannot find path", r"(?:[\w-]+ ?: )?Cannot find path '(?P<a>[^']+)' because it does not exist\.", _NO_FILE),
    ("no such file or directory: ", r"no such file or directory: (?P<a>.+)", _NO_FILE),
    ("open ", r"(?:cannot|can't) open '?(?P<a>[^\s':]+)'?(?:: No such file(?: or directory)?)?", _NO_FILE),
    ("annot create ", r"cannot create (?P<a>[^\s:]+): (?:Directory nonexistent|No such file or directory)", _NO_FILE),
    ("ermission denied: ", r"permission denied: (?P<a>.+)", _DENIED),
    ("annot create ", r"cannot create (?P<a>[^\s:]+): Permission denied", _DENIED),
    ("annot open ", r"cannot open (?P<a>[^\s:]+): Permission denied", _DENIED),
    ("annot create ", r"cannot create (?P<a>[^\s:]+): Is a directory", _IS_DIRECTORY),
    ("is a directory: ", r"is a directory: (?P<a>.+)", _IS_DIRECTORY),
    ("parameter not set", r"(?P<a>\w+): parameter not set", _UNSET),
    (
        "has not been set",
        r"(?:[^:]+: )?The variable '\$(?P<a>\w+)' cannot be retrieved because it has not been set\.",
        _UNSET,
    ),
)  # fmt: skip


def in_one_wording(message: str) -> str:
    """The message in bash's words if it is a shell's of a known kind, else as it is."""
    for sign, pattern, instead in _WORDINGS:
        if sign in message and (match := re.match(rf"{_WHO}{pattern}$", message)) is not None:
            return match.expand(instead)
    return message
