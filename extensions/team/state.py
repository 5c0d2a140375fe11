"""How far a store is with its team's log, as the exchange changes it and as a person and a program read it.

`store/team_log.py` has what it is.
"""

import apsw

from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.store.team_log import SETTING, TeamState


def write_state(change: Change, state: TeamState) -> None:
    """Keep how far the store is."""
    places = ", ".join(f"'{name}', ?" for name in state._fields)
    query = f"INSERT OR REPLACE INTO settings (key, value) VALUES (?, json_object({places}))"
    change.connection.execute(query, (SETTING, *state))


def unpushed(primary: apsw.Connection, state: TeamState) -> int:
    """How many changes of this store are not in the log yet; those of other stores' records among them."""
    query = "SELECT count(*) FROM record_log WHERE seq > ? AND (number > 0 OR gone = 2)"
    return int(primary.execute(query, (state.pushed,)).get)


def is_due(primary: apsw.Connection, state: TeamState, stale_us: int) -> bool:
    """Whether there is something to push, or the log has not answered for so long."""
    query = "SELECT 1 FROM record_log WHERE seq > ? LIMIT 1"
    return now_us() - state.asked_at > stale_us or primary.execute(query, (state.pushed,)).fetchone() is not None


def as_json(state: TeamState) -> dict[str, object]:
    """How up to date the team's memory is here, as the fields of an answer."""
    return {
        "project": state.project,
        "as_of": format_us(state.asked_at) if state.asked_at else None,
        "change": state.applied,
        "behind": state.behind,
        "trouble": state.trouble or None,
    }


def sentence(state: TeamState) -> str:
    """The same in words: as of which time, and how many changes are known not to be here."""
    if not state.asked_at:
        return "team memory: nothing yet"
    # To the minute: a note is read by a person, who looks at the clock on the wall.
    moment = format_us(state.asked_at - state.asked_at % 60_000_000).replace("T", " ")[:16]
    return f"team memory as of {moment} UTC, {state.behind} changes behind"
