"""Bring the primary database up to date with the files on disk, reading only what has changed.

    report = index_artifacts(store)                     # the whole root
    report = index_artifacts(store, ["docs", "a.md"])   # a part of it

    disk ── walk, stat ── compare ── read, redact, cut ── one transaction ── index
                          changes.py   ╰──── a chunk of files at a time ────╯

A chunk that is committed stays done: an interrupted run loses the chunk it was at, and the next run
finishes the rest. Files are read outside the transactions, so other writers wait for milliseconds.
"""

import contextlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

from ctxrank.indexer.beneath import Root, is_inside
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.artifacts import Artifact, PreparedFile, StoredText
from ctxrank.indexer.files.changes import Changes, Target, compare
from ctxrank.indexer.files.git import SCRATCH_NAME
from ctxrank.indexer.files.paths import SECRET, UNSHOWN, unmistakable, without_secret
from ctxrank.indexer.files.read import FileText, Reading, ReadSkip, read_changed
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.files.walk import Entry, Skipped, walk
from ctxrank.indexer.fulltext.background import Notify, background_indexer
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store.allowed_roots import (
    allowed_folder,
    is_new_worktree,
    is_removed_worktree,
    note_worktree,
    removed_worktrees,
)
from ctxrank.indexer.store.blocklist import Blocklist, and_above
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.location import BACKUP_NAME, BACKUPS, FOLDER, own_files, root_name
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import is_one_line

# One chunk is read, held in memory and committed together.
_CHUNK_FILES = 200
_CHUNK_BYTES = 2_000_000
# The index catches up after this much text: its merges cost less in large portions, its backlog stays small. A second
# process is told when as much was written as is still to be read: its portions are large, and the last one is small.
_FOLLOW_BYTES = 16_000_000
# From here on a second process earns its start: half of a run's time is following.
_LARGE_BYTES = 4_000_000
_GONE_CHUNK = 500
# What a store makes in its folder for a while: SQLite's temporary files, git's folders, trials and copies of a repair.
_MOMENTARY = re.compile(rf"(?:etilqs_\w+|{SCRATCH_NAME}/.*|\.trial-\d+/.*|{BACKUPS}/{BACKUP_NAME}/.*)", re.DOTALL)

Progress = Callable[[int, int], None]


