"""What comes in from what Codex writes down of its sessions."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from runner_events import Runner as HookRunner

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.indexer import open_store
from ctxrank.indexer.exceptions import UsageError

_MISSING = "ModuleNotFoundError: No module named 'yaml'"
_SAID = "## Decisions\n\nPrices are whole cents, since a float cannot hold a tenth and we sum many of them."


class Codex:
    """Writes the files of Codex, where it has them, and imports them."""

    def __init__(self, root: Path, sessions: Path) -> None:
        self.root, self.sessions = root, sessions
        with make_store(root) as store:
            self.call = Call(db=store.location.primary)

    def begin(self, session: str, *, thread: str = "", cwd: str = "") -> Path:
        """A new file: of a session, or of an agent that it has started."""
        told = {"session_id": session, "id": thread or session, "cwd": cwd or str(self.root), "git": {"branch": "main"}}
        path = self.sessions / f"rollout-{thread or session}.jsonl"
        path.write_text(self._line("session_meta", told))
        return path

    def item(self, path: Path, kind: str, **fields: object) -> None:
        """Add what has been completed."""
        payload = {
            "type": "item_completed",
            "item": {"type": kind, "id": f"{path.stem}-{path.stat().st_size}", **fields},
        }
        with path.open("a") as file:
            file.write(self._line("event_msg", payload))

    def run(self, path: Path, command: str, output: str = "", code: int = 0) -> None:
        """Add a command."""
        words = ["/bin/bash", "-lc", command]
        there = f"file://{self.root}"
        self.item(path, "CommandExecution", command=words, cwd=there, aggregated_output=output, exit_code=code)

    def repair(self, path: Path, fix: dict[str, object]) -> None:
        """A failure, a change of files, and the success."""
        self.run(path, "python app.py", _MISSING, 1)
        self.item(path, "FileChange", status="completed", changes={str(self.root / "requirements.txt"): fix})
        self.run(path, "python app.py", "ok")
        self.item(path, "UserMessage", content=[{"type": "text", "text": "and why?"}])
        self.item(path, "AgentMessage", content=[{"type": "Text", "text": _SAID}])

    def bring(self, **given: object) -> Any:
        """Import; the counts."""
        return ask(self.call, "import transcripts", {"runner": "codex", **given}).payload

    def fix(self) -> Any:
        """The known fix of the failure."""
        found: Any = ask(self.call, "error match", {"file": "-", "limit": 1}, _MISSING.encode()).payload
        return found["matches"][0]

    def _line(self, kind: str, payload: dict[str, Any]) -> str:
        return json.dumps({"timestamp": datetime.now(UTC).isoformat(), "type": kind, "payload": payload}) + "\n"


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Codex:
    root, home = tmp_path / "my shop", tmp_path / "codex"
    root.mkdir()
    (home / "sessions").mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(home))
    return Codex(root.resolve(), home / "sessions")


_CHANGE: dict[str, object] = {"type": "update", "unified_diff": "@@ -1 +1,2 @@\n click\n+pyyaml\n"}


def test_failures_and_what_ended_them_and_messages_come_in(codex: Codex) -> None:
    codex.repair(codex.begin("one"), _CHANGE)
    counts = codex.bring()
    assert (counts["files"], counts["failures"], counts["repaired"], counts["fixes"]) == (1, 1, 1, 0)
    assert codex.fix()["solution"] == "Ran next, unconfirmed: edit requirements.txt: `pyyaml`"
    codex.repair(codex.begin("two"), {"type": "add", "content": "pyyaml\n"})
    assert codex.bring()["fixes"] == 1 and codex.bring()["files"] == 0
    assert codex.fix()["solution"] == "edit requirements.txt: `pyyaml`"
    with open_store(codex.call.db) as store:
        entries = list(store.primary.execute("SELECT phase, content FROM reasoning"))
    assert [(phase, "cents" in content) for phase, content in entries] == [("decisions", True)]


def test_an_agent_that_was_started_is_of_the_session(codex: Codex) -> None:
    codex.repair(codex.begin("one", thread="agent"), _CHANGE)
    codex.bring()
    with open_store(codex.call.db) as store:
        assert list(store.primary.execute("SELECT name FROM sessions")) == [("one",)]


def test_other_projects_and_what_is_no_step_stay_out(codex: Codex) -> None:
    codex.repair(codex.begin("elsewhere", cwd="/elsewhere"), _CHANGE)
    path = codex.begin("one")
    codex.run(path, "python app.py", _MISSING, 1)
    codex.item(path, "CommandExecution", command=["sleep"], exit_code=None)  # still runs
    codex.item(path, "Reasoning", text="hm")
    with path.open("a") as file:
        file.write('"item_completed" and no JSON\n{"type": "item_completed"}\n')
    counts = codex.bring()
    assert (counts["files"], counts["failures"], counts["lines_skipped"]) == (1, 1, 1)


def test_a_file_that_grows_is_read_on(codex: Codex) -> None:
    path = codex.begin("one")
    codex.run(path, "python app.py", _MISSING, 1)
    codex.bring()
    codex.run(path, "pip install pyyaml")
    codex.run(path, "python app.py", "ok")
    assert codex.bring()["repaired"] == 1
    assert codex.fix()["solution"] == "Ran next, unconfirmed: `pip install pyyaml`"


def test_the_end_of_a_session_brings_in_its_file(codex: Codex) -> None:
    path = codex.begin("one")
    codex.repair(path, _CHANGE)
    HookRunner(codex.root, "one").says("SessionEnd", transcript_path=str(path), reason="other", turn_id="t")
    assert codex.fix()["solution"].startswith("Ran next") and codex.bring()["files"] == 0


def test_where_codex_has_no_sessions_a_folder_is_asked_for(codex: Codex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(codex.root))
    with pytest.raises(UsageError, match="no transcripts"):
        codex.bring()
