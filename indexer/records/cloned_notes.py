"""Findings that came with the repository: what somebody else committed, and whether it was used here.

Such a finding answers a prompt that is about it, and is named as a session starts. Before it was used here, in a block
or opened with `show`, its sentence is not said there: a stranger's would be read as the team's.
"""

import apsw

from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change

_SHOWN_CHARS = 10
_COMMIT, _USED = "commit", "used"  # kinds of rows of the ledger of imports, with the package's number as their key
_NOTE = (
    "INSERT OR REPLACE INTO imported_rows (source, kind, source_key, digest, target_id) VALUES ('notes', ?, ?, ?, ?)"
)
_NOTED = "SELECT digest FROM imported_rows WHERE source = 'notes' AND kind = ? AND source_key = ?"


def note_commit(change: Change, package: int, commit: str) -> None:
    """Say that a package came with the repository, by a commit."""
    change.connection.execute(_NOTE, (_COMMIT, str(package), commit, package))


def undesignate(change: Change, package: int) -> None:
    """Let a package be for no agent in particular."""
    change.connection.execute("DELETE FROM package_consumers WHERE package_id = ?", (package,))


def where_from(primary: apsw.Connection, package: int) -> str:
    """By which commit a package came, and whose; '' for one that was found here."""
    commit = read_value(primary, _NOTED, (_COMMIT, str(package)), str)
    if commit is None:
        return ""
    author = read_value(primary, "SELECT producer FROM packages WHERE id = ?", (package,), str)
    return f"came with the repository: {commit[:_SHOWN_CHARS]} by {author}"


def is_used(primary: apsw.Connection, package: int) -> bool:
    """Whether a package was in a block here, or opened."""
    query = "SELECT 1 FROM deliveries WHERE package_id = ? LIMIT 1"
    was_opened = read_value(primary, _NOTED, (_USED, str(package)), str) is not None
    return was_opened or read_value(primary, query, (package,), int) is not None


def note_use(change: Change, package: int) -> None:
    """Say that a package that came with the repository was opened."""
    change.connection.execute(_NOTE, (_USED, str(package), "", package))
