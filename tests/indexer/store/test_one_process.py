"""One process at a time: it holds a lock file that says who it is, which others read and never take for their own."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.store import one_process
from ctxrank.indexer.store.one_process import held, holder, only_one, processes_of, start_for


def _refused(says: str) -> CtxrankError:
    return LockedError(f"'{says}' holds it.", "Wait for it.")


def test_who_holds_a_lock_is_said_while_it_is_held_and_to_the_next_one(tmp_path: Path) -> None:
    path = str(tmp_path / "watch.lock")
    assert held(path) is None and holder(path) == ""
    with only_one(path, "4711 here", _refused):
        assert held(path) == holder(path) == "4711 here"
        with pytest.raises(LockedError, match="'4711 here' holds it"), only_one(path, "another", _refused):
            pass
        assert held(path) == "4711 here"
    assert held(path) is None and holder(path) == "" and Path(path).read_bytes() == b""
    assert Path(path).stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_none_is_not_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "watch.lock")
    with only_one(path, "47\x1b[2J11", _refused):
        assert held(path) == "" == holder(path)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_file_of_its_own_is_no_lock(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "watch.lock"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CtxrankError, match=r"is not a file|cannot be opened"), only_one(str(path), "x", _refused):
        pass
    assert held(str(path)) is None and not (tmp_path / "elsewhere").exists()


def test_the_processes_of_a_store_are_those_that_hold_its_locks(tmp_path: Path) -> None:
    assert processes_of(str(tmp_path)) == {}
    with only_one(str(tmp_path / "serve.lock"), "1 http://127.0.0.1:8733", _refused):
        assert processes_of(str(tmp_path)) == {"serve": "1 http://127.0.0.1:8733"}
        with only_one(str(tmp_path / "watch.lock"), "2", _refused):
            assert processes_of(str(tmp_path)) == {"serve": "1 http://127.0.0.1:8733", "watch": "2"}


def test_a_process_that_has_ended_is_not_left_in_the_systems_table(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    spawn = os.posix_spawn

    def spawned(*given: Any, **named: Any) -> int:
        started.append(spawn(*given, **named))
        return started[-1]

    monkeypatch.setattr(os, "posix_spawn", spawned)
    start_for("ctxrank.nothing", "/p/ctxrank.db")
    os.waitid(os.P_PID, started[0], os.WEXITED | os.WNOWAIT)
    start_for("ctxrank.nothing", "/p/ctxrank.db")
    with pytest.raises(ChildProcessError):
        os.waitpid(started[0], 0)
    os.waitpid(started[1], 0)


def test_of_a_process_that_another_one_started_no_exit_code_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_fork = {os.getppid()}
    monkeypatch.setattr(one_process, "_started", before_the_fork)
    monkeypatch.setattr(sys, "executable", "")
    start_for("ctxrank.nothing", "/p/ctxrank.db")
    assert not before_the_fork


def test_a_process_of_its_own_is_started_with_the_store_and_what_it_is_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, ...]] = []

    def spawn(path: str, command: list[str], variables: dict[str, str], **options: object) -> int:
        started.append((path, command[1:], variables.get("CTXRANK_MARK"), options["setpgroup"]))
        if len(started) > 1:
            raise OSError
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    start_for("ctxrank.a", "/p/ctxrank.db", {"CTXRANK_MARK": "m"})
    start_for("ctxrank.a", "/p/ctxrank.db")  # the system has no process more: the next call tries
    module = ["-P", "-m", "ctxrank.a", "/p/ctxrank.db"]
    assert started == [(sys.executable, module, "m", 0), (sys.executable, module, None, 0)]
    monkeypatch.setattr(sys, "executable", "")
    start_for("ctxrank.a", "/p/ctxrank.db")
    assert len(started) == 2
