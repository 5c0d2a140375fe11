"""`ctxrank install` and `uninstall`: ours put into a runner's files, and taken out of them again.

Each file that was there keeps a copy of how it was before ours came in, FILE.before-ctxrank. Uninstall takes our part
out of what is there now; where that gives the copy, byte for byte, the copy goes too.

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
from contextlib import contextmanager, nullcontext, suppress
from typing import BinaryIO

from ctxrank.cli.agents.runner_files import AGENTS_MD, TARGETS, InstallPlace, RunnerFile, runner_files, runners_here
from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.beneath import is_inside, read_file
from ctxrank.indexer.exceptions import CtxrankError, UsageError, refused_by_system
from ctxrank.indexer.files.walk import COPY_ENDING
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.location import find_store, upwards
from ctxrank.indexer.systems import sync, whole_file
from ctxrank.indexer.text.lines import one_line, printable

_MAX_BYTES = 16 * 1024 * 1024  # Claude Code keeps its history of projects in one of these files
_TRIES = 20  # to replace a file that others change meanwhile
_STALE_LOCK_S = 10.0  # as Claude Code has it: whoever holds one for longer touches it
_LOCK_WAIT_S = 15.0
_LOCK_PAUSE_S = 0.02
_NEW_MODE = 0o666  # of a file that was not there


class _AnotherError(Exception):
    """Another program has written the file meanwhile."""


class _Change(NamedTuple):
    """What is to become of a file; None is no file. `copy` is where its earlier state is kept."""

    file: RunnerFile
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


_Plan = Callable[[RunnerFile], _Change]  # reads the file


def install(
    call: Call, runner: str | None, is_all: bool, is_user: bool, is_project: bool, with_mcp: bool, dry_run: bool
) -> Reply:
    """Put ours into a runner's files, or into those of all that are on this machine."""
    place = _place(call, is_user=is_user, is_project=is_project)
    names = runners_here(place) if is_all else []
    if is_all and not names:
        raise UsageError("No runner was found on this machine.", f"Name one: {', '.join(TARGETS)}.")

    def plan(file: RunnerFile) -> _Change:
        before = _read(file.path, place)
        after = file.with_ours(before or "")
        is_first = before is not None and file.without_ours(before) == before != after
        return _Change(file, before, after, file.path + COPY_ENDING if is_first else None)

    reply = _reply(call, _named(runner, names, is_all=is_all), place, plan, with_mcp=with_mcp, dry_run=dry_run)
    try:
        if not (is_user or call.db):
            find_store(start=place.folder)
    except CtxrankError as error:
        reply = reply._replace(text_notes=(*reply.text_notes, f"hooks say nothing yet: {error.message} {error.hint}"))
    return reply


def uninstall(call: Call, runner: str | None, is_all: bool, is_user: bool, is_project: bool, dry_run: bool) -> Reply:
    """Take ours out of a runner's files, or out of everyone's."""
    place = _place(call, is_user=is_user, is_project=is_project)
    names = [name for name in TARGETS if name != AGENTS_MD or not is_user]

    def plan(file: RunnerFile) -> _Change:
        before = _read(file.path, place)
        after = before and file.without_ours(before)
        is_restored = before is not None and after == _read(file.path + COPY_ENDING, place)
        is_kept = after or is_restored or not before  # an empty file that was there before
        return _Change(file, before, after if is_kept else None, is_restored=is_restored)

    return _reply(call, _named(runner, names, is_all=is_all), place, plan, with_mcp=True, dry_run=dry_run)


def _named(runner: str | None, names: list[str], *, is_all: bool) -> list[str]:
    """The runners that a call is about: the one that it names, or with --all these. Raises UsageError."""
    if is_all == (runner is not None):
        raise UsageError("Name a runner, or give --all.", f"RUNNER is one of {', '.join(TARGETS)}.")
    return names if runner is None else [runner]


def _place(call: Call, *, is_user: bool, is_project: bool) -> InstallPlace:
    """Whose files are meant: the user's, or those of the project around this folder."""
    if is_user and is_project:
        raise UsageError("--user and --project exclude each other.", "Give one of them.")
    if is_user:
        return InstallPlace(os.path.expanduser("~"), True)
    if call.root is not None:
        return InstallPlace(os.path.abspath(call.root), False)
    here = os.getcwd()
    marks = (".ctxrank", ".git")
    marked = (one for one in upwards(here) if any(os.path.lexists(os.path.join(one, name)) for name in marks))
    return InstallPlace(next(marked, here), False)


