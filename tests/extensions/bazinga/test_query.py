"""Raw queries over the predecessor's tables, and what looks after a store: they read, and break nothing."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bazinga_project import SESSION, Project, bazinga
from older_rules import leave_token
from tables import each_row

from ctxrank.extensions.bazinga.records import views
from ctxrank.extensions.bazinga.records.views import VIEWS
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skills_config import skill_levels


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_every_table_has_the_columns_it_had(project: Project) -> None:
    number = project.package("a.md")
    project.json("save-consumption", SESSION, "AUTH", "developer", "0", str(number))
    project.json("save-error-pattern", "shop", "E", "it broke", "mend it")
    project.json("save-strategy", "shop", "general", "x")
    project.json("save-reasoning", SESSION, "AUTH", "developer", "approach", "x")
    project.bazinga("save-skill-output", SESSION, "lint-check", "1")
    project.bazinga("log-tokens", SESSION, "developer", "1")
    (project.folder / "bazinga" / "skills_config.json").write_text('{"developer": {"lint-check": "mandatory"}}')
    project.json("create-session", "S2", "simple", "x")
    columns = {table: list(project.json("query", f"SELECT * FROM {table}")[0]) for table in VIEWS}
    assert columns["consumption_scope"] == [
        "scope_id", "session_id", "group_id", "agent_type", "iteration", "package_id", "consumed_at",
    ]  # fmt: skip
    assert columns["orchestration_logs"] == [
        "id", "session_id", "timestamp", "iteration", "agent_type", "agent_id", "content", "log_type",
        "reasoning_phase", "confidence_level", "references_json", "redacted", "group_id", "event_subtype",
        "event_payload", "idempotency_key",
    ]  # fmt: skip
    assert columns["error_patterns"][:4] == ["pattern_hash", "project_id", "signature_json", "solution"]
    assert set(columns["context_packages"]) >= {"package_type", "file_path", "producer_agent", "supersedes_id", "scope"}


def test_what_its_documents_query_and_it_never_made_is_a_view(project: Project) -> None:
    (project.folder / "bazinga" / "skills_config.json").write_text('{"developer": {"lint-check": "mandatory"}}')
    project.json("create-session", "S2", "simple", "x")
    project.json("save-reasoning", SESSION, "AUTH", "developer", "decisions", "Lock the row")
    query = "SELECT phase, content, agent_type FROM agent_reasoning WHERE session_id = '%s' AND group_id = 'AUTH'"
    assert project.json("query", query % SESSION) == [
        {"phase": "decisions", "content": "Lock the row", "agent_type": "developer"}
    ]
    (row,) = project.json("query", "SELECT value FROM configuration WHERE key = 'skills_config'")
    assert json.loads(row["value"])["developer"] == {"lint-check": "mandatory"}
    assert len(project.json("query", "SELECT key FROM configuration")) == 1


def test_a_session_seeds_the_checklist_of_its_project(project: Project) -> None:
    (project.folder / "bazinga" / "skills_config.json").write_text('{"developer": {"lint-check": "mandatory"}}')
    project.json("create-session", "S2", "simple", "x")
    with project.store() as store:
        session = find_session(store.primary, "S2")
        assert skill_levels(store.primary, "developer", session=session).mandatory == ("lint-check",)


def test_a_table_has_row_numbers_in_the_order_of_its_rows(project: Project) -> None:
    for number in range(3):
        project.json("save-strategy", "shop", "general", f"insight {number}")
        project.package(f"{number}.md")
    query = "SELECT insight FROM strategies ORDER BY rowid DESC"
    assert [row["insight"] for row in project.json("query", query)] == ["insight 2", "insight 1", "insight 0"]
    for table in VIEWS:
        assert isinstance(project.json("query", f"SELECT * FROM {table} ORDER BY rowid LIMIT 1"), list)
    assert next(iter(project.json("query", "SELECT * FROM context_packages ORDER BY rowid")[0])) == "id"


def test_json_comes_back_in_the_words_that_said_it(project: Project) -> None:
    text = '{"b":1,  "a":[1,2 ,3], "c": "\\u00e9"}'
    project.bazinga("save-skill-output", SESSION, "lint-check", text)
    assert project.json("query", "SELECT output_data FROM skill_outputs") == [{"output_data": text}]
    project.json("save-event", SESSION, "verdict", text)
    (event,) = project.json("query", "SELECT event_payload FROM orchestration_logs WHERE log_type = 'event'")
    assert event["event_payload"] == text
    made = project.json("create-session", "S2", "simple", "x", "--metadata", text)
    assert made["metadata"] == text


def test_the_assemblers_own_queries_run_as_they_are_written(project: Project) -> None:
    project.json("create-session", "S2", "simple", "x", "--metadata", '{"project_id": "shop"}')
    number = project.package("a.md", group="")
    project.json("save-consumption", SESSION, "", "developer", "0", str(number))
    pattern = project.json("save-error-pattern", "shop", "E", "it broke", "mend it")["pattern_hash"]
    for _ in range(3):
        project.json("update-error-confidence", pattern, "shop", "success")
    fallback = f"""SELECT cp.id, cp.file_path, cp.priority, cp.summary, cp.group_id, cp.created_at,
        GROUP_CONCAT(cs.agent_type) as consumers
        FROM context_packages cp
        LEFT JOIN consumption_scope cs ON cp.id = cs.package_id AND cs.session_id = cp.session_id
        WHERE cp.session_id = '{SESSION}'
        GROUP BY cp.id"""
    assert project.json("query", fallback)[0]["consumers"] == "developer"
    named = (
        "SELECT COALESCE(json_extract(metadata, '$.project_id'), 'default') as pid FROM sessions WHERE session_id = "
    )
    assert project.json("query", f"{named}'S2'") == [{"pid": "shop"}]
    assert project.json("query", f"{named}'{SESSION}'") == [{"pid": "default"}]
    known = (
        "SELECT signature_json, solution, confidence, occurrences FROM error_patterns WHERE project_id = 'shop'"
        " AND confidence > 0.7 ORDER BY confidence DESC, occurrences DESC LIMIT 3"
    )
    assert project.json("query", known)[0]["confidence"] == 0.8


def test_words_without_quotes_are_one_query(project: Project) -> None:
    assert project.json("query", "SELECT", "count(*)", "AS", "n", "FROM", "sessions") == [{"n": 1}]


@each_row(
    "query",
    [
        "DELETE FROM sessions", "WITH a AS (SELECT 1) SELECT * FROM a", "", "SELECT 1; DELETE FROM main.sessions",
        "SELECT 1; SELECT 2", "SELECT load_extension('x')", "SELECT * FROM pragma_table_info('sessions')",
        "SELECT nothing FROM sessions", "SELECT * FROM no_such_table", "PRAGMA user_version = 1",
        "ATTACH 'x.db' AS x", "SELECT zeroblob(2000000000)",
    ],
)  # fmt: skip
def test_whatever_is_no_single_plain_select_is_refused(project: Project, query: str) -> None:
    answer = project.bazinga("query", query)
    assert (answer.code, answer.out) == (1, "") and answer.err.startswith("Error: ")
    assert project.json("query", "SELECT count(*) AS n FROM sessions") == [{"n": 1}]


def test_a_query_without_end_is_stopped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MAX_SECONDS", 0.05)
    endless = "SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)"
    answer = project.bazinga("query", endless)
    assert answer.code == 1 and "was stopped" in answer.err


def test_more_rows_than_anybody_reads_are_cut_with_a_note(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MAX_ROWS", 2)
    answer = project.bazinga("query", "SELECT column1 AS n FROM (VALUES (1), (2), (3))")
    assert answer.json() == [{"n": 1}, {"n": 2}] and "Only the first 2 rows" in answer.err


def endless(limit: int) -> str:
    """A table with a column x, of as many rows."""
    return f"(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT {limit}) SELECT x FROM c)"


@pytest.mark.slow
def test_an_answer_that_is_too_large_is_cut_with_a_note(project: Project) -> None:
    answer = project.bazinga("query", f"SELECT hex(zeroblob(8000000)) AS a FROM {endless(1_000_000)}")
    assert len(answer.json()) == 4 and "Only the first 4 rows" in answer.err
    # In a process of its own: what other tests of this one left in SQLite's memory would count against the answer.
    wide = "SELECT " + ", ".join(f"hex(zeroblob(8000000)) AS a{i}" for i in range(5))
    command = [sys.executable, "-m", "ctxrank.cli", "bazinga", "--project-root", str(project.folder), "query", wide]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "too large to be shown" in done.stderr


@pytest.mark.parametrize("order", ["y", "y || x"])
def test_a_query_that_wants_too_much_memory_is_stopped(project: Project, order: str) -> None:
    many = f"SELECT hex(zeroblob(4000000)) || x AS y FROM {endless(10_000)} ORDER BY {order}"
    answer = project.bazinga("query", many)
    assert answer.code == 1 and "too much memory" in answer.err
    assert project.json("query", "SELECT 1 AS n") == [{"n": 1}]


def test_a_query_that_sqlite_does_not_come_back_from_ends_with_the_process(tmp_path: Path) -> None:
    slow = "SELECT instr(replace(hex(zeroblob(5000000)),'00','ab'), replace(hex(zeroblob(2500000)),'00','ab') || 'c')"
    code = f"""
