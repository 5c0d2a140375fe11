"""`purge`, `export` and `import jsonl`: what is refused before anything is done, what is said of it, the exit codes."""

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from builders import Answer, always, answer_of, make_store, save
from tables import each_row

from ctxrank.cli.actions.upkeep import exchange, purge
from ctxrank.cli.main import run
from ctxrank.indexer import systems
from ctxrank.indexer.exceptions import LockedError
from ctxrank.indexer.exchange.run import ImportReport, KindCount, SkippedRow
from ctxrank.indexer.privacy import purge as forgetting
from ctxrank.indexer.privacy.purge import PurgeReport
from ctxrank.indexer.privacy.redact_again import RedactedAgain
from ctxrank.indexer.store.config import Config

_Ask = Callable[..., Answer]


@pytest.fixture
def ask(tmp_path: Path) -> _Ask:
    """A command on a store with three packages."""
    with make_store(tmp_path / "shop") as store:
        save(store, "notes/a.md", "walrus\n", summary="walrus")
        save(store, "notes/c.md", f"{'giraffe' * 2}\n", summary="a gate")
        save(store, "notes/b.md", "heron\n", summary="heron")
        db = store.location.primary
    return lambda *words: answer_of(lambda: run(["--db", db, *words]))


def test_one_thing_is_purged_at_a_time_and_something_is(ask: _Ask) -> None:
    for words in (
        ("--redact", "--list"),
        ("package:1", "--path", "notes"),
        ("--session", "S", "--redact"),
        ("--list", "--allow", "1"),
        ("--allow", "1", "--session", "S"),
    ):
        assert (ask("purge", *words).code, "One thing at a time." in ask("purge", *words).err) == (2, True), words
    nothing = ask("purge")
    assert nothing.code == 2 and "Say what to purge" in nothing.err and len(ask("package", "list").out) > 0


def test_a_dry_run_counts_and_a_purge_keeps_out_until_it_is_allowed(ask: _Ask) -> None:
    dry = ask("purge", "--path", "notes/a.md", "--dry-run")
    assert dry.code == 0 and "package    1 would go\n" in dry.out and "purged" not in dry.out
    assert ask("purge", "--list").out == "nothing is kept out\n"
    done = ask("purge", "--path", "notes/a.md")
    assert done.code == 0 and done.out.endswith("\npurged\n") and "package    1 gone\n" in done.out
    assert "kept out   " in done.out and ask("search", "walrus").code == 1 and ask("search", "heron").code == 0
    (entry,) = ask("purge", "--list").out.splitlines()
    assert entry.split()[1] == "path" and entry.split()[0] in done.out
    assert ask("purge", "--allow", entry.split()[0]).out == "nothing is kept out\n"


def test_a_secret_is_read_from_a_file_and_taken_out(ask: _Ask, tmp_path: Path) -> None:
    assert ask("purge", "--secret", str(tmp_path / "none")).code == 2
    for secret, out in (("herons" * 2, "nothing would go\n"), ("giraffe" * 2, "passage    1 would be redacted\n")):
        (tmp_path / "secret").write_text(f"{secret}\n")
        assert out in ask("purge", "--secret", str(tmp_path / "secret"), "--dry-run").out
    done = ask("purge", "--secret", str(tmp_path / "secret"))
    assert done.code == 0 and " redacted\n" in done.out and ask("search", "giraffe" * 2).code == 1


def test_copies_of_the_store_are_deleted_on_request_alone(ask: _Ask, tmp_path: Path) -> None:
    copies = tmp_path / "shop" / ".ctxrank" / "backups"
    for words, is_left in (
        (("--backups", "--dry-run"), True),
        (("package:1",), True),
        (("package:2", "--backups"), False),
        (("--backups",), False),
    ):
        copies.mkdir(exist_ok=True)
        (copies / "before").mkdir(exist_ok=True)
        (copies / "before" / "ctxrank.db").write_text("x")
        answer = ask("purge", *words)
        assert (copies / "before" / "ctxrank.db").exists() is is_left, words
        assert answer.code == (7 if words == ("package:1",) else 0), words
        assert ("has copies of the store; 'ctxrank purge --backups'" in answer.err) == (answer.code == 7)


