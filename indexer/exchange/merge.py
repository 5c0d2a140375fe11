"""What several stores have one of: sessions, groups, known errors, strategies. Merging them heeds no order.

A session, and a group in it, is what the store says that made it first: the smallest (moment, uuid). Errors and
strategies are counted by each store for itself (`origin_counts` has what others counted; the rest of a sum is ours).
What a store that is not accepted here confirmed and refuted, or counted of a strategy, is kept there and in no sum: it
has met the error, no more.
"""

from collections.abc import Iterable, Mapping
from operator import add

import apsw

from ctxrank.indexer.declarations import Kind, Value
from ctxrank.indexer.errors.patterns import state_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import NewSession, create_session, has_session
from ctxrank.indexer.store.connection import read_map, read_row, read_value, require_value
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.store.imported_rows import read_entry, remove_entry, write_entry
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import Change

_MAKERS = "maker"  # the register's word, as its source, for who made a session or a group first
AFTER_ALL = 10**19  # microseconds; a store that is not accepted made nothing before others
UNKNOWN = "~"  # after every moment: it was made on the way, for a record that names it


class Counts(NamedTuple):
    """What one store counted."""

    occurrences: int = 0
    confirmations: int = 0
    refutations: int = 0


def counts_of(kind: Kind, values: Mapping[str, Value]) -> Counts:
    """The counts that a line says."""
    return Counts(*(number for name in kind.counts if isinstance(number := values[name], int)))


def named_counts(kind: Kind, counts: Iterable[int]) -> dict[str, object]:
    """Counts as a line says them."""
    return dict(zip(kind.counts, counts, strict=False))


def _others_of(connection: apsw.Connection, kind: Kind, number: int) -> Counts:
    """What all other stores counted."""
    query = """
        SELECT coalesce(sum(c.occurrences) FILTER (WHERE c.kind = 'error' OR o.state = 'accepted'), 0),
               coalesce(sum(c.confirmations) FILTER (WHERE o.state = 'accepted'), 0),
               coalesce(sum(c.refutations) FILTER (WHERE o.state = 'accepted'), 0)
          FROM origin_counts AS c JOIN origins AS o ON o.code = c.origin WHERE c.kind = ? AND c.number = ?
    """
    return read_row(connection, query, (kind.name, number), Counts) or Counts()


def own_of(connection: apsw.Connection, kind: Kind, number: int) -> Counts:
    """What this store counted: the sums without what others did."""
    sums, others = _sums(connection, kind, number), _others_of(connection, kind, number)
    return Counts(*(max(of_all - of_others, 0) for of_all, of_others in zip(sums, others, strict=True)))


def note_counts(change: Change, kind: Kind, number: int, code: int, counts: Counts) -> None:
    """Note what another store counted of a record whose sums say so already."""
    if code:
        query = "INSERT OR REPLACE INTO origin_counts VALUES (?, ?, ?, ?, ?, ?)"
        change.connection.execute(query, (kind.name, number, code, *counts))


def count(change: Change, kind: Kind, number: int, code: int, counts: Counts) -> bool:
    """Replace what an origin counted; returns whether the sums are others now."""
    own = own_of(change.connection, kind, number) if code else counts
    note_counts(change, kind, number, code, counts)
    return sum_up(change, kind, number, own)


def sum_up(change: Change, kind: Kind, number: int, own: Counts) -> bool:
    """Make the sums those of what this store and all others counted; returns whether they are others now."""
    connection = change.connection
    sums = Counts(*map(add, own, _others_of(connection, kind, number)))
    if sums == _sums(connection, kind, number) or (kind.name == "error" and not sums.occurrences):
        return False
    new: dict[str, Value] = dict(zip(kind.counts, sums, strict=False))
    if kind.name == "error":
        confidence = min(max(round(0.5 + 0.1 * sums.confirmations - 0.2 * sums.refutations, 4), 0.1), 1.0)
        new |= {"state": state_of(sums.confirmations, sums.refutations), "confidence": confidence}
    return update(connection, kind.table.name, number, new)


def uncount(change: Change, kind: Kind, number: int, code: int) -> bool:
    """Take out what an origin counted; returns whether anybody else has a say in it.

    Of a record in which nobody has, nothing is changed.
    """
    connection = change.connection
    query = "SELECT 1 FROM origin_counts WHERE kind = ? AND number = ? AND origin <> ? LIMIT 1"
    own, place = own_of(connection, kind, number), (kind.name, number, code)
    if number < 0 and not any(own) and read_value(connection, query, place, int) is None:
        return False
    connection.execute("DELETE FROM origin_counts WHERE kind = ? AND number = ? AND origin = ?", place)
    sum_up(change, kind, number, own)
    return True


def _sums(connection: apsw.Connection, kind: Kind, number: int) -> Counts:
    query = f"SELECT {', '.join(kind.counts)} FROM {kind.table.name} WHERE id = ?"
    return read_row(connection, query, (number,), Counts) or Counts()


def find_merged(connection: apsw.Connection, name: str, project: str) -> int | None:
    """The session of this project and name; of two projects' with one name the later has its project's, too."""
    query = "SELECT id FROM sessions WHERE project = ?2 AND name IN (?1, ?3) ORDER BY name <> ?1 LIMIT 1"
    return read_value(connection, query, (name, project, f"{name}@{project}"), int)


def make_merged(change: Change, name: str, project: str, moment: int | None) -> int:
    """Make a session for a record that names it: any line of its own says more."""
    change.blocklist.refuse("session", name)
    is_taken = has_session(change.connection, name)
    new = NewSession(f"{name}@{project}" if is_taken else name, project, created_at=moment)
    session_id = create_session(change, new)
    note_maker(change, "session", session_id, UNKNOWN)
    return session_id


def exported_name(connection: apsw.Connection, name: str, project: str) -> str:
    """A session's name where it was made."""
    base = name.removesuffix(f"@{project}")
    query = "SELECT 1 FROM sessions WHERE name = ? AND project <> ?"
    is_second = base != name and read_value(connection, query, (base, project), int) is not None
    return base if is_second else name


def maker(moment: int, uuid: str) -> str:
    """Who made a session or a group, as makers are compared: the first is the smallest."""
    return f"{moment:020d} {uuid}"


def maker_of(connection: apsw.Connection, kind: Kind, number: int) -> str:
    """Who made a session or a group that is here."""
    found = read_entry(connection, _MAKERS, kind.name, number)
    if found is not None:
        return found.digest
    created_at = require_value(connection, f"SELECT created_at FROM {kind.table.name} WHERE id = ?", (number,), int)
    return maker(created_at, own_uuid(connection))


def note_maker(change: Change, kind: str, number: int, who: str) -> None:
    """Note that another store made a session or a group; '': this one did."""
    if who:
        write_entry(change.connection, _MAKERS, kind, number, who, number)
    else:
        remove_entry(change.connection, _MAKERS, kind, number)


def foreign_makers(connection: apsw.Connection, kind: str) -> dict[int, str]:
    """Who made the sessions or groups that this store did not make first, by row id."""
    query = "SELECT target_id, digest FROM imported_rows WHERE source = ? AND kind = ?"
    return read_map(connection, query, (_MAKERS, kind), int, str)
