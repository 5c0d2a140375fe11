"""The date of a document that is a file: its last commit or, where there is none, the file's modification.

    report = date_documents(store, first_seq)       after files were indexed
    report.committed, report.reason                 how many have their commit's date; why others could not

A file is indexed with its modification time. This puts the time of its last commit there instead, if the file is as
it was committed: a fresh clone is not new work, and an uncommitted edit is newer than the last commit.

    HEAD is where it was, no file was written   two small reads and a query: no process
    HEAD is where it was                        the files written since are compared with those of HEAD
    HEAD has moved                              those, and what the commits in between touched, on either side
    the first time                              every file, in one pass over the history

The commit of the last pass, and the change log's number of then, are kept in the store for each root.
"""

import hashlib
import json
from collections.abc import Iterator

from ctxrank.indexer.beneath import Root
from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.catalogue import file_tables, kinds_of
from ctxrank.indexer.clock import SECOND_US, now_us
from ctxrank.indexer.files.authors import Asked, Commit, touches
from ctxrank.indexer.files.git import Git, GitError, GitTimeoutError, find_repository, git_on
from ctxrank.indexer.light_typing import NamedTuple, is_dict
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import put_setting, read_rows, read_setting
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Store

_KEY = "dated_commits"
# More paths are not named on a command line: everything is listed, and what is wanted is picked out.
_MAX_NAMED_PATHS = 400
_CHUNK_FILES = 2000
# So many changes that are no files may follow the last pass before its number is moved on: they are looked through.
_MAX_CHANGES_SINCE = 10_000
_WHOLE = "--full-history"  # for few paths, too


class DateReport(NamedTuple):
    """How many documents were given their last commit's date, and why others may have that of their modification.

    `reason` is '' where git could be asked, or there is nothing to ask.
    """

    committed: int
    reason: str = ""


class _LastPass(NamedTuple):
    """Up to which commit, and to which number of the change log, documents have their dates."""

    commit: str
    seq: int


class _File(NamedTuple):
    """A file that is a document: an artifact of its own, or a linked one."""

    path: str
    mtime_ns: int
    document_id: int
    seq: int
    created_at: int

    @property
    def modified_at(self) -> int:
        return self.mtime_ns // 1000


def date_documents(store: Store, first_seq: int, asked: Asked) -> DateReport:
    """Give files the dates of their last commits; `first_seq` is the change log's number before they were indexed. What
    git was asked is noted for others. Raises LockedError.
    """
    name = root_name(store.location.root, store.location.project)
    try:
        repository = find_repository(store.location.root)
        if repository is None:
            return DateReport(0)
        head = repository.head
        noted = _passes(store).get(name)
        last = _LastPass(str(noted["commit"]), int(str(noted["seq"]))) if is_dict(noted) else None
        if last is not None and last.commit == head and not _has_files_since(store, last.seq):
            if store.last_seq() - last.seq > _MAX_CHANGES_SINCE:
                _write(store, name, _LastPass(head, store.last_seq()), [], first_seq)
            return DateReport(0)
        seq = store.last_seq()  # what others write from here on is looked at by the next pass
        with git_on(repository, store.location.folder) as git:
            dating = _Dating(git, head, asked)
            files = list(_files(store, name))
            dates = dating.dates_since(last.commit, last.seq, files) if last is not None else None
            if dates is None:
                dates = dating.all_dates(files)
    except GitError as error:
        return DateReport(0, str(error))
    wrong = [(file, moment) for file, moment in dates if moment != file.created_at]
    _write(store, name, _LastPass(head, seq), wrong, first_seq)
    if store.last_seq() > seq:
        store.catch_up()
    return DateReport(sum(moment != file.modified_at for file, moment in wrong), dating.reason)


