"""Notes that are new (new_notes.py): indexed, and packages, whoever reads them first: a hook, `index`, a clone.

    ---
    ctxrank:
      type: decisions            research, failures, decisions, handoff or investigation
      priority: high             low, medium (the default), high or critical
      summary: One sentence.     needed
      group: AUTH                optional; else the branch
      consumers: [qa_expert]     optional; else those of the type
    ---

Text without it is a finding of low priority: its title, and its first sentence. What came with the repository
(authors.py) is of high priority at most, says who committed it, and is designated for nobody.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import islice

from ctxrank.cli.agents.event import text_of, texts_of
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.new_notes import LEDGER, Note, NoteReader, is_taken_in, new_notes
from ctxrank.cli.agents.session import role_of
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.files.authors import Commit, foreign_commits
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.light_typing import object_of
from ctxrank.indexer.records.cloned_notes import note_commit, undesignate
from ctxrank.indexer.records.packages import NewPackage, link_versions, save_package
from ctxrank.indexer.records.sessions import session_of_today
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.hook_settings import hook_settings
from ctxrank.indexer.store.imported_rows import read_entry, write_entry
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.frontmatter import read_frontmatter

_AT_ONCE = 500  # whose authors git is asked for together
_FIELDS = ("group", "type", "summary", "priority")
_TEXT_ENDINGS = (".md", ".markdown", ".txt", ".rst")
# A package of a note's path that was saved in another way; also one that a finding of another path has replaced.
_HAS_OTHER = """
    SELECT 1 FROM packages AS p LEFT JOIN packages AS n ON n.id = p.superseded_by
     WHERE p.path = ? AND p.id <> ? AND n.path IS NOT p.path LIMIT 1
"""


class _TakenInError(Exception):
    """Another process was faster: what was begun is undone."""


def keep_notes_of_project(store: Store) -> None:
    """What a run of `index` does, whoever called for it: findings go to the session of today."""
    config = load_config(store)
    reader = NoteReader(store, config, hook_settings(config.hooks), session_of_today(store.primary), None)
    take_in(reader, new_notes(reader))


def take_in(reader: NoteReader, found: Iterator[Note]) -> None:
    """Bring notes into the store. What is wrong with one is a line in the log."""
    store, root = reader.store, reader.store.location.root
    while notes := list(islice(found, _AT_ONCE)):
        index_artifacts(store, [os.path.join(root, note.path) for note in notes])
        commits = foreign_commits(root, {note.path for note in notes}, store.location.folder)
        for note in notes:
            _take_in(reader, note, commits.get(note.path))


def _take_in(reader: NoteReader, note: Note, commit: Commit | None) -> None:
    """Save what a note says, and with it that it was taken in: both or neither, and once, whoever else reads it now."""
    store = reader.store
    before = read_entry(store.primary, *LEDGER, note.key)
    if is_taken_in(store, note.path, note.key, note.sha256):
        return  # its file has moved, and its package with it; or another agent's stop was faster
    older = 0 if before is None else before.target_id
    is_own = commit is None and root_name(store.location.root, store.location.project) == "."  # in no other worktree

    def taken_in(change: Change, number: int) -> None:
        """The package that a note's content became, or that it was before; 0 for none."""
        if read_entry(change.connection, *LEDGER, note.key) != before:
            raise _TakenInError("another process took it in")
        write_entry(change.connection, *LEDGER, note.key, note.sha256, number or older)
        if number and commit is not None:
            note_commit(change, number, commit.id)
        _link(change, older, note.sha256 if is_own else "", number)

    try:
        if _save(reader, note, commit, older, taken_in):
            return
    except _TakenInError:
        return
    except CtxrankError as error:
        note_failure(f"{reader.name}: the front matter of a note is not usable: {error.message}", store.location.root)
        if not isinstance(error, UsageError):
            return  # it is no fault of the note: the next stop tries again
    with contextlib.suppress(_TakenInError), store.write() as change:
        taken_in(change, 0)


def _link(change: Change, older: int, digest: str, number: int) -> None:
    """Let a note's package replace that of the same group which another session made of it: a path is one finding.

    So it replaces what was made of the same content, by its digest, in a worktree that has been merged.
    """
    query = """
        SELECT p.id FROM packages AS n JOIN packages AS p ON p.path = n.path AND p.id <> n.id
          LEFT JOIN groups AS g ON g.id = n.group_id LEFT JOIN groups AS h ON h.id = p.group_id
         WHERE n.id = ?1 AND p.superseded_by IS NULL AND (p.id = ?2 AND g.name IS h.name OR p.id IN (
               SELECT target_id FROM imported_rows WHERE source = 'notes' AND kind = 'package' AND digest = ?3))
    """
    for one in read_column(change.connection, query, (number, older, digest), int):
        link_versions(change, one, number)


def _save(
    reader: NoteReader, note: Note, commit: Commit | None, older: int, taken_in: Callable[[Change, int], None]
) -> bool:
    """Save the package that a note is, whose package was `older` (0: none); whether it is one.

    `taken_in` writes in the same transaction. Raises UsageError for a bad value, and what that raises.
    """
    store, mode = reader.store, reader.config.redaction_mode
    front = read_frontmatter(note.text)
    role = role_of(reader.config, reader.settings, reader.agent)
    fields = object_of(front.values.get("ctxrank"))
    if fields:
        group, type_, summary, priority = (text_of(fields.get(name)) for name in _FIELDS)
    else:
        from ctxrank.cli.actions.save import guessed, type_of  # noqa: PLC0415  only for a note without front matter

        if not note.path.endswith(_TEXT_ENDINGS) or read_value(store.primary, _HAS_OTHER, (note.path, older), int):
            return False  # what was saved with more is not replaced by less
        heading, sentence = guessed(redact(front.body, mode).text)
        if not (heading or sentence):
            return False
        group, type_, summary, priority = "", type_of(heading, sentence), sentence or heading, "low"
    if commit is not None:
        role, priority = commit.author, "high" if priority.strip().lower() == "critical" else priority
    place, consumers = (reader.session, group or reader.group), texts_of(fields.get("consumers"))
    new = NewPackage(*place, type_, note.path, role, summary, priority or "medium", consumers=tuple(consumers))

    def with_it(change: Change, number: int) -> None:
        if not fields or commit is not None:
            undesignate(change, number)
        taken_in(change, number)

    save_package(store, new, create_session=True, then=with_it)
    return True
