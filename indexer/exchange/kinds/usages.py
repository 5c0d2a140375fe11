"""Imported usages: who took a package, and who was shown it. It is united with what is here.

What comes before its package waits in the register.
"""

import json
from collections.abc import Iterable
from typing import Any

from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import Identity, Origin, remove_entry, write_entry
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.records.packages import Consumer, consumers_of
from ctxrank.indexer.store.connection import read_rows, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.store import Change

USAGE = "usage"
_WAITING = "waiting usage"  # the register's word, as its source


class Delivery(NamedTuple):
    """An agent was shown a package, at an iteration of a group or of the session."""

    group: str | None
    agent: str
    iteration: int
    delivered_at: int


class Usage(NamedTuple):
    """Who a package is for and who took it, and who was shown it."""

    consumers: tuple[Consumer, ...]
    deliveries: tuple[Delivery, ...]


class _Row(NamedTuple):
    """A package by its number and its store's uuid (None: the line's), and what a store saw of it."""

    number: int
    of: str | None
    usage: Usage


class UsageImport:
    """Brings in usages of packages of other lines."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run

    def bring(self, lines: Iterable[Line]) -> None:
        """What is not here of who took and who was shown packages."""
        self._run.bring_lines(USAGE, lines, self._prepare, self._write)

    def _prepare(self, fields: Fields, identity: Identity) -> _Row:
        return _Row(identity.number, fields.store("of"), read_usage(fields))

    def _write(self, change: Change, row: _Row, target: int | None) -> Written:
        origin = self._run.origin
        maker = origin if row.of is None else Origin(row.of, origin_code(change.connection, row.of))
        package_id = maker.local(row.number)
        query = "SELECT session_id FROM packages WHERE id = ?"
        session_id = read_value(change.connection, query, (package_id,), int)
        if session_id is None:
            waiting = json.dumps([[list(one) for one in part] for part in row.usage])
            write_entry(change.connection, _WAITING, origin.uuid, package_id, waiting, package_id)
            return Written(package_id, is_change=False)
        put_usage(self._run, change, package_id, session_id, row.usage)
        return Written(package_id)


class _Waiting(NamedTuple):
    uuid: str
    said: str


def unite_waiting(run: ImportRun, change: Change, package_id: int, session_id: int) -> None:
    """Add what came before its package."""
    query = """
        SELECT kind, digest FROM imported_rows
         WHERE source = ? AND kind IN (SELECT uuid FROM origins) AND source_key = ?
    """
    for waiting in list(read_rows(change.connection, query, (_WAITING, str(package_id)), _Waiting)):
        consumers, deliveries = cast("tuple[list[list[Any]], list[list[Any]]]", json.loads(waiting.said))
        usage = Usage(tuple(Consumer(*one) for one in consumers), tuple(Delivery(*one) for one in deliveries))
        put_usage(run, change, package_id, session_id, usage)
        remove_entry(change.connection, _WAITING, waiting.uuid, package_id)


def read_usage(fields: Fields) -> Usage:
    """Consumers and deliveries, as a line of a package or of its usage says them. Raises UsageError."""
    consumers = tuple(read_consumer(item) for item in fields.objects("consumers"))
    return Usage(consumers, tuple(read_delivery(item) for item in fields.objects("deliveries")))


def read_consumer(fields: Fields) -> Consumer:
    """For whom a package is, pending while `consumed_at` is None. Raises UsageError."""
    return Consumer(fields.agent("agent"), fields.optional_number("iteration"), fields.optional_moment("consumed_at"))


def read_delivery(fields: Fields) -> Delivery:
    """Who was shown a package, as a line or an item of a package's line says it. Raises UsageError."""
    return Delivery(
        fields.optional_word("group"), fields.agent("agent"), fields.number("iteration"), fields.moment("delivered_at")
    )


def put_usage(run: ImportRun, change: Change, package_id: int, session_id: int, usage: Usage) -> None:
    """Unite what another store saw of a package with what is here."""
    if usage.consumers:
        _put_consumers(change, package_id, usage.consumers, run.origin.code)
    for delivery in usage.deliveries:
        put_delivery(run, change, package_id, session_id, delivery)


def put_delivery(run: ImportRun, change: Change, package_id: int, session_id: int, delivery: Delivery) -> bool:
    """Record who was shown a package; False where that is recorded already, at this moment or a later one."""
    group_id = run.group_id(change, session_id, delivery.group, delivery.delivered_at)
    change.connection.execute(
        """
        INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at, origin) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET delivered_at = excluded.delivered_at, origin = excluded.origin
            WHERE excluded.delivered_at > delivered_at
        """,
        (package_id, group_id or 0, delivery.agent, delivery.iteration, delivery.delivered_at, run.origin.code),
    )
    return bool(change.connection.changes())


def _put_consumers(change: Change, package_id: int, exported: tuple[Consumer, ...], said_by: int) -> None:
    """Add designations and consumptions that are not here; what was taken here stays taken, of two moments the later.

    `said_by` is the code of the store that says so.
    """
    connection = change.connection
    here = consumers_of(connection, package_id)
    for consumer in exported:
        same_agent = [row for row in here if row.agent == consumer.agent]
        if consumer.consumed_at is None:
            if same_agent:
                continue
        elif any(row.iteration == consumer.iteration and row.consumed_at is not None for row in same_agent):
            query = """
                UPDATE package_consumers SET consumed_at = ?1, origin = ?2
                 WHERE package_id = ?3 AND agent = ?4 AND iteration IS ?5 AND consumed_at < ?1
            """
            connection.execute(query, (consumer.consumed_at, said_by, package_id, consumer.agent, consumer.iteration))
            continue
        elif pending := next((row for row in same_agent if row.consumed_at is None), None):
            connection.execute(
                """
                UPDATE package_consumers SET iteration = ?, consumed_at = ?, origin = ?
                 WHERE id = (SELECT id FROM package_consumers
                              WHERE package_id = ? AND agent = ? AND consumed_at IS NULL ORDER BY id LIMIT 1)
                """,
                (consumer.iteration, consumer.consumed_at, said_by, package_id, consumer.agent),
            )
            here[here.index(pending)] = consumer
            continue
        connection.execute(
            "INSERT INTO package_consumers (package_id, agent, iteration, consumed_at, origin) VALUES (?, ?, ?, ?, ?)",
            (package_id, *consumer, said_by),
        )
        here.append(consumer)
