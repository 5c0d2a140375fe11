"""How the predecessor's rows become records of this store: the importer of an export, but for whose they are.

A row is known by what never changes in it and not by the file it was read from, so a database that was moved, copied
or restored is still the same source. A record that is not in the register may still be here: made here, brought by an
export, or saved in both by the switched script. Such a twin is joined and not made again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ctxrank.indexer.clock import SECOND_US
from ctxrank.indexer.declarations import Row
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import is_here, refer
from ctxrank.indexer.exchange.kinds.records import RecordImport, RecordLine, Values
from ctxrank.indexer.exchange.kinds.usages import Delivery, put_consumer, put_delivery, read_consumer, read_delivery
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import LineIdentity, Origin, row_key
from ctxrank.indexer.exchange.run import Account, ImportRun, Written
from ctxrank.indexer.light_typing import is_list
from ctxrank.indexer.record_table import read
from ctxrank.indexer.records import packages, sessions
from ctxrank.indexer.records.sessions import find_group
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import put_setting, read_value
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.store.imported_rows import Entry, read_entry
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import digest_of

SOURCE = "bazinga"
Put = Callable[[Change], Written]  # writes what a line says
# What never changes in a row.
_IDENTITY = {
    "session": ("name",),
    "group": ("session", "name"),
    "reference": ("session", "name"),
    "package": ("id", "session", "path", "created_at"),
    "supersession": ("package",),
    "consumer": ("package", "id"),
    "delivery": ("package", "session", "group", "agent", "iteration"),
    "error": ("pattern_hash", "project"),
    "strategy": ("name",),
    "setting": ("name",),
}
_OF_PACKAGES = ("package", "supersedes", "context_references")

# Reasoning that the switched script saved is in both: there a moment later, when its log took it, in whole seconds and
# redacted by other rules. Five minutes are longer than that script waits for its lock.
_LATEST_US = 300 * SECOND_US
# A word of that script with a stand-in for a secret: what stands before and behind is the same here.
_STAND_IN = re.compile(r"\S*REDACTED\S*")
# By kind: what selects the records here that an incoming one is, and which comes first.
_TWINS = {
    "package": (
        "path = :path AND created_at = :created_at AND type = :type AND producer = :producer AND summary = :summary",
        "id",
    ),
    "reasoning": (
        f"""group_id IS :group_id AND agent = :agent AND phase = :phase
            AND created_at BETWEEN :created_at - {_LATEST_US} AND :created_at + {SECOND_US - 1}
            AND (content = :content OR :redacted AND substr(content, 1, length(:beginning)) = :beginning
                 AND substr(content, length(content) - length(:end) + 1) = :end)""",
        "content <> :content, redacted DESC, id",
    ),
    "skill": (
        """group_id IS :group_id AND skill = :skill AND created_at = :created_at
           AND (iteration = :iteration OR output = :output)""",
        "id",
    ),
    "event": (
        """group_id = :group_id AND subtype = :subtype
           AND (idempotency_key = :idempotency_key OR created_at = :created_at AND payload = :payload)""",
        "id",
    ),
}


class PredecessorRun(ImportRun):
    """An import whose records are this store's.

    What rows say of packages that came before (who takes them, what they replace, which groups see them) is a line of
    its own each, so that one that is new or changed leaves its package alone.
    """

    maker_on_the_way = ""

    def __init__(self, store: Store, mode: RedactionMode, account: Account, *, is_read: bool) -> None:
        super().__init__(store, mode, account, Origin(own_uuid(store.primary), 0), is_read=is_read)
        self.source = SOURCE
        self._packages: dict[object, str] = {}  # their keys, by their ids there
        self.made_sessions: set[int] = set()  # nothing in them can have been here before

    def identify(self, kind: str, values: Mapping[str, object]) -> LineIdentity:
        """A hash of what never changes in a row (which may hold a secret). Raises UsageError."""
        # A package of another row is known by its key, and so is one that comes later, as soon as it is here.
        said = {name: self._known(value) if name in _OF_PACKAGES else value for name, value in values.items()}
        if said.get("package", "") is None:
            raise UsageError(f"its package {values['package']} is not there")
        key = row_key(*(said.get(name) for name in _IDENTITY.get(kind, ("id", "session", "created_at"))))
        if kind == "package":
            self._packages[values["id"]] = key
        return LineIdentity(key, digest_of(repr(tuple(sorted(said.items()))), 16))

    def _known(self, package: object) -> object:
        if is_list(package):
            return [self._known(one) for one in package]
        key = self._packages.get(package)
        return None if key is None else (key, self.package(package))

    def package(self, number: object) -> int | None:
        """The row here that a package became."""
        entry = self.entry("package", self._packages.get(number, ""))
        return None if entry is None else entry.target_id or None

    def entry(self, kind: str, key: str) -> Entry | None:
        """What is known of a row."""
        return read_entry(self.store.primary, self.source, kind, key)

    def is_news(self, known: Entry | None, state: str) -> bool:
        """Whether a row is new, or says something else."""
        return known is None or known.digest != state

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
        self.bring_lines(kind, lines, lambda fields, _: read(fields), lambda change, put, _: put(change))

    def _package(self, change: Change, number: int, missing: str = "") -> int:
        """The row id of a package. Raises UsageError where it is not here."""
        package_id = self.package(number)
        if package_id is None or not is_here(change.connection, package_id):
            raise UsageError(missing or f"its package {number} was not imported, or was removed here")
        return package_id

    def _designate(self, number: int, consumer: packages.Consumer, change: Change) -> Written:
        """For whom a package is; what was taken here stays taken."""
        package_id = self._package(change, number)
        return Written(package_id, put_consumer(change, package_id, consumer))

    def _deliver(self, number: int, session: str, delivery: Delivery, change: Change) -> Written:
        """Who was shown which package; of two moments the later stays."""
        session_id = self.session_id(change, session, None, None)
        package_id = self._package(change, number)
        return Written(package_id, put_delivery(self, change, package_id, session_id, delivery, self.origin.code))

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
        group = find_group(change.connection, self.session_id(change, session, None, None), name)
        if group is None:
            raise UsageError("its group is not there")
        here = [self.package(number) for number in numbers]
        added = [refer(change, group.id, package_id) for package_id in here if package_id is not None]
        return Written(group.id, any(added))

    def _set(self, name: str, value: str, change: Change) -> Written:
        """A setting, kept below what is configured here."""
        put_setting(change.connection, name, value)
        return Written(0)


class PredecessorRecords(RecordImport):
    """Writes records of one kind as this store's own."""

    def _twin(self, change: Change, values: Values) -> int | None:
        """The record here that this one is, unless another row has become it."""
        kind = self.kind
        assert isinstance(self.run, PredecessorRun), "no other run has these records"
        if kind.name not in _TWINS or values["session_id"] in self.run.made_sessions:
            return None
        same, order = _TWINS[kind.name]
        query = f"""
            SELECT id FROM {kind.table.name} AS t
             WHERE session_id = :session_id AND {same}
               AND NOT EXISTS (SELECT 1 FROM imported_rows
                                WHERE source = '{SOURCE}' AND kind = '{kind.name}' AND target_id = t.id)
             ORDER BY {order} LIMIT 1
        """
        kept = _STAND_IN.split(str(values.get("content", "")))
        return read_value(change.connection, query, {**values, "beginning": kept[0], "end": kept[-1]}, int)

    def _counts(self, change: Change, number: int, values: Values) -> merge.Counts:
        """What was counted here is not taken back."""
        own = merge.own_of(change.connection, self.kind, number)
        return merge.Counts(*map(max, merge.counts_of(self.kind, values), own))

    def _merge(self, change: Change, row: RecordLine, target: int | None) -> Written:
        """One that came from there is written over; one that was here is joined, and ends where it has ended there."""
        connection, kind, run = change.connection, self.kind, self.run
        assert isinstance(run, PredecessorRun), "no other run has these records"
        row.values.pop("skills_config", None)  # the one that is here stays
        if target is not None:
            before = read(connection, kind, target) or {}
            if before.get("status") == row.values["status"] and before.get("ended_at") is not None:
                row.values["ended_at"] = before["ended_at"]
            return self.revise(change, row, target)
        values = row.values | self._resolved(change, row, self._columns)
        name, session_id = str(values["name"]), values.get("session_id")
        if isinstance(session_id, int):
            group = sessions.find_group(connection, session_id, name)
            found = None if group is None else group.id
        else:
            found = sessions.session_id_of(connection, name)
        if found is not None:
            if session_id is None:
                run.account.notes.append(f"The session {name} was here already; what belongs to it joins it.")
            before = read(connection, kind, found) or {}
            new = _joined(before, values)
            is_change = any(value != before[name] for name, value in new.items())
            if is_change:
                update(connection, kind.table.name, found, new)
            return Written(found, is_change=is_change, is_joined=session_id is None)
        if isinstance(session_id, int):
            number = sessions.create_group(change, session_id, name)
        else:
            number = sessions.create_session(change, sessions.NewSession(name, str(values["project"])))
            run.made_sessions.add(number)
        update(connection, kind.table.name, number, values)
        return Written(number)


def _joined(before: Row, values: Values) -> Values:
    """What a session or a group that is joined becomes: it ends where it has ended there, and what ended here keeps its
    time. A group, which may be made on the way for a record that names it, gets what it lacks.
    """
    is_end = values["status"] in sessions.ENDS
    if "ended_at" in before:
        ended_at = values["ended_at"] if before["ended_at"] is None else before["ended_at"]
        return {"status": values["status"], "ended_at": ended_at} if is_end else {}
    is_later = before["status"] == "pending" or (is_end and before["status"] not in sessions.ENDS)
    return {
        "title": before["title"] or values["title"],
        "status": values["status"] if is_later else before["status"],
        "metadata": values["metadata"] if before["metadata"] == "{}" else before["metadata"],
    }
