"""Forgetting: of what is purged no file of the store keeps a byte, no index a token, and it does not come back."""

import io
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from builders import found, make_store, open_again, save, search_ids, start_child, word, write_file
from click.testing import CliRunner
from files_left import bytes_left, reading, vocabulary
from linked_builders import write_artifact
from predecessor import SESSION, PredecessorDb
from tables import each_row

from ctxrank.cli.click_commands import whole_cli
from ctxrank.cli.main import COMMANDS, run
from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.extensions.links.annotations import sync_annotations
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import require_tree
from ctxrank.indexer.care.status import read_status
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.failed_commands import FailedCommand, TreeState, remember
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, record_failure
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.exceptions import CtxrankError, LockedError, NotFoundError, UsageError
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.fulltext import catch_up, fts5_engine
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.privacy import erase, purge, secrets
from ctxrank.indexer.privacy.purge import PurgeReport, forget_document, forget_path, forget_session
from ctxrank.indexer.privacy.secrets import forget_secrets, read_secrets
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import NewSession, create_session, find_session
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.blocklist import allow
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import parse_ref
from ctxrank.indexer.store.store import Store

# A word that no stemmer shortens and no file of a store holds by itself.
WORD = "quxzwombat"
SECRET = "Zq7x" * 3 + "Kv"
PLAIN = RedactionMode.PATTERN_ONLY


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def _failure(word: str) -> Sighting:
    unit = error_units(f"ValueError: bad {word}\n")[0]
    return Sighting(sign(unit), unit.text, now_us())


def fill(store: Store, word: str = WORD, session: str = "S") -> None:
    """One of everything that belongs to a session, each with the word."""
    save(store, f"{word}.md", f"# {word}\n\nIt says {word}.\n", summary=f"A {word}.", session=session)
    save_reasoning(store, NewReasoning(session, "G", "developer", "approach", f"Use {word}."))
    save_skill_output(store, session, "lint-check", json.dumps({"found": word}))
    record_failure(store, FailurePlace(session, "G"), _failure(word), None)
    with store.write() as change:
        id_ = find_session(store.primary, session).id
        record_event(change, id_, None, "note", json.dumps({"text": word}))
        change.connection.execute("UPDATE sessions SET requirements = ? WHERE id = ?", (word, id_))
        change.connection.execute(
            "INSERT INTO receipts (kind, session_id, seq, inputs, entries, parts, digest, tokens, created_at)"
            " VALUES ('assemble', ?, 1, ?, '', '', '', 0, 1)",
            (id_, f"task\t{word}"),
        )
    store.catch_up()


def others(store: Store) -> None:
    """What has nothing to do with it, and stays."""
    save(store, "other.md", "# Heron\n\nA heron stands.\n", session="T")
    save_reasoning(store, NewReasoning("T", "G", "developer", "approach", "Watch the heron."))
    write_file(store, "docs/ibis.md", "# Ibis\n\nAn ibis.\n")
    index_artifacts(store)


def is_forgotten(store: Store, forgot: PurgeReport, word: str = WORD) -> bool:
    assert forgot.is_erased
    assert bytes_left(store, word) == []
    assert word.lower() not in vocabulary(store)
    return search_ids(store, word) == []


def test_a_session_is_forgotten_with_all_that_belongs_to_it(store: Store) -> None:
    others(store)
    before = vocabulary(store)
    fill(store)
    assert bytes_left(store, WORD) != [] and WORD in vocabulary(store)
    forgot = forget_session(store, "S")
    assert vocabulary(store) == before
    kinds = ("package", "reasoning", "failure", "skill", "event", "artifact", "session")
    assert forgot.removed == dict.fromkeys(kinds, 1)
    assert is_forgotten(store, forgot)
    assert len(search_ids(store, "heron")) == 2 and search_ids(store, "ibis") != []


