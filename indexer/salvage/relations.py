"""Rows that lost what they belong to, and records and documents that lost each other.

A record and its document say much the same: where one of the two is lost, it is made again from the other. What of that
is left over is put right as the schema would have it: a reference that may be empty becomes empty, a row that cannot be
without its owner goes, and is counted.
"""

import json
import os
from collections.abc import Mapping

import apsw

from ctxrank.indexer import documents, error_patterns
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.salvage.pages import Value
from ctxrank.indexer.store import Change

Known = Mapping[int, Mapping[str, Value]]

# What a row is made of that only its index entries are left of, beside what these say. In this order: owners first.
_FILLERS: dict[str, dict[str, Value]] = {
    "sessions": {"created_at": 0},
    "groups": {"created_at": 0},
    "roots": {},
    "artifacts": {"state": "stale", "reason": "rebuilt after damage", "indexed_at": 0},
}
_OF_A_SESSION = ("groups", "packages", "reasoning", "skill_outputs", "events", "receipts")
_RECORD_TABLES = {
    "package": "packages", "reasoning": "reasoning", "error": "error_patterns", "strategy": "strategies",
    "skill": "skill_outputs",
}  # fmt: skip
# Read from disk again by the next `index`, and of no use in part.
_LINKED_TABLES = ("annotations", "annotated_files", "linked_texts", "linked", "linked_trees")


class Mended(NamedTuple):
    """By table: rows made again from what else was known of them, and rows that had to go with their owner."""

    rebuilt: Mapping[str, int]
    dropped: Mapping[str, int]


def mend(change: Change, lost: Mapping[str, Known]) -> Mended:
    """Make the new file whole in itself, inside the caller's transaction."""
    truth = change.connection
    rebuilt: dict[str, int] = {}
    for table, filler in _FILLERS.items():
        for number, known in lost.get(table, {}).items():
            _count(rebuilt, table, is_done=_insert(truth, table, {**filler, **known, "id": number}))
    _name_lost_sessions(truth, rebuilt)
    _rebuild_records(truth, lost, rebuilt)
    _rebuild_documents(change, lost.get("documents", {}), rebuilt)
    dropped = _settle_references(truth)
    # A document of a record that is not there any more: its passages go with it.
    for kind, table in {**_RECORD_TABLES, "artifact": "artifacts"}.items():
        ids = truth.execute(f"SELECT id FROM documents WHERE kind = ? AND number NOT IN (SELECT id FROM {table})", (kind,))
        for (document_id,) in ids.fetchall():
            count = documents.remove_owned(change, int(document_id)) + 1
            documents.remove(change, int(document_id))
            dropped["documents"] = dropped.get("documents", 0) + count
    for table, count in _settle_references(truth).items():
        dropped[table] = dropped.get(table, 0) + count
    _derive(truth, lost, rebuilt)
    return Mended(rebuilt, dropped)


def _count(counts: dict[str, int], table: str, *, is_done: bool) -> None:
    if is_done:
        counts[table] = counts.get(table, 0) + 1


def _insert(truth: apsw.Connection, table: str, values: Mapping[str, Value]) -> bool:
    names = ", ".join(values)
    places = ", ".join("?" * len(values))
    try:
        truth.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(values.values()))
    except apsw.ConstraintError:
        return False
    return True


def _name_lost_sessions(truth: apsw.Connection, rebuilt: dict[str, int]) -> None:
    """Give sessions that only their contents still know a row, so that these stay."""
    for table in _OF_A_SESSION:
        query = f"SELECT DISTINCT session_id FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)"
        for (number,) in truth.execute(query).fetchall():
            values: dict[str, Value] = {"id": int(number), "name": f"recovered-{number}", "created_at": 0}
            _count(rebuilt, "sessions", is_done=_insert(truth, "sessions", values))
    # When it was made is gone; the first thing that it holds is not much younger.
    truth.execute(
        """
        UPDATE sessions SET created_at = coalesce((SELECT min(created_at) FROM packages WHERE session_id = sessions.id),
                                                  (SELECT min(created_at) FROM reasoning WHERE session_id = sessions.id),
                                                  0)
         WHERE created_at = 0
        """
    )
    truth.execute(
        """
        UPDATE groups SET created_at = coalesce((SELECT min(created_at) FROM packages WHERE group_id = groups.id),
                                                (SELECT created_at FROM sessions WHERE id = groups.session_id), 0)
         WHERE created_at = 0
        """
    )


