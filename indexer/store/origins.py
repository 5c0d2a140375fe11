"""What other stores may do here. Each is an origin, and this is the one place that says what was decided of it.

    asked       nobody has decided: its records are found and labelled, and said nowhere unasked; its orders wait
    accepted    its records are said with its name, its confirmations count, its orders are carried out within a bound
    revoked     as asked, but decided: nobody is asked again
    refused     and nothing more of it comes in

What came through a team's log that this store joined is accepted as it comes; what came in a file is asked about.
"""

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.light_typing import Literal, NamedTuple, cast
from ctxrank.indexer.store.connection import read_map, read_rows, read_value, require_value
from ctxrank.indexer.store.ids import IS_VOUCHED, is_accepted, origin_name
from ctxrank.indexer.store.imported_rows import write_entry

OriginState = Literal["asked", "accepted", "refused", "revoked"]
MAX_WHO_CHARS = 60
HERE = "here"  # what this store is called among origins


class KnownOrigin(NamedTuple):
    """Another store: its uuid, what it is called, what was decided of it, by what and when, and its records here."""

    code: int
    origin: str
    name: str
    state: OriginState
    decided_by: str
    decided_at: int | None
    records: int
    is_told: bool


def known_origins(primary: apsw.Connection) -> list[KnownOrigin]:
    """All other stores, those that are asked about first, then by name."""
    query = """
        SELECT o.code, o.uuid, o.who, o.state, o.decided_by, nullif(o.decided_at, 0), ifnull(d.records, 0), o.is_told
          FROM origins AS o
          LEFT JOIN (SELECT -record_id >> 31 AS code, count(*) AS records FROM documents WHERE record_id < 0 GROUP BY 1)
               AS d USING (code) ORDER BY o.state <> 'asked', o.who, o.uuid
    """
    return list(read_rows(primary, query, (), KnownOrigin))


def origin_labels(primary: apsw.Connection) -> dict[int, str]:
    """What each origin is called, by its code: the name that it was given, or else its digits; 0 is this store."""
    names = read_map(primary, "SELECT code, who FROM origins", (), int, str)
    return {0: HERE} | {code: who or origin_name(code) for code, who in names.items()}


def origin_codes(primary: apsw.Connection, name: str) -> list[int]:
    """The codes of the origins that are called so, or whose digits these are."""
    wanted = name.strip().lower()
    return [code for code, label in origin_labels(primary).items() if wanted in (label.lower(), origin_name(code))]


def state_of(primary: apsw.Connection, uuid: str) -> OriginState:
    """What was decided of a store; of one that is not known nothing."""
    query = "SELECT state FROM origins WHERE uuid = ?"
    return cast("OriginState", read_value(primary, query, (uuid,), str) or "asked")


def is_of_log(primary: apsw.Connection, uuid: str) -> bool:
    """Whether a store was accepted because it comes through the team's log, and by nothing else."""
    query = "SELECT 1 FROM origins WHERE uuid = ? AND state = 'accepted' AND decided_by = 'log'"
    return read_value(primary, query, (uuid,), int) is not None


def is_vouched(primary: apsw.Connection, kind: str, row_id: int) -> bool:
    """Whether somebody who is believed here stands for a record that all stores have one of."""
    if kind == "error":
        return bool(read_value(primary, f"SELECT {IS_VOUCHED} FROM error_patterns AS e WHERE e.id = ?", (row_id,), int))
    return is_accepted(primary, row_id)


def note_saved(writer: apsw.Connection, row_id: int) -> None:
    """Say of a known error of another store that its fix was saved here. `writer` has a transaction open."""
    if row_id < 0:
        write_entry(writer, "saved", "error", row_id, "", row_id)


def enter_state(writer: apsw.Connection, uuid: str, state: OriginState, by: str, who: str = "") -> None:
    """Enter a decision; a name that was there stays where none is given. `writer` has a transaction open."""
    query = """
        UPDATE origins
           SET state = ?, decided_by = ?, decided_at = ?, is_told = ?2 <> 'log', who = coalesce(nullif(?, ''), who)
         WHERE uuid = ?
    """
    writer.execute(query, (state, by, now_us(), who[:MAX_WHO_CHARS], uuid))


def count_waiting(primary: apsw.Connection) -> int:
    """How many orders wait for a person here."""
    return require_value(primary, "SELECT count(*) FROM orders WHERE state = 'waiting'", (), int)