@pytest.mark.parametrize("is_erased, is_dry_run, code", [(True, False, 0), (False, False, 7), (False, True, 0)])
def test_what_another_process_still_reads_is_not_yet_purged(
    ask: _Ask, monkeypatch: pytest.MonkeyPatch, is_erased: bool, is_dry_run: bool, code: int
) -> None:
    report = PurgeReport({"package": 1}, (), ("a note",), is_erased, is_dry_run)
    monkeypatch.setattr(forgetting, "forget_session", always(report))
    dry = ["--dry-run"] if is_dry_run else []
    answer = ask("purge", "--session", "S", *dry)
    assert answer.code == code and "a note" in answer.err
    assert ("another process reads the store" in answer.err) == (code == 7)
    verb = "would go" if is_dry_run else "gone"
    rest = [] if is_dry_run else ["purged" if is_erased else "not yet purged"]
    assert answer.out.splitlines() == [f"package    1 {verb}", *rest]
    assert ask("--json", "purge", "--session", "S", *dry).json()["forgotten"] is is_erased


@pytest.mark.parametrize(
    "redacted, is_erased, words, code, lines",
    [
        (
            {"package": 2, "error": 1},
            True,
            [],
            0,
            ["package    2 redacted", "error      1 redacted", "total      3 redacted, 9 looked at", "purged"],
        ),
        (
            {"package": 2},
            False,
            [],
            7,
            ["package    2 redacted", "total      2 redacted, 9 looked at", "not yet purged"],
        ),
        ({}, True, [], 0, ["total      0 redacted, 9 looked at"]),
        (
            {"package": 2},
            False,
            ["--dry-run"],
            0,
            ["package    2 would be redacted", "total      2 would be redacted, 9 looked at"],
        ),
    ],
)
def test_a_redaction_is_counted(
    ask: _Ask,
    monkeypatch: pytest.MonkeyPatch,
    redacted: dict[str, int],
    is_erased: bool,
    words: list[str],
    code: int,
    lines: list[str],
) -> None:
    monkeypatch.setattr(purge, "redact_again", always(RedactedAgain(redacted, 9, is_erased, bool(words))))
    answer = ask("purge", "--redact", *words)
    assert (answer.code, answer.out.splitlines()) == (code, lines)
    assert ("not yet purged: " in answer.err) == (code == 7)


# Export