@pytest.mark.parametrize("path", [f"{WORD}.md", "deep"])
def test_a_path_is_forgotten_whoever_holds_it(store: Store, path: str) -> None:
    others(store)
    for session in ("S", "T"):
        save(store, f"deep/{WORD}.md" if path == "deep" else path, f"It says {WORD}.\n", session=session)
    write_file(store, f"{path}/more.md" if path == "deep" else "more.md", "Not the same.\n")
    index_artifacts(store)
    forgot = forget_path(store, os.path.join(store.location.root, path))
    assert forgot.removed == {"package": 2, "artifact": 2 if path == "deep" else 1}
    assert is_forgotten(store, forgot)
    assert len(search_ids(store, "heron")) == 2


def test_a_folder_is_forgotten_and_not_one_whose_name_begins_alike(store: Store) -> None:
    for path in ("docs/a.md", "docs/deep/b.md", "docs-old/c.md", "docs.md"):
        save(store, path, f"walrus {path}\n")
    assert forget_path(store, "docs").removed == {"package": 2, "artifact": 2}
    assert sorted(hit.path for hit in found(store, "walrus").hits) == ["docs-old/c.md", "docs.md"]


def test_a_text_that_was_purged_is_the_same_with_other_spaces(store: Store) -> None:
    new = NewReasoning("S", None, "developer", "approach", f"Use {WORD} first.")
    save_reasoning(store, new, create_session=True)
    forget_document(store, parse_ref("reasoning:1"))
    with pytest.raises(UsageError, match="purged"):
        save_reasoning(store, new._replace(content=f"Use  {WORD}\nfirst. "))
    save_reasoning(store, new._replace(content=f"Use {WORD} last."))


def test_all_versions_of_a_package_are_one_document(store: Store) -> None:
    others(store)
    old = save(store, "a.md", f"It says {WORD}.\n", summary=f"An old {WORD}.")
    new = save(store, "a.md", f"It says {WORD} again.\n", summary=f"A new {WORD}.")
    assert new.supersedes == old.id
    forgot = forget_document(store, parse_ref(str(new.id)))
    assert forgot.removed == {"package": 2, "artifact": 1} and is_forgotten(store, forgot)


def test_a_file_that_another_session_holds_stays_and_is_named(store: Store) -> None:
    save(store, "a.md", "A heron.\n", session="T")
    package = save(store, "a.md", None, summary=f"A {WORD}.", session="S")
    forgot = forget_document(store, parse_ref(f"package:{package.id}"))
    assert forgot.removed == {"package": 1} and is_forgotten(store, forgot)
    assert "a.md stays: package:1" in forgot.notes[0] and search_ids(store, "heron") == ["package:1"]


def _statements(store: Store, paths: int) -> int:
    """How many statements read the tables of files and anchors where a session with so many paths is purged."""
    session, read = f"of {paths}", list[str]()
    for number in range(paths):
        save(store, f"{session}/{number}.md", f"# {word(number)}\n", session=session)

    def note(_: apsw.Cursor, sql: str, __: object) -> bool:
        read.extend([sql] * ("artifacts AS f JOIN" in sql or ("FROM anchors" in sql and "path" in sql)))
        return True

    store.primary.exec_trace = note
    try:
        forget_session(store, session)
    finally:
        store.primary.exec_trace = None
    return len(read)


def test_a_session_of_many_paths_asks_each_table_of_paths_as_often_as_one_of_few(store: Store) -> None:
    """Each such question looks at all files or all anchors, while other writers wait."""
    assert _statements(store, 2) == _statements(store, 9)


def test_reasoning_takes_the_strategies_along_that_quote_it(store: Store) -> None:
    saved = save_reasoning(store, NewReasoning("S", "G", "developer", "approach", f"Use {WORD}."), create_session=True)
    save_strategy(store, NewStrategy("default", "general", f"Use {WORD}."))
    forgot = forget_document(store, parse_ref(f"reasoning:{saved.id}"))
    assert forgot.removed == {"reasoning": 1, "strategy": 1} and is_forgotten(store, forgot)


