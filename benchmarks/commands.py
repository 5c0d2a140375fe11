"""The commands that agents, orchestrators and runners' hooks call, each as a whole process beside a bare interpreter.

They run on the real store (the fixtures without --data), in turns; a command that saves saves anew in every round.
"""

import json
import os
import sys

from figures import Figure, Findings, figure
from timing import Command, Fed, interleaved, ratios
from workspace import Question, Workspace

from ctxrank.indexer import open_store
from ctxrank.indexer.records.skills_config import seed_skills

MAX_STARTS = 6.0
_FAILURE = """Traceback (most recent call last):
  File "app/jobs.py", line 1ROUND, in claim
    cursor.execute(query)
sqlite3.OperationalError: database is locked
"""
_BASH = {"tool_name": "Bash", "tool_input": {"command": "python -m app.jobs ROUND"}}
_EVENTS: dict[str, dict[str, object]] = {
    "SessionStart": {"hook_event_name": "SessionStart", "source": "startup"},
    "UserPromptSubmit": {"hook_event_name": "UserPromptSubmit", "prompt": "why is the database locked in the queue?"},
    "PreToolUse": {
        "hook_event_name": "PreToolUse", "tool_name": "Agent",
        "tool_input": {"prompt": "fix the locked database of the job queue", "subagent_type": "developer"},
    },
    "PostToolUseFailure": {"hook_event_name": "PostToolUseFailure", **_BASH, "error": _FAILURE},
    "PostToolUse": {"hook_event_name": "PostToolUse", **_BASH, "tool_response": {"stdout": "done", "stderr": ""}},
    "Stop": {
        "hook_event_name": "Stop",
        "last_assistant_message": "## Decisions\nThe lock of the queue is taken first, with BEGIN IMMEDIATE: ROUND.",
    },
}  # fmt: skip
_SKILLS = {"developer": {"lint-check": "mandatory", "api-contract-validation": "optional"}}


def measure(workspace: Workspace) -> Findings:
    """Time each command, and give its ratio to `python -c pass` of the same round."""
    real = workspace.real_store()
    db = os.path.join(real.folder, ".ctxrank", "ctxrank.db")
    with open_store(db) as store:
        with store.write() as change:
            seed_skills(change, _SKILLS)
        store.catch_up()
    # So that there is a hand-off to be listed.
    entry = ("reasoning", "save", "Done.", "--session", real.session, "--group", real.group, "--agent", "developer")
    workspace.run("--db", db, *entry, "--phase", "completion", cwd=real.root)
    spawn = ("assemble", "--session", real.session, "--group", real.group, "--agent", "qa_expert")
    workspace.run("--db", db, *spawn, cwd=real.root)
    contenders: dict[str, Command] = {"bare": lambda _: [sys.executable, "-c", "pass"]}
    contenders |= {name: _command(workspace, db, words) for name, words in _calls(real).items()}
    contenders |= {
        f"bazinga {words[0]}": _command(workspace, db, ("bazinga", "--quiet", *words)) for words in _predecessors(real)
    }
    contenders |= {f"hook {name}": _hook(workspace, real, event) for name, event in _EVENTS.items()}
    runs = interleaved(contenders, workspace.sizes.rounds, cwd=real.root)
    bare = runs.pop("bare")
    figures: list[Figure] = [
        figure(name, "starts", ratios(of_name, bare, "wall_ms"), limit=MAX_STARTS) for name, of_name in runs.items()
    ]
    return Findings(figures, ["Wall time over a bare interpreter's of the same round."])


def _command(workspace: Workspace, db: str, words: tuple[str, ...]) -> Command:
    command = workspace.ctxrank("--db", db, *words)
    return lambda round_: [word.replace("ROUND", str(round_)) for word in command]


def _hook(workspace: Workspace, real: Question, event: dict[str, object]) -> Command:
    """A call of the hook. Each round is a session of its own, so that none keeps silent about what it has said."""
    command = workspace.ctxrank("hook")

    def fed(round_: int) -> list[str]:
        of_round = {"session_id": f"runner-{round_}", "cwd": real.folder, **event}
        return Fed(command, json.dumps(of_round).replace("ROUND", str(round_)))

    return fed


def _calls(real: Question) -> dict[str, tuple[str, ...]]:
    session = ("--session", real.session)
    group = (*session, "--group", real.group)
    agent = ("--agent", "developer")
    text = "The lock is taken first, in round ROUND."
    return {
        "reasoning save": ("reasoning", "save", text, *group, *agent, "--phase", "decisions"),
        "reasoning get": ("reasoning", "get", *group),
        "reasoning timeline": ("reasoning", "timeline", *group),
        "reasoning check": ("reasoning", "check", *group, *agent, "--json"),
        "reasoning handoffs": ("reasoning", "handoffs", *session),
        "strategy save": ("strategy", "save", text, "--project", "shop", "--topic", "general"),
        "strategy list": ("strategy", "list"),
        "strategy extract": ("strategy", "extract", *group, "--project", "shop"),
        "skill save-output": ("skill", "save-output", "lint-check", '{"round": ROUND}', *group, *agent),
        "skill latest": ("skill", "latest", "lint-check", *group),
        "skill outputs": ("skill", "outputs", *group),
        "skill checklist": ("skill", "checklist", *agent),
        "skill evidence": ("skill", "evidence", *group, *agent),
        "skill suggest": ("skill", "suggest", *agent, "add an endpoint"),
        "prune --dry-run": ("prune", "--older-than", "9w", "--kind", "reasoning", "--dry-run"),
    }


def _predecessors(real: Question) -> list[tuple[str, ...]]:
    session, group = real.session, real.group
    return [
        ("get-context-packages", session, group, "developer", "5"),
        ("save-reasoning", session, group, "developer", "decisions", "The lock is taken first, in round ROUND."),
        ("get-reasoning", session, "--group_id", group),
        ("get-error-patterns", "default"),
        ("save-skill-output", session, "lint-check", '{"round": ROUND}', "--agent", "developer"),
        ("query", f"SELECT count(*) AS n FROM context_packages WHERE session_id = '{session}'"),
        ("context-block", "--agent-type", "developer", "--session-id", session, "--group-id", group,
         "--task-title", real.task),
    ]  # fmt: skip