class _Kept(NamedTuple):
    """A document whose record was lost."""

    number: int
    session_id: int
    group_id: int
    agent: str
    type: str
    priority: str
    title: str
    body: str
    path: str
    superseded_by: int | None
    created_at: int


def _rebuild_records(truth: apsw.Connection, lost: Mapping[str, Known], rebuilt: dict[str, int]) -> None:
    """Make records again from their documents, and from what the indexes knew beside."""
    for kind, table in _RECORD_TABLES.items():
        query = f"""
            SELECT number, session_id, group_id, agent, type, priority, title, body, path, superseded_by, created_at
              FROM documents
             WHERE kind = ? AND number NOT IN (SELECT id FROM {table})
        """
        for kept in [_Kept(*row) for row in truth.execute(query, (kind,))]:
            known = lost.get(table, {}).get(kept.number, {})
            values = {**_columns(truth, kind, kept), **known, "id": kept.number}
            _count(rebuilt, table, is_done=_insert(truth, table, values))


def _columns(truth: apsw.Connection, kind: str, kept: _Kept) -> dict[str, Value]:
    """The columns of a record as far as its document tells."""
    values: dict[str, Value] = {"created_at": kept.created_at}
    if kind in ("package", "reasoning", "skill"):
        values.update(session_id=kept.session_id, group_id=kept.group_id or None)
    if kind == "package":
        row = truth.execute("SELECT id FROM artifacts WHERE path = ? ORDER BY id LIMIT 1", (kept.path,)).fetchone()
        values.update(
            artifact_id=None if row is None else int(row[0]), path=kept.path, type=kept.type, producer=kept.agent,
            priority=kept.priority, scope="group" if kept.group_id else "global", summary=kept.body,
            superseded_by=kept.superseded_by,
        )  # fmt: skip
    elif kind == "reasoning":
        values.update(agent=kept.agent, phase=kept.type, content=kept.body)
    elif kind == "skill":
        values.update(agent=kept.agent, skill=kept.type, iteration=0, output=kept.body)
    elif kind == "error":
        error_type, colon, message = kept.title.partition(": ")
        values.update(
            project="default", pattern_hash=f"rebuilt-{kept.number}", error_type=error_type if colon else "Unknown",
            message=message or kept.title, solution=kept.body, lang=kept.type or None, last_seen=kept.created_at,
        )  # fmt: skip
    else:
        values.update(
            name=f"rebuilt_{kept.number}", project="default", topic=kept.type, insight=kept.body,
            last_seen=kept.created_at,
        )  # fmt: skip
    return values


def _rebuild_documents(change: Change, lost: Known, rebuilt: dict[str, int]) -> None:
    """Make documents again from their records, under the id they had where that is known."""
    truth = change.connection
    old_ids = {(known.get("kind"), known.get("number")): number for number, known in lost.items()}
    for kind, table in _RECORD_TABLES.items():
        query = f"SELECT id FROM {table} WHERE id NOT IN (SELECT number FROM documents WHERE kind = ?)"
        for (number,) in truth.execute(query, (kind,)).fetchall():
            document = _document(truth, kind, int(number))
            document_id = old_ids.get((kind, int(number)))
            if document_id is not None:
                row: dict[str, Value] = {
                    "id": document_id, "seq": change.next_seq(), "kind": kind, "number": int(number), "title": "",
                    "body": "", "ruleset": 0, "session_id": document.session_id, "created_at": 0,
                }  # fmt: skip
                _insert(truth, "documents", row)
            documents.put(change, document)
            _count(rebuilt, "documents", is_done=True)
    if lost:
        # No rules are as old as this: the next scan reads every file, and puts back the passages that are missing.
        truth.execute("UPDATE artifacts SET ruleset = 0")


