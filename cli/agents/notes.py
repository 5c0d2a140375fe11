"""Files that agents write into the folders of notes: indexed, and packages where their front matter says so.

    ---
    ctxrank:
      type: decisions            research, failures, decisions, handoff or investigation
      priority: high             low, medium (the default), high or critical
      summary: One sentence.     needed
      group: AUTH                optional; else the branch
      consumers: [qa_expert]     optional; else those of the type
    ---

Only files are read that have changed since they were indexed, and none is taken in that holds <private> or a block.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from ctxrank.cli.agents.event import object_of, text_of, texts_of
from ctxrank.cli.agents.injected_text import OPENING, PRIVATE
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.files.read import FileText, read_text
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.files.walk import walk
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.frontmatter import read_frontmatter
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.connection import read_row

_MAX_FILES = 200  # at one stop
_MAX_SEEN = 5_000


class _Stat(NamedTuple):
    size_bytes: int
    mtime_ns: int


def keep_notes(call: HookCall, folders: Sequence[str]) -> None:
    """Bring the notes of some folders into the store. What is wrong with one of them is a line in the log."""
    root = call.store.location.root
    texts = {path: text for folder in folders for path, text in _changed(call, folder)}
    if not texts:
        return
    paths = [os.path.join(root, path) for path in texts]
    index_artifacts(call.store, paths, mode=call.config.redaction_mode)
    for path, text in texts.items():
        if text.startswith("---") and (values := object_of(read_frontmatter(text).values.get("ctxrank"))):
            try:
                _save(call, path, values)
            except CtxrankError as error:
                note_failure(f"{call.event.name}: the front matter of a note is not usable: {error.message}")


def _changed(call: HookCall, folder: str) -> Iterator[tuple[str, str]]:
    """The notes that are new or have changed, with their texts."""
    query = """
        SELECT a.size_bytes, a.mtime_ns FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id
         WHERE r.path = '.' AND a.path = ?
    """
    with Root(call.store.location.root) as root:
        found = 0
        for seen, entry in enumerate(walk(call.store.location.root, folder)):
            if seen == _MAX_SEEN or found == _MAX_FILES:
                return
            if not isinstance(entry, FoundFile):
                continue
            if read_row(call.store.primary, query, (entry.path,), _Stat) == (entry.size_bytes, entry.mtime_ns):
                continue
            read = read_text(root, entry.path)
            if isinstance(read, FileText) and not any(tag in read.text.lower() for tag in (PRIVATE, OPENING)):
                found += 1
                yield entry.path, read.text


def _save(call: HookCall, path: str, fields: Mapping[str, object]) -> None:
    """Save the package that a note's front matter declares. Raises UsageError for a value that is not allowed."""
    agent_type = call.event.text("agent_type") if call.event.name == "SubagentStop" else ""
    new = NewPackage(
        call.event.session,
        text_of(fields.get("group")) or call.group,
        text_of(fields.get("type")),
        path,
        call.role_of(agent_type or "main"),
        text_of(fields.get("summary")),
        text_of(fields.get("priority")) or "medium",
        consumers=tuple(texts_of(fields.get("consumers"))),
    )
    save_package(call.store, new, create_session=True, mode=call.config.redaction_mode)
