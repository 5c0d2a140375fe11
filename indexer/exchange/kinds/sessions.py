"""Imported sessions and groups, and which packages the groups may see."""

import json
from collections.abc import Iterable, Iterator, Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import joined
from ctxrank.indexer.exchange.arrivals import Arrivals, key_of
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.ledger import row_digest
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.origins import Origin, is_uuid
from ctxrank.indexer.exchange.run import Incoming, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.connection import read_column, read_value, require_value
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER, origin_code
from ctxrank.indexer.store.store import Change

SESSION, GROUP, REFERENCE = "session", "group", "reference"

_NUMBER_DIGITS = 10
_GROUP_IDENTITY = ("session", "name")


class _Session(NamedTuple):
    """A session; a line that says nothing of a skills configuration leaves the one that is here."""

    new: sessions.NewSession
    has_skills_config: bool
    skills_config: str | None


class _Group(NamedTuple):
    session: str
    name: str
    title: str
    status: str
    metadata: str
    created_at: int
    project: str | None = None
    references: tuple[object, ...] = ()  # of a line that says whose it is: numbers, or number@uuid


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
        query = "INSERT OR IGNORE INTO imported_rows VALUES (?, ?, ?, '', ?)"
        change.connection.execute(query, (_WAITING, GROUP, f"{package_id} {group_id}", group_id))
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


