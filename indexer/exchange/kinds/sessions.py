"""Imported sessions and groups, and which packages the groups may see."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.columns import ColumnReader, Values
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import Origin, is_uuid, row_digest, write_entry
from ctxrank.indexer.exchange.run import ImportRun, Incoming, Written, key_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import read
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.connection import read_column, read_value, require_value
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER, origin_code
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import Change

SESSION, GROUP, REFERENCE = "session", "group", "reference"

_NUMBER_DIGITS = 10
_GROUP_IDENTITY = ("session", "name")


class _Row(NamedTuple):
    """What a line says of a session or a group, and of a group whose it is and which packages it names."""

    values: Values
    session: str = ""
    project: str | None = None
    packages: tuple[object, ...] = ()  # of a line that says whose it is: numbers, or number@uuid


class _References(NamedTuple):
    """A group's ledger key, and the exported packages that it may see."""

    shown: str
    group_key: str
    package_ids: tuple[int, ...]


_WAITING = "waiting references"  # the ledger's word, as its source


def _refer(change: Change, group_id: int, package_id: int) -> None:
    """Let a group see a package, as soon as that is here."""
    query = "SELECT 1 FROM packages WHERE id = ?"
    if read_value(change.connection, query, (package_id,), int) is None:
        write_entry(change.connection, _WAITING, GROUP, f"{package_id} {group_id}", "", group_id)
        return
    query = "SELECT context_references FROM groups WHERE id = ?"
    found = read_value(change.connection, query, (group_id,), str)
    before: list[int] = json.loads(found or "[]")
    if found is not None and package_id not in before:
        sessions.set_group_references(change, group_id, (*before, package_id))


def refer_waiting(change: Change, package_id: int) -> None:
    """Let the groups see a new package that named it before it came."""
    name = f"{package_id} "
    where = "source = ? AND kind = ? AND source_key > ? AND source_key < ?"
    values = (_WAITING, GROUP, name, f"{package_id}!")
    query = f"SELECT target_id FROM imported_rows WHERE {where}"
    groups = read_column(change.connection, query, values, int)
    for group_id in groups:
        _refer(change, group_id, package_id)
    if groups:
        change.connection.execute(f"DELETE FROM imported_rows WHERE {where}", values)


def _end(change: Change, session_id: int, values: Values) -> bool:
    """End a session that is joined where it has ended there; what ended here keeps its time."""
    if values["status"] not in sessions.ENDS:
        return False
    change.connection.execute(
        "UPDATE sessions SET status = ?1, ended_at = coalesce(ended_at, ?2)"
        " WHERE id = ?3 AND (status <> ?1 OR ended_at IS NULL)",
        (values["status"], values["ended_at"], session_id),
    )
    return bool(change.connection.changes())


