"""Failures as they were seen, known or not: "the last failure of this group", "seen before and never solved".

A sighting is current until it is marked resolved: its command succeeds (`error run`), a solution is confirmed
for its session, or CURRENT_FOR_US has passed.
"""

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import rows
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.ids import IS_ACCEPTED
from ctxrank.indexer.store.store import Change, Store

CURRENT_FOR_US = DAY_US
_KEPT_OF_A_SESSION = 500


class Sighting(NamedTuple):
    """A failure at its moment, as its redacted text; `resolved_at` is None until it is marked resolved."""

    signature: Signature
    unit: str
    seen_at: int
    resolved_at: int | None = None


class FailurePlace(NamedTuple):
    """A session and a group by name; a session-wide group is every group's."""

    session: str
    group: str | None = None


class SeenBefore(NamedTuple):
    """How often a failure was recorded in a project's sessions, when last, and in how many it is not over."""

    times: int
    last_seen: int
    unsolved: int


def record_failure(
    store: Store, place: FailurePlace, sighting: Sighting, pattern_id: int | None, *, create_session: bool = False
) -> int | None:
    """Record that a failure was seen, and count it once more at the pattern that it is; returns the sighting's id.

    There is none of a text that was purged. Raises NotFoundError for an unknown session, UsageError, LockedError.
    """
    from ctxrank.indexer.records.sessions import require_place  # noqa: PLC0415  start-up: a match needs none

    with store.write() as change:
        session, group_id = require_place(change, place.session, place.group, create=create_session)
        number = see(change, session.id, group_id or 0, sighting, pattern_id)
        change.connection.execute(
            """
            DELETE FROM error_sightings
             WHERE id IN (SELECT id FROM error_sightings
                           WHERE session_id = ? ORDER BY seen_at DESC, id DESC LIMIT -1 OFFSET ?)
            """,
            (session.id, _KEPT_OF_A_SESSION),
        )
    return number


def see(change: Change, session_id: int, group_id: int, sighting: Sighting, pattern_id: int | None) -> int | None:
    """Write a sighting, and count it at the pattern that it is; group 0 is session-wide. Returns its id.

    What was purged with its error is counted, and not written again: None.
    """
    signature = sighting.signature
    values: dict[str, rows.Value] = {
        "session_id": session_id,
        "group_id": group_id,
        "pattern_id": pattern_id,
        "normaliser_version": signature.normaliser,
        "template": signature.template,
        "instance": signature.instance,
        "error_text": sighting.unit,
        "seen_at": sighting.seen_at,
        "resolved_at": sighting.resolved_at,
    }
    if pattern_id is not None:
        query = "UPDATE error_patterns SET occurrences = occurrences + 1, last_seen = max(last_seen, ?) WHERE id = ?"
        change.connection.execute(query, (sighting.seen_at, pattern_id))
    if change.blocklist.holds("error", sighting.unit):
        return None
    return rows.insert(change.connection, "error_sightings", values)


def sighting_of(unit: str, seen_at: int, resolved_at: int | None) -> Sighting | None:
    """A sighting whose text was redacted and cut out before; None where nothing can be read of it."""
    units = error_units(unit)
    return Sighting(sign(units[0]), unit, seen_at, resolved_at) if units else None


def last_failure(primary: apsw.Connection, session_id: int, group_id: int | None, *, now: int) -> str:
    """The text of the last failure of a group, or of the whole session, that is not over; '' for none.

    Only the last one counts: what failed before it and was not seen since has most likely been passed. What a store
    that is not accepted here says of a group is no failure of it.
    """
    query = f"""
        SELECT error_text, resolved_at, seen_at FROM error_sightings
         WHERE session_id = ? AND (?2 IS NULL OR group_id IN (0, ?2)) AND {IS_ACCEPTED.format("id")}
         ORDER BY seen_at DESC, id DESC LIMIT 1  -- what was imported is older than its id
    """
    unit, resolved_at, seen_at = primary.execute(query, (session_id, group_id)).fetchone() or ("", None, 0)
    return unit if resolved_at is None and seen_at >= now - CURRENT_FOR_US else ""


def seen_before(primary: apsw.Connection, project: str, instance: str) -> SeenBefore | None:
    """How often this very failure was recorded in sessions of a project or of none; None where it never was."""
    query = """
        SELECT count(*), max(g.seen_at), count(*) FILTER (WHERE g.resolved_at IS NULL)
          FROM error_sightings AS g
          JOIN sessions AS s ON s.id = g.session_id
         WHERE g.instance = ? AND s.project IN (?, 'default')
        HAVING count(*) > 0
    """
    return read_row(primary, query, (instance, project), SeenBefore)


def resolve(change: Change, session_id: int, *, pattern_id: int | None = None, instance: str | None = None) -> int:
    """Say that a session's failures of this pattern, or of this instance, are over; returns how many there were."""
    change.connection.execute(
        """
        UPDATE error_sightings SET resolved_at = ?1
         WHERE session_id = ?2 AND resolved_at IS NULL AND (pattern_id = ?3 OR instance = ?4)
        """,
        (now_us(), session_id, pattern_id, instance),
    )
    return change.connection.changes()