class IndexReport(NamedTuple):
    """What a run found and did; paths are relative to the root, those of other roots absolute."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()  # from, to
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    skipped: tuple[Skipped, ...] = ()
    skipped_before: tuple[str, ...] = ()  # those that an earlier run has reported, for the same reason
    stale_roots: tuple[str, ...] = ()  # folders that cannot be looked at now
    refused_roots: tuple[str, ...] = ()  # folders that the store names, and the user did not
    passages_written: int = 0
    files_read: int = 0


def index_artifacts(
    store: Store,
    paths: Sequence[str] = (),
    *,
    is_dry_run: bool = False,
    progress: Progress | None = None,
    stored: dict[str, StoredText | None] | None = None,
) -> IndexReport:
    """Index what is new or changed below `paths`, and remove what is gone.

    Without paths that is the whole root, and what is known of every other root. A dry run gives the
    same report and undoes its writes. `progress` is called after each chunk with how many files of how many
    have been read. `stored` has paths, and gets what these files were before. Raises UsageError for a path outside
    the root, LockedError.
    """
    starts = dict.fromkeys(_start(store.location.root, path) for path in paths)
    if "" in starts:
        starts.clear()
    scan = _Scan(store, is_dry_run, progress)
    scan.stored = stored or {}
    work = [(root, changes) for root in _roots(store, is_whole=not paths) if (changes := scan.plan(root, starts))]
    sizes = [found.size_bytes for _, changes in work for found, _ in changes.to_read]
    scan.total, scan.unread = len(sizes), sum(sizes)
    is_large = scan.unread >= _LARGE_BYTES
    with background_indexer(store) if is_large and not is_dry_run else contextlib.nullcontext() as scan.notify:
        for root, changes in work:
            scan.run(root, changes)
    if not is_dry_run:
        store.catch_up()
        backfill_counts(store)
    return scan.report()


def forget_removed_worktrees(store: Store) -> None:
    """Remove what is stored of worktrees that git has removed; no other file is looked at. Raises LockedError."""
    scan = _Scan(store, False, None)
    for root in _roots(store, is_whole=False)[1:]:
        scan.run(root, scan.plan(root, {}) or Changes([], [], [], [], [], []))
    store.catch_up()


def _start(root: str, path: str) -> str:
    """A path given by a person, relative to the root; "" is the root itself."""
    wanted, top = os.path.abspath(path), os.path.abspath(root)
    if not is_inside(top, wanted):
        # Only the folders above may be reached by another name: the last part may itself be a link.
        folder, name = os.path.split(wanted)
        wanted, top = os.path.join(os.path.realpath(folder), name), os.path.realpath(root)
        if wanted != top and os.path.realpath(wanted) == top:
            wanted = top
    if not is_inside(top, wanted):
        raise UsageError(f"'{path}' lies outside the root {root}.", "Give a path inside it; --root names another root.")
    relative = os.path.relpath(wanted, top)
    return "" if relative == os.curdir else relative.replace(os.sep, "/")


class _Root(NamedTuple):
    """A folder that holds artifacts; `id` is None as long as it holds none."""

    id: int | None
    folder: str
    is_main: bool
    prefix: str = ""  # before a path below it in the report
    is_allowed: bool = True


def _roots(store: Store, *, is_whole: bool) -> list[_Root]:
    """The root that the store was opened with, and removed worktrees; for a whole run all that hold artifacts."""
    main = root_name(store.location.root, store.location.project)
    ids = read_map(store.primary, "SELECT path, id FROM roots WHERE path NOT LIKE '@%' ORDER BY id", (), str, int)
    roots = [_Root(ids.pop(main, None), store.location.root, True)]
    for name in ids if is_whole else removed_worktrees(store.location, store.primary):
        folder = allowed_folder(store.location, store.primary, name)
        prefix = os.path.join(folder or name, "")
        roots.append(_Root(ids[name], folder or name, False, prefix, is_allowed=folder is not None))
    return roots


# A file that was found, what is known of it, how it was read, and what is to be stored of it: None where its bytes are
# the known ones, or no text.
_ReadFile = tuple[FoundFile, Artifact | None, Reading, PreparedFile | None]


class _Undone(Exception):
    """Ends the transaction of a dry run."""


class _Scan:
    """One run: what it is asked for, and the tally of what it did."""

    def __init__(self, store: Store, is_dry_run: bool, progress: Progress | None) -> None:
        self.total = self.unread = 0  # files, bytes
        self.notify: Notify | None = None  # the second process
        self.stored: dict[str, StoredText | None] = {}
        self._store = store
        self._mode = load_config(store).redaction_mode
        self._is_dry_run = is_dry_run
        self._progress = progress
        self._project = store.location.project
        self._blocklist = Blocklist(store.primary)
        self._movable: dict[str, list[Artifact]] = {}
        self._awaited: set[str] = set()
        self._paths: defaultdict[str, list[str]] = defaultdict(list)  # by the report's field
        self._counts: Counter[str] = Counter()  # likewise
        self._moved: list[tuple[str, str]] = []
        self._skipped: list[Skipped] = []
        self._unfollowed = 0

    def plan(self, root: _Root, starts: Mapping[str, None]) -> Changes | None:
        """Compare one root with the disk, below these paths if there are any; None where it cannot be looked at."""
        database = self._store.primary
        known = artifacts.known_artifacts(database, root.id) if root.id is not None else {}
        try:
            os.scandir(root.folder).close()
        except OSError as error:
            if not root.is_main and is_removed_worktree(self._store.location, database, root.folder):
                return Changes([], [], [], list(known.values()), [], [])
            self._mark_stale(root, known, "stale_roots", f"the folder: {error.strerror or error}")
            return None
        if not root.is_allowed:
            self._mark_stale(root, known, "refused_roots", "the folder: you did not name it")
            return None
        if is_new_worktree(self._store.location, database, root.folder):
            with self._transaction() as change:
                note_worktree(change.connection, root.folder)
        packaged = artifacts.packaged_ids(database)
        if not root.is_main:
            return compare(root.folder, (), known, followed={artifact.id for artifact in known.values()})
        self._awaited = artifacts.awaited_paths(database)
        for artifact in known.values():
            if artifact.state in ("indexed", "stale") and artifact.size_bytes:
                self._movable.setdefault(artifact.sha256, []).append(artifact)
        known = {path: artifact for path, artifact in known.items() if _is_below(path, starts)}
        awaited = [path for path in self._awaited if _is_below(path, starts)]
        entries = _walk_all(root.folder, starts, [*known, *awaited]) if starts else walk(root.folder)
        return compare(root.folder, self._storable(entries), known, followed=packaged, awaited=awaited)

    def _mark_stale(self, root: _Root, known: dict[str, Artifact], field: str, reason: str) -> None:
        """Keep what is known of a folder that is not looked at now."""
        self._paths[field].append(root.folder)
        if any(artifact.state == "indexed" for artifact in known.values()):
            with self._transaction() as change:
                assert root.id is not None, "a root with artifacts has an id"
                artifacts.mark_root_stale(change, root.id, reason)

    def _storable(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Without the store's own files, purged ones, and names that read like others: the report says why."""
        own: frozenset[str] = frozenset()
        if os.path.basename(self._store.location.folder) != FOLDER:  # which no walk enters
            own = own_files(self._store.location)
        root, folder = (os.path.realpath(path) for path in (self._store.location.root, self._store.location.folder))
        for entry in entries:
            if own and _is_own(os.path.join(root, entry.path), own, folder):
                continue
            if isinstance(entry, FoundFile) and not is_one_line(entry.path):
                self._skipped.append(Skipped(unmistakable(entry.path), UNSHOWN))
            elif not self._blocklist.holds_path(entry.path):
                yield entry
            elif isinstance(entry, FoundFile):
                self._skipped.append(Skipped(entry.path, "purged"))

    def run(self, root: _Root, changes: Changes) -> None:
        """Do in one root what the comparison asks for."""
        self._counts["unchanged"] += len(changes.unchanged)
        self._skipped += [Skipped(root.prefix + path, reason) for path, reason in changes.skipped]
        self._paths["skipped_before"] += [
            without_secret(root.prefix + path, self._mode) for path in changes.skipped_before
        ]
        for chunk, size in self._chunks(root, changes):
            with Root(root.folder) as opened:
                read = [self._read(opened, found, known) for found, known in chunk]
            with self._transaction() as change:
                root_id = artifacts.root_id(change, root.folder, self._project)
                for one in read:
                    self._apply(change, root, root_id, one)
            self._counts["files_read"] += len(chunk)
            self._unfollowed += size
            self.unread -= size
            least = min(_FOLLOW_BYTES, self.unread) if self.notify else _FOLLOW_BYTES
            if self._unfollowed >= least and not self._is_dry_run:
                if self.notify is None or not self.notify():
                    self._store.catch_up()
                self._unfollowed = 0
            if self._progress is not None:
                self._progress(self._counts["files_read"], self.total)
        # What needs no reading; after the files, because one that is gone may have moved.
        if changes.marks:
            with self._transaction() as change:
                for artifact, state, reason in changes.marks:
                    artifacts.mark(change, artifact, state, reason)
        moved = {old for old, _ in self._moved} if root.is_main else set[str]()
        gone = [artifact for artifact in changes.gone if artifact.path not in moved]
        for first in range(0, len(gone), _GONE_CHUNK):
            with self._transaction() as change:
                for artifact in gone[first : first + _GONE_CHUNK]:
                    self._note(change, root, artifact)
                    artifacts.remove(change, artifact.id)
                if not (root.is_main or os.path.lexists(root.folder)):
                    artifacts.remove_empty_root(change, root.id)
        removed = (root.prefix + artifact.path for artifact in gone if artifact.state != "skipped")
        self._paths["removed"] += [without_secret(path, self._mode) for path in removed]

    def _chunks(self, root: _Root, changes: Changes) -> Iterator[tuple[list[Target], int]]:
        """What is to be read, some files at a time with their size.

        Without files whose names hold a secret; one that an older rule let in is taken out.
        """
        chunk: list[Target] = []
        size = 0
        for found, known in changes.to_read:
            if without_secret(found.path, self._mode) != found.path:
                self._skipped.append(Skipped(root.prefix + found.path, SECRET))  # the report shows it redacted
                changes.gone.extend([known] if known is not None else [])
                continue
            if chunk and (len(chunk) == _CHUNK_FILES or size + found.size_bytes > _CHUNK_BYTES):
                yield chunk, size
                chunk, size = [], 0
            chunk.append((found, known))
            size += found.size_bytes
        if chunk:
            yield chunk, size

    def _read(self, root: Root, found: FoundFile, known: Artifact | None) -> _ReadFile:
        """Read one file and prepare what it says for the store, unless its bytes are the known ones."""
        is_comparable = known is not None and known.state in ("indexed", "stale") and known.ruleset == RULESET_VERSION
        stamp, sha256, outcome = read_changed(
            root, found, known.sha256 if known is not None and is_comparable else None
        )
        prepared = None
        if isinstance(outcome, FileText):
            prepared = artifacts.prepare(found.path, outcome, self._mode)
        return found, known, (stamp, sha256, outcome), prepared

    def _apply(self, change: Change, root: _Root, root_id: int, read: _ReadFile) -> None:
        found, known, (stamp, sha256, outcome), prepared = read
        path = root.prefix + found.path
        if change.blocklist.holds_path(path):  # a purge may be newer
            return
        if prepared is not None:
            if known is None and (moved := self._moved_from(change, root, root_id, prepared)) is not None:
                artifacts.move(change, moved.id, moved.path, found.path)
                self._moved.append((moved.path, path))
            else:
                was_here = known is not None and known.state in ("indexed", "stale")
                if known is not None and was_here and known.ruleset and known.sha256 == sha256:  # of older rules
                    self._counts["unchanged"] += 1
                else:
                    self._paths["changed" if was_here else "added"].append(path)
            self._note(change, root, known)
            artifact_id = artifacts.record(change, root_id, found.path, prepared.file)
            if found.path in self._awaited and root.is_main:
                artifacts.give_to_packages(change, artifact_id, prepared)
            self._counts["passages_written"] += artifacts.refresh_owners(change, artifact_id, prepared)
        elif isinstance(outcome, ReadSkip):
            self._skipped.append(Skipped(path, outcome.reason))
            if known is not None and (known.state, known.reason) == ("skipped", outcome.reason):
                self._paths["skipped_before"].append(without_secret(path, self._mode))
            if sha256:  # the bytes were read, and they are no text
                if known is not None:
                    artifacts.withdraw(change, known.id)
                artifacts.record(change, root_id, found.path, FileText("", sha256, stamp, ""), outcome.reason)
            elif known is not None and known.state == "indexed":
                artifacts.mark(change, known, "stale", outcome.reason)
        else:
            assert known is not None, "the bytes were compared with those of an artifact"
            artifacts.restamp(change, known.id, stamp)
            self._counts["unchanged"] += 1

    def _note(self, change: Change, root: _Root, known: Artifact | None) -> None:
        """Keep what is stored of a file that is asked for, and how large another was, before it is replaced."""
        if known and root.folder == self._project:
            stamp, is_asked = (known.size_bytes, known.mtime_ns), known.path in self.stored
            text = artifacts.stored_text(change.connection, known.path, stamp) if is_asked else None
            self.stored[known.path] = text or artifacts.StoredText(stamp, "")

    def _moved_from(self, change: Change, root: _Root, root_id: int, prepared: PreparedFile) -> Artifact | None:
        """The artifact that has these bytes and is gone from its place: the file was moved.

        Of several the one with the same inode, else the same name, else the first in path order.
        """
        candidates = self._movable.get(prepared.file.sha256, []) if root.is_main else []
        gone = [artifact for artifact in candidates if _is_gone(os.path.join(root.folder, artifact.path))]
        if not gone or artifacts.artifact_at(change.connection, root_id, prepared.path) is not None:
            return None  # nothing, or another run has taken the new file in by now
        name, inode = os.path.basename(prepared.path), prepared.file.stamp.inode
        best = min(gone, key=lambda one: (one.inode != inode, os.path.basename(one.path) != name, one.path))
        candidates.remove(best)
        return best

    @contextlib.contextmanager
    def _transaction(self) -> Generator[Change, None, None]:
        """A write to the primary database; a dry run makes it and takes it back, so that its report is the real one."""
        with contextlib.suppress(_Undone), self._store.write() as change:
            yield change
            if self._is_dry_run:
                raise _Undone

    def report(self) -> IndexReport:
        """The tally, in path order."""
        skipped = (Skipped(without_secret(path, self._mode), reason) for path, reason in self._skipped)
        for field in ("added", "changed", "removed", "skipped_before"):
            self._paths[field].sort()
        values: dict[str, object] = {field: tuple(paths) for field, paths in self._paths.items()}
        values |= {"moved": tuple(sorted(self._moved)), "skipped": tuple(sorted(skipped)), **self._counts}
        return IndexReport._make(values.get(field, empty) for field, empty in IndexReport._field_defaults.items())


def _is_own(path: str, own: frozenset[str], folder: str) -> bool:
    """Whether a file below the store's folder is one that the store keeps, or makes for a moment."""
    return path in own or (path.startswith(folder + os.sep) and _MOMENTARY.fullmatch(path, len(folder) + 1) is not None)


def _is_gone(path: str) -> bool:
    """Whether nothing is there for certain: what may not be looked at may still be there."""
    try:
        os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def _is_below(path: str, starts: Mapping[str, None]) -> bool:
    return not starts or any(one in starts for one in and_above(path))


def _walk_all(root: str, starts: Mapping[str, None], known: Iterable[str]) -> Iterator[Entry]:
    """What lies below each path a person named, each file once; a path that says nothing gets a reason."""
    seen: set[str] = set()
    # Of many paths each is looked up, and none is compared with all.
    places = {one for path in known for one in and_above(path)}
    for start in starts:
        if start in places and not os.path.lexists(os.path.join(root, start)):
            continue
        is_silent = start not in places
        for entry in walk(root, start):
            is_silent = False
            if entry.path not in seen:
                seen.add(entry.path)
                yield entry
        if is_silent:
            yield Skipped(start, "nothing to index: empty, or hidden by an ignore file")
