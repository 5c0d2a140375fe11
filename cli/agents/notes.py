"""Files that agents write into the folders of notes: indexed, and packages where their front matter says so.

    ---
    ctxrank:
      type: decisions            research, failures, decisions, handoff or investigation
      priority: high             low, medium (the default), high or critical
      summary: One sentence.     needed
      group: AUTH                optional; else the branch
      consumers: [qa_expert]     optional; else those of the type
    ---

The question is whether a note of this path and content was taken in, not whether its file is indexed: `index`, a fresh
search or a process that watches may have seen the file before. The answer is in the ledger of imports, so that a
finding that was pruned does not come back. No note is taken in that holds <private> or a block.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from ctxrank.cli.agents.event import object_of, text_of, texts_of
from ctxrank.cli.agents.injected_text import may_not_be_kept
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.exchange.register import read_entry, write_entry
from ctxrank.indexer.files.artifacts import root_name
from ctxrank.indexer.files.read import FileText, read_text
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.files.stamps import FileStamp, FoundFile
from ctxrank.indexer.files.walk import walk
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.frontmatter import read_frontmatter

_MAX_FILES = 200  # at one stop
_MAX_SEEN = 5_000
_LEDGER = ("notes", "package")  # source and kind of its rows


class _Note(NamedTuple):
    path: str
    text: str
    sha256: str
    key: str  # of the ledger: its root and path, neither of which a purge would find there


def keep_notes(call: HookCall, folders: Sequence[str]) -> None:
    """Bring the notes of some folders into the store. What is wrong with one of them is a line in the log."""
    notes = [note for folder in folders for note in _new_notes(call, folder)]
    if not notes:
        return
    paths = [os.path.join(call.store.location.root, note.path) for note in notes]
    index_artifacts(call.store, paths, mode=call.config.redaction_mode)
    for note in notes:
        if _is_taken_in(call, note.path, note.key, note.sha256):
            continue  # its file has moved, and its package with it; or another agent's stop was faster
        number = 0
        if note.text.startswith("---") and (values := object_of(read_frontmatter(note.text).values.get("ctxrank"))):
            try:
                number = _save(call, note.path, values)
            except CtxrankError as error:
                reason = f"{call.event.name}: the front matter of a note is not usable: {error.message}"
                note_failure(reason, call.event.cwd)
                if not isinstance(error, UsageError):
                    continue  # it is no fault of the note: the next stop tries again
        with call.store.write() as change:  # what a note's content became: a package, or nothing (0)
            write_entry(change.connection, *_LEDGER, note.key, note.sha256, number)


def _new_notes(call: HookCall, folder: str) -> Iterator[_Note]:
    """The notes of a folder that were not taken in as they are now. What its stat proves unchanged is not read."""
    query = """
        SELECT a.sha256, a.size_bytes, a.mtime_ns, a.inode, a.indexed_at
          FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id
         WHERE r.path = ? AND a.path = ?
    """
    folder_name = root_name(call.store.location.root, call.store.location.project)
    with Root(call.store.location.root) as root:
        found = 0
        for seen, entry in enumerate(walk(call.store.location.root, folder)):
            if seen == _MAX_SEEN or found == _MAX_FILES:
                return
            if not isinstance(entry, FoundFile):
                continue
            key = digest_of(f"{folder_name}\n{entry.path}")
            sha256, *stamp = call.store.primary.execute(query, (folder_name, entry.path)).fetchone() or ("",)
            if stamp and FileStamp(*stamp).proves(entry) and _is_taken_in(call, entry.path, key, sha256):
                continue
            read = read_text(root, entry.path)
            if isinstance(read, FileText) and not may_not_be_kept(read.text):
                found += 1
                yield _Note(entry.path, read.text, read.sha256, key)


def _is_taken_in(call: HookCall, path: str, key: str, sha256: str) -> bool:
    """Whether a note of this path and content was taken in, or is a package that was saved in another way."""
    primary = call.store.primary
    entry = read_entry(primary, *_LEDGER, key)
    if entry is not None:
        return entry.digest == sha256
    # An older package points to this file, too; but what the file says now was not there to be saved.
    query = """
        SELECT 1 FROM packages AS p JOIN artifacts AS a ON a.id = p.artifact_id
         WHERE p.path = ? AND p.superseded_by IS NULL AND a.sha256 = ? AND p.created_at >= a.mtime_ns / 1000
    """
    return read_value(primary, query, (path, sha256), int) is not None


def _save(call: HookCall, path: str, fields: Mapping[str, object]) -> int:
    """Save the package that a note's front matter declares; returns its id. Raises UsageError for a value that is not
    allowed.
    """
    new = NewPackage(
        call.event.session,
        text_of(fields.get("group")) or call.group,
        text_of(fields.get("type")),
        path,
        call.role_of(call.agent_type or "main"),
        text_of(fields.get("summary")),
        text_of(fields.get("priority")) or "medium",
        consumers=tuple(texts_of(fields.get("consumers"))),
    )
    return save_package(call.store, new, create_session=True, mode=call.config.redaction_mode).id
