"""Events of agent runners, and what the hook answers to them, in this process."""

import json
import os
from pathlib import Path
from typing import Any

from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call


class Runner:
    """A session of an agent runner in a folder."""

    def __init__(self, folder: Path, session: str = "session-1", **always: object) -> None:
        self.folder = folder
        self.session = session
        self._always = always

    def says(self, event: str, **fields: object) -> Any:
        """The whole answer to an event, None for none."""
        value = {
            "hook_event_name": event,
            "session_id": self.session,
            "cwd": str(self.folder),
            **self._always,
            **fields,
        }
        answer = answer_of(json.dumps(value).encode(), None, Call())
        assert len(answer) <= 10_000 and "permission" not in answer
        return json.loads(answer)["hookSpecificOutput"] if answer else None

    def hears(self, event: str, **fields: object) -> str:
        """What an event puts before the model, '' for nothing."""
        answer = self.says(event, **fields)
        assert answer is None or answer["hookEventName"] == event
        return "" if answer is None else str(answer["additionalContext"])

    def prompt(self, text: str) -> str:
        """What a prompt is given."""
        return self.hears("UserPromptSubmit", prompt=text)

    def spawn(self, prompt: str, agent: str = "developer", use: str = "use-1", **more: object) -> Any:
        """The input that the spawning tool gets instead, None for its own."""
        tool_input = {"prompt": prompt, "subagent_type": agent, **more}
        answer = self.says("PreToolUse", tool_name="Agent", tool_use_id=use, tool_input=tool_input)
        return None if answer is None else answer["updatedInput"]

    def fails(self, command: str, output: str) -> str:
        """What a failed command is given."""
        return self.hears(
            "PostToolUseFailure", tool_name="Bash", tool_use_id="u", tool_input={"command": command},
            error=f"Exit code 1\n{output}", duration_ms=5,
        )  # fmt: skip

    def succeeds(self, command: str) -> str:
        """What a command that succeeds is given."""
        return self.hears(
            "PostToolUse", tool_name="Bash", tool_use_id="u", tool_input={"command": command},
            tool_response={"stdout": "ok", "stderr": "", "interrupted": False}, duration_ms=1,
        )  # fmt: skip

    def stops(self, message: str) -> None:
        """An agent's last message."""
        assert self.says("Stop", stop_hook_active=False, last_assistant_message=message) is None


def configure(folder: Path, text: str) -> None:
    """Write the project's configuration."""
    (folder / ".ctxrank" / "config.yaml").write_text(text)


def logged(folder: Path | None = None) -> list[str]:
    """The last lines of the hook's log: of events of this folder, else of any; the tests of a process share it."""
    path = Path(os.environ["XDG_STATE_HOME"], "ctxrank", "hook.log")
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if folder is None or line.split("\t")[1] == str(folder)][-3:]