def test_an_error_takes_the_failures_along_that_were_it(store: Store) -> None:
    text = f"ValueError: bad {WORD}\n"
    saved = save_error(store, NewKnownError(text, f"Drop {WORD}."))
    unit = str(store.primary.execute("SELECT error_text FROM error_signatures").get)
    with store.write() as change:
        change.connection.execute(
            "INSERT INTO failed_commands (command_key, command, folder, error_text, git_state, failed_at)"
            " VALUES ('k', 'make', '.', ?, '{}', 1)",
            (unit,),
        )
    forgot = forget_document(store, parse_ref(f"error:{saved.id}"))
    assert forgot.removed == {"error": 1} and is_forgotten(store, forgot)


def test_a_failure_that_was_one_line_of_a_purged_report_is_not_written_again(store: Store) -> None:
    saved = save_error(store, NewKnownError(f"Compiling a\nValueError: bad {WORD}\nDone\n", "Drop it."))
    with store.write() as change:
        create_session(change, NewSession("S"))
    forgot = forget_document(store, parse_ref(f"error:{saved.id}"))
    assert is_forgotten(store, forgot)
    assert record_failure(store, FailurePlace("S"), _failure(WORD), None) is None


def test_a_failure_that_was_purged_with_its_error_is_counted_and_not_written_again(store: Store) -> None:
    text = f"ValueError: bad {WORD}\n"
    saved = save_error(store, NewKnownError(text, "Drop it."))
    with store.write() as change:
        create_session(change, NewSession("S"))
    record_failure(store, FailurePlace("S"), _failure(WORD), saved.id)
    forgot = forget_document(store, parse_ref(f"error:{saved.id}"))
    assert is_forgotten(store, forgot)
    again = save_error(store, NewKnownError("ValueError: bad zebra\n", "Another."))
    assert record_failure(store, FailurePlace("S"), _failure(WORD), again.id) is None
    with store.write() as change:
        remember(change, FailedCommand("k", "make", ".", _failure(WORD).unit, TreeState(), now_us()))
    assert bytes_left(store, WORD) == []
    assert store.primary.execute("SELECT occurrences FROM error_patterns").get == 2
    told = [line for line in export_lines(store) if line.startswith('{"record": "forget"')]
    assert (len(forgot.kept_out), len(told)) == (2, 1)  # of the failure no store is told: others may have met it
    with store.write() as change:
        allow(change.connection, forgot.kept_out)
    assert record_failure(store, FailurePlace("S"), _failure(WORD), None) is not None


def test_a_linked_artifact_is_forgotten_with_the_annotations_of_its_path(store: Store) -> None:
    root = Path(store.location.root)
    path = write_artifact(root, "SPEC-A-001", body=f"It says {WORD}.\n")
    write_file(store, f"src/{WORD}.py", "# @spec SPEC-A-001\n")
    tree = require_tree(store.location)
    sync_tree(store, tree)
    sync_annotations(store, tree)
    assert bytes_left(store, WORD) != []
    forget_path(store, str(root / "src"))
    forgot = forget_path(store, str(path))
    assert forgot.removed == {"linked": 1} and is_forgotten(store, forgot)
    sync_tree(store, tree)
    sync_annotations(store, tree)
    assert bytes_left(store, WORD) == []


@pytest.mark.needs("links")
def test_a_receipt_goes_that_names_what_goes_and_not_one_that_names_what_begins_so(store: Store) -> None:
    root = Path(store.location.root)
    task, _ = (write_artifact(root, id_) for id_ in ("TASK-1", "TASK-12"))
    sync_tree(store, require_tree(store.location))
    entries = ("+\tTASK-1\tline\t3\t", "+\tTASK-12\tline\t3\tin scope", "-\tSPEC-2\t\t0\tnot of TASK-1")
    query = """
        INSERT INTO receipts (kind, seq, inputs, entries, parts, digest, tokens, created_at)
        VALUES ('context', 1, ?, ?, '', '', 0, 1)
    """
    for inputs, entry in (*(("", entry) for entry in entries), ("task\tTASK-1", ""), ("task\tTASK-12", "")):
        store.primary.execute(query, (inputs, entry))
    forget_path(store, str(task))
    assert read_column(store.primary, "SELECT id FROM receipts ORDER BY id", (), int) == [2, 5]


