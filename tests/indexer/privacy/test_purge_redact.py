"""Redacting again: what was stored before a rule was there is found nowhere afterwards, and nothing else changes."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save, search_ids, word, write_file
from click.testing import CliRunner
from files_left import bytes_left, reading, vocabulary

from ctxrank.cli.click_commands import whole_cli
from ctxrank.cli.main import COMMANDS, run
from ctxrank.indexer.care.status import read_status
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.exceptions import LockedError, UsageError
from ctxrank.indexer.exchange.exchange import import_jsonl
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.privacy import redact_again as redact_again_module
from ctxrank.indexer.privacy.erase import is_erasing_due
from ctxrank.indexer.privacy.purge import forget_document
from ctxrank.indexer.privacy.redact_again import RedactedAgain, redact_again
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.redaction.user_rules import parse_user_rules
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import parse_ref
from ctxrank.indexer.store.store import Store

SECRET = "zq7x" * 3
RULES = {"rules": [{"name": "mine", "pattern": "zq7x[a-z0-9]{8}"}]}
MODE = RedactionMode.PATTERN_ONLY.with_rules(parse_user_rules(RULES, "config.yaml"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def fill(store: Store) -> None:
    """One of every kind, with the secret in each of its texts."""
    save(store, "a.md", f"# Top\n\n## Part {SECRET}\n\nIt says {SECRET} here.\n", summary=f"A {SECRET} was there.")
    write_file(store, "docs/b.md", f"# Notes on {SECRET}\n\nAgain {SECRET}.\n")
    index_artifacts(store)
    reasoning = NewReasoning(
        "S", "G", "developer", "approach", f"Use {SECRET}.", references=json.dumps([f"see {SECRET}"])
    )
    save_reasoning(store, reasoning)
    save_error(store, NewKnownError(f"ValueError: bad {SECRET}\n", f"Drop {SECRET}."))
    save_strategy(store, NewStrategy("default", "general", f"Never log {SECRET}."))
    save_skill_output(store, "S", "lint-check", json.dumps({"found": SECRET, "n": 1}))
    with store.write() as change:
        record_event(change, find_session(store.primary, "S").id, None, "note", json.dumps({"text": SECRET}))
        change.connection.execute("UPDATE sessions SET requirements = ?", (SECRET,))
        change.connection.execute("UPDATE groups SET title = ?, metadata = ?", (SECRET, json.dumps({"a": [SECRET]})))
        change.connection.execute(
            """
            INSERT INTO error_sightings (session_id, normaliser_version, template, instance, error_text, seen_at)
            VALUES (1, 1, '', '', ?1, 1)
            """,
            (f"ValueError: bad {SECRET}",),
        )
        change.connection.execute(
            """
            INSERT INTO receipts (kind, session_id, seq, inputs, entries, parts, digest, tokens, created_at)
            VALUES ('assemble', 1, 1, ?1, '', '', '', 0, 1)
            """,
            (f"\ntask\tfix\\n{SECRET}\nbudget\t900\n",),
        )
    store.catch_up()


def everything(store: Store) -> dict[str, list[object]]:
    names = [str(name) for (name,) in store.primary.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: [*store.primary.execute(f"SELECT * FROM {name}")] for name in names}


def test_no_table_and_no_file_of_the_store_keeps_the_secret(store: Store) -> None:
    fill(store)
    report = redact_again(store, MODE)
    assert [name for name, rows in everything(store).items() if SECRET in str(rows)] == []
    assert report.is_erased
    assert bytes_left(store, SECRET) == [] and SECRET not in vocabulary(store)
    assert report.redacted == {
        "artifact": 1, "error": 1, "event": 1, "failure": 1, "group": 1, "package": 1, "passage": 2, "reasoning": 1,
        "receipt": 1, "session": 1, "skill": 1, "strategy": 1,
    }  # fmt: skip
    assert report.looked_at == sum(report.redacted.values())


def test_a_search_finds_the_text_and_not_the_secret(store: Store) -> None:
    fill(store)
    assert len(search_ids(store, SECRET)) == 6
    redact_again(store, MODE)
    assert search_ids(store, SECRET) == []
    assert search_ids(store, "mine redacted log") != []


def test_what_was_json_is_json_and_what_a_receipt_was_asked_stands_in_lines(store: Store) -> None:
    fill(store)
    redact_again(store, MODE)
    (output,) = store.primary.execute("SELECT output FROM skill_outputs").fetchone() or ("",)
    assert json.loads(output) == {"found": "[REDACTED:mine]", "n": 1}
    (inputs,) = store.primary.execute("SELECT inputs FROM receipts").fetchone() or ("",)
    assert inputs == "\ntask\tfix\\n[REDACTED:mine]\nbudget\t900\n"


def test_a_record_and_what_a_search_finds_of_it_are_redacted_alike(store: Store) -> None:
    fill(store)
    redact_again(store, MODE)
    for kind, query in (
        ("skill", "SELECT output FROM skill_outputs"),
        ("strategy", "SELECT insight FROM strategies"),
    ):
        body = store.primary.execute("SELECT body FROM documents WHERE kind = ?", (kind,)).get
        assert body == store.primary.execute(query).get, kind


def test_a_dry_run_counts_the_same_and_changes_nothing(store: Store) -> None:
    fill(store)
    before = everything(store)
    counted = redact_again(store, MODE, is_dry_run=True)
    assert everything(store) == before
    assert not counted.is_erased and not is_erasing_due(store.primary)
    assert redact_again(store, MODE) == counted._replace(is_dry_run=False, is_erased=True)


def test_what_it_makes_the_same_as_a_text_that_was_purged_goes(store: Store) -> None:
    for secret in ("[REDACTED:mine]", SECRET):
        save_strategy(store, NewStrategy("default", "general", f"Never log {secret}."))
    forget_document(store, parse_ref("strategy:1"))
    assert redact_again(store, MODE, is_dry_run=True).redacted == {"strategy": 1}
    assert store.primary.execute("SELECT id FROM strategies").fetchall() == [(2,)]
    assert redact_again(store, MODE).redacted == {"strategy": 1}
    assert store.primary.execute("SELECT id FROM strategies").fetchall() == []


def test_a_second_run_finds_nothing_and_writes_nothing(store: Store) -> None:
    fill(store)
    first = redact_again(store, MODE)
    before = everything(store)
    assert redact_again(store, MODE) == RedactedAgain({}, first.looked_at, is_erased=True, is_dry_run=False)
    assert everything(store) == before


def test_only_what_changes_enters_the_feed_and_lines_stay(store: Store) -> None:
    save(store, "a.md", "# Top\n\nplain words\n")
    save(store, "b.md", f"# Top\n\n{SECRET}\n")
    query = "SELECT path, seq, start_line, end_line FROM documents ORDER BY id"
    before = store.primary.execute(query).fetchall()
    redact_again(store, MODE)
    after = store.primary.execute(query).fetchall()
    assert [row[2:] for row in after] == [row[2:] for row in before]
    assert [row[0] for row, old in zip(after, before, strict=True) if row != old] == ["b.md"]


def test_a_scan_knows_redacted_passages_again(store: Store) -> None:
    """A file that changed elsewhere keeps their rows: their keys are those of the redacted text."""
    text = "# Top\n\n" + "".join(f"## Part {n}\n\n{SECRET} {f'{word(n)} ' * 600}\n\n" for n in range(4))
    save(store, "a.md", text)
    redact_again(store, MODE)
    query = "SELECT passage_key FROM documents WHERE kind = 'passage' ORDER BY start_line"
    before = store.primary.execute(query).fetchall()
    write_file(store, "a.md", f"{text}\nA new end.\n")
    (Path(store.location.folder) / "config.yaml").write_text(json.dumps({"redaction": RULES}))
    index_artifacts(store)
    after = store.primary.execute(query).fetchall()
    assert len(before) > 2 and after[:-1] == before[:-1]


def test_passages_that_become_alike_keep_keys_of_their_own(store: Store) -> None:
    write_file(store, "a.txt", "".join(f"zq7x{n:08d}" + " words of it" * 180 + "\n\n" for n in range(3)))
    index_artifacts(store)
    redact_again(store, MODE)
    keys = [key for (key,) in store.primary.execute("SELECT passage_key FROM documents WHERE kind = 'passage'")]
    assert len(keys) == 3 and len(set(keys)) == 3


def test_a_known_error_is_recognised_by_what_is_left_of_it(store: Store) -> None:
    new = NewKnownError(f"ValueError: bad {SECRET}\n", "Drop it.")
    first = save_error(store, new)
    redact_again(store, MODE)
    again = save_error(store, new, mode=MODE)
    assert (again.id, again.is_new) == (first.id, False)


def test_what_older_rules_let_through_counts_as_todays_afterwards(store: Store) -> None:
    fill(store)
    with store.write() as change:
        for table in ("documents", "artifacts"):
            change.connection.execute(f"UPDATE {table} SET ruleset = 0")
    redact_again(store, RedactionMode.PATTERN_ONLY)
    for table in ("documents", "artifacts"):
        assert store.primary.execute(f"SELECT DISTINCT ruleset FROM {table}").fetchall() == [(RULESET_VERSION,)]


def test_redaction_that_is_off_is_said_to_be(store: Store) -> None:
    with pytest.raises(UsageError, match="off"):
        redact_again(store, RedactionMode.OFF)


def test_the_command_uses_the_rules_of_the_configuration(store: Store) -> None:
    fill(store)
    (Path(store.location.folder) / "config.yaml").write_text(f"redaction: {json.dumps(RULES)}\n")
    assert load_config(store).redaction_mode == MODE
    db = ["--db", store.location.primary, "--json"]
    dry = json.loads(CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--redact", "--dry-run", *db]).stdout)
    assert (dry["redacted"]["package"], dry["looked_at"], dry["dry_run"]) == (1, 13, True)
    wet = json.loads(CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--redact", *db]).stdout)
    assert (wet["redacted"], wet["dry_run"]) == (dry["redacted"], False)
    assert (dry["forgotten"], wet["forgotten"]) == (False, True)
    text = CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--redact", *db[:2]]).stdout
    assert text == "total      0 redacted, 13 looked at\n"


@pytest.fixture
def ruled(store: Store) -> Store:
    """A store full of secrets that a rule of its configuration knows by now."""
    fill(store)
    (Path(store.location.folder) / "config.yaml").write_text(f"redaction: {json.dumps(RULES)}\n")
    return store


def is_all_erased(store: Store) -> bool:
    assert bytes_left(store, SECRET) == [] and SECRET not in vocabulary(store)
    return not is_erasing_due(store.primary)


def test_copies_of_a_secret_in_the_unused_parts_of_pages_go(store: Store) -> None:
    """Rows that grew between others were moved from page to page; what a change overwrites is the last place."""
    secrets = [f"zq7x{number:04d}wxyz" for number in range(60)]
    for number, secret in enumerate(secrets):
        save(store, f"f{number}.md", f"It says {secret}. {'heron ' * 40}\n", summary=f"A {secret}.")
    assert redact_again(store, MODE).is_erased
    assert bytes_left(store, *secrets) == [] and not set(secrets) & vocabulary(store)


def test_while_a_reader_reads_it_is_not_yet_forgotten_and_the_next_call_ends_it(
    ruled: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "100")
    redact = ["purge", "--redact", "--db", ruled.location.primary]
    with reading(ruled):
        assert run(redact) == LockedError.exit_code
        assert capsys.readouterr().out.endswith("not yet purged\n")
        assert "purge" in " ".join(read_status(ruled).notes)
        assert run(redact) == LockedError.exit_code
    assert run(redact) == 0
    assert capsys.readouterr().out.endswith("\ntotal      0 redacted, 13 looked at\npurged\n")
    assert is_all_erased(ruled) and read_status(ruled).notes == ()


def test_a_purge_of_nothing_ends_what_a_reader_delayed(ruled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "100")
    db = ["--db", ruled.location.primary]
    with reading(ruled):
        assert run(["purge", "--redact", *db]) == LockedError.exit_code
    assert run(["purge", *db]) == 0
    assert is_all_erased(ruled)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["_write_document", "_note_ruleset", "erase"])
@pytest.mark.parametrize("ending", [["purge", "--redact"], ["purge"]])
def test_what_was_killed_at_any_step_is_ended_by_the_next_call(
    ruled: Store, monkeypatch: pytest.MonkeyPatch, step: str, ending: list[str]
) -> None:
    """Where it had not seen all texts yet, the next call redacts the rest of them, too."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(redact_again_module, step, killed)
        redact_again(ruled, MODE)
    assert is_erasing_due(ruled.primary) and bytes_left(ruled, SECRET) != []
    assert run([*ending, "--db", ruled.location.primary, "--dry-run"]) == 0 and is_erasing_due(ruled.primary)
    assert run([*ending, "--db", ruled.location.primary]) == 0
    assert is_all_erased(ruled)


