"""The process that exchanges with the team's log, started where there is something to exchange and none is at it.

Nothing waits for it: a command answers from what is here, and starts it in about a millisecond when it is done.
"""

import os
import sys

from ctxrank.extensions.team.state import is_due
from ctxrank.indexer.clock import SECOND_US
from ctxrank.indexer.store.location import TEAM_LOCK
from ctxrank.indexer.store.one_process import holder
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import ENVIRONMENT, read_state

STALE_US = 60 * SECOND_US  # a read that is told nothing newer has the log asked


def wake(store: Store) -> None:
    """Start it for a store of a team that has something to push, or has not heard of the log for so long."""
    state = read_state(store.primary)
    if state is None or not is_due(store.primary, state, STALE_US):
        return
    if holder(os.path.join(store.location.folder, TEAM_LOCK)) or not sys.executable:
        return
    # -P: what is in the folder we were called from is not imported in place of a module of ours.
    command = [sys.executable, "-P", "-m", "ctxrank.extensions.team.updater", store.location.primary]
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    environment = {**os.environ, ENVIRONMENT: store.config.team_dsn}
    try:  # noqa: SIM105  contextlib costs a command half a millisecond
        # It costs no import, and less than a fork; in a group of its own, so that Ctrl-C here does not end it.
        os.posix_spawn(sys.executable, command, environment, file_actions=nothing, setpgroup=0)
    except OSError:
        pass  # the next command tries again
