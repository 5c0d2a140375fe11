"""The steps of `bazinga install` and `bazinga uninstall`, of which each can be the last before a kill.

A script is replaced in three steps: the new one is written beside it, the old one gets a second name (a link, so its
bytes, mode and times stay), and the new one takes the name. At any moment the name leads to one of the two whole
scripts, so that a second run, or an uninstall, finds out where the first one stopped.
"""

import ast
import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator

from ctxrank.extensions.bazinga.switch.tree import (
    BUILDER_FOLDER,
    DATABASE_FOLDER,
    DATABASE_SCRIPT,
    OWN_FOLDER,
    SCRIPTS,
    Script,
    main_line,
    require_known,
    require_project,
)
from ctxrank.indexer.beneath import read_file
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.systems import sync

_MANIFEST = f"{OWN_FOLDER}/manifest.json"
_SWITCH = f"{OWN_FOLDER}/ctxrank_switch.py"
_MARK = b"`ctxrank bazinga uninstall` takes it away"
_NEW_SUFFIX = ".ctxrank-new"
_MAX_BYTES = 4_000_000  # of a script
_FOLDERS = (".claude", DATABASE_FOLDER, BUILDER_FOLDER)  # in which files come and go

Say = Callable[[str], None]


def planned(root: str) -> list[tuple[Script, bytes, bytes]]:
    """Each script, what is kept of it, and what takes its place. Raises UsageError for a project that is not known."""
    require_project(root)
    plan: list[tuple[Script, bytes, bytes]] = []
    for script in SCRIPTS:
        path = script.path(root)
        old = _content(path) or b""
        if _MARK in old:  # else it is the original, of a first install, a killed one, or a newer version put over it
            path, old = script.kept(root), _original(root, script)
        require_known(script, old, path)
        new = _own_file("placed_dispatcher.py")
        if script is not DATABASE_SCRIPT:
            lines, at = old.splitlines(keepends=True), main_line(ast.parse(old))
            new = b"".join([*lines[:at], _own_file("placed_hook.py"), b"\n\n", *lines[at:]])
        plan.append((script, old, new))
    return plan


def install(root: str, plan: list[tuple[Script, bytes, bytes]], say: Say, *, is_dry_run: bool = False) -> bool:
    """Switch a project over; whether anything had to be changed. Raises CtxrankError."""
    manifest = _manifest(root, [(script, old) for script, old, _ in plan])
    work = _Work(say, is_dry_run)
    with _explained(root):
        for name, content in ((_SWITCH, _own_file("placed_switch.py")), (_MANIFEST, manifest)):
            path = os.path.join(root, name)
            if _content(path) != content and work.begins("would write", "wrote", name):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _write(path, content, 0o644)
        for script, old, new in plan:
            is_done = _content(script.path(root)) == new and _content(script.kept(root)) == old
            place = f"{script.folder}/{script.name}; the original is {script.kept_name} beside it"
            if not is_done and work.begins("would replace", "replaced", place):
                _replace(root, script, old, new)
    return work.has_changed


def uninstall(root: str, say: Say, *, is_dry_run: bool = False) -> bool:
    """Give a project its scripts back; whether anything had to be changed. Raises UsageError, CtxrankError."""
    require_project(root)
    noted = _noted(root)
    for script in SCRIPTS:
        _require_restorable(root, script, noted)
    work = _Work(say, is_dry_run)
    with _explained(root):
        for script in reversed(SCRIPTS):
            path, kept = script.path(root), script.kept(root)
            place = f"{script.folder}/{script.name}"
            if os.path.lexists(kept) and work.begins("would restore", "restored", place):
                if os.path.samefile(path, kept) or _MARK not in (_content(path) or b""):
                    os.unlink(kept)  # the original is in its place: a killed install, or a newer version of it
                else:
                    os.replace(kept, path)
            if not is_dry_run:
                _remove_caches(root, script)
        own = os.path.join(root, OWN_FOLDER)
        if os.path.isdir(own) and work.begins("would remove", "removed", f"{OWN_FOLDER}/"):
            shutil.rmtree(own)
    if work.has_changed and not is_dry_run:
        times = noted.get("folder_times")
        for name, moment in times.items() if is_dict(times) else ():
            if isinstance(moment, int) and name in _FOLDERS:
                with contextlib.suppress(OSError):
                    path = os.path.join(root, str(name))
                    os.utime(path, ns=(os.stat(path).st_atime_ns, moment))
    return work.has_changed


