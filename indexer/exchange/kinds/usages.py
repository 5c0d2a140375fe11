"""Imported usages: who took a package of another line, and who was shown it. It is united with what is here.

What comes before its package waits in the ledger.
"""

import json
from collections.abc import Iterable
from typing import Any

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.packages import Delivery, Usage, put_consumers, put_delivery, read_usage
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import Origin, remove_entry, write_entry
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.records.packages import Consumer
from ctxrank.indexer.store.connection import read_rows, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.store import Change

USAGE = "usage"


class _Row(NamedTuple):
    """A package by its number and its store's uuid (None: the line's), and what a store saw of it."""

    number: int
    of: str | None
    usage: Usage


class UsageImport:
    """Brings in usages."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run

    def bring(self, lines: Iterable[Line]) -> None:
        """What is not here of who took and who was shown packages."""
        self._run.bring_lines(USAGE, lines, ("id", "of"), self._prepare, self._write)

    def _prepare(self, fields: Fields, key: str) -> _Row:
        return _Row(fields.number("id", least=1), fields.store("of"), read_usage(fields))

    def _write(self, change: Change, row: _Row, target: int | None) -> Written:
        origin = self._run.origin
        if origin is None:
            raise UsageError("it does not say whose it is")
        maker = origin if row.of is None else Origin(row.of, origin_code(change.connection, row.of))
        package_id = maker.local(row.number)
        query = "SELECT session_id FROM packages WHERE id = ?"
        session_id = read_value(change.connection, query, (package_id,), int)
        if session_id is None:
            waiting = json.dumps([[list(one) for one in part] for part in row.usage])
            write_entry(change.connection, _WAITING, origin.uuid, package_id, waiting, package_id)
            return Written(package_id, is_change=False)
        _unite(self._run, change, package_id, session_id, row.usage)
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
        consumers, deliveries = cast("tuple[list[list[Any]], list[list[Any]]]", json.loads(waiting.said))
        usage = Usage(tuple(Consumer(*one) for one in consumers), tuple(Delivery(*one) for one in deliveries))
        _unite(run, change, package_id, session_id, usage)
        remove_entry(change.connection, _WAITING, waiting.uuid, package_id)


def _unite(run: ImportRun, change: Change, package_id: int, session_id: int, usage: Usage) -> None:
    put_consumers(change, package_id, usage.consumers, run.said_by)
    for delivery in usage.deliveries:
        put_delivery(run, change, package_id, session_id, delivery)
