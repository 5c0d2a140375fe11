"""`ctxrank install` and `uninstall`: ours put into a runner's files, and taken out of them again.

Each file that was there keeps a copy of how it was before ours came in, FILE.before-ctxrank. Where nobody else has
changed the file since, uninstall puts that copy back, byte for byte; else it takes our part out of what is there now.

Runners write these files, too, while they run. So a change is made under the lock that Claude Code takes for its own
file (a folder FILE.lock), from what is read then, and again where that is another text by the time of the replacement.
"""

import difflib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ctxrank.cli.agents.runner_files import Edit, Place, RunnerFile, runner_files
from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.beneath import is_inside, read_file
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.systems import sync

_COPY = ".before-ctxrank"
_MAX_BYTES = 16 * 1024 * 1024  # Claude Code keeps its history of projects in one of these files
_TRIES = 20  # to replace a file that others change meanwhile
_STALE_LOCK_S = 10.0  # as Claude Code has it: whoever holds one for longer touches it
_LOCK_WAIT_S = 15.0
_LOCK_PAUSE_S = 0.02


class _Change(NamedTuple):
    """What is to become of a file; None is no file. `copy` is where its earlier state is kept."""

    path: str
    before: str | None
    after: str | None
    copy: str | None = None  # made by an install
    is_restored: bool = False  # by an uninstall, which takes the copy away

    @property
    def kind(self) -> str:
        """made, changed, removed or none."""
        if self.before == self.after:
            return "none"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


_Plan = Callable[[], _Change]  # reads the file anew


def install(call: Call, runner: str, is_user: bool, is_project: bool, with_mcp: bool, dry_run: bool) -> Reply:
    """Put ours into a runner's files."""
    place = _place(call, is_user=is_user, is_project=is_project)
    files = runner_files(runner, place, _own_command(), with_mcp=with_mcp)
    return _reply(call, runner, [partial(_installed, file, place) for file in files], place, dry_run=dry_run)


def uninstall(call: Call, runner: str, is_user: bool, is_project: bool, dry_run: bool) -> Reply:
    """Take ours out of a runner's files."""
    place = _place(call, is_user=is_user, is_project=is_project)
    files = runner_files(runner, place, _own_command(), with_mcp=True)
    return _reply(call, runner, [partial(_uninstalled, file, place) for file in files], place, dry_run=dry_run)