@each_row("word", ["reasoning", "artifact", "completed", "investigation"])
def test_a_secret_that_is_a_word_of_ours_leaves_that_word_where_it_stands(store: Store, word: str) -> None:
    fill(store, session=word[::-1])
    query = """
        SELECT kind FROM documents UNION SELECT kind FROM record_log WHERE kind <> 'forget'
         UNION SELECT status FROM sessions
    """
    before = store.primary.execute(query).fetchall()
    forget_secrets(store, [word], PLAIN)
    assert store.primary.execute(query).fetchall() == before


def test_what_is_forgotten_is_not_indexed_again_until_it_is_allowed(store: Store) -> None:
    save(store, f"{WORD}.md", f"It says {WORD}.\n")
    (number,) = forget_path(store, f"{WORD}.md").kept_out
    report = index_artifacts(store)
    assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [(f"{WORD}.md", "purged")]
    assert bytes_left(store, WORD) == []
    with pytest.raises(UsageError, match="purged"):
        save(store, f"{WORD}.md", None)
    assert run(["purge", "--allow", str(number), "--db", store.location.primary]) == 0
    index_artifacts(store)
    assert search_ids(store, WORD) != []


def test_an_import_does_not_bring_back_what_is_forgotten(store: Store, tmp_path: Path) -> None:
    others(store)
    fill(store)
    exported = tmp_path / "all.jsonl"
    db = ["--db", store.location.primary]
    assert run(["export", "--output", str(exported), *db]) == 0
    forget_session(store, "S")
    assert run(["import", "jsonl", str(exported), *db]) == 0
    assert bytes_left(store, WORD) == [] and search_ids(store, WORD) == []


