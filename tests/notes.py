"""A made-up kind of record: its entry in the catalogue, its tables, and what writes it. Nothing else knows of notes."""

from ctxrank.indexer.declarations import Row, Value, declared
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


# One row an entry, as in indexer/catalogue.tsv.
ENTRY = """
kind|note|ages_by created_at|blocked body
document|body|type mood
table|notes|counted_as note
|id|number
|session_id|reference|refers_to sessions|is_owner|natural_keys session=name
|group_id|reference|refers_to groups|natural_keys group=name
|mood|word|words calm cross
|body|text|key text
|facts|JSON|replacement '[]'
|pinned|flag
|created_at|time
part|note_marks|key
|note_id|reference|refers_to notes|is_owner
|mark|name
"""
_KINDS, _ = declared((line.split("|") for line in ENTRY.split("\n")[1:-1]), {"note": {"title": _title}})
NOTE = _KINDS["note"]


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
