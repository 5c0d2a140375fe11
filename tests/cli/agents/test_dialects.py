"""What other runners send, as their documentation has it, is answered in their own words."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from runner_events import logged

from ctxrank.cli.agents import dialects
from ctxrank.cli.agents.event import KINDS, SPAWNING_TOOLS, read_event
from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.opening import open_project_store
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.text.tables import rows

_LOCKED = "workers crash with 'database is locked' right after a deploy, the timeout is 30s"
_PATH = "artifacts/shop-2026-10/queue/database-is-locked.md"
_GEMINI_SHELL = "run_shell_command"
_PRINTED = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'apple'"
_CURSOR = {
    "conversation_id": "c-1",
    "generation_id": "g-1",
    "model": "m",
    "cursor_version": "2.4.1",
    "user_email": None,
}


@pytest.fixture
def shop(loaded: Location, tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def known(tmp_path: Path) -> Path:
    with make_store(tmp_path) as store:
        save_error(store, NewKnownError(_PRINTED, solution="echo a price > prices.json"))
    return tmp_path


def _answer(runner: str, folder: Path, **fields: object) -> Any:
    """The whole answer of the hook to a runner's event; None for none."""
    session = {} if runner == "cursor" else {"session_id": "s-1"}
    place = {"workspace_roots": [str(folder)]} if runner == "cursor" else {"cwd": str(folder)}
    always = _CURSOR if runner == "cursor" else {"timestamp": "2026-11-20T10:00:00Z"}
    answer = answer_of(json.dumps({**always, **session, **place, **fields}).encode(), runner, Call())
    return json.loads(answer) if answer else None


# The prompt of each, and where its answer has the context.
_PROMPTS = {
    "gemini-cli": ("BeforeAgent", ["hookSpecificOutput", "additionalContext"]),
    "cursor": ("beforeSubmitPrompt", ["additional_context"]),
    "copilot-cli": ("UserPromptSubmit", ["additionalContext"]),
    "opencode": ("UserPromptSubmit", ["hookSpecificOutput", "additionalContext"]),
}


@pytest.mark.parametrize("runner", _PROMPTS)
def test_a_prompt_gets_its_finding_where_the_runner_reads_it(runner: str, shop: Path) -> None:
    event, place = _PROMPTS[runner]
    answer = _answer(runner, shop, hook_event_name=event, prompt=_LOCKED)
    assert len(answer) == 1
    for name in place:
        answer = answer[name]
    assert _PATH in answer
    assert _answer(runner, shop, hook_event_name=event, prompt=_LOCKED) is None  # nothing twice in a session


# A spawn of each, and where its answer has the new input.
_SPAWNS = {
    "gemini-cli": ("BeforeTool", "invoke_agent", {"agent_name": "helper"}, ["hookSpecificOutput", "tool_input"]),
    "cursor": ("preToolUse", "Task", {"subagent_type": "generalPurpose"}, ["updated_input"]),
    "copilot-cli": ("PreToolUse", "task", {"agent_type": "general-purpose"}, ["hookSpecificOutput", "updatedInput"]),
    "opencode": ("PreToolUse", "task", {"subagent_type": "general"}, ["hookSpecificOutput", "updatedInput"]),
}


@pytest.mark.parametrize("runner", _SPAWNS)
def test_a_spawn_gets_its_block_before_its_prompt(runner: str, shop: Path) -> None:
    event, tool, of_agent, place = _SPAWNS[runner]
    given = {"prompt": "fix the locked database", **of_agent}
    answer = _answer(runner, shop, hook_event_name=event, tool_name=tool, tool_input=given)
    for name in place:
        answer = answer[name]
    assert answer["prompt"].startswith("<ctxrank>\n## Context for ") and answer["prompt"].endswith(given["prompt"])
    assert {**answer, "prompt": given["prompt"]} == given


