"""The background process of `wake`: exchanges with the log, stays a while for what comes next, and ends by itself.

python -P -m ctxrank.extensions.team.updater .ctxrank/ctxrank.db
"""

import os
import signal
import sys

from ctxrank.extensions.team.watch import LogWatch
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine
from ctxrank.indexer.store.location import TEAM_LOCK, at
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.store import open_at
from ctxrank.indexer.store.team_log import ENVIRONMENT
from ctxrank.indexer.systems import unbound_memory

IDLE_S = 20.0  # a session's next command finds it running
MOST_S = 600.0
BUSY_MS = 5000


def main(primary: str) -> None:
    """Exchange until nothing happened for a while; at once where another process does so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unbound_memory()  # a hook may have started it
    location = at(primary)
    lock = os.path.join(location.folder, TEAM_LOCK)
    with (
        only_one(lock, str(os.getpid()), lambda says: LockedError(f"Process {says} does so already.")),
        open_at(location, Fts5Engine, BUSY_MS) as store,
    ):
        LogWatch(store, os.environ.get(ENVIRONMENT, "")).run(idle_s=IDLE_S, most_s=MOST_S)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except CtxrankError:
        sys.exit(1)  # `team status` says what is in the way