def _own_command() -> str:
    """How a runner calls ctxrank: by its name where that is found, else by its path."""
    own = os.path.abspath(sys.argv[0])
    if shutil.which("ctxrank") or os.path.basename(own) != "ctxrank":
        return "ctxrank"
    return shlex.quote(own)


def _read(path: str, place: InstallPlace) -> str | None:
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


def _reply(call: Call, runners: list[str], place: InstallPlace, plan: _Plan, *, with_mcp: bool, dry_run: bool) -> Reply:
    """Write what has changed, and say what that was. Nothing is written where one of the files is refused."""
    files = [file for name in runners for file in runner_files(name, place, _own_command(), with_mcp=with_mcp)]
    changes = [plan(file) for file in files]
    if not dry_run:
        changes = [_apply(change, plan, place) for change in changes]
    has_changed = any(change.kind != "none" for change in changes)
    note = "a dry run: no file is changed." if dry_run else "start a new session of the runner."
    return Reply(
        lambda: {
            "runner": ", ".join(runners),
            "dry_run": dry_run,
            "files": [
                {"path": one.file.path, "change": one.kind, "diff": "".join(_diff(one)), "copy": one.copy}
                for one in changes
            ],
        },
        _lines(call, changes, dry_run=dry_run),
        text_notes=(note,) if has_changed else ("nothing to change.",),
    )


def _lines(call: Call, changes: list[_Change], *, dry_run: bool) -> Iterator[str]:
    for change in changes:
        if change.kind == "none":
            continue
        for line in _diff(change) if dry_run else ():
            yield printable(line).rstrip("\n")
        yield f"{'would be ' if dry_run else ''}{change.kind}: {call.bold(one_line(change.file.path))}"
        if change.copy is not None:
            yield f"   as it was: {one_line(change.copy)}"


def _diff(change: _Change) -> Iterator[str]:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    yield from difflib.unified_diff(before, after, change.file.path, change.file.path)


def _apply(change: _Change, plan: _Plan, place: InstallPlace) -> _Change:
    """Make a file what it is to be, and return what was done. Raises CtxrankError where the system refuses."""
    if change.kind == "none":
        return change
    folder = os.path.dirname(os.path.realpath(change.file.path))
    with refused_by_system(
        f"{change.file.path} cannot be written", "What was written before it is kept; run it again."
    ):
        os.makedirs(folder, exist_ok=True)
        with _lock(change.file.path):
            for _ in range(_TRIES):
                change = plan(change.file)
                if change.kind == "none" or _has_replaced(change, place):
                    break
            else:
                raise CtxrankError(
                    f"{change.file.path} is changed by another program all the time.", "End that one, and run it again."
                )
        while change.after is None and folder != (top := os.path.realpath(place.folder)):
            if not is_inside(top, folder) or os.listdir(folder):
                break
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    return change


def _has_replaced(change: _Change, place: InstallPlace) -> bool:
    """Put a change into effect, unless the file is another one by now. Raises OSError, CtxrankError."""
    real = os.path.realpath(change.file.path)
    if change.copy is not None and change.before is not None and not os.path.lexists(change.copy):
        with whole_file(os.path.realpath(change.copy), _NEW_MODE) as file:
            _fill(file, change.before, real)
    try:
        with nullcontext() if change.after is None else whole_file(real, _NEW_MODE) as file:
            if file is not None:
                _fill(file, change.after or "", real)
            if _read(change.file.path, place) != change.before:
                raise _AnotherError
            if file is None:
                os.unlink(real)
    except _AnotherError:
        return False
    if change.is_restored:
        os.unlink(change.file.path + COPY_ENDING)
    return True


def _fill(file: BinaryIO, text: str, like: str) -> None:
    """Write a new file, with the mode of the one that it is like; the disk has it then."""
    if os.path.exists(like):
        os.fchmod(file.fileno(), os.stat(like).st_mode & 0o777)
    file.write(text.encode())
    file.flush()
    sync(file.fileno())


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