class _Dating:
    """One pass; `reason` says what kept it from being whole."""

    def __init__(self, git: Git, head: str, asked: Asked) -> None:
        self.reason = ""
        self._git = git
        self._folder = git.repository.folder
        self._prefix = git.repository.prefix
        self._head = head
        self._asked = asked
        self._now = now_us()

    def all_dates(self, files: list[_File]) -> list[tuple[_File, int]]:
        """The date of every file, by one pass over the history."""
        return self._decided(files, self._last_commits({file.path for file in files}, is_whole=True))

    def dates_since(self, commit: str, seq: int, files: list[_File]) -> list[tuple[_File, int]] | None:
        """The dates of the files that were written, or touched by a commit, since a pass; None: it is forgotten."""
        dates: dict[str, int] = {}
        touched: dict[str, Commit] = {}
        left: dict[str, Commit] = {}
        if commit != self._head:
            try:
                for path, by, is_removal in touches(self._git, [_WHOLE, f"{commit}...{self._head}"]):
                    (left if by.is_left else touched).setdefault(path, by)
                    if not (by.is_left or is_removal):
                        dates.setdefault(path, self._moment(by))
            except GitTimeoutError:
                raise
            except GitError:
                return None
            self._asked[self._folder, commit, self._head] = touched
        paths = {*left, *touched}
        wanted = [file for file in files if file.seq > seq or file.path in paths]
        older = paths.intersection(file.path for file in wanted).difference(dates)
        return self._decided(wanted, {**dates, **self._last_commits(older)})

    def _decided(self, files: list[_File], committed: dict[str, int]) -> list[tuple[_File, int]]:
        """The date of each file: of its last commit if it is as it was committed, else of its modification.

        A file that is no newer than its commit was not edited since, and is not read for that.
        """
        sure = [file for file in files if file.modified_at <= committed.get(file.path, -1)]
        unsure = [file for file in files if file.modified_at > committed.get(file.path, -1)]
        same: list[_File] = []
        if unsure:
            blobs = self._blobs({file.path for file in unsure})
            with Root(self._folder) as root:
                same = [one for one in unsure if one.path in blobs and _has_bytes_of(root, one.path, blobs[one.path])]
        unknown = {file.path for file in same if file.path not in committed}
        if unknown and not self.reason:
            committed = {**committed, **self._last_commits(unknown)}
        is_committed = {file.document_id for file in (*sure, *same)}
        return [
            (file, committed.get(file.path, file.modified_at) if file.document_id in is_committed else file.modified_at)
            for file in files
        ]

    def _last_commits(self, paths: set[str], *, is_whole: bool = False) -> dict[str, int]:
        """When each of these paths was last touched in the history of HEAD, the newest commit first, until all are."""
        found: dict[str, int] = {}
        if not paths:
            return found
        named = () if is_whole or len(paths) > _MAX_NAMED_PATHS else sorted(paths)
        try:
            for path, commit, is_removal in touches(self._git, [_WHOLE, self._head], named):
                if path in paths and not is_removal:
                    found.setdefault(path, self._moment(commit))
                    if len(found) == len(paths):
                        break
        except GitError as error:  # what was learnt until then is true
            self.reason = str(error)
        return found

    def _moment(self, commit: Commit) -> int:
        """When it was made; a date in the future counts as now: the file would be ranked above all later work."""
        return min(max(commit.seconds, 0) * SECOND_US, self._now)

    def _blobs(self, paths: set[str]) -> dict[str, str]:
        """The ids of the contents that HEAD has at these paths."""
        named = [self._prefix + path for path in sorted(paths)] if len(paths) <= _MAX_NAMED_PATHS else []
        blobs: dict[str, str] = {}
        try:
            for record in self._git.records("ls-tree", "-r", "-z", "--full-tree", self._head, "--", *named):
                facts, _, name = record.partition(b"\t")
                path = name.decode("utf-8", "surrogateescape")
                if path.startswith(self._prefix) and path[len(self._prefix) :] in paths:
                    blobs[path[len(self._prefix) :]] = facts.rpartition(b" ")[2].decode("ascii", "replace")
        except GitError as error:
            self.reason = str(error)
        return blobs


def _has_bytes_of(root: Root, path: str, blob: str) -> bool:
    """Whether a file has the bytes of a blob, or had them before its lines were ended as on Windows."""
    try:
        data = root.read(path, MAX_FILE_BYTES)
    except OSError:
        return False
    return _blob_id(data, len(blob)) == blob or (
        b"\r\n" in data and _blob_id(data.replace(b"\r\n", b"\n"), len(blob)) == blob
    )


def _blob_id(data: bytes, digits: int) -> str:
    """The name that git gives to these bytes."""
    name = "sha1" if digits == hashlib.sha1(usedforsecurity=False).digest_size * 2 else "sha256"
    return hashlib.new(name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _files(store: Store, root: str) -> Iterator[_File]:
    """Every document that is a file; a package has a date of its own, and so have its passages."""
    columns = {table.name: column for table, column in file_tables(store.primary)}
    for kind in kinds_of(store.primary).values():
        if not kind.is_file:
            continue
        table, column = kind.table.name, columns[kind.table.name]
        state = "AND f.state = 'indexed'" if kind.table.column("state") is not None else ""
        query = f"""
            SELECT f.path, f.mtime_ns, d.id, d.seq, d.created_at
              FROM {column.refers_to} AS r
              JOIN {table} AS f ON f.{column.name} = r.id
              JOIN documents AS d ON d.kind = :kind AND d.record_id = f.id
             WHERE r.path = :root {state}
        """
        yield from read_rows(store.primary, query, {"root": root, "kind": kind.name}, _File)


def _has_files_since(store: Store, seq: int) -> bool:
    kinds = json.dumps([kind.name for kind in kinds_of(store.primary).values() if kind.is_file])
    query = "SELECT 1 FROM documents WHERE seq > ? AND kind IN (SELECT value FROM json_each(?)) LIMIT 1"
    return seq < store.last_seq() and store.primary.execute(query, (seq, kinds)).fetchone() is not None


def _passes(store: Store) -> dict[str, object]:
    passes: dict[str, object] = json.loads(read_setting(store.primary, _KEY) or "{}")
    return passes


def _write(store: Store, root: str, last: _LastPass, dates: list[tuple[_File, int]], first_seq: int) -> None:
    """Write dates, and up to where they were made.

    The index holds no dates. A document from before this run may be in a receipt, so its change gets a new
    number; a document that this run wrote has one already.
    """
    for first in range(0, len(dates), _CHUNK_FILES):
        with store.write() as change:
            is_alone = store.last_seq() == last.seq
            for file, moment in dates[first : first + _CHUNK_FILES]:
                documents.redate(change, file.document_id, moment, is_numbered=file.seq <= first_seq)
        if is_alone:  # what has a number since the last pass is what this one wrote
            last = last._replace(seq=store.last_seq())
    with store.write() as change:
        put_setting(change.connection, _KEY, json.dumps({**_passes(store), root: last._asdict()}, sort_keys=True))
