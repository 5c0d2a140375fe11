"""The command line as its users meet it: what is printed where, and with which exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest
from builders import always, copy_store, obey_interrupts
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.light_typing import cast, is_dict
from ctxrank.indexer.store import out_of_date
from ctxrank.indexer.store.location import Location

SESSION = "shop-2026-10"
ASSEMBLE = ("assemble", "--session", SESSION, "--agent", "developer", "--group", "AUTH")


@pytest.fixture(scope="module")
def shop_folder(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    copy_store(loaded_once, folder)
    return folder


@pytest.fixture
def shop(shop_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fixture store as the working directory; tests that change it make their own."""
    monkeypatch.chdir(shop_folder)
    return shop_folder


@pytest.fixture
def own_shop(loaded: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    value: dict[str, object] = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def start(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ctxrank.cli", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_search_prints_hits_on_stdout_and_nothing_else(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "-n", "1", "why", "is", "the", "database", "locked"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith('1. "database is locked" in the job queue\n   package:7 · critical')
    assert "more; -n shows more" in printed.err


def test_a_search_that_finds_nothing_says_so_offers_near_words_and_exits_1(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "dtabseee"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "nothing found for: dtabseee" in printed.err and "database" in printed.err


def test_an_empty_answer_names_the_next_step(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", ""]) == 1 and "'ctxrank search WORDS' finds" in capsys.readouterr().err
    assert run(["search", "zzzzxq"]) == 1 and "'ctxrank index' takes in new files" in capsys.readouterr().err


def test_a_search_in_json_has_the_promised_fields(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "search", "--explain", "token refresh"]) == 0
    value = answer(capsys)
    assert (value["schema_version"], value["outcome"], value["engine"]) == (1, "matched", "fts5")
    hits = cast("list[dict[str, object]]", value["hits"])
    assert isinstance(hits, list) and value["query"] == "token refresh"
    promised = "id kind title path score snippet session_id group_id priority created_at superseded_by explanation"
    assert set(promised.split()) <= set(hits[0])


def test_global_options_stand_before_or_after_the_command(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["--json", "search", "retry"])
    before = capsys.readouterr().out
    run(["search", "retry", "--json"])
    assert capsys.readouterr().out == before


def test_a_dash_reads_the_query_from_stdin(shop: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxrank.cli", "search", "-n", "1", "-"],
        cwd=shop, input="database\nis locked", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and "package:7" in done.stdout


def test_show_gives_a_document_in_three_depths(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for depth, keys in (("meta", set[str]()), ("summary", {"body"}), ("full", {"body", "passages"})):
        assert run(["show", "7", "--depth", depth, "--json"]) == 0
        document = answer(capsys)["document"]
        assert is_dict(document) and {"body", "passages"} & set(document) == keys


@each_row(
    "arguments, code, sentence",
    [
        (["show", "package:999"], 1, "There is no package:999"),
        (["show", "thing:1"], 2, "kinds are package"),
        (["search"], 2, "Missing argument"),
        (["search", "x", "--kind", "poem"], 2, "Kinds are package"),
        (["search", "x", "--since", "tomorrow"], 2, "is not a time"),
        (["serch", "x"], 2, "Did you mean search"),
        (["ls"], 2, "Here it is 'list'."),
        (["package", "consume", "1", "--agent", "qa_expert"], 2, "is not designated for qa_expert"),
        (["package", "consume", "1", "--agent", "tester"], 2, "Agents are developer"),
        (["session", "show", "nope"], 1, "There is no session 'nope'"),
        (["session", "create", SESSION], 2, "There is a session"),
        (["group", "create", "global", "--session", SESSION], 2, "is not a group's name"),
        (["--root", "nowhere", "index"], 2, "is not a folder"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence_and_its_exit_code(
    shop: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.out == ""
    assert run([*arguments, "--json"]) == code
    error = answer(capsys)["error"]
    assert isinstance(error, dict) and error["code"] == code and sentence in f"{error['message']} {error['hint']}"


def test_without_a_store_the_error_is_3_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["search", "x"]) == 3
    assert "ctxrank init" in capsys.readouterr().err


def test_a_file_that_is_no_store_is_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ctxrank.db").write_bytes(b"not a database at all" * 100)
    assert run(["--db", str(tmp_path / "ctxrank.db"), "status"]) == 5
    assert "is not an SQLite database" in capsys.readouterr().err


def test_a_locked_store_is_7_and_retryable(
    own_shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "50")
    holder = apsw.Connection(str(own_shop / ".ctxrank" / "ctxrank.db"))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert run(["session", "create", "new", "--json"]) == 7
    finally:
        holder.close()
    error = answer(capsys)["error"]
    assert isinstance(error, dict) and error["retryable"] is True and error["kind"] == "locked"


def test_assemble_prints_the_block_and_marks_it(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ASSEMBLE, "--task", "customers are logged out", "--format", "json"]) == 0
    value = answer(capsys)
    packages = value["packages"]
    assert isinstance(packages, list) and packages[0]["id"] == 2
    promised = "zone usage_pct model budget packages reasoning errors strategies omitted available overflow text"
    assert set(promised.split()) <= set(value)
    run([*ASSEMBLE, "--format", "json"])
    again = answer(capsys)["packages"]
    assert isinstance(again, list) and "delivered before" not in (again[0]["label"] or "")


def test_assemble_never_blocks_a_spawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*ASSEMBLE]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("## Context for developer\n\n:warning: Context assembly encountered an error.")
    assert "**Fallback Mode**" in printed.out and "ctxrank init" in printed.err
    assert run([*ASSEMBLE, "--strict"]) == 3


def test_assemble_answers_while_the_store_is_locked(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    holder = apsw.Connection(str(own_shop / ".ctxrank" / "ctxrank.db"))
    holder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    try:
        assert run([*ASSEMBLE, "--task", "token refresh"]) == 0
    finally:
        holder.close()
    printed = capsys.readouterr()
    assert "### Relevant Packages (4/4)" in printed.out and "delivery is not recorded" in printed.err
    assert time.monotonic() - began < 5


def test_assemble_is_4_under_strict_where_the_answer_is_degraded(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", "off")
    assert run([*ASSEMBLE, "--task", "token refresh", "--no-mark"]) == 0
    assert "degraded: FTS5 is switched off" in capsys.readouterr().err
    assert run([*ASSEMBLE, "--task", "token refresh", "--no-mark", "--strict"]) == 4


@pytest.mark.parametrize(
    ("option", "value", "note"),
    [
        ("--iteration", "first", "0 is used"),
        ("--reasoning-level", "deep", "medium is used"),
        ("--model", "frobnicator-9", "200,000"),
        ("--current-tokens", "-5", "0 is used"),
    ],
)
def test_assemble_forgives_what_a_spawn_depends_on(
    shop: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, note: str
) -> None:
    assert run([*ASSEMBLE, "--no-mark", f"{option}={value}"]) == 0
    printed = capsys.readouterr()
    assert "### Relevant Packages" in printed.out and note in printed.err


def test_spawns_are_15000_tokens_each(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*ASSEMBLE, "--no-mark", "--spawns", "10", "--json"])
    value = answer(capsys)
    assert value["usage_pct"] == 88.2 and value["zone"] == "Wrap-up"
    for tokens, is_noted in ((["--current-tokens", "0"], True), ([], False)):
        run([*ASSEMBLE, "--no-mark", "--spawns", "10", *tokens])
        assert ("--spawns are both given" in capsys.readouterr().err) is is_noted


def test_the_task_comes_from_a_file_or_from_stdin(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "task.txt").write_text("rotate refresh tokens")
    run([*ASSEMBLE, "--no-mark", "--task-file", str(tmp_path / "task.txt")])
    from_file = capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "ctxrank.cli", *ASSEMBLE, "--no-mark", "--task", "-"],
        cwd=shop, input="rotate refresh tokens", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == from_file and "matches rotate" in from_file


@each_row(
    "words, is_noted",
    [
        (("--task", "x"), False),
        (("--task-file", "task.txt"), False),
        (("--task", "x", "--task-file", "task.txt"), True),
    ],
)
def test_of_two_tasks_the_one_that_is_typed_counts(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], is_noted: bool
) -> None:
    (tmp_path / "task.txt").write_text("rotate refresh tokens")
    run([*ASSEMBLE, "--no-mark", *(str(tmp_path / word) if word == "task.txt" else word for word in words)])
    printed = capsys.readouterr()
    assert ("--task is used" in printed.err) == is_noted
    assert ("matches rotate" in printed.out) == ("x" not in words)


def test_a_package_is_saved_listed_superseded_and_consumed(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_shop / "note.md").write_text("# Zebra\n\nStripes.\n")
    save = ["package", "save", "note.md", "--session", "new", "--group", "G", "--type", "Research",
            "--producer", "Tech Lead", "--summary", "about\nzebras"]  # fmt: skip
    assert run(save) == 1
    assert run([*save, "--create-session", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["version"] == 1 and first["consumers"] == ["developer", "senior_software_engineer", "tech_lead"]
    assert run(save) == 0 and run(["package", "list", "--session", "new", "--json"]) == 0
    output = capsys.readouterr().out
    assert f"replaces package:{first['id']}" in output
    listed = json.loads(output[output.index("{") :])["packages"]
    assert [package["summary"] for package in listed] == ["about zebras"]
    assert run(["package", "consume", str(listed[0]["id"]), "--agent", "tech-lead"]) == 0


def test_init_makes_a_private_store_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0 and run(["init"]) == 0
    assert capsys.readouterr().out.count("Made a store") == 1
    assert sorted(os.listdir(".ctxrank")) == [".gitignore", "ctxrank.db"]


def test_git_shows_nothing_of_a_store_without_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status = ("git", "status", "--short", "--untracked-files=all")
    subprocess.run(("git", "init", "--quiet"), check=True)
    (tmp_path / "a.md").write_text("zebras\n")
    assert run(["init"]) == run(["index"]) == 0
    assert subprocess.check_output(status, text=True) == "?? a.md\n"
    (tmp_path / ".ctxrank" / "config.yaml").write_text("{}\n")
    assert subprocess.check_output(status, text=True) == "?? .ctxrank/config.yaml\n?? a.md\n"


def test_a_skipped_picture_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    assert run(["init"]) == 0

    def named(*options: str) -> list[str]:
        assert run([*options, "index"]) == 0
        output = capsys.readouterr()
        assert f"{1 + (tmp_path / 'b.png').exists()} skipped" in output.out
        return [line.split()[1] for line in output.err.splitlines() if line.startswith("skipped")]

    assert named() == ["a.png"] and named() == [] and named("-v") == ["a.png"]
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\1")
    assert named() == ["b.png"]
    os.utime(tmp_path / "a.png", (1, 1))
    assert named() == []


@pytest.mark.parametrize("way", ["--db", "CTXRANK_DB"])
def test_init_makes_the_store_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    named: list[str] = ["--db", "deep/notes.db"] if way == "--db" else []
    if not named:
        monkeypatch.setenv(way, "deep/notes.db")
    assert run(["init", *named]) == 2 and "there is no folder" in capsys.readouterr().err
    (tmp_path / "deep").mkdir()
    assert run(["init", *named]) == 0 and run(["init", *named]) == 0
    assert capsys.readouterr().out == (
        f"Made a store at {tmp_path}/deep/notes.db\nThere is already a store at {tmp_path}/deep/notes.db\n"
    )
    assert os.listdir("deep") == ["notes.db"] and not (tmp_path / ".ctxrank").exists()
    assert run(["session", "create", "S", *named]) == 0
    assert run(["init", "deep", "--db", "x.db"]) == 2


def test_index_says_what_it_did(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_shop / "artifacts" / "new.md").write_text("# Quokka\n")
    assert run(["index", "--dry-run", "artifacts"]) == 0
    assert "Would be: 1 added" in capsys.readouterr().out
    assert run(["index", "artifacts"]) == 0 and run(["search", "quokka"]) == 0
    assert "1 added, 0 changed, 0 moved, 0 removed, 17 unchanged" in capsys.readouterr().out


def test_what_is_found_is_dated_and_a_dry_run_dates_nothing(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_shop / "artifacts" / "new.md").write_text("# Quokka\n")
    dated: list[bool] = []
    for more in (["--dry-run"], []):
        assert run(["index", "artifacts", "--json", *more]) == 0
        dated.append(json.loads(capsys.readouterr().out)["dates"] is not None)
    assert dated == [False, True]


def test_rebuild_and_status_agree(
    own_shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        out_of_date, "time", SimpleNamespace(monotonic=always(0.0), thread_time=always(0.0))
    )  # it looks at all, however long
    os.unlink(own_shop / ".ctxrank" / "index.db")
    assert run(["rebuild"]) == 0
    assert run(["status"]) == 0
    said = capsys.readouterr()
    assert "index     up to date with what is stored" in said.out and "out of date" not in said.err
    (own_shop / "artifacts" / "shop-2026-10" / "checkout" / "api-error-codes.md").write_text("# Codes\n")
    assert run(["status"]) == 0
    said = capsys.readouterr()
    assert (
        "index     up to date with" in said.out and "checkout/api-error-codes.md (changed); 'ctxrank index'" in said.err
    )


def test_status_says_how_large_a_store_is_and_counts_a_file_once(
    own_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status"]) == 0
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert lines["files"] == "17 indexed" and "file" not in lines["holds"]
    assert run(["status", "--json"]) == 0
    size = json.loads(capsys.readouterr().out)["bytes"]
    assert size >= os.path.getsize(own_shop / ".ctxrank" / "ctxrank.db") and lines["size"] == f"{size / 2**20:.1f} MB"


def test_a_purge_of_a_secret_says_that_records_stay_without_it(
    own_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_shop / "word").write_text("exponential backoff\n")
    assert run(["purge", "--secret", "word", "--dry-run"]) == 0
    assert "would be redacted" in capsys.readouterr().out
    assert run(["purge", "--secret", "word"]) == 0
    printed = capsys.readouterr().out
    assert " redacted\n" in printed and "gone" not in printed


def test_a_closed_pipe_is_a_normal_end(shop: Path) -> None:
    process = start("search", "-n", "100", "the database token retry", folder=shop)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(60) == 0 and "Traceback" not in errors and "Broken" not in errors
    process.stderr.close()


def test_ctrl_c_is_130(shop: Path) -> None:
    """It comes once the query is being read: `ready` says when."""
    code = """
import sys, time
from ctxrank.cli.main import run
class Slow:
    def read(self, size):
        print("ready", flush=True)
        for _ in range(600):  # a signal that comes just before a sleep does not end it
            time.sleep(0.1)
Slow.buffer = Slow()
sys.stdin = Slow()
sys.exit(run(["search", "-"]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=obey_interrupts,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors


def test_no_answer_goes_to_stderr_when_quiet(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["-q", "search", "databse"])
    assert capsys.readouterr().err == ""


def test_output_has_no_colour_where_there_is_no_terminal(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["search", "token"])
    assert "\x1b" not in capsys.readouterr().out


def test_filters_alone_list_what_there_is(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "kind:strategy", "--json"]) == 0
    hits = cast("list[dict[str, object]]", answer(capsys)["hits"])
    assert isinstance(hits, list) and {hit["kind"] for hit in hits} == {"strategy"}
    assert run(["search", "kind:strategy", "group:none-such"]) == 1


@each_row(
    "option, value",
    [("--limit", "x"), ("--budget", "x"), ("--reach", "moon"), ("--detail", "all"), ("--as-of", "yesterday")],
)
def test_assemble_gives_a_whole_block_whatever_an_option_says(
    shop: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    assert run([*ASSEMBLE, "--no-mark", option, value]) == 0
    printed = capsys.readouterr()
    assert "### Relevant Packages (3/" in printed.out and value in printed.err


def test_assemble_gives_a_whole_block_where_the_configuration_is_broken(
    own_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_shop / ".ctxrank" / "config.yaml").write_text("retrieval_limits: 7\n")
    assert run([*ASSEMBLE, "--no-mark"]) == 0
    printed = capsys.readouterr()
    assert "### Relevant Packages (3/" in printed.out and "The defaults are used" in printed.err


def test_a_block_says_which_files_have_changed_and_which_are_gone(
    own_shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    auth = own_shop / "artifacts" / SESSION / "auth"
    (auth / "refresh-decision.md").write_text("# Something else\n")
    (auth / "cookie-research.md").unlink()
    run([*ASSEMBLE, "--no-mark", "--limit", "9"])
    printed = capsys.readouterr().out
    assert "the file has changed since" in printed and "the file is gone" in printed


def test_names_from_the_disk_cannot_drive_the_terminal(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_shop / "artifacts" / "a\x1b[31m\nadded forged.md").write_text("# Red\n")
    assert run(["index", "artifacts"]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and "\nadded forged" not in printed.out


def test_indexing_a_path_that_is_not_there_is_wrong_use(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "nowhere.md"]) == 2
    assert "there is no 'nowhere.md'" in capsys.readouterr().err


def test_a_store_whose_primary_is_gone_is_not_called_absent(own_shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_shop / ".ctxrank" / "ctxrank.db").unlink()
    assert run(["status"]) == 3
    assert "ctxrank.db is gone" in capsys.readouterr().err


def test_the_first_spawn_of_a_new_session_gets_the_empty_block(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assemble", "--session", "not-yet", "--agent", "tech_lead"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("## Context for tech_lead\n\n### Relevant Packages (0/0)\n\nNo context packages")
    assert "There is no session 'not-yet'" in printed.err
    assert run(["assemble", "--session", "not-yet", "--agent", "tech_lead", "--strict"]) == 1


def test_the_first_spawn_of_a_new_session_gets_what_earlier_ones_found(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the shell loop of docs/agents.md asks, before anything is saved in its session."""
    given = ["assemble", "--session", "not-yet", "--agent", "developer", "--task", "the database is locked"]
    assert run([*given, "--no-files"]) == 0
    assert "package:" not in capsys.readouterr().out
    assert run([*given, "--reach", "project"]) == 0
    printed = capsys.readouterr()
    assert "from session shop-2026-10" in printed.out and "The block is made without it." in printed.err


def test_show_tells_what_a_record_has_beside_its_text(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reasoning = ("reasoning", "save", "Thought.", "--session", "shop-2026-10", "--agent", "developer")
    run([*reasoning, "--phase", "risks", "--confidence", "low", "--iteration", "2", "--reference", "a.py", "--json"])
    number = answer(capsys)["id"]
    assert run(["show", f"reasoning:{number}", "--json"]) == 0
    document = answer(capsys)["document"]
    assert isinstance(document, dict)
    assert document["details"] == {"iteration": "2", "confidence": "low", "refers to": '["a.py"]'}
    run(["show", "strategy:1"])
    assert "helpfulness: 1" in capsys.readouterr().out