def _document(truth: apsw.Connection, kind: str, number: int) -> documents.Document:
    """The document of a record as saving it would make it, but for a package's title: its file may be gone."""
    if kind == "package":
        query = "SELECT session_id, group_id, producer, type, priority, path, summary, superseded_by, created_at"
        row = _one(truth, f"{query} FROM packages WHERE id = ?", number)
        session, group, agent, type_, priority, path, summary, superseded, created = row
        return _as_document(
            kind, number, os.path.basename(str(path)), summary, created, session, group, agent, type_
        )._replace(priority=str(priority), path=str(path), superseded_by=_number(superseded))
    if kind == "reasoning":
        query = "SELECT session_id, group_id, agent, phase, agent_name, content, refs, created_at FROM reasoning"
        session, group, agent, phase, name, content, refs, created = _one(truth, f"{query} WHERE id = ?", number)
        title = f"{agent} {phase}{f' ({name})' if name else ''}"
        body = str(content)
        if refs not in ("", "[]"):
            body += f"\n\nRefers to: {', '.join(map(str, json.loads(str(refs))))}"
        return _as_document(kind, number, title, body, created, session, group, agent, phase)
    if kind == "error":
        query = "SELECT error_type, message, solution, lang, created_at FROM error_patterns WHERE id = ?"
        error_type, message, solution, lang, created = _one(truth, query, number)
        title = error_patterns.title_of(str(error_type), str(message))
        return _as_document(kind, number, title, solution, created, type_=lang or "")
    if kind == "strategy":
        topic, insight, created = _one(truth, "SELECT topic, insight, created_at FROM strategies WHERE id = ?", number)
        return _as_document(kind, number, f"{topic} strategy", insight, created, type_=topic)
    query = "SELECT session_id, group_id, agent, skill, output, created_at FROM skill_outputs WHERE id = ?"
    session, group, agent, skill, output, created = _one(truth, query, number)
    return _as_document(kind, number, str(skill), output, created, session, group, agent, skill)


def _one(truth: apsw.Connection, query: str, number: int) -> tuple[Value, ...]:
    row = truth.execute(query, (number,)).fetchone()
    assert row is not None, "its number was read a moment ago"
    return tuple(row)


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _as_document(
    kind: str, number: int, title: str, body: Value, created_at: Value, session_id: Value = 0, group_id: Value = 0,
    agent: Value = "", type_: Value = "",
) -> documents.Document:  # fmt: skip
    from ctxrank.indexer.ruleset import RULESET_VERSION

    return documents.Document(
        kind=kind, number=number, title=title, body=str(body), created_at=_number(created_at) or 0,
        ruleset=RULESET_VERSION, session_id=_number(session_id) or 0, group_id=_number(group_id) or 0,
        agent=str(agent), type=str(type_),
    )  # fmt: skip


def _settle_references(truth: apsw.Connection) -> dict[str, int]:
    """Empty references to rows that are gone, or remove the row that cannot be without; counted by table."""
    dropped: dict[str, int] = {}
    while broken := truth.execute("PRAGMA foreign_key_check").fetchall():
        for table, rowid, parent, key in broken:
            reference = {int(row[0]): row for row in truth.execute(f'PRAGMA foreign_key_list("{table}")')}[int(key)]
            column, target = str(reference[3]), str(reference[4] or "id")
            required = {str(row[1]) for row in truth.execute(f'PRAGMA table_info("{table}")') if row[3] or row[5]}
            where = f'"{column}" NOT IN (SELECT "{target}" FROM "{parent}")'
            if rowid is not None:
                where += f" AND rowid = {int(rowid)}"
            if column in required:
                truth.execute(f'DELETE FROM "{table}" WHERE {where}')
                dropped[str(table)] = dropped.get(str(table), 0) + truth.changes()
            else:
                truth.execute(f'UPDATE "{table}" SET "{column}" = NULL WHERE {where}')
    return dropped


def _derive(truth: apsw.Connection, lost: Mapping[str, Known], rebuilt: dict[str, int]) -> None:
    """Make again what follows from the rest."""
    for column in ("agent", "type", "priority"):
        truth.execute(
            f"INSERT OR IGNORE INTO labels (text) SELECT DISTINCT {column} FROM documents WHERE {column} <> ''"
        )
    truth.execute("DELETE FROM error_terms")
    truth.execute(
        "INSERT OR IGNORE INTO error_terms (term, pattern_id)"
        " SELECT t.value, s.pattern_id FROM error_signatures AS s, json_each(s.terms) AS t"
    )
    unsigned = "FROM error_patterns WHERE id NOT IN (SELECT pattern_id FROM error_signatures)"
    truth.execute(  # normaliser 0 is older than any: the next call that matches signs these
        "INSERT INTO error_signatures (pattern_id, normaliser, template, instance, family, headline, features, terms,"
        f" unit) SELECT id, 0, '', '', 'text', '', '{{}}', '[]', error_type || ': ' || message {unsigned}"
    )
    if truth.changes():
        rebuilt["error_signatures"] = truth.changes()
    if any(lost.get(table) for table in _LINKED_TABLES):
        for table in _LINKED_TABLES:
            truth.execute(f"DELETE FROM {table}")
        truth.execute("DELETE FROM documents WHERE kind = 'linked'")
    else:
        truth.execute("DELETE FROM documents WHERE kind = 'linked' AND number NOT IN (SELECT id FROM linked)")
    truth.execute("UPDATE linked_trees SET seen = ''")
