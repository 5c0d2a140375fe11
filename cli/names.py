"""What a word means that is no command: a command's name of before, or what other programs call it."""

import sys

from ctxrank.cli.declare import GLOBALS

# Today's words for yesterday's; the words behind stay. A kind's own `list` and `show` are answered where they stand.
OLD_NAMES = {
    "rebuild": "doctor --repair rebuild",
    "optimize": "doctor --repair optimize",
    "trace": "check --trace",
    "suggest-links": "check --suggest",
    "eval sweep": "eval --sweep",
    "error prune": "prune --expired --kind error",
    "team follow": "team sync --follow",
    "team forget-status": "team status --unconfirmed",
    "wide status": "status",
    "wide forget": "wide sync --forget",
}
_SETTINGS = "a file, .ctxrank/config.yaml: docs/configuration.md has its keys"
OTHER_WORDS = {
    "find": "'search'",
    "query": "'search'",
    "grep": "'search'",
    "ls": "'list'",
    "add": "'save', or 'index' for files",
    "remember": "'save'",
    "note": "'save'",
    "store": "'save'",
    "get": "'show', or 'reasoning get'",
    "cat": "'show'",
    "view": "'show'",
    "open": "'show', or 'web'",
    "rm": "'purge', or 'prune' for what is old",
    "delete": "'purge', or 'prune' for what is old",
    "remove": "'purge', or 'prune' for what is old",
    "forget": "'purge'",
    "match": "'error match'",
    "run": "'error run'",
    "create": "'session create', or 'init' for a store",
    "new": "'init'",
    "setup": "'init', then 'install'",
    "update": "'index'",
    "reindex": "'index', or 'doctor --repair rebuild'",
    "sync": "'team sync', or 'index'",
    "repair": "'doctor --repair'",
    "fix": "'doctor --repair', or 'error match'",
    "vacuum": "'doctor --repair optimize'",
    "stats": "'status'",
    "info": "'status'",
    "explain": "'why'",
    "block": "'assemble'",
    "backup": "'export'",
    "config": _SETTINGS,
    "settings": _SETTINGS,
    "version": "'--version'",
}


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
