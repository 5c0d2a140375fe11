"""Transcripts of made-up sessions: failures of known fixes among noise, in Claude Code's format.

    python benchmarks/transcripts/made_up.py FOLDER --sessions 50 --seed 1

FOLDER/*.jsonl are the sessions, FOLDER/truth.json what fixes which failure:
[{"output": "…", "fix": "…", "sightings": 4}]. Failures recur in several sessions with other numbers, times and folders.
Between a failure and the run that succeeds stand the fix, commands that look, commands and edits that change something
else, and tries that do not help. Agents that were spawned write their lines between those of the main one.
"""

import argparse
import json
import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

_LOOKS = ("git status", "ls -la", "cat README.md", "git diff", "grep -rn TODO src", "pwd", "git log --oneline -5")
_CHORES = (
    "git add -A", "npm run lint", "black .", "ruff format .", "git stash", "make clean", "touch notes.txt", "sync",
    "git fetch", "mkdir -p build",
)  # fmt: skip
_WORDS = [
    "parser",
    "cache",
    "queue",
    "token",
    "ledger",
    "window",
    "socket",
    "branch",
    "buffer",
    "session",
    "router",
    "schema",
    "worker",
    "column",
    "digest",
]


class Cause(NamedTuple):
    """A failure: the command, what it prints ({n} and {t} differ each time), and what fixes it."""

    command: str
    output: str
    fix_command: str
    fix_edit: tuple[str, str, str] | None  # file, old, new


def causes(count: int, chance: random.Random) -> list[Cause]:
    """Failures of several tools, each with its own fix."""
    makers = (_missing_module, _missing_node_module, _failed_assertion, _missing_header, _missing_table, _wrong_type)
    return [makers[number % len(makers)](number, chance) for number in range(count)]


def _name(number: int, chance: random.Random) -> str:
    return f"{chance.choice(_WORDS)}_{number}"


def _missing_module(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance)
    output = (
        'Traceback (most recent call last):\n  File "/srv/{t}/app.py", line {n}, in <module>\n'
        f"    import {name}\nModuleNotFoundError: No module named '{name}'"
    )
    return Cause(f"python -m app.{name}", output, f"pip install {name.replace('_', '-')}", None)


def _missing_node_module(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance).replace("_", "-")
    output = (
        f"node:internal/modules/cjs/loader:{{n}}\n  throw err;\n\nError: Cannot find module '{name}'\n"
        "Require stack:\n- /srv/{t}/index.js"
    )
    return Cause(f"node {name}.js", output, f"npm install {name}", None)


def _failed_assertion(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance)
    output = (
        f"=== FAILURES ===\n____ test_{name} ____\n\n    def test_{name}():\n>       assert {name}(2) == {number + 4}\n"
        f"E       assert {number + 3} == {number + 4}\n\ntests/test_{name}.py:{{n}}: AssertionError\n"
        f"FAILED tests/test_{name}.py::test_{name} - assert {number + 3} == {number + 4}\n1 failed in 0.{{t}}s"
    )
    edit = (f"src/{name}.py", f"return n + {number}", f"return n + {number + 1}")
    return Cause(f"pytest tests/test_{name}.py", output, "", edit)


def _missing_header(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance)
    output = (
        f"main.c:{{n}}:10: fatal error: {name}.h: No such file or directory\n    4 | #include <{name}.h>\n"
        "compilation terminated."
    )
    return Cause(f"gcc -o {name} main_{number}.c", output, f"apt-get install -y lib{name.replace('_', '-')}-dev", None)


def _missing_table(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance)
    output = (
        'Traceback (most recent call last):\n  File "/srv/{t}/db.py", line {n}, in run\n    cursor.execute(query)\n'
        f"sqlite3.OperationalError: no such table: {name}"
    )
    return Cause(f"python scripts/load_{name}.py", output, f"python manage.py migrate {name}", None)


def _wrong_type(number: int, chance: random.Random) -> Cause:
    name = _name(number, chance)
    kind = name.title().replace("_", "")
    output = f"src/{name}.ts({{n}},7): error TS2322: Type 'string' is not assignable to type '{kind}'."
    return Cause(f"npx tsc -p {name}", output, "", (f"src/{name}.ts", "let value: string", f"let value: {kind}"))


Step = Callable[["Session", str], None]


