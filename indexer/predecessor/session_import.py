"""The predecessor's sessions and task groups on their way in."""

import json
from collections.abc import Callable, Iterable, Iterator

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.ledger import digest_of, row_key
from ctxrank.indexer.exchange.run import ImportRun, Incoming, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.predecessor.rows import GroupRow, SessionRow
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.store import Change

SESSION, GROUP, REFERENCE = "session", "group", "reference"


class _References(NamedTuple):
    """A group here, and the packages here that it may see."""

    group_id: int
    package_ids: tuple[int, ...]


class SessionImport:
    """Brings in sessions, then groups, and the groups' references once the packages are here."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run

    def bring_sessions(self, rows: Iterable[SessionRow]) -> None:
        """Sessions; one that is here under the same name is joined, not made again."""
        rows = tuple(rows)
        incoming = (
            Incoming(row_key(None, row.name), self._run.texts.line(row.name), digest_of(row), row) for row in rows
        )
        self._run.bring(SESSION, incoming, self._write_session)
        present = {int(row[0]) for row in self._run.store.truth.execute("SELECT id FROM sessions")}
        for row in rows:
            session_id = self._run.ledger.target(SESSION, row_key(None, row.name))
            if session_id in present:
                self._run.session_ids[row.name] = session_id

    def _write_session(self, change: Change, row: SessionRow, target: int | None) -> Written:
        new = self._new_session(row)
        if target is not None:
            change.connection.execute(
                "UPDATE sessions SET project = ?, mode = ?, status = ?, requirements = ?, initial_branch = ?,"
                " metadata = ?, ended_at = ? WHERE id = ?",
                (*new[1:7], new.ended_at, target),
            )
            return Written(target, is_change=bool(change.connection.changes()))
        found = change.connection.execute("SELECT id FROM sessions WHERE name = ?", (new.name,)).fetchone()
        if found is not None:
            self._run.notes.append(f"The session {new.name} was here already; what belongs to it joins it.")
            return Written(int(found[0]), is_change=False)
        return Written(sessions.create_session(change, new))

    def _new_session(self, row: SessionRow) -> sessions.NewSession:
        texts = self._run.texts
        metadata = texts.json(row.metadata, empty="{}")
        return sessions.NewSession(
            name=texts.word(row.name),
            project=_project(metadata),
            mode=row.mode if row.mode in sessions.MODES else "simple",
            status=row.status if row.status in sessions.SESSION_STATUSES else "active",
            requirements=texts.text(row.requirements),
            initial_branch=texts.line(row.branch),
            metadata=metadata,
            created_at=row.created_at or None,
            ended_at=row.ended_at or None,
        )

    def bring_groups(self, rows: Iterable[GroupRow]) -> None:
        """Groups without their references."""
        incoming = (
            Incoming(_group_key(row), self._run.texts.line(row.name), digest_of(row._replace(references="")), row)
            for row in rows
        )
        self._run.bring(GROUP, incoming, self._write_group)

    def _write_group(self, change: Change, row: GroupRow, target: int | None) -> Written:
        texts = self._run.texts
        title = texts.line(row.title)
        status = row.status if row.status in sessions.GROUP_STATUSES else "pending"
        others = dict(row.others)
        if status != row.status:
            others["status"] = row.status
        metadata = texts.json(json.dumps(others), empty="{}")
        if target is not None:
            change.connection.execute(
                "UPDATE groups SET title = ?, status = ?, metadata = ? WHERE id = ?",
                (title, status, metadata, target),
            )
            return Written(target, is_change=bool(change.connection.changes()))
        session_id = self._run.session_id(row.session)
        name = texts.word(row.name)
        if sessions.find_group(change.connection, session_id, name) is None:
            return Written(
                sessions.create_group(
                    change, session_id, name, title=title, status=status, metadata=metadata,
                    created_at=row.created_at or None,
                )
            )  # fmt: skip
        # Here already, perhaps made on the way for a package: only what it lacks is filled in.
        group_id = sessions.require_group(change, session_id, name)
        change.connection.execute(
            "UPDATE groups SET title = ?, status = ?, metadata = ?"
            " WHERE id = ? AND title = '' AND status = 'pending' AND metadata = '{}'",
            (title, status, metadata, group_id),
        )
        return Written(group_id, is_change=bool(change.connection.changes()))

    def bring_references(self, rows: Iterable[GroupRow], package_id: Callable[[int], int | None]) -> None:
        """The packages that groups may see beside their own, by their ids here."""
        self._run.bring(REFERENCE, self._incoming_references(rows, package_id), _write_references)

    def _incoming_references(
        self, rows: Iterable[GroupRow], package_id: Callable[[int], int | None]
    ) -> Iterator[Incoming[_References]]:
        for row in rows:
            group_id = self._run.ledger.target(GROUP, _group_key(row))
            found = [package_id(source_id) for source_id in _source_ids(row.references)]
            package_ids = tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))
            is_known = self._run.ledger.entry(REFERENCE, _group_key(row)) is not None
            if group_id is not None and (package_ids or is_known):
                # By what they became and not as they stood: one whose package comes later is a change.
                shown = self._run.texts.line(row.name)
                yield Incoming(_group_key(row), shown, digest_of(package_ids), _References(group_id, package_ids))


def _write_references(change: Change, row: _References, target: int | None) -> Written:
    found = change.connection.execute("SELECT context_references FROM groups WHERE id = ?", (row.group_id,)).fetchone()
    if found is None:
        raise UsageError("its group was removed here")
    package_ids = row.package_ids
    if target is None:  # the first time they join what the group has here
        package_ids = tuple(dict.fromkeys([*json.loads(found[0]), *package_ids]))
    change.connection.execute(
        "UPDATE groups SET context_references = ? WHERE id = ?", (json.dumps(package_ids), row.group_id)
    )
    return Written(row.group_id)


def _group_key(row: GroupRow) -> str:
    return row_key(None, row.session, row.name)


def _project(metadata: str) -> str:
    """The project that a session's metadata name."""
    value: object = json.loads(metadata)
    project: object = value.get("project_id") if isinstance(value, dict) else None
    return project.strip() or sessions.DEFAULT_PROJECT if isinstance(project, str) else sessions.DEFAULT_PROJECT


def _source_ids(references: str) -> list[int]:
    """The ids in a JSON list of package ids; what is none says nothing."""
    try:
        value: object = json.loads(references)
    except (ValueError, RecursionError):
        return []
    items: list[object] = list(value) if isinstance(value, list) else []
    return [int(item) for item in items if isinstance(item, int | str) and str(item).isdecimal()]
