"""Whatever the standard streams lead to, a call ends with an answer, silently, or with a sentence."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from tables import each_row

from ctxrank.cli.main import COMMANDS
from ctxrank.indexer.extensions import EXTENSIONS
from ctxrank.indexer.store.location import Location

# Each command of the table, and what has no store; in text and in JSON.
CALLS = (
    "init", "save 'A walrus is late'", "list packages",
    "import jsonl export.jsonl", "index", "search database locked", "search --explain --json retry", "show 1",
    "assemble --session shop-2026-10 --agent developer --task 'token refresh'",
    "assemble --session shop-2026-10 --agent developer --format json",
    "package list", "package list --json", "reasoning timeline --session shop-2026-10", "strategy list", "error list",
    "error match --message 'database is locked'", "skill suggest --agent developer", "session list", "group list",
    "eval nothing-here", "eval nothing-here --json", "bazinga help", "bazinga list-sessions 5",
    "bazinga no-such-command", "export", "prune --older-than 900d --dry-run", "purge", "why package:1 --json",
    "receipt list", "hook --help", "install claude-code --dry-run", "uninstall codex --json",
    "team status", "team init x --json", "context TASK-042", "check", "check --trace src/app.py", "check --suggest",
    "wide sync", "origins", "trust .", "status", "status --json", "drifted", "doctor", "doctor --json",
    "doctor --repair rebuild", "doctor --repair optimize",
    "completion bash", "completion zsh --json", "schema", "schema search", "--help", "search --help", "--version", "",
    "no-such-command", "--json no-such-command", "--db /no/such/store search x", "--json --db /no/such/store search x",
)  # fmt: skip
_TITLE = "Smörgåsbord 日本 🔶"
_NO_SPACE = "ctxrank: The answer could not be written to stdout: No space left on device.\n"
_DOCUMENTED = {0, 1, 2, 3, 5, 6, 7}
_FAULTS = ("Traceback", "Exception ignored", "should not", "BrokenPipe", "NoneType")


def _run(folder: Path, rows: list[tuple[str, Mapping[str, str]]]) -> list[tuple[int, str, str]]:
    """What each call of each situation ends with: one process that forks."""
    given = "\n".join(json.dumps([shlex.split(call), dict(situation)]) for call, situation in rows)
    script = str(Path(__file__).with_name("stream_cases.py"))
    with tempfile.TemporaryDirectory() as answers:
        done = subprocess.run(
            [sys.executable, script, answers], input=given, capture_output=True, text=True, cwd=folder, timeout=300
        )
    assert done.returncode == 0, done.stderr
    answered = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answered) == len(rows)
    return [(code, out, err) for code, out, err in answered]


class _Row(NamedTuple):
    """A call in a situation: what it ends with, as (exit code, stdout, stderr), and what it usually ends with."""

    name: str
    situation: Mapping[str, str]
    call: str
    usual: tuple[int, str, str]
    got: tuple[int, str, str]


@pytest.fixture
def shop(loaded: Location, tmp_path: Path) -> Path:
    (tmp_path / "ümläut ☃ 🔶.md").write_text(f"# {_TITLE}\n\nquokka naïve\n", encoding="utf-8")
    return tmp_path


def test_the_table_has_every_command() -> None:
    # What serves until it is ended: tests/cli/agents asks it.
    assert {call.split(" ")[0] for call in CALLS} >= set(COMMANDS) - {"mcp", "serve", "web"}


_QUOKKA = ("search quokka", "search --json quokka", "search --explain quokka", "search -n 1 quokka")
_FEW = (
    "search --json retry",
    "show 1",
    "export",
    "bazinga help",
    "--help",
    "schema search",
    "--json --db /no search x",
)


def _answers(folder: Path, table: Mapping[str, tuple[Mapping[str, str], Sequence[str]]]) -> Iterator[_Row]:
    """Each call of a table by situations, beside what it says where nothing is the matter."""
    calls = list(dict.fromkeys(call for _, calls in table.values() for call in calls))
    rows = [(name, situation, call) for name, (situation, calls) in table.items() for call in calls]
    plain: Mapping[str, str] = {}
    given = [*((call, plain) for call in calls), *((call, situation) for _, situation, call in rows)]
    answered = _run(folder, given)
    usual = dict(zip(calls, answered, strict=False))
    for (name, situation, call), got in zip(rows, answered[len(calls) :], strict=True):
        yield _Row(name, situation, call, usual[call], got)


@pytest.mark.slow
def test_a_stream_that_takes_nothing_ends_in_silence_or_in_a_sentence(shop: Path) -> None:
    table = {
        "closed": ({"stdout": "closed"}, _FEW),
        "closed, and stderr": ({"stdout": "closed", "stderr": "closed"}, CALLS),
        "all closed": ({"stdin": "closed", "stdout": "closed", "stderr": "closed"}, ("search -", *_FEW)),
        "gone": ({"stdout": "gone"}, CALLS),
        "full": ({"stdout": "full"}, CALLS),
        "full, and stderr": ({"stdout": "full", "stderr": "full"}, _FEW),
        "stderr closed": ({"stderr": "closed"}, _FEW),
        "stderr gone": ({"stderr": "gone"}, _FEW),
        "stderr full": ({"stderr": "full"}, CALLS),
    }
    for row in _answers(shop, table):
        code, out, err = row.got
        assert code in _DOCUMENTED and not any(fault in err for fault in _FAULTS), row
        is_answered = bool(row.usual[1])
        way = row.situation.get("stdout", "file")
        assert bool(out) == (way == "file" and is_answered), row
        if way == "gone" and is_answered:
            assert code == 0 and "written" not in err, row
        elif way == "full" and is_answered:
            assert code == 6 and ("stderr" in row.situation or _NO_SPACE in err), row
        else:
            assert code == row.usual[0], row


@pytest.mark.slow
def test_any_encoding_prints_something_readable(shop: Path) -> None:
    assert _run(shop, [("index", {})])[0][0] == 0
    table = {
        "ascii": ({"encoding": "ascii"}, (*CALLS, *_QUOKKA)),
        "ascii, as LC_ALL=C has it": ({"encoding": "ascii", "errors": "surrogateescape"}, (*_FEW, *_QUOKKA)),
        "latin-1": ({"encoding": "latin-1"}, (*_FEW, *_QUOKKA)),
        "cp1252": ({"encoding": "cp1252"}, (*CALLS, *_QUOKKA)),
        "cp437": ({"encoding": "cp437"}, (*_FEW, *_QUOKKA)),
        "utf-16": ({"encoding": "utf-16"}, (*_FEW, *_QUOKKA)),
    }
    for row in _answers(shop, table):
        code, out, err = row.got
        assert code == row.usual[0] and not any(fault in err for fault in _FAULTS), row
        is_utf_8 = row.call.endswith("--help") and row.situation["encoding"] == "ascii"  # so has click it
        text = out.encode("latin-1").decode("utf-8" if is_utf_8 else row.situation["encoding"])
        usual = row.usual[1].encode("latin-1").decode("utf-8")
        assert bool(text) == bool(usual), row
        if usual.startswith("{\n"):
            assert json.loads(text).keys() == json.loads(usual).keys(), row
        if row.call in _QUOKKA:
            assert "🔶" in usual and ("🔶" in text or "\\ud83d\\udd36" in text), row
        if row.call == "search --json quokka":
            assert _titles(text) == _titles(usual) == [_TITLE], row


def _titles(answer: "str | bytes") -> list[str]:
    return [hit["title"] for hit in json.loads(answer)["hits"]]


@pytest.mark.slow
@pytest.mark.needs(*EXTENSIONS)
@each_row(
    "shell, code, errors",
    [
        ("search quokka >&-", 1, "nothing found"),
        ("search quokka >/dev/full", 1, "nothing found"),
        ("export >/dev/full", 6, _NO_SPACE),
        ("export | head -c 10 >/dev/null", 0, ""),
        ("export >&- 2>&-", 0, ""),
        ("show 1 2>/dev/full >/dev/null", 0, ""),
        (
            "bazinga help >/dev/full",
            6,
            "ctxrank: The answer could not be written to stdout: No space left on device.\n",
        ),
    ],
)
def test_a_shell_sees_the_same(shop: Path, shell: str, code: int, errors: str) -> None:
    """The forked processes of this table begin as started ones do."""
    command = f'set -o pipefail; "{Path(sys.executable).with_name("ctxrank")}" {shell}'
    done = subprocess.run(["bash", "-c", command], cwd=shop, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and errors in done.stderr and "Traceback" not in done.stderr
    assert bool(errors) == bool(done.stderr)


@pytest.mark.slow
@each_row(
    "settings",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONUTF8": "0"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_the_environment_of_an_encoding_changes_no_answer(shop: Path, settings: dict[str, str]) -> None:
    command = str(Path(sys.executable).with_name("ctxrank"))
    subprocess.run([command, "index"], cwd=shop, check=True, capture_output=True)
    done = subprocess.run(
        [command, "search", "--json", "quokka"],
        cwd=shop,
        capture_output=True,
        env={**os.environ, **settings},
        timeout=60,
    )
    assert done.returncode == 0 and _titles(done.stdout) == [_TITLE]