class Session:
    """One session's lines, by one agent after another."""

    def __init__(self, folder: str, chance: random.Random, begins: datetime) -> None:
        self.id = str(uuid.UUID(int=chance.getrandbits(128)))
        self.folder = folder
        self._chance = chance
        self._now = begins
        self.lines: list[str] = []

    def say(self, text: str, agent: str = "") -> None:
        """A text of an agent."""
        self._line("assistant", [{"type": "text", "text": text}], agent)

    def ask(self, text: str) -> None:
        """A person's prompt."""
        self._line("user", text, "")

    def call(
        self, tool: str, given: Mapping[str, object], output: str, *, failed: bool = False, agent: str = ""
    ) -> None:
        """A tool call and its result."""
        id_ = f"toolu_{self._chance.getrandbits(64):016x}"
        self._line("assistant", [{"type": "tool_use", "id": id_, "name": tool, "input": given}], agent)
        text = f"Exit code 1\n{output}" if failed and tool == "Bash" else output
        result = {"type": "tool_result", "tool_use_id": id_, "content": text}
        self._line("user", [{**result, "is_error": True} if failed else result], agent)

    def _line(self, kind: str, content: object, agent: str) -> None:
        self._now += timedelta(seconds=self._chance.uniform(1, 20))
        line: dict[str, object] = {
            "type": kind, "timestamp": f"{self._now.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z",
            "uuid": str(uuid.UUID(int=self._chance.getrandbits(128))), "sessionId": self.id, "cwd": self.folder,
            "gitBranch": "main", "message": {"role": kind, "content": content},
        }  # fmt: skip
        if agent:
            line |= {"isSidechain": True, "agentId": agent}
        self.lines.append(json.dumps(line))


def write(folder: Path, root: str, sessions: int, seed: int, failures: int = 200) -> list[dict[str, object]]:
    """Write the sessions; returns the truth."""
    chance = random.Random(seed)
    known = causes(max(failures // 4, 1), chance)
    planned = [cause for cause in known for _ in range(4)][:failures]
    chance.shuffle(planned)
    begins = datetime.now(UTC) - timedelta(days=20)
    for number in range(sessions):
        session = Session(root, chance, begins + timedelta(hours=8 * number))
        session.ask(f"Please make the {chance.choice(_WORDS)} work.")
        for cause in planned[number::sessions]:
            _fail_and_repair(session, cause, chance)
        session.say(
            f"The {chance.choice(_WORDS)} works now and all of its tests pass. Nothing else had to be changed today."
        )
        (folder / f"{session.id}.jsonl").write_text("\n".join(session.lines) + "\n", encoding="utf-8")
    return [
        {
            "output": _printed(cause, chance), "fix": cause.fix_edit[2] if cause.fix_edit else cause.fix_command,
            "sightings": planned.count(cause),
        }
        for cause in known
    ]  # fmt: skip


def _printed(cause: Cause, chance: random.Random) -> str:
    return cause.output.replace("{n}", str(chance.randint(2, 400))).replace("{t}", str(chance.randint(10, 99)))


def _fail_and_repair(session: Session, cause: Cause, chance: random.Random) -> None:
    agent = f"agent-{chance.getrandbits(16):04x}" if chance.random() < 0.3 else ""
    session.call("Bash", {"command": cause.command}, _printed(cause, chance), failed=True, agent=agent)
    for step in _around(chance):
        step(session, agent)
    if chance.random() < 0.3:  # a try that does not help
        _chore(session, agent, chance)
        session.call("Bash", {"command": cause.command}, _printed(cause, chance), failed=True, agent=agent)
    if cause.fix_edit:
        path, old, new = cause.fix_edit
        given = {"file_path": f"{session.folder}/{path}", "old_string": old, "new_string": new}
        session.call("Edit", given, "The file was updated.", agent=agent)
    else:
        session.call("Bash", {"command": cause.fix_command}, "done", agent=agent)
    for step in _around(chance):
        step(session, agent)
    if chance.random() < 0.9:
        session.call("Bash", {"command": cause.command}, "ok", agent=agent)


def _around(chance: random.Random) -> Iterator[Step]:
    for _ in range(chance.randint(0, 3)):
        what = chance.random()
        if what < 0.4:
            yield partial(_look, command=chance.choice(_LOOKS))
        elif what < 0.7:
            yield partial(_chore, chance=chance)
        else:
            yield partial(_chore_of_another, chance=chance)


def _look(session: Session, agent: str, command: str) -> None:
    session.call("Bash", {"command": command}, "…", agent=agent)


def _chore_of_another(session: Session, _: str, chance: random.Random) -> None:
    _chore(session, f"agent-{chance.getrandbits(16):04x}", chance)


def _chore(session: Session, agent: str, chance: random.Random) -> None:
    if chance.random() < 0.5:
        session.call("Bash", {"command": chance.choice(_CHORES)}, "done", agent=agent)
        return
    name = f"src/{chance.choice(_WORDS)}.py"
    given = {"file_path": f"{session.folder}/{name}", "old_string": "x", "new_string": f"y{chance.getrandbits(20)}"}
    session.call("Edit", given, "The file was updated.", agent=agent)


def main() -> None:
    """Write a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", default="/home/me/shop")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    truth = write(given.folder, given.root, given.sessions, given.seed)
    (given.folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
