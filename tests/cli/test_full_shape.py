"""Every answer in JSON has the full shape, whatever is missing, broken, locked or switched off."""

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from builders import copy_store, hold_the_index
from jsonschema import Draft202012Validator
from tables import each_row

from ctxrank.cli.main import declared_commands, run
from ctxrank.cli.schema import answer_schema, commands_of, failure_schema
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.location import Location

_COMMANDS = dict(commands_of(declared_commands()))
_SPAWN = "assemble --session shop-2026-10 --agent developer --group AUTH"
_ASSEMBLE_KEYS = {
    "receipt", "agent", "zone", "usage_pct", "model", "budget", "packages", "reasoning", "errors", "strategies",
    "omitted",
    "available", "overflow", "text", "linked", "failure", "skills", "shared_prefix_tokens",
}  # fmt: skip
CALLS = {
    _SPAWN: "assemble",
    f"{_SPAWN} --task retry": "assemble",
    "assemble --session nobody --agent developer": "assemble",
    "assemble --session shop-2026-10": "assemble",
    "assemble --agent developer": "assemble",
    "assemble": "assemble",
    "assemble --session shop-2026-10 --agent nobody --model unheard-of --budget x --current-tokens 160000": "assemble",
    f"{_SPAWN} --current-tokens 175000": "assemble",
    f"{_SPAWN} --task-id TASK-404": "assemble",
    f"{_SPAWN} --budget 0": "assemble",
    "search retry": "search",
    "search zzzqqq": "search",
    "search -zzzqqq": "search",
    "search --session nobody retry": "search",
    "search --explain --passages retry": "search",
    "context TASK-042": "context",
    "error match --message locked": "error match",
    "error match --message 'sqlite3.OperationalError: database is locked'": "error match",
    "status": "status",
    "doctor": "doctor",
    "why package:1": "why",
    "list packages": "list",
}


def _as_it_is(location: Location) -> None:
    pass


def _no_store(location: Location) -> None:
    shutil.rmtree(location.folder)


def _damaged_index(location: Location) -> None:
    Path(location.index_file).write_bytes(b"no database" * 1000)


def _damaged_store(location: Location) -> None:
    data = Path(location.primary).read_bytes()
    Path(location.primary).write_bytes(data[:8192] + bytes(len(data) - 8192))


def _foreign(location: Location) -> None:
    Path(location.primary).write_text("a text\n" * 1000)


def _empty(location: Location) -> None:
    os.truncate(location.primary, 0)


def _without_fts5(location: Location) -> None:
    (Path(location.folder) / "config.yaml").write_text("fts5: off\n")


def _switched_off(location: Location) -> None:
    (Path(location.folder) / "config.yaml").write_text("enable_context_assembler: false\n")


def _wrong_configuration(location: Location) -> None:
    (Path(location.folder) / "config.yaml").write_text("redaction_mode: [sometimes\n")


SITUATIONS: dict[str, Callable[[Location], None]] = {
    "as it is": _as_it_is,
    "no store": _no_store,
    "index damaged": _damaged_index,
    "store damaged": _damaged_store,
    "store foreign": _foreign,
    "store empty": _empty,
    "without FTS5": _without_fts5,
    "assembler off": _switched_off,
    "configuration wrong": _wrong_configuration,
}


def _problems(schema: Any, answer: Any) -> list[str]:
    validator: Any = Draft202012Validator(schema)  # its methods are typed in part
    return [error.message for error in validator.iter_errors(answer)]


def _check(call: str, situation: str, out: str, code: int) -> None:
    said = f"{situation}: {call}: {code}\n{out[:600]}"
    answer: Any = json.loads(out)
    if "error" in answer and "outcome" not in answer:
        assert CALLS[call] != "assemble" and code in (1, 2, 3, 5, 6, 7), said
        assert not _problems(failure_schema(), answer), said
        return
    declared = _COMMANDS[CALLS[call]].answer
    assert declared, said
    problems = _problems(answer_schema(declared), answer)
    assert not problems, f"{said}\n{problems}"
    if CALLS[call] == "assemble":
        assert code == 0 and answer.keys() >= _ASSEMBLE_KEYS, said


@each_row("name", SITUATIONS)
def test_json_has_the_full_shape(
    loaded_once: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for call in CALLS:
        location = copy_store(loaded_once, tmp_path_factory.mktemp("shape"))
        SITUATIONS[name](location)
        code = run(["--db", location.primary, "--json", *shlex.split(call)])
        _check(call, name, capsys.readouterr().out, code)


def test_a_locked_store_and_a_stale_index_give_the_full_shape(
    loaded: Location, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "20")
    with open_store(loaded.primary) as store:
        holder = hold_the_index(store)
        store.primary.execute("UPDATE store SET seq = seq")
        for call in CALLS:
            code = run(["--db", loaded.primary, "--json", *shlex.split(call)])
            _check(call, "index held", capsys.readouterr().out, code)
        holder.close()
    locker = apsw.Connection(loaded.primary)
    locker.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
    for call in CALLS:
        code = run(["--db", loaded.primary, "--json", *shlex.split(call)])
        _check(call, "locked", capsys.readouterr().out, code)
    locker.close()


def test_an_assembly_without_an_agent_is_a_developers_and_strictly_an_error(
    loaded: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--db", loaded.primary, "assemble", "--session", "shop-2026-10"]
    assert run(call) == 0
    said = capsys.readouterr()
    assert said.out.startswith("## Context for developer\n") and "**Fallback Mode**" not in said.out
    assert "--agent is missing" in said.err
    assert run([*call, "--strict"]) == 2
    assert "--agent is missing" in capsys.readouterr().err