import sys
from ctxrank.extensions.bazinga.records import views
from ctxrank.extensions.bazinga import run
from ctxrank.cli.call import Call
views.MAX_SECONDS = -0.3
run.run(Call(), ("--project-root", sys.argv[1], "query", {slow!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "took too long" in done.stderr


@pytest.mark.slow
def test_ten_seconds_and_half_a_gigabyte_are_hard_limits(tmp_path: Path) -> None:
    Project(tmp_path)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], timeout=60, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    for query in (
        f"SELECT sum(x) FROM {endless(-1)}",
        f"SELECT hex(zeroblob(8000000)) FROM {endless(-1)}",
        f"SELECT replace(hex(zeroblob(500000)), '00', char(1)) FROM {endless(-1)}",
        f"SELECT {', '.join(f'x AS a{i}' for i in range(1500))} FROM {endless(-1)}",
    ):
        started = time.monotonic()
        command = [sys.executable, "-m", "ctxrank.cli", "bazinga", "--project-root", str(tmp_path), "query", query]
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=60, check=True
        )
        assert time.monotonic() - started < 15, query
        assert int(done.stdout) < 512, query


def test_a_sound_store_is_ok_and_d10_recovering_it_changes_nothing(project: Project) -> None:
    project.package("a.md")
    project.json("save-strategy", "shop", "general", "x")
    assert project.json("integrity-check") == {"ok": True, "details": "Database integrity check passed"}
    answer = project.json("recover-db")
    assert (answer["success"], answer["index_rebuilt"]) == (True, False)
    assert len(project.json("get-strategies", "shop")) == 1 and project.waiting() == ["a.md"]


def test_d10_recovering_rebuilds_a_damaged_index(project: Project) -> None:
    project.package("a.md")
    index = project.folder / ".ctxrank" / "index.db"
    for suffix in ("-wal", "-shm"):
        Path(str(index) + suffix).unlink(missing_ok=True)
    index.write_bytes(b"no database at all" * 1000)
    assert project.json("recover-db")["index_rebuilt"] is True
    assert project.json("recover-db")["index_rebuilt"] is False


def test_d10_a_damaged_store_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "broken.db"
    file.write_bytes(b"no database at all" * 1000)
    for command in ("integrity-check", "recover-db"):
        answer = bazinga("--db", str(file), command)
        assert answer.code == 5 and not answer.json().get("ok", answer.json().get("success"))
    assert file.read_bytes() == b"no database at all" * 1000


def test_groups_that_the_predecessor_would_refuse_are_found_and_renamed(project: Project) -> None:
    with project.store() as store, store.write() as change:
        for name in ("two words", "default", "two-words"):
            change.connection.execute("INSERT INTO groups (session_id, name, created_at) VALUES (1, ?, 1)", (name,))
    found = project.bazinga("diagnose-group-ids")
    assert found.code == 1 and [issue["group_id"] for issue in found.json()["issues"]] == ["two words", "default"]
    assert project.json("diagnose-group-ids", "--fix")["fixed"] == 2
    assert project.json("diagnose-group-ids") == {"ok": True, "issues": [], "fixed": 0}
    names = project.json("query", "SELECT id FROM task_groups ORDER BY id")
    assert [row["id"] for row in names] == ["default-group", "two-words", "two-words-2"]


def test_a_dashboard_has_its_parts(project: Project) -> None:
    project.json("create-task-group", "AUTH", SESSION, "Tokens")
    snapshot = project.json("dashboard-snapshot", SESSION)
    assert list(snapshot) == [
        "session", "orchestrator_state", "pm_state", "task_groups", "token_summary", "recent_logs",
    ]  # fmt: skip
    assert snapshot["session"]["session_id"] == SESSION and snapshot["token_summary"] == {"total": 0}
    assert project.json("dashboard-snapshot", "NO-SUCH")["session"] is None


def test_an_infinite_number_is_null(project: Project) -> None:
    assert project.json("query", "SELECT 9e999 AS a, -9e999 AS b, 1.5 AS c") == [{"a": None, "b": None, "c": 1.5}]


def test_a_number_that_json_has_not_is_stored_as_null(project: Project) -> None:
    made = project.json("create-session", "other", "simple", "Work", "--metadata", '{"a": [1e999, NaN, 2]}')
    assert made["metadata"] == '{"a": [null, null, 2]}'


_SHOWING = (
    "get-context-packages S global developer 9", "get-reasoning S", "get-reasoning S --format prompt-summary",
    "reasoning-timeline S", "reasoning-timeline S --format markdown", "get-skill-output S lint",
    "get-skill-output-all S lint", "get-error-patterns default --min_confidence 0", "get-strategies default",
    "dashboard-snapshot S",
)  # fmt: skip


def test_no_command_shows_what_older_rules_have_left(tmp_path: Path) -> None:
    token = leave_token(tmp_path)
    commands = [command.split() for command in _SHOWING] + [["query", f"SELECT * FROM {table}"] for table in VIEWS]
    said = {" ".join(words): bazinga("--project-root", str(tmp_path), *words) for words in commands}
    assert [(words, answer) for words, answer in said.items() if answer.code or token in answer.out] == []
    assert sum("_REDACTED" in answer.out for answer in said.values()) > len(_SHOWING)
    (row,) = said["query SELECT * FROM skill_outputs"].json()
    assert json.loads(row["output_data"])["said"].startswith("the ")
