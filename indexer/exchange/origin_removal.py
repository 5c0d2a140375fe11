"""Taking another machine out of a store: all that it made, what it counted, and what it saw of packages.

    forget_origin(store, "9f3c27ab").removed == {"package": 12, …}

Nothing of it comes in again until it is allowed. Other stores keep what they have of it: this is no order to forget.
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.register import COUNTED, source_of
from ctxrank.indexer.privacy.erase import note_erasing
from ctxrank.indexer.privacy.purge import PurgeReport, finish_forgetting, forget_numbers
from ctxrank.indexer.privacy.removal import remove_records, unchecked_references
from ctxrank.indexer.store.blocklist import SESSION, Blocklist, block
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import ORIGIN_DIGITS, digits_of, origins_of
from ctxrank.indexer.store.store import Change, Store

_OF_ORIGIN = "id < 0 AND (-id >> 31) = ?"


def forget_origin(store: Store, origin: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Remove what another store made. Raises UsageError, NotFoundError for one that is not known here, LockedError."""
    code, uuid = _found(store.primary, origin)
    numbers = {
        name: read_column(store.primary, f"SELECT id FROM {kind.table.name} WHERE {_OF_ORIGIN}", (code,), int)
        for name, kind in KINDS.items()
        if not kind.is_container and name not in COUNTED
    }
    if is_dry_run:
        counted = {name: len(_counted(store.primary, name, code)) for name in COUNTED}
        counts = {name: len(ids) for name, ids in numbers.items()} | counted
        return PurgeReport({name: n for name, n in counts.items() if n}, (), (), is_erased=False, is_dry_run=True)
    kept_out: list[int] = []
    with store.write() as change:  # first of all it may not come in again
        kept_out += block(change.connection, SESSION, [blocked_name(uuid)])
        change.connection.execute(
            "DELETE FROM record_log WHERE kind = 'forget' AND number IN (SELECT value FROM json_each(?))",
            (f"[{kept_out[0]}]",),
        )
        removed = _uncount(change, code)
        for table in ("package_consumers", "deliveries"):
            change.connection.execute(f"DELETE FROM {table} WHERE origin = ?", (code,))
        note_erasing(change)
    counts = dict(forget_numbers(store, numbers | {name: ids for name, ids in removed.items() if ids}))
    with unchecked_references(store.primary), store.write() as change:
        change.connection.execute("DELETE FROM imported_rows WHERE source = ?", (source_of(uuid),))
        counts |= _remove_empty(change, uuid)
    return PurgeReport(counts, tuple(kept_out), (), is_erased=finish_forgetting(store), is_dry_run=False)


def blocked_name(uuid: str) -> str:
    """What the blocklist calls an origin: no session has such a name."""
    return f"@{uuid}\n"


def is_blocked(connection: apsw.Connection, uuid: str) -> bool:
    """Whether an origin was purged here."""
    return Blocklist(connection).holds(SESSION, blocked_name(uuid))


def _found(primary: apsw.Connection, origin: str) -> tuple[int, str]:
    digits = digits_of(origin.removeprefix("@"))
    found = [(code, uuid) for code, uuid in origins_of(primary).items() if digits_of(uuid).startswith(digits)]
    if len(digits) < ORIGIN_DIGITS or len(found) > 1:
        raise UsageError(f"'{origin}' is not one origin.", f"Give its first {ORIGIN_DIGITS} digits, or more.")
    if not found:
        raise NotFoundError(f"Nothing of {origin} is here.", "The ids of what another store made end with its origin.")
    if found[0][0] == 0:
        raise UsageError(f"{origin} is this store.", "Its records are purged by id, session or path.")
    return found[0]


def _counted(connection: apsw.Connection, kind: str, code: int) -> list[int]:
    query = "SELECT number FROM origin_counts WHERE kind = ? AND origin = ?"
    return read_column(connection, query, (kind, code), int)


def _uncount(change: Change, code: int) -> Mapping[str, list[int]]:
    """Take its counts out of what all stores have; returns what nobody else counted."""
    connection = change.connection
    lonely: dict[str, list[int]] = {}
    for kind in COUNTED:
        for number in _counted(connection, kind, code):
            if not merge.uncount(change, kind, number, code):
                lonely.setdefault(kind, []).append(number)
    return lonely


def _remove_empty(change: Change, uuid: str) -> dict[str, int]:
    """Remove the sessions that it made and in which nothing is left."""
    empty = [
        number
        for number, who in merge.foreign_makers(change.connection, "session").items()
        if who.endswith(uuid) and not _has_records(change.connection, number)
    ]
    remove_records(change, SESSION, empty)
    return {"session": len(empty)} if empty else {}


def _has_records(connection: apsw.Connection, session_id: int) -> bool:
    return any(
        read_column(connection, f"SELECT 1 FROM {kind.table.name} WHERE session_id = ? LIMIT 1", (session_id,), int)
        for kind in KINDS.values()
        if kind.is_of_a_session
    )
