"""Retention: what is older than asked, or has outlived its time to live, is removed and counted.

    prune_older(store, parse_time("90d", now=now_us()))          {"package": 12, …, "session": 1}
    prune_expired(store, load_config(store).ttl_us)              by kind, and error patterns by their own

Nothing is removed unless one of these is called. The age of a package, a reasoning entry, a skill output
or an event is that of its making; error patterns and strategies live as long as they are seen. A session
that has ended and holds nothing any more goes with its groups. The ledger of imports stays as it is, so
that a second import does not bring back what was removed.
"""

from collections.abc import Mapping, Sequence

import apsw

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.catalogue import KINDS, aging_kinds
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors.patterns import IS_ALIVE
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.removal import remove_records, remove_sessions, unchecked_references
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.connection import read_column, require_value
from ctxrank.indexer.store.ids import FIRST_ID
from ctxrank.indexer.store.store import Store

SESSION = "session"
# What was kept unasked and nobody has confirmed is dropped after so long, and beyond so many.
UNCONFIRMED_DAYS, MAX_UNCONFIRMED = 90, 5_000
# One transaction removes so many records, with all that hangs on them: a writer waits for milliseconds.
_BATCH = 100


class PruneReport(NamedTuple):
    """How many records of each kind that was looked at are removed, or would be."""

    deleted: Mapping[str, int]
    is_dry_run: bool

    @property
    def total(self) -> int:
        """All kinds together."""
        return sum(self.deleted.values())


class _Rule(NamedTuple):
    """Which records of a kind go: a condition on their table, with its values."""

    kind: str
    condition: str
    values: tuple[int, ...]


def prune_older(
    store: Store, before: int, *, kinds: Sequence[str] = (), session: str | None = None, is_dry_run: bool = False
) -> PruneReport:
    """Remove what is older than a moment. No kinds means all; a session restricts it to what belongs to it.

    Raises UsageError for an unknown kind or one that belongs to no session, NotFoundError, LockedError.
    """
    wanted = _wanted(kinds, session, (*aging_kinds(), SESSION))
    session_id = None if session is None else find_session(store.primary, session).id
    ages = {kind: KINDS[kind].ages_by for kind in wanted if kind != SESSION}
    rules = [_within(_Rule(kind, f"{column} < ?", (before,)), session_id) for kind, column in ages.items()]
    empty = _within(_empty_sessions(rules, before), session_id) if SESSION in wanted else None
    return _prune(store, rules, empty, is_dry_run=is_dry_run)


def prune_expired(
    store: Store,
    ttl_us: Mapping[str, int],
    *,
    kinds: Sequence[str] = (),
    session: str | None = None,
    now: int | None = None,
    is_dry_run: bool = False,
) -> PruneReport:
    """Remove what has outlived its time to live: the kind's, or an error pattern's own, whichever is shorter.

    Raises UsageError for an unknown kind or one that belongs to no session, NotFoundError, LockedError.
    """
    moment = now_us() if now is None else now
    session_id = None if session is None else find_session(store.primary, session).id
    rules: list[_Rule] = []
    for kind in _wanted(kinds, session, aging_kinds()):
        conditions, values = list[str](), list[int]()
        if kind in ttl_us:
            conditions.append(f"{KINDS[kind].ages_by} < ?")
            values.append(moment - ttl_us[kind])
        if KINDS[kind].ttl_days:
            conditions.append(f"{KINDS[kind].ages_by} + {KINDS[kind].ttl_days} * ? < ?")
            values += [DAY_US, moment]
        rules.append(_within(_Rule(kind, " OR ".join(conditions) or "0", tuple(values)), session_id))
    return _prune(store, rules, None, is_dry_run=is_dry_run)


def prune_errors(store: Store, *, project: str | None = None, is_dry_run: bool = False, now: int | None = None) -> int:
    """Remove the patterns, of one project or all, whose time is over; returns how many. Raises LockedError."""
    moment = now_us() if now is None else now
    query = f"""
        SELECT e.id FROM error_patterns AS e
         WHERE (:project IS NULL OR e.project = :project) AND NOT ({IS_ALIVE})
    """
    values = {"project": project, "now": moment}
    if is_dry_run:
        return len(read_column(store.primary, query, values, int))
    with unchecked_references(store.primary), store.write() as change:
        expired = read_column(change.connection, query, values, int)
        remove_records(change, "error", expired)
    store.catch_up()
    return len(expired)


