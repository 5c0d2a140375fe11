"""What the predecessor's rows say of packages that came before: who takes them, what they replace, which groups see
them. Each is a line of its own, so that one that is new or changed leaves its package alone.
"""

from collections.abc import Callable, Iterable
from functools import partial

from ctxrank.extensions.bazinga.database.records import SOURCE, PredecessorRun
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.sessions import refer
from ctxrank.indexer.exchange.kinds.usages import put_delivery, read_consumer, read_delivery
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import packages
from ctxrank.indexer.records.sessions import find_group
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.rows import insert, put_setting, update
from ctxrank.indexer.store.store import Change

_CONSUMERS = "package_consumers"


class _Place(NamedTuple):
    """A package here, and its session."""

    id: int
    session_id: int


Put = Callable[[Change, int | None], Written]  # writes a line, over the row that it became before


class PackageLines:
    """Brings in lines that name packages by their ids there."""

    def __init__(self, run: PredecessorRun) -> None:
        self._run = run

    def writers(self) -> dict[str, Callable[[Iterable[Line]], None]]:
        """What brings in lines of each kind."""
        prepared = {
            "consumer": self._consumer,
            "delivery": self._delivery,
            "supersession": self._supersession,
            "reference": self._reference,
            "setting": self._setting,
        }
        return {kind: partial(self._bring, kind, prepare) for kind, prepare in prepared.items()}

    def _bring(self, kind: str, prepare: Callable[[Fields], Put], lines: Iterable[Line]) -> None:
        def write(change: Change, put: Put, target: int | None) -> Written:
            return put(change, target)

        self._run.bring_lines(kind, lines, lambda fields, identity: prepare(fields), write)

    def _package(self, change: Change, number: int, missing: str = "") -> _Place:
        """A package and its session. Raises UsageError where it is not here."""
        package_id = self._run.register.package(number)
        query = "SELECT session_id FROM packages WHERE id = ?"
        session_id = None if package_id is None else read_value(change.connection, query, (package_id,), int)
        if package_id is None or session_id is None:
            raise UsageError(missing or f"its package {number} was not imported, or was removed here")
        return _Place(package_id, session_id)

    def _consumer(self, fields: Fields) -> Put:
        """For whom a package is; what was taken here stays taken."""
        number, consumer = fields.number("package"), read_consumer(fields)

        def put(change: Change, target: int | None) -> Written:
            connection, names = change.connection, consumer._asdict()
            if target is not None:
                query = "SELECT 1 FROM package_consumers WHERE id = ? AND consumed_at IS NULL"
                is_pending = read_value(connection, query, (target,), int) is not None
                return Written(target, is_change=is_pending and update(connection, _CONSUMERS, target, names))
            names["package_id"] = self._package(change, number).id
            query = f"""
                SELECT id FROM package_consumers AS c
                 WHERE package_id = :package_id AND agent = :agent
                   AND (:consumed_at IS NULL OR (iteration IS :iteration AND consumed_at IS :consumed_at))
                   AND NOT EXISTS (SELECT 1 FROM imported_rows
                                    WHERE source = '{SOURCE}' AND kind = 'consumer' AND target_id = c.id)
                 ORDER BY consumed_at IS NOT :consumed_at, id LIMIT 1
            """  # who was designated there may have taken it here
            twin = read_value(connection, query, names, int)
            if twin is not None:
                return Written(twin, is_change=False)
            return Written(insert(connection, _CONSUMERS, names))

        return put

    def _delivery(self, fields: Fields) -> Put:
        """Who was shown which package; of two moments the later stays."""
        number, session, delivery = fields.number("package"), fields.word("session"), read_delivery(fields)

        def put(change: Change, target: int | None) -> Written:
            session_id = self._run.session_id(change, session, None, None)
            package_id = self._package(change, number).id
            is_change = put_delivery(self._run, change, package_id, session_id, delivery)
            return Written(package_id, is_change=is_change)

        return put

    def _supersession(self, fields: Fields) -> Put:
        """Which package another replaces."""
        numbers = fields.number("supersedes"), fields.number("package")

        def put(change: Change, target: int | None) -> Written:
            old, new = (self._package(change, number, "the package it replaces is not there").id for number in numbers)
            query = "SELECT 1 FROM packages WHERE id = ? AND superseded_by = ?"
            if read_value(change.connection, query, (old, new), int) is not None:
                return Written(new, is_change=False)
            packages.link_versions(change, old, new)
            return Written(new)

        return put

    def _reference(self, fields: Fields) -> Put:
        """Which packages a group may see."""
        session, name, numbers = fields.word("session"), fields.word("name"), fields.items("context_references")

        def put(change: Change, target: int | None) -> Written:
            group = find_group(change.connection, self._run.session_id(change, session, None, None), name)
            if group is None:
                raise UsageError("its group is not there")
            here = [self._run.register.package(number) for number in numbers]
            added = [refer(change, group.id, package_id) for package_id in here if package_id is not None]
            return Written(group.id, is_change=any(added))

        return put

    def _setting(self, fields: Fields) -> Put:
        """A setting, kept below what is configured here."""
        row = fields.raw("name"), fields.json("value", empty="{}")

        def put(change: Change, target: int | None) -> Written:
            put_setting(change.connection, *row)
            return Written(0)

        return put