class SessionImport:
    """Brings in sessions, then groups; the groups' references once the packages are here."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run
        self._references: list[_References] = []

    def bring_sessions(self, lines: Iterable[Line]) -> None:
        """Sessions; one that is here under the same name is joined, not made again."""
        self._arrivals.bring(
            SESSION, lines, identity=("name",), prepare=self._prepare_session, write=self._write_session
        )

    def _prepare_session(self, fields: Fields, key: str) -> _Session:
        skills_config = fields.json("skills_config", empty="")
        new = sessions.NewSession(
            name=fields.word("name"),
            project=fields.line("project", sessions.DEFAULT_PROJECT),
            mode=fields.choice("mode", sessions.MODES, "simple"),
            status=fields.choice("status", sessions.SESSION_STATUSES, "active"),
            requirements=fields.text("requirements", ""),
            initial_branch=fields.line("initial_branch", "main"),
            metadata=fields.json("metadata", empty="{}"),
            created_at=fields.moment("created_at"),
            ended_at=fields.optional_moment("ended_at"),
        )
        return _Session(new, fields.has("skills_config"), skills_config or None)

    def _write_session(self, change: Change, row: _Session, target: int | None) -> Written:
        new = row.new
        if self._run.origin is not None:
            return self._join_session(change, row, self._run.origin)
        if target is not None:
            change.connection.execute(
                "UPDATE sessions SET project = ?, mode = ?, status = ?, requirements = ?, initial_branch = ?,"
                " metadata = ?, ended_at = ?, skills_config = iif(?, ?, skills_config) WHERE id = ?",
                (*new[1:7], new.ended_at, row.has_skills_config, row.skills_config, target),
            )
            return Written(target, is_change=bool(change.connection.changes()))
        found = read_value(change.connection, "SELECT id FROM sessions WHERE name = ?", (new.name,), int)
        if found is not None:
            self._run.notes.append(f"The session {new.name} was here already; what belongs to it joins it.")
            return Written(found, is_change=False)
        session_id = sessions.create_session(change, new)
        if row.has_skills_config:
            change.connection.execute(
                "UPDATE sessions SET skills_config = ? WHERE id = ?", (row.skills_config, session_id)
            )
        self._arrivals.add_session(new.name, session_id)
        return Written(session_id)

    def _join_session(self, change: Change, row: _Session, origin: Origin) -> Written:
        """What a session is says the store that made it first."""
        new, connection = row.new, change.connection
        created_at = new.created_at or 0
        session_id = joined.find_joined(connection, new.name, new.project)
        is_new = session_id is None
        if session_id is None:
            session_id = joined.make_joined(change, new)
        query = "SELECT created_at FROM sessions WHERE id = ?"
        here = joined.maker_of(connection, SESSION, session_id, require_value(connection, query, (session_id,), int))
        if (first := joined.maker(created_at, origin.uuid)) > here:
            return Written(session_id, is_change=is_new)
        joined.note_maker(change, SESSION, session_id, first if origin.code else "")
        values = (new.mode, new.status, new.requirements, new.initial_branch, new.metadata, created_at, new.ended_at,
                  row.skills_config)  # fmt: skip
        query = """
            UPDATE sessions SET mode = ?, status = ?, requirements = ?, initial_branch = ?, metadata = ?,
                   created_at = ?, ended_at = ?, skills_config = ? WHERE id = ?
        """
        connection.execute(query, (*values, session_id))
        return Written(session_id)

    def _join_group(self, change: Change, row: _Group, origin: Origin) -> Written:
        """What a group is says the store that made it first; what it may see is a union."""
        connection = change.connection
        session_id = self._arrivals.session_id(change, row.session, row.project, row.created_at)
        found = sessions.find_group(connection, session_id, row.name)
        if found is None:
            group_id = sessions.create_group(change, session_id, row.name, created_at=row.created_at)
            joined.note_maker(change, GROUP, group_id, joined.UNKNOWN)
            found = sessions.find_group(connection, session_id, row.name)
            assert found is not None, "it was just made"
        first = joined.maker(row.created_at, origin.uuid)
        if first <= joined.maker_of(connection, GROUP, found.id, found.created_at):
            joined.note_maker(change, GROUP, found.id, first if origin.code else "")
            query = "UPDATE groups SET title = ?, status = ?, metadata = ?, created_at = ? WHERE id = ?"
            connection.execute(query, (row.title, row.status, row.metadata, row.created_at, found.id))
        for item in row.references:
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
        self._arrivals.bring(
            GROUP, lines, identity=_GROUP_IDENTITY, prepare=self._prepare_group, write=self._write_group,
            without=("context_references",),
        )  # fmt: skip
        if self._run.origin is not None:
            return  # a line that says whose it is says it all
        for line in lines:
            try:
                ids = Fields(line.values, self._run.texts).numbers("context_references")
            except UsageError as error:
                self._arrivals.skip(line.shown, REFERENCE, error.message)
                continue
            key = key_of(line, _GROUP_IDENTITY)
            if ids or self._run.ledger.entry(REFERENCE, key) is not None:
                self._references.append(_References(line.shown, key, ids))

    def _prepare_group(self, fields: Fields, key: str) -> _Group:
        return _Group(
            fields.word("session"), fields.word("name"), fields.line("title", ""),
            fields.choice("status", sessions.GROUP_STATUSES, "pending"), fields.json("metadata", empty="{}"),
            fields.moment("created_at"), fields.optional_word("project") if self._run.origin else None,
            fields.items("context_references") if self._run.origin else (),
        )  # fmt: skip

    def _write_group(self, change: Change, row: _Group, target: int | None) -> Written:
        values = (row.title, row.status, row.metadata)
        if self._run.origin is not None:
            return self._join_group(change, row, self._run.origin)
        if target is not None:
            change.connection.execute(
                "UPDATE groups SET title = ?, status = ?, metadata = ? WHERE id = ?", (*values, target)
            )
            return Written(target, is_change=bool(change.connection.changes()))
        session_id = self._arrivals.session_id(change, row.session)
        found = sessions.find_group(change.connection, session_id, row.name)
        if found is not None:
            # Perhaps made on the way for a record that names it: only missing values are filled in.
            change.connection.execute(
                "UPDATE groups SET title = ?, status = ?, metadata = ?"
                " WHERE id = ? AND title = '' AND status = 'pending' AND metadata = '{}'",
                (*values, found.id),
            )
            return Written(found.id, is_change=bool(change.connection.changes()))
        return Written(
            sessions.create_group(
                change, session_id, row.name, title=row.title, status=row.status, metadata=row.metadata,
                created_at=row.created_at,
            )
        )  # fmt: skip

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
        change.connection.execute(
            "UPDATE groups SET context_references = ? WHERE id = ?", (json.dumps(package_ids), group_id)
        )
        return Written(group_id)
