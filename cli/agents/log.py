"""The log of the hook: a line for each event that could not be answered. `ctxrank status` shows its end.

    $XDG_STATE_HOME/ctxrank/hook.log     2026-11-23T08:14:02Z no store: There is no store in /home/me/shop …

A hook says nothing to the runner's user, so this is where it says what went wrong; nothing of an event's texts.
"""

import os

from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.store.location import state_folder
from ctxrank.indexer.text.lines import one_line, shorten

_FILE = "hook.log"
_MAX_BYTES = 64 * 1024
_MAX_LINE_CHARS = 300
_SHOWN = 3


def note_failure(reason: str) -> None:
    """Add a line; what prevents that is not said anywhere."""
    folder = state_folder()
    if not folder:
        return
    line = f"{format_us(now_us())} {shorten(one_line(reason), _MAX_LINE_CHARS)}\n"
    path = os.path.join(folder, _FILE)
    try:
        from ctxrank.indexer.store.known_stores import make_folder_of_ours  # noqa: PLC0415  only where something failed

        make_folder_of_ours(folder)
        _drop_older(path)
        _append(path, line)
    except OSError:
        return


def _append(path: str, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line.encode("utf-8", "backslashreplace"))
    finally:
        os.close(descriptor)


def _drop_older(path: str) -> None:
    """Keep the log small: the one before it is kept once."""
    try:
        if os.lstat(path).st_size > _MAX_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        return


def last_failures() -> list[str]:
    """The last lines of the log, the oldest first."""
    from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  a hook writes, and only `status` reads

    folder = state_folder()
    try:
        text = read_beneath(folder, _FILE, 2 * _MAX_BYTES).decode("utf-8", "replace") if folder else ""
    except OSError:
        return []
    return [one_line(line) for line in text.split("\n") if line][-_SHOWN:]