def _failure(runner: str) -> dict[str, object]:
    """How a runner says that a command ended with 1."""
    if runner == "gemini-cli":
        told = f"<untrusted_context>\nOutput: {_PRINTED}\nExit Code: 1\nProcess Group PGID: 4711\n</untrusted_context>"
        response = {"llmContent": told, "returnDisplay": _PRINTED}
        return {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_response": response}
    if runner == "cursor":
        of_error: dict[str, object] = {
            "error_message": _PRINTED,
            "failure_type": "error",
            "is_interrupt": False,
            "duration": 12,
        }
        return {"hook_event_name": "postToolUseFailure", "tool_name": "Shell", **of_error}
    told = f"{_PRINTED}\n<shellId: 0 completed with exit code 1>"
    result = {"result_type": "success", "text_result_for_llm": told}
    if runner == "copilot-cli":
        return {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_result": result}
    ended = {"output": _PRINTED, "exit_code": 1}
    return {"hook_event_name": "PostToolUse", "tool_name": "bash", "tool_response": ended}


@pytest.mark.parametrize("runner", _PROMPTS)
def test_a_failed_command_gets_the_known_fix(runner: str, known: Path) -> None:
    command = {"tool_input": {"command": "make test"}}
    said = json.dumps(_answer(runner, known, **_failure(runner), **command))
    assert "This failure is known" in said and "echo a price > prices.json" in said
    with open_project_store(str(known)) as store:
        (failed,) = store.primary.execute("SELECT command FROM failed_commands")
        assert failed == ("make test",)


_SUCCESSES: dict[str, tuple[str, str, dict[str, object]]] = {
    "gemini-cli": ("AfterTool", _GEMINI_SHELL, {"tool_response": {"llmContent": "Output: ok\nProcess Group PGID: 8"}}),
    "cursor": ("postToolUse", "Shell", {"tool_output": '{"output": "ok", "exitCode": 0}'}),
    "copilot-cli": (
        "PostToolUse",
        "Bash",
        {"tool_result": {"text_result_for_llm": "ok\n<shellId: 1 completed with exit code 0>"}},
    ),
    "opencode": ("PostToolUse", "bash", {"tool_response": {"output": "ok", "exit_code": 0}}),
}


@pytest.mark.parametrize("runner", _SUCCESSES)
def test_the_same_command_ends_well_and_the_failure_is_over(runner: str, known: Path) -> None:
    event, tool, response = _SUCCESSES[runner]
    command = {"tool_input": {"command": "make test"}}
    _answer(runner, known, **_failure(runner), **command)
    assert _answer(runner, known, hook_event_name=event, tool_name=tool, **command, **response) is None
    with open_project_store(str(known)) as store:
        assert list(store.primary.execute("SELECT 1 FROM failed_commands")) == []


@pytest.mark.parametrize(
    ("runner", "event", "tool", "response"),
    [
        ("gemini-cli", "AfterTool", _GEMINI_SHELL, {"tool_response": {"llmContent": "Command moved to background"}}),
        ("copilot-cli", "PostToolUse", "bash", {"tool_result": {"text_result_for_llm": "<still running>"}}),
    ],
)
def test_a_command_that_still_runs_is_passed_over(
    runner: str, event: str, tool: str, response: dict[str, object], known: Path
) -> None:
    data = {"hook_event_name": event, "session_id": "s", "cwd": str(known), "tool_name": tool, **response}
    assert read_event(json.dumps(data).encode(), runner) is None


def test_a_tool_of_gemini_that_reports_an_error_has_failed(known: Path) -> None:
    response = {"llmContent": "x", "error": {"message": "no such file", "type": "file_not_found"}}
    fields = dialects.ours(
        "gemini-cli", {"hook_event_name": "AfterTool", "tool_name": "replace", "tool_response": response}
    )
    assert (fields["hook_event_name"], fields["error"]) == ("PostToolUseFailure", "no such file")


_LAST = "We keep prices as whole cents, since a float cannot hold a tenth, and the ledger sums them."
_STOPS = {
    "gemini-cli": {"hook_event_name": "AfterAgent", "prompt": "x", "prompt_response": _LAST},
    "cursor": {"hook_event_name": "afterAgentResponse", "text": _LAST},
    "opencode": {"hook_event_name": "Stop", "last_assistant_message": _LAST},
}


@pytest.mark.parametrize("runner", _STOPS)
def test_the_last_message_is_kept(runner: str, known: Path) -> None:
    _answer(runner, known, **_STOPS[runner])
    with open_project_store(str(known)) as store:
        (kept,) = store.primary.execute("SELECT content FROM reasoning")
        assert kept == (_LAST,)


def test_an_agent_of_copilot_is_of_the_session_that_spawned_it(known: Path) -> None:
    data = {"hook_event_name": "UserPromptSubmit", "session_id": "child", "cwd": str(known), "prompt": "x"}
    event = read_event(json.dumps({**data, "agent_id": "child", "parent_agent_id": "main"}).encode(), "copilot-cli")
    assert event is not None and (event.session, event.text("agent_id")) == ("main", "child")


def test_the_prompt_of_an_agent_of_copilot_has_its_block_already(shop: Path) -> None:
    task = {"prompt": "fix the locked database", "agent_type": "general-purpose"}
    spawn = {"hook_event_name": "PreToolUse", "tool_name": "task", "tool_input": task}
    given = _answer("copilot-cli", shop, **spawn)["hookSpecificOutput"]["updatedInput"]
    agent = {"session_id": "child", "agent_id": "child", "parent_agent_id": "s-1"}
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": given["prompt"]}
    assert _answer("copilot-cli", shop, **prompt, **agent) is None
    assert _answer("copilot-cli", shop, **{**prompt, "prompt": _LOCKED}) is not None


def test_a_hook_of_claude_code_that_another_runner_calls_says_nothing(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(shop), "prompt": _LOCKED}

    def said(**more: object) -> str:
        return answer_of(json.dumps({**prompt, **more}).encode(), "claude-code", Call())

    assert said(cursor_version="2.4.1") == ""
    with monkeypatch.context() as other:
        other.setenv("COPILOT_PROJECT_DIR", str(shop))
        assert said() == ""
    assert _PATH in said() and logged(shop) == []


_WORDS = sorted({word for row in rows(dialects.__file__, "dialects") for word in row[2].split(".")})
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from([*_WORDS, '{"a"', "9" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=4),
    max_leaves=8,
)


@given(
    runner=st.sampled_from(tuple(_PROMPTS)),
    fields=st.dictionaries(st.sampled_from([*_WORDS, "hook_event_name", "tool_name"]), _VALUES, max_size=8),
    response=st.text(alphabet="Output: Exit Cd<shelI\n0123456789", max_size=80),
)
@settings(max_examples=examples(100))
def test_any_fields_are_read(runner: str, fields: dict[str, object], response: str) -> None:
    dialects.ours(runner, fields)
    for tool in ("bash", _GEMINI_SHELL):
        for text in (response, f"Output: {response}", f"<shellId: 0 completed with exit code {'9' * 5000}>"):
            event = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_result": {"text_result_for_llm": text}}
            dialects.ours("copilot-cli", event)
            gemini = {"hook_event_name": "AfterTool", "tool_name": tool, "tool_response": {"llmContent": text}}
            dialects.ours("gemini-cli", gemini)


def test_each_row_names_what_there_is() -> None:
    for _, kind, _, ours, *_ in (one for one in rows(dialects.__file__, "dialects")):
        assert kind != "event" or ours in KINDS
        assert kind != "tool" or ours in ("Bash", "Write", *SPAWNING_TOOLS)


def test_a_runner_that_is_not_known_speaks_as_its_fields_say(shop: Path) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(shop), "prompt": _LOCKED}
    event = read_event(json.dumps(prompt).encode(), "emacs")
    assert event is not None and event.runner == "claude-code"