class _Work:
    """The changes of one run."""

    def __init__(self, say: Say, is_dry_run: bool) -> None:
        self._say = say
        self._is_dry_run = is_dry_run
        self.has_changed = False

    def begins(self, would: str, does: str, place: str) -> bool:
        """Say a change; whether it is to be made."""
        self.has_changed = True
        self._say(f"{would if self._is_dry_run else does} {place}")
        return not self._is_dry_run


def _replace(root: str, script: Script, old: bytes, new: bytes) -> None:
    path, kept = script.path(root), script.kept(root)
    if _MARK not in (_content(path) or b""):
        # One that an earlier, newer or killed run left there is not what is here now, or is its second name.
        if os.path.lexists(kept) and not os.path.samefile(path, kept):
            os.unlink(kept)
        if not os.path.lexists(kept):
            try:
                os.link(path, kept)
            except OSError:  # a file system without links
                shutil.copy2(path, kept)
    assert _content(kept) == old
    _write(path, new, os.stat(path).st_mode & 0o777)


def _original(root: str, script: Script) -> bytes:
    """What is kept of a script that was replaced. Raises UsageError where it is gone."""
    kept = _content(script.kept(root))
    if kept is None:
        raise UsageError(
            f"{script.path(root)} is what install put there, and {script.kept_name}, the original, is gone.",
            "Put the original back from your version control. Nothing was changed.",
        )
    return kept


def _require_restorable(root: str, script: Script, noted: dict[object, object]) -> None:
    """Raises UsageError where what would be restored is not what install kept."""
    path, kept = script.path(root), script.kept(root)
    here = _content(path) or b""
    if _MARK not in here:
        if _content(kept) in (None, here):
            require_known(script, here, path)
        return
    old = _original(root, script)
    sums = noted.get("originals")
    wanted = sums.get(f"{script.folder}/{script.name}") if is_dict(sums) else None
    if wanted is not None and wanted != hashlib.sha256(old).hexdigest():
        raise UsageError(
            f"{kept} is not the original that install kept: it was changed.",
            "Make sure that it is what you want, and rename it yourself. Nothing was changed.",
        )


def _manifest(root: str, originals: list[tuple[Script, bytes]]) -> bytes:
    """What install notes: what runs ctxrank, and what uninstall holds the originals against."""
    times = _noted(root).get("folder_times") or {
        name: os.stat(os.path.join(root, name)).st_mtime_ns for name in _FOLDERS
    }
    value: dict[str, object] = {
        "about": "Made by 'ctxrank bazinga install'; 'ctxrank bazinga uninstall' needs it.",
        "python": sys.executable,
        "originals": {f"{script.folder}/{script.name}": hashlib.sha256(old).hexdigest() for script, old in originals},
        "folder_times": times,
    }
    return (json.dumps(value, indent=2) + "\n").encode()


def _noted(root: str) -> dict[object, object]:
    try:
        value: object = json.loads(_content(os.path.join(root, _MANIFEST)) or b"{}")
    except ValueError:
        return {}
    return dict(value) if is_dict(value) else {}


def _remove_caches(root: str, script: Script) -> None:
    """What Python compiled of the kept script; the folder where nothing else is in it."""
    folder = os.path.join(root, script.folder, "__pycache__")
    stems = (script.kept_name.removesuffix(".py"), script.name.removesuffix(".py"))
    with contextlib.suppress(OSError):
        os.unlink(script.path(root) + _NEW_SUFFIX)  # a killed install wrote it
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.split(".")[0] in stems:
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _own_file(name: str) -> bytes:
    return _content(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) or b""


def _content(path: str) -> bytes | None:
    try:
        return read_file(path, _MAX_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CtxrankError(f"{path} cannot be read: {error}.", "Nothing was changed.") from error


def _write(path: str, content: bytes, mode: int) -> None:
    """Put a file in its place whole: never is half of it there."""
    new = path + _NEW_SUFFIX
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        sync(file.fileno())
    os.replace(new, path)


@contextlib.contextmanager
def _explained(root: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise CtxrankError(
            f"{error.filename or root} cannot be changed: {error.strerror or error}.",
            "Check the permissions, and run the same again.",
        ) from error
