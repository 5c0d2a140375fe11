"""The process that exchanges with the team's log, started where there is something to exchange and none is at it.

Nothing waits for it: a command answers from what is here, and starts it in about a millisecond when it is done.
"""

import os

from ctxrank.extensions.team.state import is_due
from ctxrank.indexer.clock import SECOND_US
from ctxrank.indexer.store.location import TEAM_LOCK
from ctxrank.indexer.store.one_process import holder, start_for
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import ENVIRONMENT, read_state

STALE_US = 60 * SECOND_US  # a read that is told nothing newer has the log asked


def wake(store: Store) -> None:
    """Start it for a store of a team that has something to push, or has not heard of the log for so long."""
    state = read_state(store.primary)
    if state is None or not is_due(store.primary, state, STALE_US):
        return
    if not holder(os.path.join(store.location.folder, TEAM_LOCK)):
        start_for("ctxrank.extensions.team.updater", store.location.primary, {ENVIRONMENT: store.config.team_dsn})