@pytest.mark.parametrize("mode", ["pattern_only", "off"])
def test_a_secret_goes_from_texts_names_and_paths_and_stays_away(
    store: Store, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_REDACTION_MODE", mode)
    others(store)
    fill(store, SECRET, session=f"run-{SECRET}")
    save_error(store, NewKnownError(f"ValueError: bad {SECRET}\n", f"Drop {SECRET}."))
    save_strategy(store, NewStrategy("default", "general", f"Never log {SECRET}."))
    write_artifact(Path(store.location.root), "SPEC-A-001", body=f"It says {SECRET}.\n")
    sync_tree(store, require_tree(store.location))
    forgot = forget_secrets(store, [SECRET], load_config(store).redaction_mode)
    assert is_forgotten(store, forgot, SECRET)
    assert forgot.removed["package"] == 1 and forgot.removed["sessions"] == 1 and forgot.removed["path"] > 0
    assert "exports and backups that hold it are yours to clean" in "".join(forgot.notes)
    assert len(search_ids(store, "heron")) == 2
    save(store, "again.md", f"It says {SECRET} once more.\n", session="T")
    index_artifacts(store)
    assert search_ids(store, "once more") != []


def test_a_forgotten_secret_is_taken_out_of_whatever_is_stored_next(store: Store) -> None:
    save(store, "a.md")
    forget_secrets(store, [SECRET], PLAIN)
    write_file(store, "b.md", f"# It\n\npassword={SECRET} and x{SECRET}y.\n")
    write_file(store, f"{SECRET}.md", "A path.\n")
    index_artifacts(store)
    save_reasoning(store, NewReasoning("S", "G", "developer", "approach", f"Use {SECRET}."))
    assert bytes_left(store, SECRET) == [] and search_ids(store, "forgotten") != []


def test_what_is_no_secret_is_said_without_showing_it() -> None:
    with pytest.raises(UsageError, match="fewer than") as raised:
        read_secrets("abc1\n")
    assert "abc1" not in raised.value.message + raised.value.hint
    assert read_secrets(f"-----BEGIN KEY-----\n{SECRET}\n\n") == [SECRET]
    with pytest.raises(UsageError, match="no secret"):
        read_secrets("\n")


def test_while_a_reader_reads_it_is_not_yet_forgotten_and_the_next_purge_ends_it(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "100")
    others(store)
    fill(store)
    db = ["--db", store.location.primary]
    with reading(store):
        assert run(["purge", "--session", "S", *db]) == LockedError.exit_code
        assert "not yet purged" in capsys.readouterr().out
        assert "purge" in " ".join(read_status(store).notes)
        assert run(["purge", *db]) == LockedError.exit_code
    assert run(["purge", *db]) == 0
    assert bytes_left(store, WORD) == [] and WORD not in vocabulary(store)
    assert read_status(store).notes == ()
    assert run(["purge", *db]) == UsageError.exit_code


def test_a_crash_after_the_deletion_is_ended_by_the_next_purge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    others(store)
    fill(store)

    def crash(_: Store) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(purge, "erase", crash)
        with pytest.raises(KeyboardInterrupt):
            forget_session(store, "S")
    assert erase.is_erasing_due(store.primary)
    assert purge.finish_forgetting(store)
    assert bytes_left(store, WORD) == [] and WORD not in vocabulary(store)


def test_an_index_that_cannot_be_read_for_a_moment_is_not_called_erased(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    others(store)
    fill(store)

    def fail(_: object) -> None:
        raise apsw.IOError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(catch_up, "clear", fail)
        with pytest.raises(CtxrankError):
            forget_session(store, "S")
    assert erase.is_erasing_due(store.primary)
    assert purge.finish_forgetting(store)
    assert bytes_left(store, WORD) == [] and WORD not in vocabulary(store)


def test_an_index_that_was_not_made_anew_is_removed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)

    def nothing(_: object) -> int:
        return 0

    monkeypatch.setattr(catch_up, "rebuild", nothing)
    assert forget_session(store, "S").is_erased
    assert bytes_left(store, WORD) == []


def test_an_index_of_which_it_is_not_known_what_it_was_is_removed_and_another_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for before, is_kept in (("as it is", True), (None, False)):
        fill(store)
        asked: list[Store] = []

        def index_of(of: Store, is_unknown: bool = before is None, asked: list[Store] = asked) -> Any:
            asked.append(of)
            return SimpleNamespace(generation=None) if is_unknown and len(asked) == 1 else fts5_engine.index_of(of)

        with monkeypatch.context() as patched:
            patched.setattr(erase, "index_of", index_of)
            assert erase.erase(store) and os.path.exists(store.location.index_file) == is_kept


_WRITER = """
import sys
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.opening import open_store
with open_store(sys.argv[1], busy_ms=20000) as store:
    for number in range(40):
        new = NewPackage("W", "G", "research", f"w{number}.md", "investigator", f"heron {number}", "medium", None, ())
        save_package(store, new, create_session=True)
        if number == 3:
            print("writing", flush=True)
"""


def test_another_process_may_write_meanwhile(store: Store) -> None:
    others(store)
    fill(store)
    with start_child(_WRITER, store.location.primary) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
        with open_store(store.location.primary, busy_ms=20_000) as patient:
            forgot = forget_session(patient, "S")
            writer.communicate(timeout=60)
            assert writer.returncode == 0
            assert forgot.is_erased or purge.finish_forgetting(patient)
    store.catch_up()
    assert bytes_left(store, WORD) == [] and WORD not in vocabulary(store)
    assert store.primary.execute("SELECT count(*) FROM packages WHERE summary LIKE 'heron %'").get == 40


@each_row("what", ("session", "path", "package"))
def test_what_another_process_saves_while_a_purge_begins_goes_with_it(tmp_path: Path, what: str) -> None:
    with make_store(tmp_path / what) as store, open_again(store) as other:
        save(store, "docs/plan.md", "# Plan\n\nheron\n", summary="A heron.")
        write = store.write

        def write_later() -> Any:
            store.write = write  # type: ignore[method-assign]
            save(other, "docs/plan.md", f"# Plan\n\n{WORD}\n", summary=f"A {WORD}.")
            return write()

        store.write = write_later  # type: ignore[method-assign]
        if what == "session":
            forget_session(store, "S")
        elif what == "path":
            forget_path(store, "docs")
        else:
            forget_document(store, parse_ref("package:1"))
        assert bytes_left(store, WORD) == []
        assert read_column(store.primary, "SELECT count(*) FROM documents", (), int) == [0]


def test_a_finding_that_was_prepared_before_a_secret_was_purged_is_not_stored_with_it(store: Store) -> None:
    write = store.write

    def write_later() -> Any:
        store.write = write  # type: ignore[method-assign]
        with open_again(store) as other:
            assert forget_secrets(other, [SECRET], load_config(other).redaction_mode).is_erased
        return write()

    said = NewReasoning("S", "G", "developer", "approach", f"The word is {SECRET}.")
    with pytest.raises(LockedError, match="purged while this was prepared"):
        store.write = write_later  # type: ignore[method-assign]
        save_reasoning(store, said, create_session=True)
    assert bytes_left(store, SECRET) == []
    save_reasoning(store, said, create_session=True)
    assert bytes_left(store, SECRET) == [] and len(search_ids(store, "word")) == 1


def test_a_dry_run_counts_the_same_and_changes_nothing(store: Store) -> None:
    fill(store)
    before = list(store.primary.execute("SELECT * FROM documents"))
    dry = forget_session(store, "S", is_dry_run=True)
    counted = forget_secrets(store, [WORD], PLAIN, is_dry_run=True)
    assert (counted.is_erased, counted.is_dry_run, dry.is_erased, dry.is_dry_run) == (False, True, False, True)
    assert not dry.is_erased and list(store.primary.execute("SELECT * FROM documents")) == before
    assert counted.removed["package"] == counted.removed["reasoning"] == 1
    assert store.primary.execute("SELECT count(*) FROM blocklist").get == 0
    assert forget_session(store, "S").removed == dry.removed


def test_what_is_not_there_is_said_and_nothing_is_kept_out(store: Store) -> None:
    with pytest.raises(NotFoundError):
        forget_path(store, "no/such.md")
    with pytest.raises(NotFoundError):
        forget_session(store, "none")
    with pytest.raises(NotFoundError):
        forget_document(store, parse_ref("package:9"))
    assert store.primary.execute("SELECT count(*) FROM blocklist").get == 0


def test_the_command_answers_in_json_and_reads_a_secret_from_stdin_alone(store: Store) -> None:
    fill(store, SECRET)
    db = ["--db", store.location.primary, "--json"]
    done = CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--secret", "-", *db], input=f"{SECRET}\n")
    answer = json.loads(done.stdout)
    assert answer["forgotten"] and not answer["dry_run"] and answer["removed"]["package"] == 1
    assert SECRET not in done.stdout and bytes_left(store, SECRET) == []
    listed = json.loads(CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--list", *db]).stdout)["kept_out"]
    assert [row["kind"] for row in listed] == ["secret", "path"]
    with open_again(store) as again:
        assert again.primary.execute("SELECT count(*) FROM sessions").get == 1


def rare(number: int) -> str:
    return f"{WORD}{word(number)}z"


@pytest.mark.slow
def test_no_page_that_was_split_keeps_a_copy(store: Store) -> None:
    """Rows that grew between others were moved from page to page; what a deletion overwrites is the last place."""
    for number in range(60):
        save(store, f"f{number}.md", f"It says {rare(number)}. {'heron ' * 40}\n", summary=f"A {rare(number)}.")
    gone = [number for number in range(60) if number % 7 == 3]
    for number in gone:
        assert forget_path(store, f"f{number}.md").is_erased
    assert bytes_left(store, *(rare(number) for number in gone)) == []
    assert not {rare(number) for number in gone} & vocabulary(store)
    assert search_ids(store, rare(4)) != []


def test_forgetting_a_secret_changes_nothing_else(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what redaction that is off let through, not what the user allows, not what status says of the rules."""
    key = "ghp" + "_" + "a1B2" * 9
    monkeypatch.setenv("CTXRANK_REDACTION_MODE", "off")
    write_file(store, "a.md", f"It says {SECRET} and {key}.\n")
    index_artifacts(store)
    before = read_status(store)
    assert forget_secrets(store, [SECRET], load_config(store).redaction_mode).is_erased
    assert read_status(store)._replace(counters=before.counters) == before
    (body,) = store.primary.execute("SELECT body FROM documents WHERE kind = 'passage'").fetchone() or ("",)
    assert str(body).strip() == f"It says [FORGOTTEN] and {key}."


def test_a_secret_that_redaction_allows_goes_all_the_same(store: Store) -> None:
    rules = {"allow": [SECRET]}
    (Path(store.location.folder) / "config.yaml").write_text(f"redaction: {json.dumps(rules)}\n")
    save(store, "a.md", f"It says {SECRET}.\n")
    assert is_forgotten(store, forget_secrets(store, [SECRET], load_config(store).redaction_mode), SECRET)


@pytest.mark.slow
def test_copies_in_the_unused_parts_of_pages_are_erased(store: Store) -> None:
    """SQLite overwrites what it deletes, but not what it moved before: some of these would stay."""
    rng = random.Random(1)
    save(store, "a.md")
    with store.write() as change:
        put = "INSERT OR REPLACE INTO events (id, session_id, subtype, payload, idempotency_key, created_at)"
        for _ in range(3000):
            number = rng.randrange(30_000)
            row = (number, f"{rare(number)}{'x' * rng.randrange(10, 900)}", f"{rng.random()}{rare(number)}")
            change.connection.execute(f"{put} VALUES (?, 1, 'note', ?, ?, 1)", row)
    with store.write() as change:
        for number in rng.sample(range(30_000), 9000):
            grown = ("y" * rng.randrange(1, 700), f"{rng.random()}{rare(number)}", number)
            change.connection.execute(
                "UPDATE events SET payload = payload || ?, idempotency_key = ? WHERE id = ?", grown
            )
    gone = [int(id_) for (id_,) in store.primary.execute("SELECT id FROM events WHERE id % 10 = 3")]
    with store.write() as change:
        change.connection.execute("DELETE FROM events WHERE id % 10 = 3")
    store.primary.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert bytes_left(store, *map(rare, gone)) != []
    assert erase.erase(store)
    assert bytes_left(store, *map(rare, gone)) == []


def test_an_import_of_the_predecessors_does_not_bring_back_a_path_or_a_session(store: Store, tmp_path: Path) -> None:
    db = PredecessorDb(tmp_path / "old.db")
    db.add_session()
    db.add_package(1, file_path=f"{WORD}.md", summary=f"A {WORD}.")
    db.add_package(2, file_path="heron.md", summary="A heron.")
    write_file(store, f"{WORD}.md", f"It says {WORD}.\n")
    save(store, f"{WORD}.md", None, session="T")
    assert forget_path(store, f"{WORD}.md").is_erased
    report = import_bazinga(store, db.path)
    assert [row.kind for row in report.skipped if "purged" in row.reason] == ["package"]
    assert bytes_left(store, WORD) == [] and search_ids(store, "heron") != []
    assert forget_session(store, SESSION).is_erased
    assert import_bazinga(store, db.path).is_noop
    assert search_ids(store, "heron") == []


def test_an_interrupted_search_for_a_secret_is_ended_by_giving_it_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, SECRET)
    interrupt_a_search(store, monkeypatch)
    save(store, "a.md", session="T")
    assert forget_session(store, "T").is_erased
    db = ["--db", store.location.primary]
    assert run(["purge", *db]) == UsageError.exit_code and read_status(store).notes != ()
    assert is_forgotten(store, forget_secrets(store, [SECRET], PLAIN), SECRET)
    assert read_status(store).notes == ()


def interrupt_a_search(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for the secret is gone before a text was seen."""

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(secrets, "redact_again", crash)
        forget_secrets(store, [SECRET], PLAIN)


def test_another_secret_does_not_end_an_interrupted_search(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, SECRET)
    interrupt_a_search(store, monkeypatch)
    assert forget_secrets(store, ["other-secret"], PLAIN).is_erased
    assert erase.are_secrets_left(store.primary) and read_status(store).notes != ()
    assert is_forgotten(store, forget_secrets(store, [SECRET], PLAIN), SECRET)
    assert not erase.is_erasing_due(store.primary)


def test_a_secret_that_is_allowed_is_not_looked_for_any_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, SECRET)
    interrupt_a_search(store, monkeypatch)
    db = ["--db", store.location.primary]
    assert run(["purge", "--allow", "1", *db]) == 0
    assert run(["purge", *db]) == 0 and not erase.is_erasing_due(store.primary)


def test_a_copy_that_a_repair_left_is_no_forgetting_until_it_is_deleted(store: Store) -> None:
    fill(store)
    copy = Path(store.location.folder) / "backups" / "one" / "ctxrank.db"
    copy.parent.mkdir(parents=True)
    copy.write_text(f"It says {WORD}.")
    db = ["--db", store.location.primary]
    assert run(["purge", "--session", "S", *db]) == LockedError.exit_code
    assert bytes_left(store, WORD) == [f"ctxrank.db {WORD}"]  # the copy: the store would be a second one
    assert run(["purge", "--backups", *db]) == 0
    assert bytes_left(store, WORD) == [] and not copy.parent.parent.exists()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--path", "--session", "id", "--secret"])
def test_what_was_derived_from_a_text_goes_with_it(
    store: Store, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasons in receipts (`matches …`), and the tasks of blocks that it was in."""
    others(store)
    kept = save(store, "kept.md", "A heron.\n", session="T")
    gone = save(store, "gone.md", f"It says {WORD}.\n")
    write_file(store, "alone.md", f"# Alone\n\n{WORD} {WORD}\n")
    index_artifacts(store)
    db = ["--db", store.location.primary, "--json"]
    asked = [
        ["assemble", "--session", "S", "--agent", "developer", "--task", f"fix the {WORD} now"],
        ["assemble", "--session", "S", "--agent", "qa_expert", "--task", f"{WORD} heron", "--reach", "project"],
        ["assemble", "--session", "T", "--agent", "developer", "--task", "the heron"],
        ["search", WORD],
    ]
    receipts: list[int] = []
    for call in asked:
        assert run([*call, *db]) == 0
        answer = json.loads(capsys.readouterr().out)
        receipts.append(answer.get("receipt", 0))
    assert bytes_left(store, WORD) != []
    if option == "--secret":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WORD.encode())))
        assert run(["purge", "--secret", "-", *db]) == 0
    else:
        purged = {"--path": ["--path", "gone.md"], "--session": ["--session", "S"], "id": [f"package:{gone.id}"]}[
            option
        ]
        assert run(["purge", *purged, *db]) == 0
        assert run(["purge", "--path", "alone.md", *db]) == 0
    capsys.readouterr()
    assert bytes_left(store, WORD) == []
    assert run(["receipt", "show", str(receipts[2]), *db]) == 0  # of a block that had nothing to do with it
    assert f"package:{kept.id}" in capsys.readouterr().out


def test_beside_a_store_that_the_user_named_only_what_a_repair_left_is_deleted(tmp_path: Path) -> None:
    db = str(tmp_path / "notes.db")
    assert run(["--db", db, "init"]) == 0
    copy, own = tmp_path / "backups" / "20260101T000000Z-2", tmp_path / "backups" / "photos"
    for folder in (copy, own):
        folder.mkdir(parents=True)
        (folder / "a.db").write_text("x")
        (folder / "a.db").chmod(0o755)
    assert run(["--db", db, "doctor", "--repair", "apply"]) == 0
    assert (own / "a.db").stat().st_mode & 0o777 == 0o755
    assert (copy / "a.db").stat().st_mode & 0o777 == 0o600
    assert run(["--db", db, "purge", "--backups"]) == 0
    assert not copy.exists() and (own / "a.db").exists()
    assert run(["--db", db, "purge", "--backups"]) == 0 and (own / "a.db").exists()


def test_backups_behind_a_link_are_said_and_not_followed(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(store)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    os.symlink(elsewhere, Path(store.location.folder) / "backups")
    assert run(["purge", "--backups", "--db", store.location.primary]) == 6
    said = capsys.readouterr().err
    assert f"is a link to {elsewhere}" in said and "delete the link" in said and "None" not in said
    assert (elsewhere / "mine.txt").read_text() == "mine"