def _place(call: Call, *, is_user: bool, is_project: bool) -> Place:
    """Whose files are meant: the user's, or those of the project around this folder."""
    if is_user and is_project:
        raise UsageError("--user and --project exclude each other.", "Give one of them.")
    if is_user:
        return Place(os.path.expanduser("~"), True)
    if call.root is not None:
        return Place(os.path.abspath(call.root), False)
    here = folder = os.getcwd()
    while not any(os.path.lexists(os.path.join(folder, name)) for name in (".ctxrank", ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return Place(here, False)
        folder = parent
    return Place(folder, False)


def _own_command() -> str:
    """How a runner calls ctxrank: by its name where that is found, else by its path."""
    own = os.path.abspath(sys.argv[0])
    if shutil.which("ctxrank") or os.path.basename(own) != "ctxrank":
        return "ctxrank"
    return shlex.quote(own)


def _installed(file: RunnerFile, place: Place) -> _Change:
    before = _read(file.path, place)
    after = file.with_ours(before or "")
    is_first = before is not None and file.without_ours(before) == before
    return _Change(file.path, before, after, _copy_of(file.path) if is_first and before != after else None)


def _uninstalled(file: RunnerFile, place: Place) -> _Change:
    before = _read(file.path, place)
    if before is None:
        return _Change(file.path, None, None)
    copy = _read(_copy_of(file.path), place)
    if copy is not None and _would_be(file.with_ours, copy) == before:
        return _Change(file.path, before, copy, is_restored=True)
    after = file.without_ours(before)
    return _Change(file.path, before, after or (None if before else ""))


def _would_be(edit: Edit, text: str) -> str | None:
    try:
        return edit(text)
    except UsageError:
        return None


def _copy_of(path: str) -> str:
    return path + _COPY


def _read(path: str, place: Place) -> str | None:
    """The text of a file, None where there is none. Raises UsageError, CtxrankError."""
    real = os.path.realpath(path)
    if not place.is_user and not is_inside(os.path.realpath(place.folder), real):
        raise UsageError(f"{path} leads out of the project, to {real}.", "Change that file by hand.")
    try:
        return read_file(real, _MAX_BYTES).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 and is left as it is.", "Repair it, or move it away.") from error
    except OSError as error:
        raise CtxrankError(f"{path} cannot be read: {error.strerror}.", "Check who owns it.") from error


def _reply(call: Call, runner: str, plans: list[_Plan], place: Place, *, dry_run: bool) -> Reply:
    """Write what has changed, and say what that was. Nothing is written where one of the files is refused."""
    changes = [plan() for plan in plans]
    if not dry_run:
        changes = [_apply(change, plan, place) for change, plan in zip(changes, plans, strict=True)]
    has_changed = any(change.kind != "none" for change in changes)
    note = "a dry run: no file is changed." if dry_run else "start a new session of the runner."
    return Reply(
        lambda: {
            "runner": runner,
            "dry_run": dry_run,
            "files": [
                {"path": one.path, "change": one.kind, "diff": "".join(_diff(one)), "copy": one.copy} for one in changes
            ],
        },
        _lines(call, changes, dry_run=dry_run),
        text_notes=(note,) if has_changed else ("nothing to change.",),
    )


def _lines(call: Call, changes: list[_Change], *, dry_run: bool) -> Iterator[str]:
    for change in changes:
        if change.kind == "none":
            continue
        for line in _diff(change):
            yield shown(line) if line[:1] not in " +-" else line[0] + _visible(line[1:])
        yield f"{'would be ' if dry_run else ''}{change.kind}: {call.bold(shown(change.path))}"
        if change.copy is not None:
            yield f"   as it was: {shown(change.copy)}"


def _visible(text: str) -> str:
    """A line of a file with its indentation, without what a terminal would obey."""
    bare = text.lstrip(" \t")
    return text[: len(text) - len(bare)] + shown(bare)


def _diff(change: _Change) -> Iterator[str]:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    yield from difflib.unified_diff(before, after, change.path, change.path)


def _apply(change: _Change, plan: _Plan, place: Place) -> _Change:
    """Make a file what it is to be, and return what was done. Raises CtxrankError where the system refuses."""
    if change.kind == "none":
        return change
    try:
        os.makedirs(os.path.dirname(os.path.realpath(change.path)), exist_ok=True)
        with _lock(change.path):
            change = _replace(plan, place)
        if change.after is None:
            _remove_empty_folders(os.path.dirname(os.path.realpath(change.path)), os.path.realpath(place.folder))
    except OSError as error:
        raise CtxrankError(
            f"{change.path} cannot be written: {error.strerror}.", "What was written before it is kept; run it again."
        ) from error
    return change


def _replace(plan: _Plan, place: Place) -> _Change:
    """Put a plan into effect: the one for the text that is there when it is replaced. Raises OSError, CtxrankError."""
    for _ in range(_TRIES):
        change = plan()
        if change.kind == "none":
            return change
        real = os.path.realpath(change.path)
        if change.copy is not None and change.before is not None and not os.path.lexists(change.copy):
            copy = os.path.realpath(change.copy)
            os.replace(_unfinished(copy, change.before, real), copy)
        unfinished = None if change.after is None else _unfinished(real, change.after, real)
        try:
            if _read(change.path, place) != change.before:
                continue
            if unfinished is None:
                os.unlink(real)
            else:
                os.replace(unfinished, real)
        finally:
            if unfinished is not None and os.path.lexists(unfinished):
                os.unlink(unfinished)
        if change.is_restored:
            os.unlink(_copy_of(change.path))
        return change
    raise CtxrankError(f"{plan().path} is changed by another program all the time.", "End that one, and run it again.")


@contextmanager
def _lock(path: str) -> Generator[None, None, None]:
    """Hold the lock of a file: a folder beside it. Raises OSError, and CtxrankError where another program keeps it."""
    lock = f"{path}.lock"
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        with suppress(FileExistsError):
            os.mkdir(lock)
            break
        if time.monotonic() > until:
            raise CtxrankError(f"{path} is locked by another program: {lock}.", "End that one, and run it again.")
        with suppress(FileNotFoundError):
            if time.time() - os.stat(lock).st_mtime > _STALE_LOCK_S:
                os.rmdir(lock)
                continue
        time.sleep(_LOCK_PAUSE_S)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.rmdir(lock)


def _unfinished(path: str, text: str, like: str) -> str:
    """A file next to the one of this path that may take its place, with the mode of another one where that is there.

    Returns its name. Raises OSError.
    """
    unfinished = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        try:
            if os.path.exists(like):
                os.fchmod(descriptor, os.stat(like).st_mode & 0o777)
            rest = memoryview(text.encode())
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            sync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        os.unlink(unfinished)
        raise
    return unfinished


def _remove_empty_folders(folder: str, top: str) -> None:
    """Remove the folders that a file leaves empty, up to the project's."""
    while folder != top and is_inside(top, folder) and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)
