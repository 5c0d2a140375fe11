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
from ctxrank.indexer.catalogue import KINDS, aging_kinds, chosen_kinds, kinds_of
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.declarations import Kind
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.removal import HERE, note_removals, remove_records, unchecked_references
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.blocklist import SESSION
from ctxrank.indexer.store.connection import read_column, require_value
from ctxrank.indexer.store.ids import FIRST_ID, IS_ACCEPTED
from ctxrank.indexer.store.store import Store

# What was kept unasked and nobody has confirmed is dropped after so long, and beyond so many.
UNCONFIRMED_DAYS, MAX_UNCONFIRMED = 90, 5_000
# Whether the group of a record (without one: the session) has begun so many iterations since the one that it was made
# in, by the reasoning that was saved here or in an accepted store.
_OUTLIVED_ITERATIONS = f"""
    (SELECT max(r.iteration) - coalesce(max(iif(r.created_at <= {{table}}.created_at, r.iteration, NULL)),
                                        min(r.iteration))
       FROM reasoning AS r
      WHERE r.session_id = {{table}}.session_id AND {IS_ACCEPTED.format("r.id")}
        AND (coalesce({{table}}.group_id, 0) = 0 OR r.group_id = {{table}}.group_id)) >= ?
"""
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
    known = kinds_of(store.primary)
    every = (*aging_kinds(known), SESSION)
    wanted = chosen_kinds(known, kinds, every, "a kind that can be pruned", has_session=session is not None)
    rules = [_Rule(kind, f"{known[kind].ages_by} < ?", (before,)) for kind in wanted if kind != SESSION]
    if SESSION in wanted:
        rules.append(_empty_sessions(known, rules, before))
    return _prune(store, rules, session, is_dry_run=is_dry_run)


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

    `ttl_us` is as in `Config`.

    Raises UsageError for an unknown kind or one that belongs to no session, NotFoundError, LockedError.
    """
    moment = now_us() if now is None else now
    rules: list[_Rule] = []
    wanted = chosen_kinds(KINDS, kinds, aging_kinds(), "a kind that can be pruned", has_session=session is not None)
    for kind in wanted:
        conditions, values = list[str](), list[int]()
        if ttl_us.get(kind, 0) < 0:
            conditions.append(_OUTLIVED_ITERATIONS.format(table=KINDS[kind].table.name))
            values.append(-ttl_us[kind])
        elif kind in ttl_us:
            conditions.append(f"{KINDS[kind].ages_by} < ?")
            values.append(moment - ttl_us[kind])
        if KINDS[kind].ttl_days:
            conditions.append(f"{KINDS[kind].ages_by} + {KINDS[kind].ttl_days} * ? < ?")
            values += [DAY_US, moment]
        rules.append(_Rule(kind, " OR ".join(conditions) or "0", tuple(values)))
    return _prune(store, rules, session, is_dry_run=is_dry_run)


def prune_unconfirmed(store: Store) -> int:
    """Remove what was kept unasked and is old, or beyond the newest MAX_UNCONFIRMED; returns how many. LockedError."""
    kept_unasked = f"substr(agent_name, 1, {len(UNCONFIRMED)}) = '{UNCONFIRMED}'"
    condition = f"""
        {kept_unasked} AND (created_at < ? OR id IN (
            SELECT id FROM reasoning WHERE {kept_unasked} ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?))
    """
    rule = _Rule("reasoning", condition, (now_us() - UNCONFIRMED_DAYS * DAY_US, MAX_UNCONFIRMED))
    return _prune(store, [rule], None, is_dry_run=False).total


def _empty_sessions(known: Mapping[str, Kind], rules: Sequence[_Rule], before: int) -> _Rule:
    """Sessions that have ended before a moment and of which the rules leave nothing."""
    conditions = ["status <> 'active'", "coalesce(ended_at, created_at) < ?"]
    values = [before]
    by_kind = {rule.kind: rule for rule in rules}
    for kind in aging_kinds(known):
        if known[kind].is_of_a_session:
            goes = by_kind.get(kind, _Rule(kind, "0", ()))
            values += goes.values
            within = f"session_id = sessions.id AND NOT ({goes.condition})"
            conditions.append(f"NOT EXISTS (SELECT 1 FROM {known[kind].table.name} WHERE {within})")
    return _Rule(SESSION, " AND ".join(conditions), tuple(values))


def _prune(store: Store, rules: Sequence[_Rule], session: str | None, *, is_dry_run: bool) -> PruneReport:
    """Remove, or count, what the rules say, of one session alone where it is named."""
    if session is not None:
        number = find_session(store.primary, session).id
        rules = [
            rule._replace(condition=f"({rule.condition}) AND {column} = ?", values=(*rule.values, number))
            for rule in rules
            for column in ["id" if rule.kind == SESSION else "session_id"]
        ]
    if is_dry_run:
        return PruneReport({rule.kind: _count(store.primary, rule) for rule in rules}, is_dry_run=True)
    with unchecked_references(store.primary):
        deleted = {rule.kind: _remove(store, rule) for rule in rules}
    store.catch_up()
    return PruneReport(deleted, is_dry_run=False)


def _count(primary: apsw.Connection, rule: _Rule) -> int:
    query = f"SELECT count(*) FROM {kinds_of(primary)[rule.kind].table.name} WHERE {rule.condition}"
    return require_value(primary, query, rule.values, int)


def _remove(store: Store, rule: _Rule) -> int:
    """Remove what a rule says, batch by batch; each is whole or not at all."""
    table = kinds_of(store.primary)[rule.kind].table.name
    query = f"SELECT id FROM {table} WHERE ({rule.condition}) AND id > ? ORDER BY id LIMIT ?"
    removed, last_id = 0, FIRST_ID
    while True:
        with store.write() as change:
            ids = read_column(change.connection, query, (*rule.values, last_id, _BATCH), int)
            remove_records(change, rule.kind, ids)
            note_removals(change.connection, {rule.kind: len(ids)}, HERE)
        removed += len(ids)
        if len(ids) < _BATCH:
            return removed
        last_id = ids[-1]
