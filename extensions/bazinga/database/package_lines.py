"""What the predecessor's rows say of packages that came before: who takes them, what they replace, which groups see
them. Each is a line of its own, so that one that is new or changed leaves its package alone.
"""

from collections.abc import Callable, Iterable
from functools import partial

from ctxrank.extensions.bazinga.database.records import PredecessorRun
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import refer
from ctxrank.indexer.exchange.kinds.packages import is_here
from ctxrank.indexer.exchange.kinds.usages import Delivery, put_consumer, put_delivery, read_consumer, read_delivery
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Written
from ctxrank.indexer.records import packages
from ctxrank.indexer.records.sessions import find_group
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.rows import put_setting
from ctxrank.indexer.store.store import Change

Put = Callable[[Change], Written]  # writes what a line says


class PackageLines:
    """Brings in lines that name packages by their ids there."""

    def __init__(self, run: PredecessorRun) -> None:
        self._run = run

    def writers(self) -> dict[str, Callable[[Iterable[Line]], None]]:
        """What brings in lines of each kind."""
        readers: dict[str, Callable[[Fields], Put]] = {
            "consumer": lambda of: partial(self._designate, of.number("package"), read_consumer(of)),
            "delivery": lambda of: partial(self._deliver, of.number("package"), of.word("session"), read_delivery(of)),
            "supersession": lambda of: partial(self._supersede, of.number("supersedes"), of.number("package")),
            "reference": lambda of: partial(
                self._refer, of.word("session"), of.word("name"), of.items("context_references")
            ),
            "setting": lambda of: partial(self._set, of.raw("name"), of.json("value", empty="{}")),
        }
        return {kind: partial(self._bring, kind, read) for kind, read in readers.items()}

    def _bring(self, kind: str, read: Callable[[Fields], Put], lines: Iterable[Line]) -> None:
        self._run.bring_lines(kind, lines, lambda fields, _: read(fields), lambda change, put, _: put(change))

    def _package(self, change: Change, number: int, missing: str = "") -> int:
        """The row id of a package. Raises UsageError where it is not here."""
        package_id = self._run.register.package(number)
        if package_id is None or not is_here(change.connection, package_id):
            raise UsageError(missing or f"its package {number} was not imported, or was removed here")
        return package_id

    def _designate(self, number: int, consumer: packages.Consumer, change: Change) -> Written:
        """For whom a package is; what was taken here stays taken."""
        package_id = self._package(change, number)
        return Written(package_id, put_consumer(change, package_id, consumer))

    def _deliver(self, number: int, session: str, delivery: Delivery, change: Change) -> Written:
        """Who was shown which package; of two moments the later stays."""
        session_id = self._run.session_id(change, session, None, None)
        package_id = self._package(change, number)
        return Written(package_id, put_delivery(self._run, change, package_id, session_id, delivery))

    def _supersede(self, old: int, new: int, change: Change) -> Written:
        """Which package another replaces."""
        old_id, new_id = (self._package(change, one, "the package it replaces is not there") for one in (old, new))
        query = "SELECT 1 FROM packages WHERE id = ? AND superseded_by = ?"
        if read_value(change.connection, query, (old_id, new_id), int) is not None:
            return Written(new_id, is_change=False)
        packages.link_versions(change, old_id, new_id)
        return Written(new_id)

    def _refer(self, session: str, name: str, numbers: tuple[object, ...], change: Change) -> Written:
        """Which packages a group may see."""
        group = find_group(change.connection, self._run.session_id(change, session, None, None), name)
        if group is None:
            raise UsageError("its group is not there")
        here = [self._run.register.package(number) for number in numbers]
        added = [refer(change, group.id, package_id) for package_id in here if package_id is not None]
        return Written(group.id, any(added))

    def _set(self, name: str, value: str, change: Change) -> Written:
        """A setting, kept below what is configured here."""
        put_setting(change.connection, name, value)
        return Written(0)
