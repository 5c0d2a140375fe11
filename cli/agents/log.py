"""The log of the hook: a line for each event that could not be answered. `ctxrank status` shows its project's last.

    $XDG_STATE_HOME/ctxrank/hook.log
    2026-11-23T08:14:02Z<tab>/home/me/shop<tab>no store: There is no store in /home/me/shop …

A hook says nothing to the runner's user, so this is where it says what went wrong; nothing of an event's texts. All
projects share the log: a line says in which folder its event was.
"""

import os

from ctxrank.indexer.beneath import is_inside, read_beneath
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.store.location import find_store, state_folder
from ctxrank.indexer.systems import give_to_owner_of_folder
from ctxrank.indexer.text.lines import one_line, shorten

_FILE = "hook.log"
_MAX_BYTES = 64 * 1024
_MAX_LINE_CHARS = 300
_SHOWN = 3


def note_failure(reason: str, place: str = "") -> None:
    """Add a line about an event in a folder ('': that of this process); what prevents that is not said anywhere."""
    folder = state_folder()
    if not folder:
        return
    path = os.path.join(folder, _FILE)
    try:
        place = one_line(os.path.abspath(place))
        line = f"{format_us(now_us())}\t{place}\t{shorten(one_line(reason), _MAX_LINE_CHARS)}\n"
        from ctxrank.indexer.store.known_stores import make_folder_of_ours  # noqa: PLC0415  only where something failed

        make_folder_of_ours(folder)
        if os.path.lexists(path) and os.lstat(path).st_size > _MAX_BYTES:
            os.replace(path, f"{path}.1")  # it stays small: the log before it is kept once
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        give_to_owner_of_folder(path)
        try:
            os.write(descriptor, line.encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError:
        return


def last_failures(primary: str) -> list[str]:
    """The last lines about events of the project whose store this is, the oldest first."""
    folder = state_folder()
    try:
        text = read_beneath(folder, _FILE, 2 * _MAX_BYTES).decode("utf-8", "replace") if folder else ""
    except OSError:
        return []
    events = [cells for line in text.split("\n") if len(cells := line.split("\t", 2)) == 3]  # a line may be half
    places = {place for _, place, _ in events}
    ours = {place for place in places if _is_of_store(place, primary)}
    return [one_line(f"{moment} {reason}") for moment, place, reason in events if place in ours][-_SHOWN:]


def _is_of_store(place: str, primary: str) -> bool:
    """Whether an event in a folder is one for a store: a call from there finds it, or no other."""
    try:
        return os.path.samefile(find_store(start=place).primary, primary)
    except (CtxrankError, OSError):
        project = os.path.dirname(os.path.dirname(os.path.realpath(primary)))
        return is_inside(project, os.path.realpath(place))
