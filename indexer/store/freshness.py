"""Whether a file on disk is still what was indexed."""

import os
from collections.abc import Iterable

import apsw

from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

# How the path begins of a package whose text is kept in the store, and in no file.
TEXT_PATH = "text://"
# How the path begins of a root that stands for another store, whose files are on another machine.
FOREIGN_ROOT = "@"
# The reason of an artifact that another store exported: no file of this machine is its, whatever its path.
ELSEWHERE = "its file is on another machine"
# What is said of a file that is not what was indexed, by its state: see `FileStates.of`; and behind its path.
STATES = {"changed": "the file has changed since it was indexed", "missing": "the file is gone", "elsewhere": ELSEWHERE}
STATE_MARKS = {state: f" ({said})" for state, said in STATES.items()}
# How a sentence begins on what a record names and is not there any more.
GONE = "Gone since then: "


def shown_path(path: str) -> str:
    """A path as a person is shown it: '' for a text that is in no file."""
    return "" if path.startswith(TEXT_PATH) else path


def in_checkout(folder: str) -> str:
    """What is said of what is in another checkout, by its folder; '' for what is in the one that asks."""
    return f"in the checkout {one_line(folder)}" if folder else ""


class FileStates:
    """Whether artifacts on disk are what was indexed: for all of one answer."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._folders: dict[str, str | None] = {".": store.location.project}  # None: not to be read
        self._artifacts: dict[int, tuple[Any, ...]] = {}

    def expect(self, artifact_ids: Iterable[int | None]) -> None:
        """Read by one statement what is known of artifacts that will be asked for; None is none."""
        rows = self.store.primary.execute(_ARTIFACTS, (id_list(filter(None, artifact_ids)),))
        self._artifacts |= {row[-1]: row for row in rows}

    def of(self, artifact_id: int | None, package_id: int | None = None) -> str:
        """current, changed, missing; elsewhere for what another store exported, of which no file here is looked at; ''
        where there is none (a package of a text), or none that may be looked at.

        A file that was rewritten with the same bytes counts as current: what differs by stat is hashed.
        """
        primary = self.store.primary
        if artifact_id is None:
            if package_id is None or package_id > 0:
                return ""
            path: str = primary.execute("SELECT path FROM packages WHERE id = ?", (package_id,)).get
            return "elsewhere" if shown_path(path) else ""
        if artifact_id not in self._artifacts:
            self.expect([artifact_id])
        row = self._artifacts.get(artifact_id)
        if row is None:
            return ""
        root, path, size, mtime_ns, inode, sha256, came, _ = row
        if came == ELSEWHERE:
            return "elsewhere"
        if root not in self._folders:  # looking costs as much as ten files
            from ctxrank.indexer.store.allowed_roots import allowed_folder  # noqa: PLC0415  few have other roots

            self._folders[root] = allowed_folder(self.store.location, primary, root)
        folder = self._folders[root]
        return "" if folder is None else state_on_disk(folder, path, sha256, size, mtime_ns, inode)


def has_roots(primary: apsw.Connection) -> bool:
    """Whether files of another folder of this machine than the project's are known."""
    return primary.execute("SELECT 1 FROM roots WHERE path NOT LIKE '@%' AND path <> '.'").get is not None


_ARTIFACTS = """
    SELECT r.path, a.path, a.size_bytes, a.mtime_ns, a.inode, a.sha256, a.reason, a.id
      FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id WHERE a.id IN (SELECT value FROM json_each(?))
"""


def state_on_disk(
    folder: str, path: str, sha256: str, size: int, mtime_ns: int, inode: int, *, most_bytes: int = MAX_FILE_BYTES
) -> str:
    """Whether a file below a folder is what it was when it had these bytes and this stat; of a file of more bytes its
    size alone says so.
    """
    if path.startswith("/") or ".." in path.split("/"):
        return ""  # the store says where it is: that is no permission to look
    try:
        info = os.stat(os.path.join(folder, path))
    except OSError:
        return "missing"
    if info.st_size != size:
        return "changed"
    if (info.st_mtime_ns, info.st_ino) == (mtime_ns, inode) or size > most_bytes:
        return "current"
    from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  only a file with another stat is read
    from ctxrank.indexer.text.digests import sha256_of  # noqa: PLC0415  as above

    try:
        return "current" if sha256_of(read_beneath(folder, path, most_bytes, follow_link=True)) == sha256 else "changed"
    except OSError:
        return "missing"


def gone_of(primary: apsw.Connection, kind: str, number: int) -> str:
    """A sentence on what a record names and is gone since; '' where nothing is."""
    query = """
        SELECT a.name FROM anchors AS a JOIN documents AS d ON d.id = a.document_id
         WHERE d.kind = ? AND d.record_id = ? AND a.state = 'gone' ORDER BY a.id
    """
    names = read_column(primary, query, (kind, number), str)
    return f"{GONE}{', '.join(names)}." if names else ""
