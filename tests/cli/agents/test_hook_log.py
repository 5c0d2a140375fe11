"""The log of the hook: what went wrong is a line in it, of the project whose event it was, and nothing else of that."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from builders import make_store

from ctxrank.cli.agents import hook, log
from ctxrank.cli.agents.log import last_failures, note_failure
from ctxrank.cli.agents.watchdog import MAX_MEMORY_BYTES
from ctxrank.cli.call import Call
from ctxrank.indexer.bounds import MAX_EVENT_BYTES
from ctxrank.indexer.exceptions import UsageError


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a store, and a log of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    make_store(tmp_path / "shop").close()
    return tmp_path / "shop"


def _failures(shop: Path) -> list[str]:
    """What is said of it, without the moments."""
    said = last_failures(str(shop / ".ctxrank" / "ctxrank.db"))
    return [line.partition(" ")[2] for line in said]


def _raising(error: BaseException) -> Any:
    def inner() -> None:
        raise error

    def raises(*_: object, **__: object) -> None:
        inner()

    return raises


_LINE = _raising.__code__.co_firstlineno + 2  # the innermost, where it was raised


@pytest.mark.parametrize(
    "error, line",
    [
        (UsageError("It is odd.", "Do not."), "usage: It is odd."),
        (
            ValueError("a text that may be secret"),
            f"ValueError at test_hook_log.py:{_LINE}",
        ),
        (MemoryError(), "out of memory: an event gets 512 MB."),
    ],
)
def test_what_an_event_met_is_a_line_without_its_texts(
    shop: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    monkeypatch.setattr(hook, "_answer", _raising(error))
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(shop), "prompt": "hm"}
    assert hook.answer_of(json.dumps(event).encode(), None, Call()) == ""
    assert _failures(shop) == [line]


def test_an_event_gets_the_memory_that_the_page_says() -> None:
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert MAX_MEMORY_BYTES == 512 << 20 and "more than 512 MB of memory" in page


def test_an_event_that_was_too_large_is_one_of_the_folder_it_came_to(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    assert hook.answer_of(None, None, Call()) == ""
    assert _failures(shop) == [f"usage: The event is larger than {MAX_EVENT_BYTES // 1024 // 1024} MB."]


def test_the_last_three_of_a_project_are_shown_the_oldest_first(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (shop / "src").mkdir()
    assert _failures(shop) == []
    for number in range(5):
        note_failure(f"odd {number}", str(shop / "src" if number % 2 else shop))
        note_failure("of another project", str(tmp_path / "elsewhere"))
    assert _failures(shop) == ["odd 2", "odd 3", "odd 4"]
    (shop / "src").rmdir()  # an event of a folder that has gone since
    assert _failures(shop) == ["odd 2", "odd 3", "odd 4"]


def test_the_log_is_private_stays_small_and_keeps_its_lines_whole(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state" / "ctxrank" / "hook.log"
    note_failure(f"one\ntwo\x1b {'x' * 400}", str(shop))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.read_text().count("\n") == 1
    (line,) = _failures(shop)
    assert line.startswith("one two") and "\x1b" not in line and len(line) <= 303
    monkeypatch.setattr(log, "_MAX_BYTES", file.stat().st_size)
    note_failure("three", str(shop))
    assert file.read_text().count("\n") == 2, "as long as it may be"
    note_failure("four", str(shop))
    assert (file.read_text().count("\n"), Path(f"{file}.1").read_text().count("\n")) == (1, 2)
    file.unlink()
    file.symlink_to(tmp_path / "another")
    note_failure("five", str(shop))
    assert not (tmp_path / "another").exists(), "a link is not followed"
