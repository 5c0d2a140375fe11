"""What the administrator of a machine has switched off, for every user and every store.

    # /etc/ctxrank/off: a name a line, owned by root and writable by root alone
    hooks                  no event of a runner is answered, nothing of a session is kept
    notes                  files in folders of notes are taken in by nobody
    import                 a command, or a group of them by its first word
    error run              a command of a group
    team                   an extension; `extensions` is all of them

A file that anybody else could have written, or with a name that is none of these, stops every command: whoever
switched something off is not to find it on by a slip.
"""

import os
import stat

from ctxrank.indexer.exceptions import UsageError

FILE = "/etc/ctxrank/off"
HOOKS, NOTES, ALL_EXTENSIONS = "hooks", "notes", "extensions"


def switched_off() -> frozenset[str]:
    """The names of the file; empty where there is none. Raises UsageError for one that cannot be read or is not root's
    alone.
    """
    try:
        info = os.lstat(FILE)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != 0 or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(
                f"{FILE} is not root's alone.", "Ask the administrator: it must be a file that only root writes."
            )
        with open(FILE, encoding="utf-8") as file:
            lines = (" ".join(line.partition("#")[0].split()) for line in file)
            return frozenset(filter(None, lines))
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    except (OSError, ValueError) as error:  # also of a folder that this user may not enter
        raise UsageError(f"{FILE} cannot be read: {error}.", "Ask the administrator.") from error


def is_off(*names: str) -> bool:
    """Whether one of these is switched off."""
    return not switched_off().isdisjoint(names)


def refused(*_: object, **__: object) -> None:
    """What a command that is switched off does in place of its action. Raises UsageError."""
    raise UsageError("This is switched off on this machine.", f"The administrator's file {FILE} says so.")
