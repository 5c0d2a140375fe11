"""Imported sessions and groups, and which packages the groups may see."""

import json
from collections.abc import Iterable, Iterator, Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.arrivals import Arrivals, key_of
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.ledger import row_digest
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Incoming, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.store import Change

SESSION, GROUP, REFERENCE = "session", "group", "reference"

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


class _References(NamedTuple):
    """A group's ledger key, and the exported packages that it may see."""

    shown: str
    group_key: str
    package_ids: tuple[int, ...]


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

    def bring_groups(self, lines: Iterable[Line]) -> None:
        """Groups without their references, which are remembered."""
        lines = list(lines)
        self._arrivals.bring(
            GROUP, lines, identity=_GROUP_IDENTITY, prepare=self._prepare_group, write=self._write_group,
            without=("context_references",),
        )  # fmt: skip
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
            fields.moment("created_at"),
        )  # fmt: skip

    def _write_group(self, change: Change, row: _Group, target: int | None) -> Written:
        values = (row.title, row.status, row.metadata)
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
