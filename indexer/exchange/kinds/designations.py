"""Imported consumers and deliveries that are lines of their own: the package that each belongs to came before.

An export has them within their package; a store that numbers them by themselves is brought in row by row, so that
one that is new or changed leaves its package alone.
"""

from collections.abc import Iterable

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.packages import Delivery, PackageImport, put_delivery, read_consumer, read_delivery
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import row_key
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import packages
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change

CONSUMER, DELIVERY = "consumer", "delivery"


class _Consumer(NamedTuple):
    """For whom an exported package is, pending while `consumed_at` is None."""

    package: int
    consumer: packages.Consumer


class _Delivery(NamedTuple):
    """An agent was shown an exported package."""

    package: int
    session: str
    delivery: Delivery


class DesignationImport:
    """Brings in who a package is for and who was shown it, by the package's exported id."""

    def __init__(self, run: ImportRun, imported: PackageImport) -> None:
        self._run = run
        self._packages = imported

    def bring_consumers(self, lines: Iterable[Line]) -> None:
        """Designations and consumptions; what was taken here meanwhile stays taken."""
        self._run.bring_lines(
            CONSUMER, lines, lambda line: self._key(line, ("id",)), self._prepare_consumer, self._write_consumer
        )

    def _key(self, line: Line, identity: tuple[str, ...]) -> str:
        """The ledger's key: what distinguishes it from others of its package, and the package's key."""
        package = Fields(line.values, self._run.texts).number("package", least=1)
        key = self._packages.keys.get(package)
        if key is None:
            raise UsageError(f"its package {package} is not there")
        return row_key(key, *(line.values.get(name) for name in identity))

    def _prepare_consumer(self, fields: Fields, key: str) -> _Consumer:
        return _Consumer(fields.number("package", least=1), read_consumer(fields))

    def _write_consumer(self, change: Change, row: _Consumer, target: int | None) -> Written:
        connection, consumer = change.connection, row.consumer
        if target is not None:
            connection.execute(
                "UPDATE package_consumers SET iteration = ?, consumed_at = ? WHERE id = ? AND consumed_at IS NULL",
                (consumer.iteration, consumer.consumed_at, target),
            )
            return Written(target, is_change=bool(connection.changes()))
        package_id, session_id = self._package_here(change, row.package)
        query = """
            SELECT c.id FROM package_consumers AS c JOIN packages AS p ON p.id = c.package_id
             WHERE p.session_id = ?1 AND p.id = ?2 AND c.agent = ?3
               AND (?5 IS NULL OR (c.iteration IS ?4 AND c.consumed_at IS ?5))
             ORDER BY c.consumed_at IS NOT ?5, c.id
        """  # who was designated there may have taken it here
        twin = self._run.twin(change, CONSUMER, session_id, query, (package_id, *consumer))
        if twin is not None:
            return Written(twin, is_change=False)
        connection.execute(
            "INSERT INTO package_consumers (package_id, agent, iteration, consumed_at) VALUES (?, ?, ?, ?)",
            (package_id, *consumer),
        )
        return Written(self._run.claim(CONSUMER, connection.last_insert_rowid()))

    def _package_here(self, change: Change, exported_id: int) -> tuple[int, int]:
        """The ids of a package and of its session. Raises UsageError where it is not here."""
        package_id = self._packages.target(exported_id)
        if package_id is None:
            raise UsageError(f"its package {exported_id} was not imported")
        query = "SELECT session_id FROM packages WHERE id = ?"
        session_id = read_value(change.connection, query, (package_id,), int)
        if session_id is None:
            raise UsageError(f"its package {exported_id} was removed here")
        return package_id, session_id

    def bring_deliveries(self, lines: Iterable[Line]) -> None:
        """Who was shown which package; of two moments the later stays."""
        identity = ("session", "group", "agent", "iteration")
        self._run.bring_lines(
            DELIVERY, lines, lambda line: self._key(line, identity), self._prepare_delivery, self._write_delivery
        )

    def _prepare_delivery(self, fields: Fields, key: str) -> _Delivery:
        return _Delivery(fields.number("package", least=1), fields.word("session"), read_delivery(fields))

    def _write_delivery(self, change: Change, row: _Delivery, target: int | None) -> Written:
        session_id = self._run.session_id(change, row.session)
        package_id, _ = self._package_here(change, row.package)
        return Written(package_id, is_change=put_delivery(self._run, change, package_id, session_id, row.delivery))
