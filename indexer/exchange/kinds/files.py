"""The files that imported records point to, read and prepared outside of any transaction; and imported passages, which
are what can be found of a file that is not here.

A passage's key identifies its content, and a scan leaves a passage alone whose key the file has, too. So
a key is taken over only where it is the content's own; in a file that was edited by hand it need not be.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.run import ImportRun
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_row, read_rows
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.passages import content_digest

# Packages that share a file are mostly neighbours.
_FILES_REMEMBERED = 32


class Files:
    """The files below the root that records of this store name.

    What comes from another store brings its own texts: no file here is read for it, whatever its path. Where it is not
    known whose the root is (`is_read` false), files count as missing until a scan finds them.
    """

    def __init__(self, run: ImportRun, *, is_read: bool = True) -> None:
        self._run = run
        self._is_read = is_read
        self._root = run.store.location.root
        self._prepared = lru_cache(_FILES_REMEMBERED)(self._prepare)
        self._unreadable: dict[str, str] = {}
        self._outside = 0

    def find(self, path: str) -> tuple[str, artifacts.PreparedFile | None]:
        """The path as it is stored, and the file if there is one inside the root that has a text."""
        if self._run.origin.code:
            return self._run.texts.line(path), None
        try:
            inside = contained_path(self._root, path)
        except UsageError:
            self._outside += 1
            return self._run.texts.line(path), None
        shown = self._run.texts.line(inside)
        if shown != inside:
            self._unreadable[shown] = "the path holds a secret, or characters that no terminal shows"
            return shown, None
        if not self._is_read:
            self._run.account.files_missing.add(inside)
            return inside, None
        prepared = self._prepared(inside)
        self._run.held_bytes += prepared.file.stamp.size_bytes if prepared else 0
        return inside, prepared

    def notes(self) -> Iterator[str]:
        """What a person should know about files that were not indexed."""
        if self._outside:
            shown = f"{self._outside} {'path' if self._outside == 1 else 'paths'}"
            yield f"{shown} of no file below {self._root}: imported without their files."
        for reason, count in sorted(Counter(self._unreadable.values()).items()):
            yield f"{count} files are not indexed: {reason}."

    def _prepare(self, path: str) -> artifacts.PreparedFile | None:
        read = read_text_file(self._root, path)
        if isinstance(read, FileText):
            self._run.account.files_indexed.add(path)
            return artifacts.prepare(path, read, self._run.mode)
        if read.reason == "vanished":
            self._run.account.files_missing.add(path)
        else:
            self._unreadable[path] = read.reason
        return None


class ImportedPassage(NamedTuple):
    """A passage as a document has it: without the file's title in its own."""

    passage_key: str
    title: str
    body: str
    start_line: int
    end_line: int


def read_passages(fields: Fields, file_title: str) -> tuple[ImportedPassage, ...]:
    """The passages of a line, each with a key that no other has. Raises UsageError."""
    found: dict[str, ImportedPassage] = {}
    for place, item in enumerate(fields.objects("passages"), 1):
        title, text = item.text("title", ""), item.text("text")
        key = "" if item.is_missing("key") else item.raw("key")  # it looks like a secret, and is kept where it is none
        digest, _, count = key.partition(".")
        is_counted = not count or (count.isascii() and count.isdigit() and len(count) < 10)
        own = (content_digest(title, text), content_digest(f"{file_title} > {title}", text))
        if key in found or not is_counted or digest not in own:
            key = f"import.{place}"
        found[key] = ImportedPassage(
            key, title, text, item.number("start_line", default=0), item.number("end_line", default=0)
        )
    return tuple(found.values())


def put_passages(change: Change, owner_id: int, path: str, passages: tuple[ImportedPassage, ...]) -> None:
    """Make an owner's passages these, unless they are already."""
    connection = change.connection
    query = "SELECT passage_key, title, body, start_line, end_line FROM documents WHERE owner_id = ? ORDER BY id"
    if list(read_rows(connection, query, (owner_id,), ImportedPassage)) == list(passages):
        return
    documents.remove_owned(change, owner_id)
    query = "SELECT id, session_id, group_id, agent, type, priority, created_at FROM documents WHERE id = ?"
    owner = read_row(connection, query, (owner_id,), artifacts.PassageOwner)
    assert owner is not None, "passages are put for a document that was just written"
    shape = documents.Document("passage", None, "", "", owner.created_at, RULESET_VERSION, path, *owner[:-1])
    documents.put_all(change, (shape._replace(**passage._asdict()) for passage in passages))
