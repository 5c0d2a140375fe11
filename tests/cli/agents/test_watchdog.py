"""A hook that takes too long, or too much, ends by itself: with 0, in time, and with a line in the log."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import make_store
from runner_events import logged

from ctxrank.cli.agents.event import LIMITS_S, Event
from ctxrank.cli.agents.runner_files import PLUGIN

_PYTHON = "while True: pass"
_SQLITE = """
    query = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    call.store.primary.execute(query).fetchall()
"""
_EXPRESSION = "import re; re.match('(a+)+$', 'a' * 64 + 'b')"  # holds the lock of the interpreter
_MEMORY = """
    parts = []
    while True:
        parts.append(bytes(1 << 20))
"""


def _hook(
    folder: Path, work: str, event: str = "UserPromptSubmit", limit_s: float = 2.0, *, others_s: float = 5.0
) -> tuple[int, bytes, float]:
    """A hook in whose answer such work is done: exit code, what it printed, how long it took after its start."""
    code = (
        "import sys, time; from ctxrank.cli.agents import event, hook\n"
        f"event.LIMITS_S.update(dict.fromkeys(event.LIMITS_S, {others_s}), {event}={limit_s})\n"
        f"def work(call):\n    {work.strip()}\n"
        "hook._said = work; print(time.monotonic(), file=sys.stderr, flush=True); hook.main()"
    )
    value = {"hook_event_name": event, "session_id": "s", "cwd": str(folder), "prompt": "why?"}
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(value).encode(), capture_output=True, timeout=30
    )
    return done.returncode, done.stdout, time.monotonic() - float(done.stderr)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A log of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    "work",
    [_PYTHON, pytest.param(_SQLITE, marks=pytest.mark.slow), _EXPRESSION],
    ids=["python", "sqlite", "expression"],
)
def test_what_takes_too_long_ends_half_a_second_before_the_limit(tmp_path: Path, work: str) -> None:
    make_store(tmp_path).close()
    code, out, took_s = _hook(tmp_path, work)
    assert (code, out) == (0, b"") and 1.4 < took_s < 2.0 + 1.0  # the machine may be busy
    (line,) = logged()
    assert line.endswith("UserPromptSubmit was ended after 1.5 s: its runner waits 2 s.")


@pytest.mark.slow
@pytest.mark.usefixtures("state")
def test_an_event_that_may_take_longer_is_not_ended_by_the_limit_of_a_shorter_one(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    code, out, _ = _hook(tmp_path, "import time; time.sleep(3); return 'late'", "Stop", 60.0, others_s=3.0)
    assert code == 0 and b"late" in out and logged() == []


@pytest.mark.usefixtures("state")
def test_an_event_that_does_not_come_is_not_waited_for_either() -> None:
    code = "from ctxrank.cli.agents import event, hook; event.LIMITS_S['SessionStart'] = 1.0; hook.main()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        assert waiting.wait(timeout=20) == 0
    (line,) = logged()
    assert "An event that had not come was ended after 0.5 s" in line


@pytest.mark.usefixtures("state")
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not hold the limit")
def test_what_takes_too_much_memory_is_silence(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    code, out, _ = _hook(tmp_path, _MEMORY, limit_s=20.0)
    (line,) = logged()
    assert (code, out) == (0, b"") and line.endswith("out of memory: an event gets 512 MB.")


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not hold the limit")
def test_what_a_hook_starts_and_leaves_behind_is_not_bounded() -> None:
    code = (
        "import resource, subprocess, sys; from ctxrank.indexer.systems import bound_memory, unbound_memory\n"
        "before = resource.getrlimit(resource.RLIMIT_DATA); bound_memory(1 << 29)\n"
        "bounded = resource.getrlimit(resource.RLIMIT_DATA)[0]; unbound_memory()\n"
        "print(bounded == 1 << 29, resource.getrlimit(resource.RLIMIT_DATA) == before)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True True\n"


@pytest.mark.parametrize("runner", ["claude-code", "codex"])
def test_the_limits_are_those_that_the_runners_are_told(runner: str) -> None:
    hooks = json.loads(Path(PLUGIN, "..", runner, "hooks", "hooks.json").read_text())["hooks"]
    told = {
        event: handler["timeout"] for event, entries in hooks.items() for one in entries for handler in one["hooks"]
    }
    assert told == {name: Event(runner, name, "s", ".", {}).limit_s for name in LIMITS_S if name in hooks}
    assert set(told) == set(LIMITS_S) - ({"PostToolUseFailure"} if runner == "codex" else set())


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not hold the limit")
def test_a_process_that_holds_much_already_is_not_bounded() -> None:
    """Such as one that runs a hook among other things: it would have no room at all."""
    code = (
        "import resource; from ctxrank.indexer.systems import bound_memory\n"
        "held = bytearray(300 << 20); before = resource.getrlimit(resource.RLIMIT_DATA); bound_memory(1 << 29)\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA) == before)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