class SessionImport:
    """Brings in sessions, then groups; the groups' references once the packages are here."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run
        self._session_reader, self._group_reader = (
            ColumnReader(run.store.primary, KINDS[kind]) for kind in (SESSION, GROUP)
        )
        self._references: list[_References] = []

    def bring_sessions(self, lines: Iterable[Line]) -> None:
        """Sessions; one that is here under the same name is joined, not made again."""
        self._run.bring_lines(SESSION, lines, ("name",), self._prepare_session, self._write_session)

    def _prepare_session(self, fields: Fields, key: str) -> _Row:
        values = self._session_reader.values(fields)
        if not fields.has("skills_config"):  # then the one that is here stays
            del values["skills_config"]
        return _Row(values)

    def _write_session(self, change: Change, row: _Row, target: int | None) -> Written:
        values, connection = row.values, change.connection
        if self._run.origin is not None:
            return self._merge_session(change, row, self._run.origin)
        if target is not None:
            here = read(connection, KINDS[SESSION], target)
            if here is None:
                return Written(target, is_change=False)  # removed here
            ended_at = values["ended_at"]
            if here["status"] == values["status"] and here["ended_at"] is not None:
                ended_at = here["ended_at"]
            fixed = {"name": here["name"], "created_at": here["created_at"]}
            update(connection, "sessions", target, {**values, "ended_at": ended_at, **fixed})
            return Written(target)
        name = str(values["name"])
        found = sessions.session_id_of(connection, name)
        if found is not None:
            self._run.notes.append(f"The session {name} was here already; what belongs to it joins it.")
            return Written(found, is_change=_end(change, found, values), is_joined=True)
        session_id = sessions.create_session(change, _new_session(values))
        if "skills_config" in values:
            update(connection, "sessions", session_id, {"skills_config": values["skills_config"]})
        self._run.add_session(name, session_id)
        return Written(session_id)

    def _merge_session(self, change: Change, row: _Row, origin: Origin) -> Written:
        """What a session is says the store that made it first."""
        new, connection = _new_session(row.values), change.connection
        session_id = merge.find_merged(connection, new.name, new.project)
        is_new = session_id is None
        if session_id is None:
            session_id = merge.make_merged(change, new)
        query = "SELECT created_at FROM sessions WHERE id = ?"
        here = merge.maker_of(connection, SESSION, session_id, require_value(connection, query, (session_id,), int))
        if (first := merge.maker(new.created_at or 0, origin.uuid)) > here:
            return Written(session_id, is_change=is_new)
        merge.note_maker(change, SESSION, session_id, first if origin.code else "")
        values = {"skills_config": None, **row.values}
        del values["name"], values["project"]
        update(connection, "sessions", session_id, values)
        return Written(session_id)

    def _merge_group(self, change: Change, row: _Row, origin: Origin) -> Written:
        """What a group is says the store that made it first; what it may see is a union."""
        connection, name, created_at = change.connection, *_name_and_moment(row.values)
        session_id = self._run.session_id(change, row.session, row.project, created_at)
        found = sessions.find_group(connection, session_id, name)
        if found is None:
            group_id = sessions.create_group(change, session_id, name, created_at=created_at)
            merge.note_maker(change, GROUP, group_id, merge.UNKNOWN)
            found = sessions.find_group(connection, session_id, name)
            assert found is not None, "it was just made"
        first = merge.maker(created_at, origin.uuid)
        if first <= merge.maker_of(connection, GROUP, found.id, found.created_at):
            merge.note_maker(change, GROUP, found.id, first if origin.code else "")
            update(connection, "groups", found.id, row.values)
        for item in row.packages:
            number = self._local(change, item, origin)
            if number is not None and number not in found.context_references:
                _refer(change, found.id, number)
        return Written(found.id)

    def _local(self, change: Change, item: object, origin: Origin) -> int | None:
        """The row id of a package that a line names: a number of its origin, or number@uuid."""
        if isinstance(item, int):
            return origin.local(item) if 0 < item <= MAX_FOREIGN_NUMBER else None
        number, _, uuid = str(item).partition("@")
        if not number.isdecimal() or len(number) > _NUMBER_DIGITS or not is_uuid(uuid):
            return None
        return Origin(uuid, origin_code(change.connection, uuid)).local(int(number))

    def bring_groups(self, lines: Iterable[Line]) -> None:
        """Groups without their references, which are remembered."""
        lines = list(lines)
        self._run.bring_lines(
            GROUP, lines, _GROUP_IDENTITY, self._prepare_group, self._write_group, without=("context_references",)
        )
        if self._run.origin is not None:
            return  # a line that says whose it is says it all
        for line in lines:
            try:
                ids = Fields(line.values, self._run.texts).numbers("context_references")
            except UsageError as error:
                self._run.skip(line.shown, REFERENCE, error.message)
                continue
            key = key_of(line, _GROUP_IDENTITY)
            if ids or self._run.ledger.entry(REFERENCE, key) is not None:
                self._references.append(_References(line.shown, key, ids))

    def _prepare_group(self, fields: Fields, key: str) -> _Row:
        values = self._group_reader.values(fields)
        del values["context_references"]
        if self._run.origin is None:
            return _Row(values, fields.word("session"))
        packages = fields.items("context_references")
        return _Row(values, fields.word("session"), fields.optional_word("project"), packages)

    def _write_group(self, change: Change, row: _Row, target: int | None) -> Written:
        values = row.values
        if self._run.origin is not None:
            return self._merge_group(change, row, self._run.origin)
        if target is not None:
            said = {name: values[name] for name in ("title", "status", "metadata")}
            return Written(target, is_change=update(change.connection, "groups", target, said))
        session_id = self._run.session_id(change, row.session)
        name, created_at = _name_and_moment(values)
        found = sessions.find_group(change.connection, session_id, name)
        if found is None:
            title, status, metadata = (str(values[column]) for column in ("title", "status", "metadata"))
            group_id = sessions.create_group(
                change, session_id, name, title=title, status=status, metadata=metadata, created_at=created_at
            )
            return Written(group_id)
        # Perhaps made on the way for a record that names it: only missing values are filled in, and an end is one.
        is_end = values["status"] in sessions.ENDS and found.status not in sessions.ENDS
        change.connection.execute(
            "UPDATE groups SET title = iif(title = '', ?1, title), status = ?2,"
            " metadata = iif(metadata = '{}', ?3, metadata)"
            " WHERE id = ?4 AND (status <> ?2 OR (title = '' AND ?1 <> '') OR (metadata = '{}' AND ?3 <> '{}'))",
            (
                values["title"],
                values["status"] if is_end or found.status == "pending" else found.status,
                values["metadata"],
                found.id,
            ),
        )
        return Written(found.id, is_change=bool(change.connection.changes()))

    def bring_references(self, package_ids: Mapping[int, str]) -> None:
        """The packages of other groups that groups may see; `package_ids` are ledger keys by exported id."""
        self._run.bring(REFERENCE, self._incoming_references(package_ids), self._write_references)

    def _incoming_references(self, package_ids: Mapping[int, str]) -> Iterator[Incoming[_References]]:
        for references in self._references:
            keys = [package_ids[id_] for id_ in references.package_ids if id_ in package_ids]
            here = [self._run.ledger.target("package", key) for key in keys]
            row = references._replace(package_ids=tuple(dict.fromkeys(id_ for id_ in here if id_ is not None)))
            # By the new ids and not by those of the export: a reference whose package is imported later is a change.
            yield Incoming(row.group_key, row.shown, row_digest(row.package_ids), row)

    def _write_references(self, change: Change, row: _References, target: int | None) -> Written:
        group_id = self._run.ledger.target(GROUP, row.group_key)
        found = read_value(change.connection, "SELECT context_references FROM groups WHERE id = ?", (group_id,), str)
        if group_id is None or found is None:
            raise UsageError("its group is not there")
        query = "SELECT id FROM packages WHERE id IN (SELECT value FROM json_each(?))"
        present = set(read_column(change.connection, query, (json.dumps(row.package_ids),), int))
        before: list[int] = json.loads(found)
        package_ids = [id_ for id_ in row.package_ids if id_ in present]
        if target is None:  # the first time they join what the group has here
            package_ids = list(dict.fromkeys([*before, *package_ids]))
        if package_ids == before:
            return Written(group_id, is_change=False)
        sessions.set_group_references(change, group_id, tuple(package_ids))
        return Written(group_id)


def _new_session(values: Values) -> sessions.NewSession:
    said: dict[str, Any] = {name: values[name] for name in sessions.NewSession._fields}
    return sessions.NewSession(**said)


def _name_and_moment(values: Values) -> tuple[str, int]:
    name, created_at = values["name"], values["created_at"]
    assert isinstance(name, str) and isinstance(created_at, int), "every group has both"
    return name, created_at