def test_an_export_is_whole_private_and_says_where_the_next_one_begins(ask: _Ask, tmp_path: Path) -> None:
    file = tmp_path / "shop.jsonl"
    answer = ask("export", "-o", str(file))
    lines = file.read_text().splitlines()
    seq = ask("--json", "export", "-o", str(file), "--force").json()["seq"]
    said = f"Exported {len(lines) - 2} records to {file}\nWhat comes later: --since {seq}\n"
    assert (answer.code, answer.out, answer.err) == (0, said, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and [one.name for one in tmp_path.iterdir() if one.is_file()] == [
        "shop.jsonl"
    ]
    assert len(ask("export").out.splitlines()) == len(ask("export", "-o", "-").out.splitlines()) == len(lines)
    assert (
        json.loads(lines[0])["format"] == json.loads(ask("export", "--since", str(seq)).out.splitlines()[0])["format"]
    )


def test_an_export_below_the_root_is_said_to_be_indexed(ask: _Ask, tmp_path: Path) -> None:
    assert "lies below the root" in ask("export", "-o", str(tmp_path / "shop" / "a.jsonl")).err
    assert "lies below the root" not in ask("export", "-o", str(tmp_path / "shop.jsonl")).err


def test_nothing_is_replaced_unasked_and_what_fails_leaves_nothing(
    ask: _Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out" / "shop.jsonl"
    assert "There is no folder" in ask("export", "-o", str(file)).err
    file.parent.mkdir()
    assert "is not a file" in ask("export", "-o", str(file.parent)).err
    assert "is not a file" in ask("export", "-o", str(file.parent), "--force").err
    file.write_text("mine")
    assert "already" in ask("export", "-o", str(file)).err and file.read_text() == "mine"

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(systems, "sync", fails)
    answer = ask("export", "-o", str(file), "--force")
    assert answer.code == 6 and f"{file} cannot be written: No space left on device." in answer.err
    assert [one.name for one in file.parent.iterdir()] == ["shop.jsonl"] and file.read_text() == "mine"


# Import


def _report(*, skipped: int = 0, **more: Any) -> ImportReport:
    rows = tuple(SkippedRow("package", str(number), "it is odd") for number in range(skipped))
    return ImportReport(13, {}, rows, 0, 0, 0, ())._replace(**more)


@each_row(
    "report, code, lines",
    [
        (_report(counts={"package": KindCount(0, 0, 1)}), 0, ["Nothing new: 1 record is here already"]),
        (
            _report(counts={"package": KindCount(0, 0, 1), "error": KindCount(0, 0, 1)}),
            0,
            ["Nothing new: 2 records are here already"],
        ),
        (_report(), 0, ["Nothing new"]),
        (
            _report(
                counts={"package": KindCount(1, 0, 2), "error": KindCount(0, 0, 0), "strategy": KindCount(0, 3, 0)}
            ),
            0,
            ["package        1 new, 0 updated, 2 unchanged", "strategy       0 new, 3 updated, 0 unchanged"],
        ),
        (
            _report(counts={"package": KindCount(0, 1, 0)}, files_indexed=1),
            0,
            ["package        0 new, 1 updated, 0 unchanged", "files          1 indexed, 0 missing"],
        ),
        (
            _report(counts={"package": KindCount(1, 0, 0)}, files_missing=2, waiting=1),
            7,
            ["package        1 new, 0 updated, 0 unchanged", "files          0 indexed, 2 missing"],
        ),
        (_report(is_complete=False, waiting=1), 5, ["Nothing new"]),
        (_report(is_complete=False), 5, ["Nothing new"]),
    ],
)
def test_an_import_is_counted_and_what_waits_or_is_cut_off_has_an_exit_code(
    ask: _Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: ImportReport, code: int, lines: list[str]
) -> None:
    (tmp_path / "a.jsonl").write_text("")
    monkeypatch.setattr(exchange, "import_lines", always(report))
    answer = ask("import", "jsonl", str(tmp_path / "a.jsonl"))
    assert (answer.code, answer.out.splitlines()) == (code, lines)


@each_row(
    "name, unconfirmed, code, left",
    [
        ("a", 0, 0, {"machines": ["pc"], "unconfirmed": 0}),
        ("b", 2, LockedError.exit_code, {"machines": ["pc"], "unconfirmed": 2}),
        ("c", -1, LockedError.exit_code, {"machines": ["pc"], "unconfirmed": None}),
    ],
)
def test_a_purge_is_done_where_every_machine_of_the_team_has_confirmed_it(
    ask: _Ask, monkeypatch: pytest.MonkeyPatch, name: str, unconfirmed: int, code: int, left: dict[str, object]
) -> None:
    log = SimpleNamespace(purge_notes=always((unconfirmed, ["pc"], ("said by the log.",))))
    monkeypatch.setattr(purge, "sharing", always(log))
    monkeypatch.setattr(purge, "load_config", always(Config()._replace(team_log=cast("Any", "a log"))))
    for dry in (True, False):
        answer = ask("purge", "--path", f"notes/{name}.md", "--json", *(["--dry-run"] * dry))
        said = answer.json()
        assert (answer.code, said["forgotten"]) == ((0, False) if dry else (code, code == 0))
        assert said.get("team") == (None if dry else left) and ("said by the log." in answer.err) is not dry


@each_row(
    "count, shown, more", [(0, 0, ""), (10, 10, ""), (11, 10, "and 1 more records skipped"), (13, 10, "and 3 more")]
)
def test_the_first_ten_rows_that_were_skipped_are_named(
    ask: _Ask, monkeypatch: pytest.MonkeyPatch, count: int, shown: int, more: str
) -> None:
    monkeypatch.setattr(exchange, "import_lines", always(_report(skipped=count, notes=("a note",))))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(), isatty=lambda: False))
    said = ask("import", "jsonl", "-").err
    assert said.count("it is odd") == shown and more in said and ("more records" in said) == bool(more)
    assert "a note" in said


def test_a_file_that_is_not_there_or_cannot_be_read_is_refused(ask: _Ask, tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        answer = ask("import", "jsonl", str(path))
        assert answer.code == 2 and f"{path} cannot be read: {why}. Give a file that" in answer.err