def test_a_purge_of_something_else_does_not_end_a_redaction_that_was_killed(
    ruled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(redact_again_module, "_write_document", killed)
        redact_again(ruled, MODE)
    db = ["--db", ruled.location.primary]
    assert run(["purge", "reasoning:1", *db]) == 0
    assert bytes_left(ruled, SECRET) != [] and read_status(ruled).notes != ()
    assert run(["purge", *db]) == 0
    assert is_all_erased(ruled)


def test_what_an_older_program_left_unfinished_is_due(ruled: Store) -> None:
    with ruled.write() as change:
        change.connection.execute("INSERT INTO settings (key, value) VALUES ('unfinished_redaction', 'true')")
    assert "not finished" in " ".join(read_status(ruled).notes)
    assert run(["purge", "--db", ruled.location.primary]) == 0
    assert is_all_erased(ruled)


def test_a_copy_that_a_repair_left_is_no_forgetting_until_it_is_deleted(ruled: Store) -> None:
    copy = Path(ruled.location.folder) / "backups" / "one" / "ctxrank.db"
    copy.parent.mkdir(parents=True)
    copy.write_text(f"It says {SECRET}.")
    db = ["--db", ruled.location.primary]
    assert run(["purge", "--redact", *db]) == LockedError.exit_code
    assert run(["purge", "--redact", "--backups", *db]) == 0
    assert is_all_erased(ruled) and not copy.parent.parent.exists()


def test_purge_alone_says_what_it_can_do(store: Store) -> None:
    failed = CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--db", store.location.primary]).exception
    assert isinstance(failed, UsageError)
    assert "--redact" in failed.message


def test_status_names_the_command_where_older_rules_were_at_work(store: Store) -> None:
    save(store, "a.md")
    db = ["--db", store.location.primary]
    assert "purge" not in CliRunner().invoke(whole_cli(COMMANDS), ["status", *db]).stdout
    with store.write() as change:
        change.connection.execute("UPDATE documents SET ruleset = 1")
    assert "ctxrank purge --redact" in CliRunner().invoke(whole_cli(COMMANDS), ["status", *db]).stdout


def test_status_counts_what_is_older_than_the_users_rules_until_it_is_redacted(store: Store) -> None:
    save(store, "a.md")
    config = Path(store.location.folder) / "config.yaml"
    config.write_text(f"redaction: {json.dumps(RULES)}\n")
    assert read_status(store).older_user_rules == 2  # a package and its passage
    save(store, "b.md")
    assert read_status(store).older_ruleset == 2
    db = ["--db", store.location.primary]
    assert "2 of them before your own rules existed" in CliRunner().invoke(whole_cli(COMMANDS), ["status", *db]).stdout
    CliRunner().invoke(whole_cli(COMMANDS), ["purge", "--redact", *db])
    assert read_status(store).older_ruleset == 0
    config.write_text(f"redaction: {json.dumps({'rules': [{'name': 'mine', 'pattern': 'other[a-z]{8}'}]})}\n")
    assert read_status(store).older_user_rules == 4


def test_a_name_is_refused_that_the_users_rules_see_as_a_secret(store: Store) -> None:
    (Path(store.location.folder) / "config.yaml").write_text(f"redaction: {json.dumps(RULES)}\n")
    db = ["--db", store.location.primary]
    failed = CliRunner().invoke(whole_cli(COMMANDS), ["session", "create", f"run-{SECRET}", *db]).exception
    assert isinstance(failed, UsageError) and "mine" in failed.message and SECRET not in failed.message


def test_what_another_store_made_is_redacted_in_its_own_tables_too(store: Store, tmp_path: Path) -> None:
    """Its rows have ids below zero."""
    with make_store(tmp_path / "other") as other:
        save_reasoning(other, NewReasoning("S", "G", "developer", "approach", f"Use {SECRET}."), create_session=True)
        lines = "".join(export_lines(other))
    import_jsonl(store, io.BytesIO(lines.encode()))
    assert store.primary.execute("SELECT content FROM reasoning").get == f"Use {SECRET}."
    assert redact_again(store, MODE).is_erased
    assert SECRET not in str(store.primary.execute("SELECT content FROM reasoning").get)
    assert not bytes_left(store, SECRET)
