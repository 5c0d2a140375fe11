"""Findings that came with the repository: what somebody else committed, and whether it was used here.

Such a finding answers a prompt or a task that is about it, and is named as a session starts. Before it was used here,
in a block or opened with `show`, nothing else says a sentence of it: a stranger's would be read as the team's.
"""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.imported_rows import write_entry
from ctxrank.indexer.store.store import Change, Store

_SHOWN_CHARS = 10
_COMMIT, _USED = "commit", "used"  # kinds of rows of the ledger of imports, with the package's number as their key
_NOTED = "SELECT digest FROM imported_rows WHERE source = 'notes' AND kind = '{}' AND source_key = {}"
# By which commit a package `p` came with the repository; null for one that was found here.
COMMIT = f"({_NOTED.format(_COMMIT, 'CAST(p.id AS TEXT)')})"
# Whether a package `p` came with the repository and was not used here before the moment `:before`. What was used has
# that moment for its digest.
IS_UNUSED_CLONE = f"""
    EXISTS {COMMIT}
    AND NOT EXISTS ({_NOTED.format(_USED, "CAST(p.id AS TEXT)")} AND CAST(digest AS INTEGER) < :before)
    AND NOT EXISTS (SELECT 1 FROM deliveries AS v WHERE v.package_id = p.id AND v.delivered_at < :before)
"""


def note_commit(change: Change, package: int, commit: str) -> None:
    """Say that a package came with the repository, by a commit."""
    write_entry(change.connection, "notes", _COMMIT, package, commit, package)


def undesignate(change: Change, package: int) -> None:
    """Let a package be for no agent in particular."""
    change.connection.execute("DELETE FROM package_consumers WHERE package_id = ?", (package,))


def where_from(primary: apsw.Connection, package: int) -> str:
    """By which commit a package came, and whose; '' for one that was found here."""
    row = primary.execute(f"SELECT {COMMIT}, producer FROM packages AS p WHERE id = ?", (package,)).fetchone()
    return "" if row is None else came_by(*row)


def came_by(commit: str | None, author: str) -> str:
    """How a package says that it came by a commit, and whose; '' without one."""
    return f"came with the repository: {commit[:_SHOWN_CHARS]} by {author}" if commit else ""


def is_unused_clone(primary: apsw.Connection, package: int) -> bool:
    """Whether a package came with the repository, and was in no block here, nor opened."""
    query = f"SELECT {IS_UNUSED_CLONE} FROM packages AS p WHERE p.id = :id"
    return bool(read_value(primary, query, {"id": package, "before": now_us() + 1}, int))


def note_use(store: Store, packages: Iterable[int]) -> None:
    """Say of those that came with the repository that somebody here opened them, or was shown them where they bear."""
    unused = [one for one in packages if is_unused_clone(store.primary, one)]
    if unused:
        with store.write() as change:
            for one in unused:
                write_entry(change.connection, "notes", _USED, one, str(now_us()), one)
