"""A made-up kind of record: its entry in the catalogue, its tables, and what writes it. Nothing else knows of notes."""

from ctxrank.indexer.declarations import (
    Column,
    DocumentShape,
    Kind,
    Meaning,
    Row,
    Table,
    Value,
    group_reference,
    session_reference,
    word,
)
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.store.store import Change

TABLES = """
    CREATE TABLE notes (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        group_id    INTEGER REFERENCES groups (id),
        mood        TEXT    NOT NULL DEFAULT 'calm' CHECK (mood IN ('calm', 'cross')),
        body        TEXT    NOT NULL,
        facts       TEXT    NOT NULL DEFAULT '[]',
        pinned      INTEGER NOT NULL DEFAULT 0,
        created_at  INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE note_marks (
        note_id  INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
        mark     TEXT    NOT NULL
    ) STRICT;
    ALTER TABLE blocklist RENAME TO old_blocklist;
    CREATE TABLE blocklist (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        kind        TEXT    NOT NULL,
        digest      TEXT    NOT NULL,
        prefilter   TEXT    NOT NULL DEFAULT '',
        blocked_at  INTEGER NOT NULL,
        origin      TEXT    NOT NULL DEFAULT '',
        UNIQUE (kind, digest)
    ) STRICT;
    DROP TABLE old_blocklist;
"""


def _title(row: Row) -> str:
    return f"{row['mood']} note"


NOTE = Kind(
    "note",
    Table(
        "notes",
        (
            Column("id", Meaning.NUMBER), session_reference(), group_reference(), word("mood", "calm", "cross"),
            Column("body", Meaning.TEXT, key="text"), Column("facts", Meaning.JSON, replacement="'[]'"),
            Column("pinned", Meaning.FLAG), Column("created_at", Meaning.TIME),
        ),
        counted_as="note",
    ),
    parts=(
        Table(
            "note_marks",
            (
                Column("note_id", Meaning.REFERENCE, refers_to="notes", is_owner=True), Column("mark", Meaning.NAME),
            ),
            key="",
        ),
    ),
    document=DocumentShape(title=_title, body="body", type="mood"),
    ages_by="created_at", blocked=("body",),
)  # fmt: skip


def save_note(change: Change, session_id: int, body: str, created_at: int, *, mood: str = "cross") -> int:
    """Write a note and make it findable."""
    values: dict[str, Value] = {
        "session_id": session_id,
        "mood": mood,
        "body": body,
        "facts": "[1]",
        "pinned": 1,
        "created_at": created_at,
    }
    number = insert(change, NOTE, values)
    change.connection.execute("INSERT INTO note_marks (note_id, mark) VALUES (?, 'm')", (number,))
    return number
