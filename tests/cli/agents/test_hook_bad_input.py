"""Whatever comes in: exit code 0, nothing on stdout, one line in the log that `status` shows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from builders import make_store
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runner_events import logged

from ctxrank.cli.agents.event import KINDS
from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call
from ctxrank.cli.main import run

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = (
    "prompt", "tool_name", "tool_input", "tool_response", "tool_use_id", "error", "is_interrupt", "duration_ms",
    "source", "agent_id", "agent_type", "last_assistant_message", "stop_hook_active", "transcript_path", "turn_id",
    "model",
)  # fmt: skip


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of this test's own."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def _event(folder: object, **fields: object) -> bytes:
    return json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(folder), **fields}).encode()


def _hook(data: bytes, *words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "ctxrank.cli", "hook", *words], input=data, capture_output=True, timeout=60
    )


def _bad_events(folder: Path) -> dict[str, bytes]:
    return {
        "no JSON": b"this is no JSON",
        "nothing": b"",
        "no object": b"[1, 2]",
        "an unknown kind": _event(folder, hook_event_name="TeaTime"),
        "a kind that is no text": _event(folder, hook_event_name=7),
        "no session": _event(folder, session_id=None),
        "a session that is no name": _event(
            folder, session_id="a\nb", hook_event_name="Stop", last_assistant_message="one two three " * 3
        ),
        "no folder": _event(folder, cwd=None),
        "a folder that is not there": _event(folder / "gone"),
        "a folder without a store": _event("/"),
        "half an event": _event(folder)[:-20],
        "deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "no UTF-8": b'\xff\xfe{"hook_event_name": "Stop"}',
    }  # fmt: skip


def test_a_bad_event_is_one_line_in_the_log(tmp_path: Path, state: Path) -> None:
    make_store(tmp_path).close()
    log = state / "ctxrank" / "hook.log"
    for name, data in _bad_events(tmp_path).items():
        before = len(log.read_text().splitlines()) if log.exists() else 0
        assert answer_of(data, None, Call()) == "", name
        assert len(log.read_text().splitlines()) == before + 1, name


def test_the_log_is_shown_by_status_and_quotes_nothing_of_an_event(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    assert run(["status"]) == 0 and "hook " not in capsys.readouterr().out
    answer_of(b"secret words that are no JSON", None, Call())
    assert run(["status"]) == 0
    shown = capsys.readouterr().out
    assert "usage: The event is no JSON." in shown and "secret" not in shown
    assert run(["--json", "status"]) == 0
    assert len(json.loads(capsys.readouterr().out)["hook_failures"]) == 1


def test_status_shows_the_trouble_of_its_own_project_alone(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, bank, inner = tmp_path / "shop", tmp_path / "bank", tmp_path / "shop" / "inner"
    for folder in (shop, bank, inner):
        folder.mkdir()
        make_store(folder).close()
    (shop / "src").mkdir()
    (tmp_path / "link").symlink_to(shop)

    def shown(folder: Path) -> list[str]:
        monkeypatch.chdir(folder)
        assert run(["--json", "status"]) == 0
        failures: list[str] = json.loads(capsys.readouterr().out).get("hook_failures", [])
        return [failure.partition(" ")[2] for failure in failures]

    monkeypatch.chdir(tmp_path / "bank")
    for folder in (shop / "src", tmp_path / "link"):
        _refused(folder)
    for _ in range(9):
        _refused(inner)
    assert [len(shown(folder)) for folder in (shop, bank, inner)] == [2, 0, 3]
    monkeypatch.chdir(bank)
    _refused(Path("."))  # a folder by its relative path is that of the event's own process
    assert [len(shown(folder)) for folder in (shop, bank, inner)] == [2, 1, 3]
    answer_of(b"no JSON", None, Call())  # it says no folder: that of the process, which is the inner one
    assert [shown(folder)[-1:] == ["usage: The event is no JSON."] for folder in (shop, bank, inner)] == [
        False,
        False,
        True,
    ]


def _refused(folder: Path) -> None:
    """An event that a store refuses."""
    message = "one two three four five six seven eight nine"
    data = _event(folder, session_id="a\nb", hook_event_name="Stop", last_assistant_message=message)
    assert answer_of(data, None, Call()) == ""


def test_the_log_stays_small(state: Path) -> None:
    for _ in range(1500):
        answer_of(b"", None, Call())
    sizes = [entry.stat().st_size for entry in (state / "ctxrank").iterdir() if entry.name.startswith("hook.log")]
    assert len(sizes) == 2 and max(sizes) < 70_000 and len(logged()) == 3


@pytest.mark.parametrize(
    "words", [(), ("--runner", "vi"), ("--bogus",), ("--runner",), ("more", "words"), ("--runner=codex", "-x")]
)
def test_the_exit_code_is_0_and_nothing_is_said_whatever_the_words_are(
    tmp_path: Path, state: Path, words: tuple[str, ...]
) -> None:
    done = _hook(b"no JSON", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(logged()) == 1


def test_an_event_of_20_megabytes_is_read_to_its_end_and_not_answered(tmp_path: Path, state: Path) -> None:
    make_store(tmp_path).close()
    done = _hook(_event(tmp_path, prompt="database locked " * 1_300_000))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "larger than 8 MB" in logged()[-1]


@pytest.mark.parametrize("closed", ["stdin", "stdout"])
def test_a_closed_stream_is_no_failure(tmp_path: Path, closed: str) -> None:
    redirection = "<&-" if closed == "stdin" else ">&-"
    event = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": str(tmp_path)})
    done = subprocess.run(
        ["sh", "-c", f"printf %s '{event}' | {quote(sys.executable)} -m ctxrank.cli hook {redirection}"],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", ["PreCompact", "PostCompact", "Notification"])
def test_events_that_say_nothing_to_us_are_no_failures(tmp_path: Path, state: Path, name: str) -> None:
    assert answer_of(_event(tmp_path, hook_event_name=name), None, Call()) == ""
    assert logged() == []


def _check(data: bytes) -> None:
    answer = answer_of(data, None, Call())
    assert len(answer) <= 10_000 and "permission" not in answer
    if answer:
        output: dict[str, Any] = json.loads(answer)["hookSpecificOutput"]
        assert set(output) in ({"hookEventName", "additionalContext"}, {"hookEventName", "updatedInput"})


@given(st.binary(max_size=300) | _JSON.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=examples(150))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    _check(data)


@pytest.mark.slow
@given(
    event=st.sampled_from(tuple(KINDS)),
    fields=st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=8),
    tool=st.sampled_from(("Agent", "Bash", "Edit", "")),
)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_fields_of_any_event_have_an_answer(
    loaded_once: Path, event: str, fields: dict[str, object], tool: str, tmp_path: Path
) -> None:
    if not (tmp_path / ".ctxrank").exists():
        make_store(tmp_path).close()
    _check(_event(tmp_path, hook_event_name=event, **{"tool_name": tool, **fields}))


def test_a_locked_store_is_answered_with_silence_in_time(tmp_path: Path, state: Path) -> None:
    with make_store(tmp_path) as store:
        store.primary.execute("BEGIN IMMEDIATE")
        try:
            assert (
                answer_of(
                    _event(tmp_path, hook_event_name="PreToolUse", tool_name="Agent", tool_input={"prompt": "x"}),
                    None,
                    Call(),
                )
                == ""
            )
        finally:
            store.primary.execute("ROLLBACK")
    assert "locked: " in logged()[-1]


def test_a_damaged_store_is_answered_with_silence(tmp_path: Path, state: Path) -> None:
    make_store(tmp_path).close()
    path = tmp_path / ".ctxrank" / "ctxrank.db"
    os.truncate(path, path.stat().st_size // 2)
    assert answer_of(_event(tmp_path, prompt="database locked"), None, Call()) == ""
    assert len(logged()) == 1
