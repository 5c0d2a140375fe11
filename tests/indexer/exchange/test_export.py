"""The export: whole, in one order, of one moment, redacted, and never half a file."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from builders import make_store, open_again, save
from exported import ISO, exported, fill

from ctxrank.cli.main import run
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def records(store: Store, record: str) -> list[dict[str, object]]:
    return [line for line in exported(store) if line.get("record") == record]


def test_an_empty_store_is_a_header_and_an_end(store: Store) -> None:
    header, end = exported(store)
    uuid = store.primary.execute("SELECT uuid FROM store").get
    assert header.pop("exported_at").endswith("Z")
    assert header == {
        "format": "ctxrank-export",
        "version": 2,
        "store": uuid,
        "ruleset": RULESET_VERSION,
        "since": 0,
        "seq": 0,
    }
    assert end == {"record": "end", "counts": {}}


def test_everything_is_in_it_and_counted(store: Store) -> None:
    fill(store)
    lines = exported(store)
    assert [line["record"] for line in lines[1:-1]] == [
        "session", "session", "group", "package", "package", "package", "reasoning", "error", "failure",
        "failure", "strategy", "skill", "event", "artifact",
    ]  # fmt: skip
    assert lines[-1]["counts"] == {
        "session": 2, "group": 1, "package": 3, "reasoning": 1, "error": 1, "failure": 2, "strategy": 1, "skill": 1,
        "event": 1, "artifact": 1,
    }  # fmt: skip


def test_a_package_carries_its_people_versions_and_passages(store: Store) -> None:
    fill(store)
    old, new, _ = records(store, "package")
    assert (old["superseded_by"], new["supersedes"], new["version"], old["passages"]) == (2, 1, 2, [])
    assert (new["session"], new["group"], new["title"]) == ("S", "G", "Locks")
    consumers = cast("list[dict[str, object]]", new["consumers"])
    assert isinstance(consumers, list)
    assert [(row["agent"], row["iteration"]) for row in consumers] == [
        ("developer", 3), ("senior_software_engineer", None), ("tech_lead", None),
    ]  # fmt: skip
    assert new["deliveries"] == [{"group": "G", "agent": "qa_expert", "iteration": 1, "delivered_at": ISO}]
    passages = cast("list[dict[str, str]]", new["passages"])
    assert isinstance(passages, list)
    assert "".join(passage["text"] for passage in passages) == "# Locks\n\nThe zebra waits.\n\n## More\n\nA walrus.\n"
    assert passages[0].keys() == {"key", "title", "text", "start_line", "end_line"}


def test_stored_json_is_json_and_a_moment_is_whole(store: Store) -> None:
    fill(store)
    session = records(store, "session")[0]
    assert (session["metadata"], session["skills_config"]) == ({"a": [1, "ü"]}, {"lint": True})
    assert session["created_at"] == ISO
    assert records(store, "skill")[0]["output"] == {"gannet": 1.5}
    assert records(store, "reasoning")[0]["references"] == ["a.py"]


def test_what_cannot_be_json_again_stays_a_text(store: Store) -> None:
    fill(store)
    for text in ("NaN", "{broken", "[" * 100_000):
        store.primary.execute("UPDATE skill_outputs SET output = ?", (text,))
        assert records(store, "skill")[0]["output"] == text


def test_one_session_comes_without_what_belongs_to_none(store: Store) -> None:
    fill(store)
    assert [line["record"] for line in exported(store, sessions=["T"])[1:-1]] == ["session", "package"]
    assert len(exported(store, sessions=["S", "T"])) == len(exported(store)) - 3
    with pytest.raises(NotFoundError):
        exported(store, sessions=["X"])


def test_one_kind_comes_with_the_sessions_it_needs(store: Store) -> None:
    fill(store)
    assert [line["record"] for line in exported(store, kinds=["error"])[1:-1]] == ["error"]
    assert [line["record"] for line in exported(store, kinds=["event"])[1:-1]] == [
        "session", "session", "group", "event",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="'passage' is not a kind"):
        exported(store, kinds=["passage"])
    with pytest.raises(UsageError, match="'error' belongs to no session"):
        exported(store, kinds=["error"], sessions=["S"])


def test_what_older_rules_let_through_is_redacted_on_its_way_out(store: Store) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    fill(store)
    for statement in (
        "UPDATE documents SET body = body || ' ' || ?, ruleset = 0",
        "UPDATE reasoning SET content = ?, refs = json_array(content)",
        "UPDATE packages SET summary = ?",
        "UPDATE error_patterns SET solution = ?",
        "UPDATE strategies SET insight = ?",
        "UPDATE skill_outputs SET output = json_quote(?)",
        "UPDATE events SET payload = json_object('token', ?)",
        "UPDATE sessions SET requirements = ?",
        "UPDATE groups SET title = ?",
    ):
        store.primary.execute(statement, (secret,))
    text = "".join(export_lines(store))
    assert secret not in text
    assert text.count("REDACTED") >= 9


def test_an_export_is_of_one_moment(store: Store) -> None:
    fill(store)
    lines = export_lines(store)
    taken = [next(lines) for _ in range(3)]
    with open_again(store) as other:
        save(other, "late.md", session="T")
    taken += lines
    assert json.loads(taken[-1])["counts"]["package"] == 3


def test_a_reader_that_stops_early_leaves_the_store_usable(store: Store) -> None:
    fill(store)
    lines = export_lines(store)
    next(lines)
    del lines
    save(store, "b.md")
    assert len(records(store, "package")) == 4


def test_two_exports_are_the_same_but_for_their_date(store: Store) -> None:
    fill(store)
    assert exported(store)[1:] == exported(store)[1:]


def test_the_command_prints_or_writes_the_same(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(store)
    command = ["export", "--db", store.location.primary, "--kind", "Package"]
    assert run(command) == 0
    printed = capsys.readouterr().out.splitlines()
    target = tmp_path / "x.jsonl"
    assert run([*command, "-o", str(target)]) == 0
    written = target.read_text().splitlines()
    assert written[1:] == printed[1:]
    number = json.loads(written[0])["seq"]
    said = f"Exported {len(written) - 2} records to {target}\nWhat comes later: --since {number}\n"
    assert capsys.readouterr().out == said
    assert os.stat(target).st_mode & 0o777 == 0o600


def test_a_file_is_replaced_only_by_force(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.jsonl"
    target.write_text("mine\n")
    command = ["export", "--db", store.location.primary, "-o", str(target)]
    assert run(command) == 2
    assert "--force" in capsys.readouterr().err
    assert target.read_text() == "mine\n"
    assert run([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 0
    assert target.read_text().count("\n") == 2
    for place in (tmp_path, tmp_path / "none" / "x.jsonl"):
        assert run(["export", "--db", store.location.primary, "-o", str(place), "--force"]) == 2


def test_an_export_that_fails_leaves_the_old_file_and_no_other(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(store)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "x.jsonl").write_text("mine\n")
    store.primary.execute("UPDATE store SET uuid = 'x'")
    store.primary.execute("ALTER TABLE events RENAME COLUMN payload TO load")
    assert run(["export", "--db", store.location.primary, "-o", str(folder / "x.jsonl"), "--force"]) == 6
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("x.jsonl", "mine\n")]
