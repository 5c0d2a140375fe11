"""Records and their documents, each made again from the other: they say much the same.

    documents (kind, number, title, body, …)  ◄──►  packages, reasoning, error_patterns, strategies, skill_outputs

What only a record knew (a package's version, an error's project, unless an index knows it) is gone with it.
"""

import json
import os
from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.sqlite_salvage.pages import Value
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Change

Known = Mapping[int, Mapping[str, Value]]  # by row number: the columns that the indexes of its table still hold

RECORD_TABLES = {
    "package": "packages",
    "reasoning": "reasoning",
    "error": "error_patterns",
    "strategy": "strategies",
    "skill": "skill_outputs",
}


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


def rebuild_records(truth: apsw.Connection, lost: Mapping[str, Known]) -> dict[str, int]:
    """Make records again from their documents, and from what the indexes knew beside; how many, by table."""
    rebuilt: dict[str, int] = {}
    for kind, table in RECORD_TABLES.items():
        query = f"""
            SELECT record_id, session_id, group_id, agent, type, priority, title, body, path, superseded_by, created_at
              FROM documents
             WHERE kind = ? AND record_id NOT IN (SELECT id FROM {table})
        """
        for kept in [_Kept(*row) for row in truth.execute(query, (kind,))]:
            known = lost.get(table, {}).get(kept.number, {})
            values = {**_columns(truth, kind, kept), **known, "id": kept.number}
            if insert(truth, table, values):
                rebuilt[table] = rebuilt.get(table, 0) + 1
    return rebuilt


def _columns(truth: apsw.Connection, kind: str, kept: _Kept) -> dict[str, Value]:
    """The columns of a record as far as its document tells."""
    values: dict[str, Value] = {"created_at": kept.created_at}
    if kind in ("package", "reasoning", "skill"):
        values.update(session_id=kept.session_id, group_id=kept.group_id or None)
    if kind == "package":
        row = truth.execute("SELECT id FROM artifacts WHERE path = ? ORDER BY id LIMIT 1", (kept.path,)).fetchone()
        values.update(
            artifact_id=None if row is None else int(str(row[0])), path=kept.path, type=kept.type, producer=kept.agent,
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


def rebuild_documents(change: Change, lost: Known) -> int:
    """Make documents again from their records, under the id they had where that is known; returns how many."""
    truth = change.connection
    count = 0
    old_ids = {(known.get("kind"), known.get("record_id")): number for number, known in lost.items()}
    for kind, table in RECORD_TABLES.items():
        query = f"SELECT id FROM {table} WHERE id NOT IN (SELECT record_id FROM documents WHERE kind = ?)"
        for number in numbers(truth, query, kind):
            document = _document(truth, kind, number)
            document_id = old_ids.get((kind, number))
            if document_id is not None:
                row: dict[str, Value] = {
                    "id": document_id, "seq": change.next_seq(), "kind": kind, "record_id": number, "title": "",
                    "body": "", "ruleset": 0, "session_id": document.session_id, "created_at": 0,
                }  # fmt: skip
                insert(truth, "documents", row)
            documents.put(change, document)
            count += 1
    if lost:
        # No rules are as old as this: the next scan reads every file, and puts back the passages that are missing.
        truth.execute("UPDATE artifacts SET ruleset = 0")
    return count


def numbers(truth: apsw.Connection, query: str, *values: str) -> list[int]:
    """The row numbers that a query gives."""
    return [int(str(row[0])) for row in truth.execute(query, values).fetchall()]


def insert(truth: apsw.Connection, table: str, values: Mapping[str, Value]) -> bool:
    """Insert a row; false where the table refuses it."""
    names = ", ".join(values)
    places = ", ".join("?" * len(values))
    try:
        truth.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(values.values()))
    except apsw.ConstraintError:
        return False
    return True


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
        title = " ".join(filter(None, (str(agent), str(phase), f"({name!s})" if name else "")))
        body = str(content)
        if refs not in ("", "[]"):
            body += f"\n\nRefers to: {', '.join(map(str, json.loads(str(refs))))}"
        return _as_document(kind, number, title, body, created, session, group, agent, phase)
    if kind == "error":
        query = "SELECT error_type, message, solution, lang, created_at FROM error_patterns WHERE id = ?"
        error_type, message, solution, lang, created = _one(truth, query, number)
        title = patterns.title_of(str(error_type), str(message))
        return _as_document(kind, number, title, solution, created, type_=lang or "")
    if kind == "strategy":
        topic, insight, created = _one(truth, "SELECT topic, insight, created_at FROM strategies WHERE id = ?", number)
        return _as_document(kind, number, f"{topic!s} strategy", insight, created, type_=topic)
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
    return documents.Document(
        kind=kind, number=number, title=title, body=str(body), created_at=_number(created_at) or 0,
        ruleset=RULESET_VERSION, session_id=_number(session_id) or 0, group_id=_number(group_id) or 0,
        agent=str(agent), type=str(type_),
    )  # fmt: skip
