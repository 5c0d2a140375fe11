"""Deciding of another store whether it is accepted here, and what follows at once: what it confirmed counts, or not."""

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.register import COUNTED
from ctxrank.indexer.store import origins
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.origins import OriginState
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.store.team_log import ask_again


def decide(change: Change, uuid: str, state: OriginState, by: str, who: str = "") -> None:
    """Accept, revoke or refuse a store that is known here, inside the caller's transaction."""
    connection = change.connection
    was_refused = origins.state_of(connection, uuid) == "refused"
    code = read_value(connection, "SELECT code FROM origins WHERE uuid = ?", (uuid,), int)
    query = "SELECT number FROM origin_counts WHERE kind = ? AND origin = ?"
    counted = [
        (KINDS[kind], number) for kind in COUNTED for number in read_column(connection, query, (kind, code), int)
    ]
    own = [merge.own_of(connection, kind, number) for kind, number in counted]
    origins.enter_state(connection, uuid, state, by, who)
    for (kind, number), counts in zip(counted, own, strict=True):
        merge.sum_up(change, kind, number, counts)
    if was_refused and state != "refused":
        ask_again(connection)  # for what it sent through the log since
