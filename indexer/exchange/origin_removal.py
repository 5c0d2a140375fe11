"""Taking another machine out of a store: all that it made, what it counted, and what it saw of packages.

    forget_origin(store, "9f3c27ab").removed == {"package": 12, …}

Nothing of it comes in again until it is allowed. Other stores keep what they have of it: this is no order to forget.
"""

import apsw

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.register import COUNTED
from ctxrank.indexer.privacy.erase import note_erasing
from ctxrank.indexer.privacy.purge import PurgeReport, finish_forgetting, forget_planned, plan_numbers
from ctxrank.indexer.privacy.removal import remove_records, unchecked_references
from ctxrank.indexer.store.blocklist import SESSION, Blocklist, block_here
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import ORIGIN_DIGITS, digits_of, origins_of
from ctxrank.indexer.store.imported_rows import source_of
from ctxrank.indexer.store.store import Store

_OF_ORIGIN = "id < 0 AND (-id >> 31) = ?"


def forget_origin(store: Store, origin: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Remove what another store made. Raises UsageError, NotFoundError for one that is not known here, LockedError."""
    code, uuid = find_origin(store.primary, origin)
    numbers = {
        name: read_column(store.primary, f"SELECT id FROM {kind.table.name} WHERE {_OF_ORIGIN}", (code,), int)
        for name, kind in KINDS.items()
        if not kind.is_container and name not in COUNTED
    }
    query = "SELECT number FROM origin_counts WHERE kind = ? AND origin = ?"
    counted = {name: read_column(store.primary, query, (name, code), int) for name in COUNTED}
    if is_dry_run:
        counts = {name: len(ids) for name, ids in (numbers | counted).items() if ids}
        return PurgeReport(counts, is_dry_run=True)
    with unchecked_references(store.primary), store.write() as change:
        kept_out = block_here(change.connection, SESSION, [_blocked_name(uuid)])
        # Its counts are taken out of what all stores have; what nobody else counted goes.
        lonely = {
            kind: [one for one in numbers if not merge.uncount(change, KINDS[kind], one, code)]
            for kind, numbers in counted.items()
        }
        for table in ("package_consumers", "deliveries"):
            change.connection.execute(f"DELETE FROM {table} WHERE origin = ?", (code,))
        note_erasing(change)
        counts = dict(forget_planned(change, plan_numbers(change.connection, numbers | lonely)))
        # What it said of packages that are not here waits under its uuid.
        change.connection.execute("DELETE FROM imported_rows WHERE source = ? OR kind = ?", (source_of(uuid), uuid))
        tables = [kind.table.name for kind in KINDS.values() if kind.is_of_a_session]
        held = " UNION ".join(f"SELECT session_id FROM {table}" for table in tables)
        left = {*read_column(change.connection, held, (), int)}
        makers = merge.foreign_makers(change.connection, "session")
        empty = [number for number, who in makers.items() if who.endswith(uuid) and number not in left]
        remove_records(change, SESSION, empty)
        counts |= {SESSION: len(empty)} if empty else {}
    return PurgeReport(counts, tuple(kept_out), is_erased=finish_forgetting(store))


def _blocked_name(uuid: str) -> str:
    """What the blocklist calls an origin: no session has such a name."""
    return f"@{uuid}\n"


def is_blocked(connection: apsw.Connection, uuid: str) -> bool:
    """Whether an origin was purged here."""
    return Blocklist(connection).holds(SESSION, _blocked_name(uuid))


def find_origin(primary: apsw.Connection, origin: str) -> tuple[int, str]:
    """The code and the uuid of another store by its first digits. Raises UsageError, NotFoundError."""
    digits = digits_of(origin.removeprefix("@"))
    found = [(code, uuid) for code, uuid in origins_of(primary).items() if digits_of(uuid).startswith(digits)]
    if len(digits) < ORIGIN_DIGITS or len(found) > 1:
        raise UsageError(f"'{origin}' is not one origin.", f"Give its first {ORIGIN_DIGITS} digits, or more.")
    if not found:
        raise NotFoundError(f"Nothing of {origin} is here.", "The ids of what another store made end with its origin.")
    if found[0][0] == 0:
        raise UsageError(f"{origin} is this store.", "Its records are purged by id, session or path.")
    return found[0]
