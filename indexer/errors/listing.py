"""Known errors as they are listed and shown."""

import json

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors.patterns import IS_ALIVE, STATES
from ctxrank.indexer.exceptions import NotFoundError, require_word
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.store.connection import Page, read_page, read_row


class StoredError(NamedTuple):
    """A stored pattern."""

    id: int
    project: str
    lang: str | None
    error_type: str
    message: str
    solution: str
    state: str
    confirmations: int
    refutations: int
    occurrences: int
    hints: tuple[str, ...]
    last_seen: int
    created_at: int
    expires_at: int
    is_expired: bool


class Recognition(NamedTuple):
    """What a pattern is recognised by: the masked message, what was masked, and where it was met."""

    headline: str
    codes: tuple[str, ...]
    values: tuple[str, ...]
    places: tuple[str, ...]
    unit: str
    sightings: int


_QUERY = f"""
    SELECT e.id, e.project, e.lang, e.error_type, e.message, e.solution, e.state, e.confirmations, e.refutations,
           e.occurrences, e.context_hints, e.last_seen, e.created_at, e.last_seen + e.ttl_days * {DAY_US},
           NOT ({IS_ALIVE})
      FROM error_patterns AS e
"""


def list_errors(
    primary: apsw.Connection,
    *,
    project: str | None = None,
    lang: str | None = None,
    state: str | None = None,
    with_expired: bool = False,
    limit: int = -1,
) -> Page[StoredError]:
    """Patterns by their last sighting, the newest first; a language leaves out those of others. Raises UsageError."""
    if state is not None:
        require_word(state, STATES, "a state of an error", "States")
    query = f"""
        {_QUERY}
         WHERE (:project IS NULL OR e.project = :project)
           AND (:lang IS NULL OR e.lang IS NULL OR lower(e.lang) = lower(:lang))
           AND (:state IS NULL OR e.state = :state) AND (:with_expired OR {IS_ALIVE})
         ORDER BY e.last_seen DESC, e.id DESC
    """
    values = {"project": project, "lang": lang, "state": state, "with_expired": with_expired, "now": now_us()}
    return read_page(primary, query, values, _stored, limit=limit)


def get_error(primary: apsw.Connection, pattern_id: int) -> StoredError:
    """One pattern, expired or not. Raises NotFoundError."""
    found = read_row(primary, f"{_QUERY} WHERE e.id = :id", {"id": pattern_id, "now": now_us()}, _stored)
    if found is None:
        raise NotFoundError(f"There is no error {pattern_id}.", "'ctxrank list errors' shows what there is.")
    return found


def recognition_of(primary: apsw.Connection, pattern_id: int) -> Recognition | None:
    """What a pattern is recognised by; None for one that has no signature yet."""
    query = """
        SELECT headline, features, error_text,
               (SELECT count(*) FROM error_sightings AS g WHERE g.pattern_id = s.pattern_id)
          FROM error_signatures AS s
         WHERE pattern_id = ? AND normaliser_version > 0
    """
    return read_row(primary, query, (pattern_id,), _recognition)


def _recognition(headline: str, features: str, unit: str, sightings: int) -> Recognition:
    parts = json.loads(features)
    places = tuple(f"{frame[0]} in {frame[1]}" if frame[1] else str(frame[0]) for frame in parts["frames"])
    return Recognition(headline, tuple(parts["codes"]), tuple(parts["values"]), places, unit, sightings)


def _stored(*columns: Any) -> StoredError:
    stored = StoredError(*columns)  # the hints are JSON, what is a bool is 0 or 1
    hints = tuple(str(hint) for hint in json.loads(columns[10]))
    return stored._replace(hints=hints, is_expired=bool(columns[14]))
