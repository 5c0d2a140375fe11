"""The commands of a machine that shares a log: labels, waiting or not, and a log that is away."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from builders import Answer
from jsonschema import Draft202012Validator
from postgres_nodes import Node

from ctxrank.cli.main import declared_commands
from ctxrank.cli.schema import answer_schema, commands_of
from ctxrank.indexer.store.location import TEAM_LOCK
from ctxrank.indexer.store.one_process import holder

pytestmark = [pytest.mark.slow, pytest.mark.team]

DECLARED = dict(commands_of(declared_commands()))
AWAY = "host=127.0.0.1 port=1 user=nobody"
SAVE = (
    "package",
    "save",
    "note.md",
    "--session",
    "S",
    "--create-session",
    "--type",
    "research",
    "--producer",
    "qa_expert",
)
ASSEMBLE = (
    "assemble",
    "--session",
    "S",
    "--agent",
    "developer",
    "--task",
    "zebra",
    "--no-mark",
    "--as-of",
    "2026-12-01",
)
_LONGEST_S = 20.0


class Machine(NamedTuple):
    """A folder with a store, and how it reaches the log."""

    folder: Path
    dsn: str

    def run(self, *words: str, dsn: str | None = None) -> Answer:
        """A command, in a process of its own."""
        environment = {**os.environ, "CTXRANK_TEAM": self.dsn if dsn is None else dsn}
        done = subprocess.run(
            [sys.executable, "-m", "ctxrank", *words], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str, code: int = 0, dsn: str | None = None) -> Any:
        """What a command answers in JSON, as its schema says."""
        done = self.run("--json", *words, dsn=dsn)
        assert done.code == code, done
        name = next(name for name in (" ".join(words[:2]), words[0]) if name in DECLARED)
        declared = DECLARED[name].answer
        assert declared, name
        answer = json.loads(done.out)
        validator: Any = Draft202012Validator(answer_schema(declared))
        validator.validate(answer)
        return answer

    def save(self, text: str, *more: str, dsn: str | None = None) -> Answer:
        """Save a note."""
        (self.folder / "note.md").write_text(f"{text}\n", encoding="utf-8")
        return self.run(*SAVE, "--summary", text, *more, dsn=dsn)

    @property
    def updater(self) -> int:
        """The process that exchanges in the background; 0 where there is none."""
        return int(holder(str(self.folder / ".ctxrank" / TEAM_LOCK)).partition(" ")[0] or 0)

    def end_updater(self) -> None:
        """End it, if it is there."""
        if self.updater:
            os.kill(self.updater, signal.SIGTERM)
            _until(lambda: not self.updater)


def _until(happened: Callable[[], object]) -> float:
    """Wait until something has happened; how many seconds it took."""
    begun = time.monotonic()
    while not happened():
        assert time.monotonic() - begun < _LONGEST_S
        time.sleep(0.05)
    return time.monotonic() - begun


@pytest.fixture
def machines(node: Node, project: str, tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    roles = [f"{name} {project}".replace(" ", "_") for name in "ab"]
    folders = [tmp_path / name for name in "ab"]
    made = [Machine(folder, node.dsn(role)) for folder, role in zip(folders, roles, strict=True)]
    for folder in folders:
        folder.mkdir()
    admin = Machine(tmp_path, node.dsn())
    admitted = admin.json("team", "init", project, "--machine", roles[0], "--machine", roles[1])
    assert [one["role"] for one in admitted["machines"]] == roles
    for machine, one in zip(made, admitted["machines"], strict=True):
        assert machine.run("init").code == 0
        assert machine.run("team", "join", project).code == 6, "without its code"
        assert machine.json("team", "join", project, one["code"])["project"] == project
    yield made[0], made[1]
    for machine in made:
        machine.end_updater()


def test_a_command_that_writes_starts_what_pushes_and_another_that_follows_is_told(
    machines: tuple[Machine, Machine],
) -> None:
    a, b = machines
    follower = subprocess.Popen(
        [sys.executable, "-m", "ctxrank", "team", "sync", "--follow"], cwd=b.folder, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "CTXRANK_TEAM": b.dsn, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        _until(lambda: b.updater == follower.pid)
        assert a.save("zebra").code == 0
        _until(lambda: b.json("search", "zebra", code=0)["total"] if b.run("search", "zebra").code == 0 else 0)
        assert a.updater and a.updater != follower.pid
        assert a.save("walrus").code == 0
        took = _until(lambda: b.run("search", "walrus").code == 0)
        assert took < 5, "the log has told it"  # two seconds, and as long again as a busy machine needs to search
        assert b.run("team", "sync", "--follow").code == 7
    finally:
        follower.send_signal(signal.SIGTERM)
        said, _ = follower.communicate(timeout=20)
    assert follower.returncode == 0 and "pulled 2" in said


def test_a_search_waits_for_the_log_only_where_it_is_told_to(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    assert a.save("zebra", "--durable").code == 0
    b.end_updater()
    first = b.json("search", "zebra", code=1)
    assert first["team"]["change"] == 0 and first["team"]["trouble"] is None
    b.end_updater()
    answer = b.json("search", "--fresh", "zebra")
    assert answer["total"] == 1 and (answer["team"]["change"], answer["team"]["behind"]) == (2, 0)


def test_a_log_that_is_away_changes_no_answer_and_what_was_written_waits(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    a.end_updater()
    assert a.save("zebra", dsn=AWAY).code == 0
    assert a.run("search", "zebra", dsn=AWAY).code == 0
    assert "zebra" in a.run("assemble", "--session", "S", "--agent", "developer", dsn=AWAY).out
    _until(lambda: a.json("team", "status", dsn=AWAY)["trouble"])
    status = a.json("team", "status", dsn=AWAY)
    assert status["outbox"] > 0 and "cannot be asked" in status["trouble"]
    assert status["trouble"].endswith("Connection refused.")  # without libpq's question
    assert "team memory as of 20" in a.run("status", dsn=AWAY).out
    assert "team memory as of 20" in a.run("search", "zebra", dsn=AWAY).err
    os.kill(a.updater, signal.SIGKILL)
    _until(lambda: not a.updater)
    assert a.json("team", "sync")["pushed"] == 2
    a.end_updater()
    assert a.json("team", "status")["outbox"] == 0
    assert b.json("team", "sync")["pulled"] == 2


def test_durable_waits_for_the_log_and_says_where_it_did_not_answer(machines: tuple[Machine, Machine]) -> None:
    a, _ = machines
    with psycopg.connect(a.dsn) as connection:
        count = "SELECT count(*) FROM ctxrank.records"
        before = connection.execute(count).fetchone()
        assert a.save("zebra", "--durable").code == 0
        after = connection.execute(count).fetchone()
    assert before and after and after[0] > before[0]
    _until(lambda: a.updater)
    a.end_updater()
    done = a.save("walrus", "--durable", dsn=AWAY)
    assert done.code == 6 and "saved here, and not in the team's log yet" in done.err and "Saved package" in done.out
    a.end_updater()
    assert a.json("team", "sync")["pushed"] >= 1


def test_a_block_names_the_change_after_what_siblings_share_and_its_receipt_has_it(
    machines: tuple[Machine, Machine],
) -> None:
    a, b = machines
    assert a.save("zebra", "--durable").code == 0
    b.json("team", "sync")
    b.end_updater()
    first = b.run(*ASSEMBLE)
    assert first.out == b.run(*ASSEMBLE).out
    lines = first.out.splitlines()
    assert lines.index("Team memory at change 2.") > lines.index("## Context for developer")
    assert b.json("show", "receipt:1")["receipt"]["inputs"]["state"] == "Team memory at change 2."
    assert b.json("receipt", "replay", "1")["same"]


def test_a_purge_says_who_has_not_confirmed_and_forget_status_names_them(
    machines: tuple[Machine, Machine],
) -> None:
    a, b = machines
    a.save("zebra", "--durable")
    b.json("team", "sync")
    b.end_updater()
    purged = a.json("purge", "--path", "note.md", code=7)
    assert purged["team"] == {"machines": 2, "unconfirmed": 1} and not purged["forgotten"]
    assert "not yet forgotten: 1 of 2 machines have not confirmed" in a.run("team", "status", "--unconfirmed").err
    late = a.json("team", "status", "--unconfirmed", code=7)
    assert [(one["machine"][0], one["this"]) for one in late["unconfirmed"]] == [("b", False)]
    b.json("team", "sync")
    _until(lambda: a.run("team", "status", "--unconfirmed").code == 0)
    assert a.json("team", "status", "--unconfirmed") == {
        "schema_version": 1, "outcome": "matched", "machines": 2, "unconfirmed": [], "waiting": 0, "sealed": []
    }  # fmt: skip
    a.end_updater()
    a.save("walrus")
    a.end_updater()
    away = a.run("purge", "--session", "S", dsn=AWAY)
    assert away.code == 7 and "not yet forgotten: The team's log cannot be asked" in away.err


def test_a_snapshot_is_written_and_a_store_leaves(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    a, _ = machines
    a.save("zebra", "--durable")
    written = a.json("team", "snapshot", str(tmp_path / "shop.snapshot"))
    assert written["lines"] == written["change"] == 2
    assert a.run("team", "snapshot", str(tmp_path / "shop.snapshot")).code == 2
    a.end_updater()
    assert a.json("team", "leave")["told"]
    assert a.run("team", "status").code == 1 and a.run("search", "zebra").code == 0
    assert not a.updater


def test_what_serves_a_store_follows_the_log_beside(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    b.end_updater()
    server = subprocess.Popen(
        [sys.executable, "-m", "ctxrank", "serve", "--port", "0"], cwd=b.folder, stderr=subprocess.DEVNULL,
        env={**os.environ, "CTXRANK_TEAM": b.dsn},
    )  # fmt: skip
    try:
        _until(lambda: b.updater == server.pid)
        assert a.save("zebra", "--durable").code == 0
        _until(lambda: b.run("search", "zebra").code == 0)
        assert b.updater == server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    assert not b.updater


def test_what_a_reader_purges_goes_here_alone_and_that_is_said(
    machines: tuple[Machine, Machine], node: Node, project: str
) -> None:
    a, b = machines
    assert a.save("zebra", "--durable").code == 0 and b.run("search", "--fresh", "zebra").code == 0
    role = f"b {project}".replace(" ", "_")
    assert Machine(a.folder, node.dsn()).run("team", "init", project, "--machine", f"{role}=reader").code == 0
    purged = b.run("purge", "--session", "S")
    assert purged.code == 7 and "forgotten here alone" in purged.err
    assert b.run("search", "--fresh", "zebra").code == 1 and a.run("search", "--fresh", "zebra").code == 0
    assert a.run("team", "status", "--unconfirmed").out == "forgotten by all 2 machines\n"
    query = """
        SELECT count(*) FROM ctxrank.records AS r JOIN ctxrank.projects AS p ON p.id = r.project
         WHERE p.name = %s AND r.is_order
    """
    with psycopg.connect(node.dsn()) as connection:
        assert connection.execute(query, (project,)).fetchone() == (0,)
