"""`ctxrank index --watch`: artifacts kept in step with the disk while files change, one line a batch.

    start ── whole run ──╮
                         ╰── changes, quiet for a moment ── what of it is ours ── index those paths ── one line

One process follows a store: a lock file in its folder, which the system gives free whenever the process ends.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterable

from ctxrank.cli.actions.upkeep.indexing import STEP_FOLDER, Indexed, answer_of, bring_up_to_date, text_notes
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.command_table import CORE, command_table
from ctxrank.cli.output.envelope import as_json, envelope
from ctxrank.cli.output.progress import progress_bar
from ctxrank.cli.output.shaped import answer
from ctxrank.cli.sigterm import at_sigterm
from ctxrank.indexer.exceptions import CtxrankError, LockedError, UsageError
from ctxrank.indexer.files.git import commit_of
from ctxrank.indexer.files.walk import ALWAYS_SKIPPED, walk
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.location import WATCH_LOCK
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

# Nothing happens for so long before a batch begins, and no batch waits longer for that.
_QUIET_MS = 200
_LONGEST_WAIT_MS = 1600
_TICK_MS = 500  # how often the commit is looked at, and what met a lock is tried again
# More changed paths than that are found faster by one run over the whole root.
_MAX_PATHS = 500
_SHOWN_PATHS = 5
_IGNORE_FILES = (".gitignore", ".ctxrankignore")
_NEVER_ENTERED = ALWAYS_SKIPPED - {STEP_FOLDER}


class _Stopped(BaseException):
    """SIGTERM: the regular end."""


def follow(call: Call, paths: tuple[str, ...]) -> Reply:
    """Index, then follow the disk until a signal: 0 after SIGTERM, 130 after Ctrl-C.

    Raises UsageError where watchfiles is not installed, LockedError where another process follows the store.
    """
    try:
        import watchfiles  # noqa: PLC0415  an extra, and only this needs it
    except ModuleNotFoundError as error:
        raise UsageError(
            "'index --watch' needs watchfiles, which is not installed.", "Install it: pip install 'ctxrank[watch]'"
        ) from error
    with call.open() as store:
        folder, root = store.location.folder, os.path.realpath(store.location.root)
        if call.root is not None:
            allow(store.location, store.primary, call.root)
    wanted = tuple(os.path.realpath(path) for path in paths) or (root,)
    for path, given in zip(wanted, paths, strict=False):
        if not os.path.exists(path):
            raise UsageError(f"'{given}' is not there, so it cannot be followed.", "Give a path that is there.")
    follower = _Follower(call, root, paths)
    stopping: list[bool] = []

    def stop() -> None:
        stopping.append(True)
        raise _Stopped

    only_follower = only_one(os.path.join(folder, WATCH_LOCK), str(os.getpid()), _locked)
    with only_follower, contextlib.suppress(_Stopped), at_sigterm(stop):
        try:
            # The first round comes at once, without changes: what changes during the whole run is seen after it. No
            # filter: a round would wait for a moment without changes in what is ignored, such as a store in use.
            for changes in watchfiles.watch(
                *wanted, watch_filter=None, debounce=_LONGEST_WAIT_MS, step=_QUIET_MS, rust_timeout=_TICK_MS,
                yield_on_timeout=True, ignore_permission_denied=True,
            ):  # fmt: skip
                follower.round(path for _, path in changes if follower.is_of_interest(path))
        except KeyboardInterrupt:
            if not stopping:
                raise
        except OSError as error:
            raise CtxrankError(
                f"{root} cannot be followed: {error}.",
                "The system's limit of watched folders may be reached (fs.inotify.max_user_watches on Linux).",
            ) from error
    return Reply()


class _Follower:
    """What has changed and is not indexed yet."""

    def __init__(self, call: Call, root: str, starts: tuple[str, ...]) -> None:
        self._call = call
        self._root = root
        self._starts = starts
        self._pending: set[str] = set()
        self._is_waiting = False
        self._head: str | None = None  # the commit of the last run; None before the first one
        self._outputs = {(info.st_dev, info.st_ino) for info in map(os.fstat, (1, 2))}

    def is_of_interest(self, path: str) -> bool:
        """Whether a change may concern a file of ours: not in git's folder, the store, or other people's code."""
        parts = os.path.relpath(path, self._root).split(os.sep)
        return parts[0] != os.pardir and _NEVER_ENTERED.isdisjoint(parts) and not self._is_own_output(path)

    def _is_own_output(self, path: str) -> bool:
        """Whether our own lines go into that file: each would be a change that has another line."""
        try:
            info = os.stat(path)
        except OSError:
            return False
        return (info.st_dev, info.st_ino) in self._outputs

    def round(self, changed: Iterable[str]) -> None:
        """Take in what has changed; what meets a locked store waits for the next round."""
        if not os.path.isdir(self._root):
            raise CtxrankError(f"{self._root} is gone.", "Call 'ctxrank index --watch' again where it is.")
        self._pending.update(os.path.relpath(path, self._root) for path in changed)
        head = commit_of(self._root)
        if not self._pending and head == self._head:
            return
        try:
            with self._call.open() as store:
                done = self._index(store, head)
        except LockedError as error:
            if not self._is_waiting:
                self._call.note(f"{error.message} It is tried again until it is free.")
            self._is_waiting = True
            return
        is_first, self._head, self._is_waiting = self._head is None, head, False
        self._pending.clear()
        if done is not None and (is_first or any(_counts(done).values())):
            self._print(done)
        if is_first:
            self._call.note(f"following {self._root}; Ctrl-C ends it.")

    def _index(self, store: Store, head: str) -> Indexed | None:
        if self._head is None:
            with progress_bar("indexing", self._call) as advance:
                return bring_up_to_date(store, self._starts, advance)
        if any(os.path.basename(path) in _IGNORE_FILES for path in self._pending):
            return bring_up_to_date(store, self._starts)
        linked = [path for path in self._pending if path.split(os.sep)[0] == STEP_FOLDER]
        files = sorted(path for path in self._pending.difference(linked) if self._is_ours(store, path))
        if not files and not linked and head == self._head:
            return None
        # A path that is never indexed itself: linked artifacts and dates alone.
        named = [os.path.join(store.location.root, path) for path in files or (STEP_FOLDER,)]
        return bring_up_to_date(store, self._starts if len(files) > _MAX_PATHS else named)

    def _is_ours(self, store: Store, path: str) -> bool:
        """Whether the store knows a path, or something below it, or an ignore file leaves it to be indexed."""
        slashed = path.replace(os.sep, "/")
        query = "SELECT 1 FROM artifacts WHERE path = ? OR (path > ? AND path < ?) LIMIT 1"
        is_known = store.primary.execute(query, (slashed, f"{slashed}/", f"{slashed}0")).fetchone() is not None
        return is_known or next(walk(self._root, path), None) is not None

    def _print(self, done: Indexed) -> None:
        """One line, at once: it is read as it comes."""
        if self._call.is_json:
            fields = answer(command_table(CORE, "index").command("index").answer, answer_of(done))
            print(as_json(envelope(fields)))
        else:
            report = done.report
            counts = ", ".join(f"{count} {verb}" for verb, count in _counts(done).items() if count)
            named = [*report.added, *report.changed, *(to for _, to in report.moved), *report.removed]
            names = ", ".join(named[:_SHOWN_PATHS]) + (" …" if len(named) > _SHOWN_PATHS else "")
            facts = f"{counts or 'nothing to do'}{': ' if names else ''}{names}"
            print(f"{time.strftime('%H:%M:%S')} {one_line(facts)}")
            for note in text_notes(done):
                self._call.note(note)
        sys.stdout.flush()


def _counts(done: Indexed) -> dict[str, int]:
    """How much a run changed, by what it did."""
    report, linked, dates = done
    return {
        "added": len(report.added), "changed": len(report.changed), "moved": len(report.moved),
        "removed": len(report.removed), "linked": 0 if linked is None else linked.written + linked.removed,
        "dated": 0 if dates is None else dates.committed,
    }  # fmt: skip


def _locked(pid: str) -> LockedError:
    return LockedError(
        f"Process {pid} follows this store already." if pid else "Another process follows this store.",
        "One is enough: it takes in every change below its root.",
    )
