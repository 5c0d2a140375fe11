"""How far a store is with its team's log: one row of its settings, which only a store that has joined one has.

The log itself is asked elsewhere (extensions/team, whose `state.py` writes this); what is read here costs a query of a
store with a team one row.
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_row

ENVIRONMENT = "CTXRANK_TEAM"
SETTING = "team_log"


class TeamState(NamedTuple):
    """Which project of the log a store has joined, and how far it is with it."""

    project: str
    # Which history of the log the numbers are of: it begins another one after a restore; '': it is to be read again.
    history: str = ""
    applied: int = 0  # number of the log's change up to which all that others wrote is here
    head: int = 0  # number of the log's last change when it was last asked
    pushed: int = 0  # number of this store's record log up to which all is in the log
    asked_at: int = 0  # time of the last answer; 0: none yet
    trouble: str = ""  # why the log has not answered since

    @property
    def behind(self) -> int:
        """How many changes of the log are known not to be here."""
        return max(self.head - self.applied, 0)


_READ = "SELECT {} FROM settings WHERE key = ?".format(", ".join(f"value ->> '$.{name}'" for name in TeamState._fields))


def read_state(primary: apsw.Connection) -> TeamState | None:
    """How far the store is; None where it has joined no log. SQLite reads the JSON: a query loads no library for it."""
    return read_row(primary, _READ, (SETTING,), TeamState)


def ask_again(writer: apsw.Connection) -> None:
    """Let the next exchange read all of the log, whatever one that is under way says. `writer` has a transaction."""
    query = "UPDATE settings SET value = json_set(value, '$.history', '') WHERE key = ? AND value <> ''"
    writer.execute(query, (SETTING,))
