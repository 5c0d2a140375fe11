"""Doctor: what it finds, that it changes nothing, and what a repair does."""

import hashlib
import importlib
import json
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from builders import run_child, save, search_ids, start_child, write_file
from damage import rows_of, spoil
from processes import run_processes, took_ms

from ctxrank.cli.main import run
from ctxrank.indexer.care import primary_checks
from ctxrank.indexer.care.environment_checks import examine_machine
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Finding, Result
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.connection import SCHEMA_VERSION, immediate
from ctxrank.indexer.store.location import Location


@pytest.fixture
def shop(loaded: Location) -> Location:
    """The fixture store, closed."""
    return loaded


@pytest.fixture
def ask(shop: Location, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Call doctor; returns its exit code and its JSON."""

    def call(*options: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run(["--db", shop.primary, "doctor", *options, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def alarms(location: Location, *, is_deep: bool = False) -> dict[str, Finding]:
    """What is not ok, by check."""
    return {finding.id: finding for finding in examine(location, is_deep=is_deep) if finding.result is not Result.OK}


@pytest.mark.parametrize(
    ("free", "shown", "is_little"),
    [
        (10 * 2**20 - 2**19, "9.5 MB", True),
        (10 * 2**20, "10 MB", True),
        (50 * 2**20 - 1, "50 MB", True),
        (50 * 2**20, "50 MB", False),
        (2500 * 2**20, "2,500 MB", False),
    ],
)
def test_little_room_on_the_disk_is_said(
    shop: Location, monkeypatch: pytest.MonkeyPatch, free: int, shown: str, is_little: bool
) -> None:
    monkeypatch.setattr("shutil.disk_usage", _room_of(free))
    (found,) = (one for one in examine_machine(shop) if one.id == "disk-space")
    assert f"{shown} free" in found.evidence and (found.result is Result.OK) != is_little


def _room_of(free: int) -> Callable[[str], SimpleNamespace]:
    return lambda _: SimpleNamespace(free=free)


def change(path: str, *statements: str) -> None:
    """Run SQL on a file as somebody would who knows nothing of us."""
    connection = apsw.Connection(path)
    connection.pragma("foreign_keys", False)
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def digests(folder: str) -> dict[str, str]:
    """What the files of a store hold, but for SQLite's shared memory, which is no content."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_a_store_that_is_well_is_well_in_every_check(shop: Location) -> None:
    assert alarms(shop, is_deep=True) == {}


@pytest.mark.needs("salvage")
def test_doctor_changes_nothing(shop: Location, ask: Callable[..., Any]) -> None:
    spoil(shop.primary, "sessions")
    change(shop.index_file, "UPDATE state SET documents = 3")
    before = digests(shop.folder)
    for options in ((), ("--deep",), ("--repair", "plan"), ("--repair", "dry-run")):
        assert ask(*options)[0] == 5
    assert digests(shop.folder) == before


def test_findings_in_json_have_all_fields(ask: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    code, answer = ask("--deep")
    assert (code, answer["counts"]["fail"]) == (0, 0)
    assert {tuple(finding) for finding in answer["findings"]} == {
        ("id", "result", "evidence", "next_step", "repair", "locked")
    }
    assert len({finding["id"] for finding in answer["findings"]}) == len(answer["findings"])


_PRIMARYS: list[tuple[str, str, Result]] = [
    ("DELETE FROM store", "feed", Result.FAIL),
    ("UPDATE store SET seq = 3", "feed", Result.FAIL),
    ("DELETE FROM history_checkpoints", "feed", Result.WARN),
    ("INSERT INTO tombstones SELECT id, 900, 0 FROM documents LIMIT 1", "feed", Result.FAIL),
    ("DELETE FROM packages WHERE id = 1", "references", Result.FAIL),
    ("DELETE FROM packages WHERE id = 1", "records", Result.FAIL),
    ("DELETE FROM documents WHERE kind = 'reasoning'", "records", Result.FAIL),
    ("UPDATE documents SET session_id = 99", "records", Result.FAIL),
    ("UPDATE documents SET kind = 'pasrage' WHERE id = 2", "records", Result.FAIL),
    ("UPDATE reasoning SET content = 'a' || replace(hex(zeroblob(20)), '00', char(0))", "texts", Result.FAIL),
    ("UPDATE sessions SET metadata = '{'", "texts", Result.FAIL),
    ("UPDATE documents SET ruleset = 1", "redaction-rules", Result.WARN),
    ("UPDATE documents SET ruleset = 900", "redaction-rules", Result.WARN),
    ("INSERT INTO settings (key, value) VALUES ('erasing', '\"deleted\"')", "forgetting", Result.WARN),
    ("UPDATE sessions SET created_at = 9000000000000000", "clock", Result.WARN),
    ("PRAGMA user_version = 900", "schema", Result.FAIL),
    ("PRAGMA user_version = 3", "schema", Result.FAIL),
    ("PRAGMA application_id = 1", "schema", Result.FAIL),
    ("PRAGMA journal_mode = delete", "wal-mode", Result.WARN),
]


@pytest.mark.needs("salvage")
@pytest.mark.parametrize(("statement", "check", "result"), _PRIMARYS)
def test_what_is_wrong_with_the_primary_is_said(shop: Location, statement: str, check: str, result: Result) -> None:
    change(shop.primary, statement)
    finding = alarms(shop)[check]
    assert (finding.result, bool(finding.next_step)) == (result, True)


def test_a_store_that_the_next_call_migrates_is_no_damage(shop: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primary_checks, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    finding = alarms(shop)["schema"]
    assert (finding.result, finding.evidence) == (Result.WARN, f"schema {SCHEMA_VERSION} of {SCHEMA_VERSION + 1}")


_INDEXES: list[tuple[str, str]] = [
    ("UPDATE state SET documents = documents + 1", "index-statistics"),
    ("UPDATE terms SET df = df + 1 WHERE id = 5", "index-statistics"),
    ("UPDATE terms SET titles = titles + 1 WHERE id = 5", "index-statistics"),
    ("INSERT INTO terms (term, df) VALUES ('ghost', 1)", "index-statistics"),
    ("UPDATE terms SET min_length_tf_1 = min_length_tf_1 + 1 WHERE min_length_tf_1 < 9000", "index-bounds"),
    ("UPDATE term_trigrams_data SET block = zeroblob(length(block)) WHERE id = 10", "index-trigrams"),
    ("INSERT INTO term_trigrams (rowid, term) VALUES (777777, 'phantom')", "index-trigrams"),
    ("INSERT INTO terms (term, df) VALUES ('ghost', 0)", "index-trigrams"),
    ("UPDATE forward SET length = length + 1 WHERE id = (SELECT min(id) FROM forward)", "index-forward"),
    ("UPDATE forward SET owner_id = owner_id + 1", "index-forward"),
    ("UPDATE forward SET terms = zeroblob(length(terms)) WHERE id = (SELECT max(id) FROM forward)", "index-forward"),
    ("DELETE FROM forward WHERE id = (SELECT max(id) FROM forward)", "index-forward"),
    ("INSERT INTO forward VALUES (77, 77, 0, 0, x'')", "index-ghosts"),
    ("INSERT INTO fts (rowid, body) VALUES (77, 'phantom')", "index-ghosts"),
    ("INSERT INTO fts (rowid, body) VALUES (77, 'phantom')", "index-vocabulary"),
    ("DELETE FROM fts WHERE rowid = (SELECT max(id) FROM forward)", "index-postings"),
    # A place in a column that there is not; terms that are no text.
    ("UPDATE fts_data SET block = unhex(replace(hex(block), '010302', '010902')) WHERE id > 10", "index-postings"),
    ("UPDATE fts_data SET block = unhex(replace(hex(block), '0103', '0109')) WHERE id > 10", "index-proof"),
    ("UPDATE fts_data SET block = zeroblob(length(block)) WHERE id = 10", "index-sentinel"),
    ("UPDATE state SET applied_seq = 900", "index-feed"),
    ("UPDATE state SET applied_seq = applied_seq - 5", "index-feed"),
    ("UPDATE state SET format = 99", "index-file"),
    ("UPDATE state SET store_uuid = 'another'", "index-file"),
    ("DELETE FROM state", "index-file"),
]


@pytest.mark.parametrize(("statement", "check"), _INDEXES)
def test_an_index_that_differs_from_the_primary_is_found(shop: Location, statement: str, check: str) -> None:
    change(shop.index_file, statement)
    finding = alarms(shop, is_deep=True)[check]
    assert finding.next_step
    is_first = statement == next(first for first, same in _INDEXES if same == check)
    if finding.repair.value and is_first:  # a check has one repair
        assert run(["--db", shop.primary, "doctor", "--deep", "--repair", "apply"]) == 0
        assert not alarms(shop, is_deep=True)


def test_a_facet_that_is_not_the_documents_own_is_found(shop: Location) -> None:
    change(shop.primary, "UPDATE documents SET priority = 'low' WHERE kind = 'package' AND record_id = 1")
    assert "index-postings" in alarms(shop, is_deep=True)


def test_a_text_that_was_turned_over_in_its_cell_is_found(shop: Location) -> None:
    change(shop.primary, "UPDATE documents SET body = replace(body, 'e', 'i') WHERE kind = 'passage' AND id < 9")
    assert {"passage-texts", "index-forward", "index-postings"} <= alarms(shop, is_deep=True).keys()


def test_files_that_left_the_disk_or_changed_are_named(shop: Location) -> None:
    files = sorted(Path(shop.root, "artifacts").rglob("*.md"))
    files[0].unlink()
    files[1].write_text("something else")
    files[2].rename(files[2].with_name("elsewhere.md"))
    os.utime(files[3], (1, 1))
    evidence = alarms(shop, is_deep=True)["artifacts"].evidence
    gone = ", ".join(str(file.relative_to(shop.root)) for file in (files[0], files[2]))
    assert f"2 gone: {gone}" in evidence
    assert f"1 changed: {files[1].relative_to(shop.root)}" in evidence
    assert str(files[3].name) not in evidence


def test_a_folder_of_artifacts_that_is_not_mounted_is_named(shop: Location) -> None:
    change(shop.primary, "INSERT INTO roots VALUES (2, '/nowhere/notes')", "UPDATE artifacts SET root_id = 2")
    assert alarms(shop, is_deep=True)["artifact-roots"].evidence == "/nowhere/notes cannot be seen"


def test_a_configuration_that_cannot_be_used_is_said(shop: Location) -> None:
    config = Path(shop.folder, "config.yaml")
    config.write_text("redaction_mode: sometimes\n")
    assert "redaction_mode is 'sometimes'" in alarms(shop)["configuration"].evidence
    config.write_text("colour: blue\n")
    assert "'colour' is not a setting" in alarms(shop)["configuration"].evidence


def test_a_lock_is_reported_as_a_lock(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "200")
    holder = apsw.Connection(shop.primary)
    holder.pragma("locking_mode", "exclusive")
    holder.execute("BEGIN EXCLUSIVE; UPDATE store SET seq = seq")
    code, answer = ask("--repair", "apply")
    holder.close()
    assert code == 7 and answer["counts"]["fail"] == 0 and answer["repair"]["steps"] == []
    assert any(finding["locked"] for finding in answer["findings"])
    assert alarms(shop) == {}


def test_a_plan_says_what_a_repair_would_do(shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    os.chmod(shop.primary, 0o644)
    spoil(shop.primary, "groups")
    code, answer = ask("--repair", "plan")
    assert (code, answer["repair"]["done"], answer["repair"]["backup"]) == (5, [], None)
    assert [step["id"] for step in answer["repair"]["steps"]] == ["permissions", "salvage", "rebuild-index"]


@pytest.mark.needs("salvage")
def test_a_repair_of_a_damaged_primary_makes_it_well(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    spoil(shop.primary, "groups")
    code, answer = ask("--repair", "apply", "--deep")
    repair = answer["repair"]
    assert (code, repair["complete"], answer["counts"]["fail"] > 0) == (0, True, True)
    assert {finding["result"] for finding in repair["findings"]} == {"ok"}
    assert Path(repair["backup"]).exists()
    assert {table["name"]: table["rebuilt"] for table in repair["tables"] if table["rebuilt"]} == {"groups": 7}


@pytest.mark.needs("salvage")
def test_a_repair_that_loses_records_says_so_with_its_exit_code(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    spoil(shop.primary, "package_consumers")
    code, answer = ask("--repair", "apply")
    lost = {table["name"]: table["lost"] for table in answer["repair"]["tables"] if table["lost"]}
    assert (code, answer["repair"]["complete"], lost) == (5, False, {"package_consumers": 38})
    assert ask()[0] == 0


def test_d10_a_repair_of_a_store_that_is_well_changes_nothing(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    before = digests(shop.folder)
    code, answer = ask("--repair", "apply")
    assert (code, answer["repair"]["steps"]) == (0, [])
    assert digests(shop.folder) == before


def test_a_repair_of_the_index_leaves_the_store_and_keeps_a_copy(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    change(shop.index_file, "UPDATE forward SET length = 3")
    before = digests(shop.folder)[shop.primary]
    code, answer = ask("--repair", "apply", "--deep")
    assert (code, [step["id"] for step in answer["repair"]["steps"]]) == (0, ["rebuild-index"])
    assert digests(shop.folder)[shop.primary] == before
    assert rows_of(answer["repair"]["backup"]) == rows_of(shop.primary)


def test_a_rehearsed_repair_of_the_index_leaves_no_copy_and_set_modes_need_none(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    change(shop.index_file, "UPDATE forward SET length = 3")
    _, answer = ask("--repair", "dry-run", "--deep")
    assert answer["repair"]["backup"] is None and not (Path(shop.folder) / "backups").exists()
    assert ask("--repair", "apply", "--deep")[0] == 0
    os.chmod(shop.primary, 0o644)
    kept = sorted(os.listdir(Path(shop.folder) / "backups"))
    assert ask("--repair", "apply")[1]["repair"]["backup"] is None
    assert sorted(os.listdir(Path(shop.folder) / "backups")) == kept


def test_permissions_are_set_back(shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    os.chmod(shop.primary, 0o644)
    os.chmod(shop.folder, 0o755)
    assert "permissions" in alarms(shop)
    assert ask("--repair", "apply")[0] == 0
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (shop.folder, shop.primary)] == [0o700, 0o600]


def test_what_a_killed_process_left_is_moved_away(
    shop: Location, ask: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    gone = run_child("import os; print(os.getpid())").strip()
    for name in (f".trial-{gone}", f".trial-{os.getpid()}"):
        Path(shop.folder, name).mkdir()
    assert f".trial-{gone}" in alarms(shop)["leftovers"].evidence
    assert ask("--repair", "apply")[0] == 0
    assert alarms(shop) == {}
    assert Path(shop.folder, f".trial-{os.getpid()}").exists()
    assert len(list(Path(shop.folder, "backups").glob(f"*/.trial-{gone}"))) == 1


_WORKLOAD = """
import os

def workload(worker):
    def step(number):
        with worker.timed("step"):
            if worker.number == 0 and number == 2:
                raise LookupError("nothing there")
            if worker.number == 1:
                os._exit(3)
        worker.report([worker.given, number])
    return step
"""


def test_a_call_that_fails_and_a_process_that_ends_are_what_a_crowd_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workload_of_a_crowd.py").write_text(_WORKLOAD)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    workload = importlib.import_module("workload_of_a_crowd").workload
    failing, ended = run_processes(str(tmp_path), workload, processes=2, seconds=60, steps=3, given=7)
    assert (failing.reported, failing.problems) == ([[7, 1], [7, 3]], ["LookupError: nothing there"])
    assert len(took_ms([failing, ended], "step")) == 2
    assert ended.problems == ["process 1 ended with 3: "]


_WRITES_ON = """
import sys
from builders import save
from ctxrank.indexer.opening import open_store

with open_store(sys.argv[1]) as store:
    for number in range(40):
        save(store, f"late{number}.md", "an ibex", session="shop-2026-10")
        print(number, flush=True)
"""


@pytest.mark.slow
def test_a_store_is_looked_at_while_others_write(shop: Location) -> None:
    child = start_child(_WRITES_ON, shop.primary)
    assert child.stdout is not None and child.stdout.readline()
    for _ in range(3):
        found = [finding for finding in alarms(shop, is_deep=True).values() if finding.result is Result.FAIL]
        assert found == []
    child.communicate(timeout=60)
    with open_store(shop.primary) as store:
        assert len(search_ids(store, "ibex", limit=99)) == 40


@pytest.mark.needs("salvage")
def test_people_get_a_table_and_the_next_step(shop: Location, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(shop.primary, "groups")
    assert run(["--db", shop.primary, "doctor"]) == 5
    shown = capsys.readouterr().out
    assert "fail  truth-integrity" in shown
    assert "→ 'ctxrank doctor --repair dry-run' counts what can be saved" in shown
    assert shown.strip().endswith("failed")
    assert run(["--db", shop.primary, "doctor", "--repair", "dry-run"]) == 5
    assert "groups             0 saved, 7 rebuilt, 0 lost" in capsys.readouterr().out


def test_doctor_is_the_next_step_of_a_damaged_store(shop: Location, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(shop.primary, "packages")
    assert run(["--db", shop.primary, "package", "list"]) == 5
    assert "See 'ctxrank doctor'" in capsys.readouterr().err


def test_where_there_is_no_store_doctor_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["doctor"]) == 3


def test_doctor_waits_for_no_writer(shop: Location) -> None:
    with open_store(shop.primary) as store, immediate(store.primary):
        start = time.monotonic()
        assert alarms(shop, is_deep=True) == {}
        assert time.monotonic() - start < 20


def test_an_artifact_that_was_saved_again_is_only_a_warning(shop: Location) -> None:
    with open_store(shop.primary) as store:
        save(store, "a.md", "first", session="shop-2026-10")
        write_file(store, "a.md", "second")
    assert {id: finding.result for id, finding in alarms(shop, is_deep=True).items()} == {"artifacts": Result.WARN}
