"""Imported usages: who took a package of another line, and who was shown it. It is united with what is here.

What comes before its package waits in the ledger.
"""

import json
from collections.abc import Iterable

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.packages import Delivery, put_consumers, put_delivery, read_delivery
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.origins import Origin, is_uuid
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.records.packages import Consumer
from ctxrank.indexer.store.connection import read_rows, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.store import Change

USAGE = "usage"


class _Usage(NamedTuple):
    """A package by its number and its store's uuid (None: the line's), and what a store saw of it."""

    number: int
    of: str | None
    consumers: tuple[Consumer, ...]
    deliveries: tuple[Delivery, ...]


class UsageImport:
    """Brings in usages."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run

    def bring(self, lines: Iterable[Line]) -> None:
        """What is not here of who took and who was shown packages."""
        self._arrivals.bring(USAGE, lines, identity=("id", "of"), prepare=self._prepare, write=self._write)

    def _prepare(self, fields: Fields, key: str) -> _Usage:
        of = fields.optional_word("of")
        if of is not None and not is_uuid(of):
            raise UsageError("its 'of' is not the uuid of a store")
        consumers = tuple(
            Consumer(item.agent("agent"), item.optional_number("iteration"), item.optional_moment("consumed_at"))
            for item in fields.objects("consumers")
        )
        deliveries = tuple(read_delivery(item) for item in fields.objects("deliveries"))
        return _Usage(fields.number("id", least=1), of, consumers, deliveries)

    def _write(self, change: Change, row: _Usage, target: int | None) -> Written:
        origin = self._run.origin
        if origin is None:
            raise UsageError("it does not say whose it is")
        maker = origin if row.of is None else Origin(row.of, origin_code(change.connection, row.of))
        package_id = maker.local(row.number)
        query = "SELECT session_id FROM packages WHERE id = ?"
        session_id = read_value(change.connection, query, (package_id,), int)
        if session_id is None:
            waiting = json.dumps([[list(one) for one in row.consumers], [list(one) for one in row.deliveries]])
            change.connection.execute(
                "INSERT OR REPLACE INTO imported_rows VALUES (?, ?, ?, ?, ?)",
                (_WAITING, origin.uuid, str(package_id), waiting, package_id),
            )
            return Written(package_id, is_change=False)
        _unite(self._run, change, package_id, session_id, row.consumers, row.deliveries)
        return Written(package_id)


_WAITING = "waiting usage"  # the ledger's word, as its source


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
        consumers, deliveries = cast("tuple[list[list[object]], list[list[object]]]", json.loads(waiting.said))
        _unite(
            run, change, package_id, session_id, tuple(Consumer(*one) for one in consumers),  # type: ignore[arg-type]
            tuple(Delivery(*one) for one in deliveries),  # type: ignore[arg-type]
        )  # fmt: skip
        change.connection.execute(
            "DELETE FROM imported_rows WHERE source = ? AND kind = ? AND source_key = ?",
            (_WAITING, waiting.uuid, str(package_id)),
        )


def _unite(
    run: ImportRun,
    change: Change,
    package_id: int,
    session_id: int,
    consumers: tuple[Consumer, ...],
    deliveries: tuple[Delivery, ...],
) -> None:
    put_consumers(change, package_id, consumers, run.said_by)
    for delivery in deliveries:
        put_delivery(run, change, package_id, session_id, delivery)
