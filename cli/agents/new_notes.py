"""Files in the folders of notes that were not taken in as they are now (notes.py): as a rule none.

The question is whether a note of this path and content was taken in, not whether its file is indexed. The answer is in
the ledger of imports, so that a finding that was pruned does not come back. No note is taken in that holds <private> or
a block.
"""

import os
from collections.abc import Iterator
from itertools import chain

from ctxrank.cli.agents.injected_text import may_not_be_kept
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.files.stamps import FileStamp, FoundFile
from ctxrank.indexer.files.walk import walk
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.hook_settings import HookSettings
from ctxrank.indexer.store.imported_rows import read_entry
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of

_MAX_FILES, _MAX_SEEN = 200, 5_000  # that a hook takes in, and looks at, at one event
LEDGER = ("notes", "package")  # source and kind of its rows


class Note(NamedTuple):
    """A file that was read, with a path relative to the root."""

    path: str
    text: str
    sha256: str
    key: str  # of the ledger: its root and path, neither of which a purge would find there


class NoteReader(NamedTuple):
    """Who reads notes: `name` is what a line in the log says of it; `session` and `group` are where findings go.

    A hook is ended in seconds, so at one event it takes in `most_bytes`, and so many files.
    """

    store: Store
    config: Config
    settings: HookSettings
    session: str
    group: str | None
    agent: str = "main"
    name: str = "index"
    most_bytes: int | None = None


def new_notes(reader: NoteReader) -> Iterator[Note]:
    """The notes that were not taken in as they are now. What its stat proves unchanged is not read."""
    if not (reader.settings.enabled and reader.settings.learn):
        return
    store, left = reader.store, reader.most_bytes
    query = """
        SELECT a.sha256, a.size_bytes, a.mtime_ns, a.inode, a.indexed_at
          FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id
         WHERE r.path = ? AND a.path = ?
    """
    folder_name = root_name(store.location.root, store.location.project)
    there = [one for one in reader.settings.folders if os.path.isdir(os.path.join(store.location.root, one))]
    files = chain.from_iterable(walk(store.location.root, folder) for folder in there)
    found = 0
    with Root(store.location.root) as root:
        for seen, entry in enumerate(files):
            if left is not None and (seen == _MAX_SEEN or found == _MAX_FILES):
                return
            if not isinstance(entry, FoundFile) or (left is not None and entry.size_bytes > left):
                continue
            key = digest_of(f"{folder_name}\n{entry.path}")
            sha256, *stamp = store.primary.execute(query, (folder_name, entry.path)).fetchone() or ("",)
            if stamp and FileStamp(*stamp).proves(entry) and is_taken_in(store, entry.path, key, sha256):
                continue
            from ctxrank.indexer.files.read import FileText, read_text  # noqa: PLC0415  start-up: mostly none is new

            read = read_text(root, entry.path)
            if isinstance(read, FileText) and not may_not_be_kept(read.text):
                found += 1
                left = None if left is None else left - entry.size_bytes
                yield Note(entry.path, read.text, read.sha256, key)


def is_taken_in(store: Store, path: str, key: str, sha256: str) -> bool:
    """Whether a note of this path and content was taken in, or is a package that was saved in another way."""
    primary = store.primary
    entry = read_entry(primary, *LEDGER, key)
    if entry is not None:
        return entry.digest == sha256
    # An older package points to this file, too; but what the file says now was not there to be saved.
    query = """
        SELECT 1 FROM packages AS p JOIN artifacts AS a ON a.id = p.artifact_id
         WHERE p.path = ? AND a.sha256 = ? AND p.created_at >= a.mtime_ns / 1000
    """
    return read_value(primary, query, (path, sha256), int) is not None
