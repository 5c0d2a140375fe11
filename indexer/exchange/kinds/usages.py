"""Imported usages: who took a package, and who was shown it. It is united with what is here.

What comes before its package waits in the register.
"""

import json
from collections.abc import Iterable
from typing import Any

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.records.packages import Consumer
from ctxrank.indexer.store.connection import read_map, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.imported_rows import remove_entry, write_entry
from ctxrank.indexer.store.rows import Value, insert, update
from ctxrank.indexer.store.store import Change

USAGE = "usage"
_WAITING = "waiting usage"  # the register's word, as its source


class Delivery(NamedTuple):
    """An agent was shown a package, at an iteration of a group or of the session."""

    group: str | None
    agent: str
    iteration: int
    delivered_at: int


class ReportedUsage(NamedTuple):
    """Who a package is for and who took it, and who was shown it."""

    consumers: tuple[Consumer, ...]
    deliveries: tuple[Delivery, ...]


def bring_usages(run: ImportRun, lines: Iterable[Line]) -> None:
    """Bring in what is not here of who took and who was shown packages of other lines."""

    def prepare(fields: Fields, identity: LineIdentity) -> tuple[int, str | None, ReportedUsage]:
        return identity.number, fields.store("of"), read_usage(fields)

    def write(change: Change, row: tuple[int, str | None, ReportedUsage], target: int | None) -> Written:
        number, of, usage = row
        if of is not None and not run.origin.is_accepted:
            raise UsageError("it says who took another store's package, and its store is not accepted here")
        package_id = run.maker(change, of).local(number)
        session_id = read_value(change.connection, "SELECT session_id FROM packages WHERE id = ?", (package_id,), int)
        if session_id is None:
            waiting = json.dumps([[list(one) for one in part] for part in usage])
            write_entry(change.connection, _WAITING, run.origin.uuid, package_id, waiting, package_id)
        else:
            put_usage(run, change, package_id, session_id, usage, run.origin.code)
        return Written(package_id, is_change=session_id is not None)

    run.bring_lines(USAGE, lines, prepare, write)


def unite_waiting(run: ImportRun, change: Change, package_id: int, session_id: int) -> None:
    """Add what came before its package."""
    query = """
        SELECT kind, digest FROM imported_rows
         WHERE source = ? AND kind IN (SELECT uuid FROM origins) AND source_key = ?
    """
    for uuid, said in read_map(change.connection, query, (_WAITING, str(package_id)), str, str).items():
        consumers, deliveries = cast("tuple[list[list[Any]], list[list[Any]]]", json.loads(said))
        usage = ReportedUsage(tuple(Consumer(*one) for one in consumers), tuple(Delivery(*one) for one in deliveries))
        put_usage(run, change, package_id, session_id, usage, origin_code(change.connection, uuid))
        remove_entry(change.connection, _WAITING, uuid, package_id)


def read_usage(fields: Fields) -> ReportedUsage:
    """Consumers and deliveries, as a line of a package or of its usage says them. Raises UsageError."""
    consumers = tuple(read_consumer(item) for item in fields.objects("consumers"))
    return ReportedUsage(consumers, tuple(read_delivery(item) for item in fields.objects("deliveries")))


def read_consumer(fields: Fields) -> Consumer:
    """For whom a package is, pending while `consumed_at` is None. Raises UsageError."""
    moment = None if fields.is_missing("consumed_at") else fields.moment("consumed_at")
    return Consumer(fields.agent("agent"), fields.optional_number("iteration"), moment)


def read_delivery(fields: Fields) -> Delivery:
    """Who was shown a package, as a line or an item of a package's line says it. Raises UsageError."""
    return Delivery(
        fields.optional_word("group"), fields.agent("agent"), fields.number("iteration"), fields.moment("delivered_at")
    )


def put_usage(
    run: ImportRun, change: Change, package_id: int, session_id: int, usage: ReportedUsage, said_by: int
) -> None:
    """Unite what another store saw of a package with what is here; `said_by` is the code of the store that says so."""
    for consumer in usage.consumers:
        put_consumer(change, package_id, consumer, said_by)
    for delivery in usage.deliveries:
        put_delivery(run, change, package_id, session_id, delivery, said_by)


def put_delivery(
    run: ImportRun, change: Change, package_id: int, session_id: int, delivery: Delivery, said_by: int
) -> bool:
    """Record who was shown a package; False where that is recorded already, at this moment or a later one."""
    group_id = run.group_id(change, session_id, delivery.group, delivery.delivered_at)
    change.connection.execute(
        """
        INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at, origin) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET delivered_at = excluded.delivered_at, origin = excluded.origin
            WHERE excluded.delivered_at > delivered_at
        """,
        (package_id, group_id or 0, delivery.agent, delivery.iteration, delivery.delivered_at, said_by),
    )
    return bool(change.connection.changes())


def put_consumer(change: Change, package_id: int, consumer: Consumer, said_by: int = 0) -> bool:
    """Add a designation or consumption; what was taken here stays taken, of two moments the later. Is it news?"""
    # Who took it at the same iteration, else who may; a designation says nothing of an agent that is known.
    query = """
        SELECT id, consumed_at FROM package_consumers
         WHERE package_id = ?1 AND agent = ?2 AND (?4 IS NULL OR consumed_at IS NULL OR iteration IS ?3)
         ORDER BY consumed_at IS NULL, id LIMIT 1
    """
    known = change.connection.execute(query, (package_id, *consumer)).fetchone()
    said: dict[str, Value] = {**consumer._asdict(), "package_id": package_id, "origin": said_by}
    if known is None:
        return bool(insert(change.connection, "package_consumers", said))
    is_later = consumer.consumed_at is not None and consumer.consumed_at > (known[1] or 0)
    return is_later and update(change.connection, "package_consumers", known[0], said)