def prune_unconfirmed(store: Store, *, now: int | None = None) -> int:
    """Remove what was kept unasked and is old, or beyond the newest MAX_UNCONFIRMED; returns how many. LockedError."""
    moment = now_us() if now is None else now
    kept_unasked = f"substr(agent_name, 1, {len(UNCONFIRMED)}) = '{UNCONFIRMED}'"
    condition = f"""
        {kept_unasked} AND (created_at < ? OR id IN (
            SELECT id FROM reasoning WHERE {kept_unasked} ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?))
    """
    rule = _Rule("reasoning", condition, (moment - UNCONFIRMED_DAYS * DAY_US, MAX_UNCONFIRMED))
    return _prune(store, [rule], None, is_dry_run=False).total


def _wanted(kinds: Sequence[str], session: str | None, allowed: tuple[str, ...]) -> list[str]:
    """The kinds to look at, in their usual order."""
    unknown = [kind for kind in kinds if kind not in allowed]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is not a kind that can be pruned.", f"Kinds are {', '.join(allowed)}.")
    if session is None:
        return [kind for kind in allowed if kind in kinds or not kinds]
    within = [kind for kind in allowed if kind == SESSION or KINDS[kind].is_of_a_session]
    if strangers := [kind for kind in kinds if kind not in within]:
        raise UsageError(f"'{strangers[0]}' belongs to no session.", f"With --session, kinds are {', '.join(within)}.")
    return [kind for kind in within if kind in kinds or not kinds]


def _within(rule: _Rule, session_id: int | None) -> _Rule:
    """The same rule for one session alone."""
    if session_id is None:
        return rule
    column = "id" if rule.kind == SESSION else "session_id"
    return rule._replace(condition=f"({rule.condition}) AND {column} = ?", values=(*rule.values, session_id))


def _empty_sessions(rules: Sequence[_Rule], before: int) -> _Rule:
    """Sessions that have ended before a moment and of which the rules leave nothing."""
    conditions = ["status <> 'active'", "coalesce(ended_at, created_at) < ?"]
    values = [before]
    by_kind = {rule.kind: rule for rule in rules}
    for kind in aging_kinds():
        if not KINDS[kind].is_of_a_session:
            continue
        stays = "1"
        if (rule := by_kind.get(kind)) is not None:
            stays = f"NOT ({rule.condition})"
            values += rule.values
        conditions.append(
            f"NOT EXISTS (SELECT 1 FROM {KINDS[kind].table.name} WHERE session_id = sessions.id AND {stays})"
        )
    return _Rule(SESSION, " AND ".join(conditions), tuple(values))


def _prune(store: Store, rules: Sequence[_Rule], empty: _Rule | None, *, is_dry_run: bool) -> PruneReport:
    every = [*rules, *([] if empty is None else [empty])]
    if is_dry_run:
        return PruneReport({rule.kind: _count(store.primary, rule) for rule in every}, is_dry_run=True)
    with unchecked_references(store.primary):
        deleted = {rule.kind: _remove(store, rule) for rule in every}
    store.catch_up()
    return PruneReport(deleted, is_dry_run=False)


def _count(primary: apsw.Connection, rule: _Rule) -> int:
    query = f"SELECT count(*) FROM {KINDS[rule.kind].table.name} WHERE {rule.condition}"
    return require_value(primary, query, rule.values, int)


def _remove(store: Store, rule: _Rule) -> int:
    """Remove what a rule says, batch by batch; each is whole or not at all."""
    query = f"SELECT id FROM {KINDS[rule.kind].table.name} WHERE ({rule.condition}) AND id > ? ORDER BY id LIMIT ?"
    removed, last_id = 0, FIRST_ID
    while True:
        with store.write() as change:
            values = (*rule.values, last_id, _BATCH)
            ids = read_column(change.connection, query, values, int)
            if rule.kind == SESSION:
                remove_sessions(change, ids)
            else:
                remove_records(change, rule.kind, ids)
        removed += len(ids)
        if len(ids) < _BATCH:
            return removed
        last_id = ids[-1]
