"""The predecessor's database comes in: whole, redacted, once, and never from a damaged file."""

import json
import os
import random
import string
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import found, make_store, save, write_file
from predecessor import FOLDER, NOON, OTHER_SESSION, SESSION, PredecessorDb

from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.records.packages import Consumer, consume, consumers_of, get_package, list_packages
from ctxrank.indexer.records.sessions import find_group, find_session
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import ENCODING, local_counter

TABLES = (
    "store", "history_checkpoints", "settings", "sessions", "groups", "artifacts", "packages", "package_consumers",
    "deliveries", "reasoning", "error_patterns", "strategies", "skill_outputs", "documents", "tombstones",
    "imported_rows",
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def db(tmp_path: Path) -> PredecessorDb:
    return PredecessorDb(tmp_path / "bazinga" / "bazinga.db")


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    return list(store.primary.execute(query))


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Everything a store holds but what is only for the next query."""
    return {table: rows(store, f"SELECT * FROM {table}") for table in TABLES}


def new_counts(store: Store, db: PredecessorDb) -> dict[str, int]:
    """What an import brings that was not here, by kind."""
    return {kind: count.new for kind, count in import_bazinga(store, db.path).counts.items() if count.new}


def updated_counts(store: Store, db: PredecessorDb) -> dict[str, int]:
    """What an import changes, by kind; it must bring nothing new."""
    report = import_bazinga(store, db.path)
    assert not any(count.new for count in report.counts.values())
    return {kind: count.updated for kind, count in report.counts.items() if count.updated}


def fake_secret() -> str:
    """A value that the rules for secrets find beside `password=`, made anew for each run."""
    return "".join(random.choices(string.ascii_letters, k=20)) + str(random.randrange(10**6, 10**7))


@pytest.mark.parametrize("schema", [6, 8, 10, 12, 15, 18, 19])
def test_each_schema_comes_in_whole_and_once(tmp_path: Path, store: Store, schema: int) -> None:
    db = PredecessorDb(tmp_path / "old.db", schema)
    db.fill()
    assert new_counts(store, db) == db.counts()
    before = contents(store)
    second = import_bazinga(store, db.path)
    assert second.is_noop and not second.skipped
    assert {kind: count.unchanged for kind, count in second.counts.items() if count.unchanged} == db.counts()
    assert contents(store) == before


def test_a_session_comes_with_its_project_times_and_requirements(store: Store, db: PredecessorDb) -> None:
    db.add_session(
        metadata='{"project_id": "shop"}', original_requirements="Build it.", status="completed",
        created_at="2025-12-01 09:00:00", end_time="2025-12-01T10:00:00.000250", initial_branch="trunk",
    )  # fmt: skip
    import_bazinga(store, db.path)
    session = find_session(store.primary, SESSION)
    assert (session.project, session.mode, session.status) == ("shop", "parallel", "completed")
    assert (session.requirements, session.initial_branch) == ("Build it.", "trunk")
    assert format_us(session.created_at) == "2025-12-01T09:00:00Z"
    assert session.ended_at is not None and format_us(session.ended_at) == "2025-12-01T10:00:00.000250Z"


def test_a_moment_that_is_none_is_taken_from_its_neighbour(store: Store, db: PredecessorDb) -> None:
    db.add_session(created_at="yesterday", start_time="2025-12-01 08:00:00")
    db.add_error(created_at=None, last_seen="2025-12-02 08:00:00")
    import_bazinga(store, db.path)
    assert format_us(find_session(store.primary, SESSION).created_at) == "2025-12-01T08:00:00Z"
    assert rows(store, "SELECT created_at = last_seen FROM error_patterns") == [(1,)]


def test_a_group_keeps_what_has_no_column_here_and_refers_to_our_packages(store: Store, db: PredecessorDb) -> None:
    save(store, "mine.md", session="elsewhere")
    db.add_session()
    db.insert(
        "task_groups", id="AUTH", session_id=SESSION, name="Sign-in", status="merging", complexity=7,
        feature_branch="feature/auth", context_references=f'[1, 99, "{"9" * 5000}"]',
    )  # fmt: skip
    db.add_package(1)
    import_bazinga(store, db.path)
    group = find_group(store.primary, find_session(store.primary, SESSION).id, "AUTH")
    assert group is not None and (group.title, group.status) == ("Sign-in", "merging")
    assert [get_package(store.primary, id_).path for id_ in group.context_references] == [f"{FOLDER}/1.md"]
    metadata = json.loads(str(rows(store, "SELECT metadata FROM groups WHERE name = 'AUTH'")[0][0]))
    assert (metadata["complexity"], metadata["feature_branch"]) == (7, "feature/auth")


def test_a_column_whose_name_is_a_word_of_sql_is_read_as_any_other(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.execute('ALTER TABLE task_groups ADD COLUMN "order" INTEGER')
    db.execute(f"INSERT INTO task_groups (id, session_id, name, \"order\") VALUES ('AUTH', '{SESSION}', 'Sign-in', 3)")
    import_bazinga(store, db.path)
    assert rows(store, "SELECT metadata ->> 'order' FROM groups WHERE name = 'AUTH'") == [(3,)]


def test_a_reference_to_a_package_that_comes_later_is_made_good(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.insert("task_groups", id="AUTH", session_id=SESSION, name="Sign-in", context_references="[1, 2]")
    db.add_package(1)
    import_bazinga(store, db.path)
    db.add_package(2)
    report = import_bazinga(store, db.path)
    assert (report.counts["package"].new, report.counts["reference"].updated) == (1, 1)
    group = find_group(store.primary, find_session(store.primary, SESSION).id, "AUTH")
    assert group is not None and len(group.context_references) == 2


def test_packages_keep_the_order_of_their_moments(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_package(1, created_at="2025-12-01 12:00:02")
    db.add_package(2, created_at="2025-12-01 12:00:01")
    db.add_package(3, created_at="2025-12-01 12:00:01")
    import_bazinga(store, db.path)
    assert rows(store, "SELECT summary FROM packages ORDER BY id") == [
        ("Finding 2.",), ("Finding 3.",), ("Finding 1.",),
    ]  # fmt: skip


def test_a_package_brings_its_file_along(store: Store, db: PredecessorDb) -> None:
    write_file(store, f"{FOLDER}/1.md", "# Rate limits\n\nThe gateway throttles by tenant.\n")
    db.add_session()
    db.add_package(1, version=3)
    report = import_bazinga(store, db.path)
    assert (report.files_indexed, report.files_missing) == (1, 0)
    hit = found(store, "throttles", session=SESSION).hits[0]
    assert hit.id == "package:1"
    assert rows(store, "SELECT version, size_bytes, title FROM packages JOIN documents ON record_id = packages.id") == [
        (3, 48, "Rate limits")
    ]


def test_packages_that_share_a_file_all_have_its_passages(store: Store, db: PredecessorDb) -> None:
    write_file(store, f"{FOLDER}/shared.md", "The gateway throttles by tenant.\n")
    db.add_session()
    for number in (1, 2):
        db.add_package(number, file_path=f"{FOLDER}/shared.md")
    import_bazinga(store, db.path)
    assert [package.version for package in list_packages(store.primary)] == [1, 1]
    assert len(rows(store, "SELECT DISTINCT owner_id FROM documents WHERE kind = 'passage'")) == 2


def test_a_file_that_changed_is_refreshed_for_the_package_that_had_it(store: Store, db: PredecessorDb) -> None:
    save(store, f"{FOLDER}/1.md", "The gateway throttles by tenant.\n", session="mine")
    write_file(store, f"{FOLDER}/1.md", "The gateway queues by tenant.\n")
    db.add_session()
    db.add_package(1)
    import_bazinga(store, db.path)
    assert rows(store, "SELECT count(*), min(body) FROM documents WHERE kind = 'passage'") == [
        (2, "The gateway queues by tenant.\n")
    ]


def test_missing_files_are_counted_and_their_packages_come_in(store: Store, db: PredecessorDb) -> None:
    db.fill()
    db.execute("UPDATE context_packages SET size_bytes = 77")
    report = import_bazinga(store, db.path)
    assert (report.files_indexed, report.files_missing) == (0, 3)
    assert {package.size_bytes for package in list_packages(store.primary)} == {77}


@pytest.mark.parametrize(
    "path", ["/etc/hostname", "../../outside.md", "bazinga/../../outside.md", "C:/x.md", "", "a\u202eb.md"]
)
def test_a_package_whose_path_leaves_every_root_is_skipped(store: Store, db: PredecessorDb, path: str) -> None:
    db.add_session()
    db.add_package(1, file_path=path)
    db.add_package(2)
    report = import_bazinga(store, db.path)
    assert (report.files_indexed, report.files_missing) == (0, 1)
    assert [(row.kind, row.key) for row in report.skipped] == [("package", "1")]
    assert rows(store, "SELECT path FROM packages") == [(f"{FOLDER}/2.md",)]


def test_a_link_that_leaves_the_root_is_not_followed(store: Store, db: PredecessorDb, tmp_path: Path) -> None:
    write_file(store, f"{FOLDER}/real.md", "inside\n")
    os.symlink("/etc/hostname", tmp_path / FOLDER / "1.md")
    db.add_session()
    db.add_package(1)
    report = import_bazinga(store, db.path)
    assert report.files_indexed == 0 and rows(store, "SELECT artifact_id FROM packages") == [(None,)]


def test_pending_means_any_iteration_and_taken_keeps_its_own(store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    developer, lead = consumers_of(store.primary, 1)
    assert developer == Consumer("developer", None, None)
    assert lead.consumed_at is not None
    assert (lead.agent, lead.iteration, format_us(lead.consumed_at)) == ("tech_lead", 2, "2025-12-01T12:00:00Z")
    assert consume(store, 1, "developer", iteration=5)


def test_versions_are_linked_whatever_the_order_of_their_ids(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_package(1, supersedes_id=3, created_at="2025-12-01 12:59:00")
    db.add_package(2, supersedes_id=1, created_at="2025-12-01 12:59:30")
    db.add_package(3)
    import_bazinga(store, db.path)
    packages = {package.summary: package for package in list_packages(store.primary, include_superseded=True)}
    oldest, middle, newest = packages["Finding 3."], packages["Finding 1."], packages["Finding 2."]
    assert (middle.supersedes, newest.supersedes) == (oldest.id, middle.id)
    assert (oldest.superseded_by, middle.superseded_by, newest.superseded_by) == (middle.id, newest.id, None)
    assert [package.id for package in list_packages(store.primary)] == [newest.id]
    assert rows(store, "SELECT superseded_by FROM documents ORDER BY record_id") == [(2,), (3,), (None,)]


def test_a_circle_of_versions_is_cut_and_reported(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_package(1, supersedes_id=2)
    db.add_package(2, supersedes_id=1)
    report = import_bazinga(store, db.path)
    assert [(row.kind, row.key) for row in report.skipped] == [("supersession", "2")]
    assert len(list_packages(store.primary)) == 1


def test_reasoning_keeps_phase_group_and_references(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_reasoning("Sessions live in Redis.", references_json='["a.py"]', agent_id="dev-1", iteration=None)
    db.add_reasoning("For all.", group_id="global", reasoning_phase="risks", confidence_level=None)
    import_bazinga(store, db.path)
    query = "SELECT phase, confidence, refs, agent_name, iteration, group_id IS NULL FROM reasoning ORDER BY id"
    assert rows(store, query) == [("decisions", "high", '["a.py"]', "dev-1", 0, 0), ("risks", None, "[]", "", 0, 1)]


def test_rows_that_cannot_be_used_are_named_and_the_rest_comes_in(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_reasoning("No phase.", reasoning_phase=None)
    db.add_reasoning("Odd phase.", reasoning_phase="dreaming")
    db.add_reasoning("Good.")
    db.add_package(1, package_type=" ")
    db.add_consumer(1, "developer")
    db.add_package(2, session_id="nowhere")
    db.add_package(3)
    db.add_consumer(99, "developer")
    report = import_bazinga(store, db.path)
    assert (report.counts["package"].new, report.counts["reasoning"].new) == (1, 1)
    assert sorted((row.kind, row.key) for row in report.skipped) == [
        ("consumer", "1"), ("consumer", "2"), ("package", "1"), ("package", "2"), ("reasoning", "1"),
        ("reasoning", "2"),
    ]  # fmt: skip
    assert all(row.reason for row in report.skipped)


def test_values_of_any_type_are_read_as_what_the_column_means(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    db.add_package(1, summary=b"broken \xff text", priority="urgent", version="two", created_at=12)
    db.add_error(signature_json="no JSON at all", confidence=7.5)
    db.add_strategy(topic="cooking")
    import_bazinga(store, db.path)
    assert rows(store, "SELECT summary, priority, version FROM packages") == [("broken \ufffd text", "medium", 1)]
    query = "SELECT error_type, message, confidence FROM error_patterns"
    assert rows(store, query) == [("Unknown", "no JSON at all", 1.0)]
    assert rows(store, "SELECT topic FROM strategies") == [("general",)]


def test_no_secret_comes_in_with_any_text(store: Store, db: PredecessorDb) -> None:
    secret = fake_secret()
    told = f"it says password={secret} there"
    db.add_session(original_requirements=told, metadata=json.dumps({"note": told}), initial_branch=told)
    db.insert("task_groups", id="AUTH", session_id=SESSION, name=told, specializations=json.dumps([told]))
    write_file(store, f"{FOLDER}/1.md", f"# {told}\n\n{told}\n")
    db.add_package(1, summary=told)
    db.add_package(2, file_path=f"{FOLDER}/password={secret}.md")
    db.add_reasoning(told, references_json=json.dumps([told]), agent_id=told)
    db.add_error(solution=told, signature_json=json.dumps({"message_pattern": told, "context_hints": [told]}))
    db.add_error("beef", signature_json=told)
    db.add_strategy(insight=told)
    db.add_skill_output(json.dumps({"log": f"a\n{told}", "password": secret}))
    (Path(db.path).parent / "skills_config.json").write_text(json.dumps({"note": told}), encoding="utf-8")
    report = import_bazinga(store, db.path)
    assert not report.skipped and report.counts["package"].new == 2
    assert secret not in repr(contents(store)) and secret not in repr(report)
    assert rows(store, "SELECT redacted FROM reasoning") == [(1,)]
    output = json.loads(str(rows(store, "SELECT output FROM skill_outputs")[0][0]))
    assert output == {"log": "a\nit says password=REDACTED there", "password": "REDACTED"}


def test_no_secret_is_told_of_what_is_skipped(store: Store, db: PredecessorDb) -> None:
    secret = fake_secret()
    db.insert("task_groups", id=f"password={secret}", session_id="nowhere", name="x")
    db.add_package(1, file_path=f"/etc/password={secret}.md", package_type=f"password={secret}")
    report = import_bazinga(store, db.path)
    assert [row.kind for row in report.skipped] == ["group", "package"]
    assert secret.lower() not in repr(report).lower()


def test_only_the_row_that_was_added_comes(store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    db.add_package(4)
    db.add_consumer(4, "developer")
    assert new_counts(store, db) == {"package": 1, "consumer": 1}
    assert import_bazinga(store, db.path).is_noop


def test_a_changed_row_changes_what_it_became(store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    db.execute("UPDATE sessions SET status = 'completed'")
    db.execute("UPDATE task_groups SET status = 'merging'")
    db.execute("UPDATE context_package_consumers SET consumed_at = ? WHERE id = 1", (NOON,))
    db.execute("UPDATE error_patterns SET confidence = 0.7")
    db.execute("UPDATE strategies SET helpfulness = 3")
    db.execute("UPDATE skill_outputs SET output_data = '{}'")
    db.execute("UPDATE orchestration_logs SET confidence_level = 'low' WHERE log_type = 'reasoning'")
    changed = ("session", "group", "consumer", "error", "strategy", "skill", "reasoning")
    assert updated_counts(store, db) == dict.fromkeys(changed, 1)
    assert find_session(store.primary, SESSION).status == "completed"
    assert consumers_of(store.primary, 1)[0].iteration == 1
    query = "SELECT (SELECT confidence FROM error_patterns), (SELECT confidence FROM reasoning), status FROM groups"
    assert rows(store, query) == [(0.7, "low", "merging")]


def test_a_changed_package_passes_its_priority_on_to_its_passages(store: Store, db: PredecessorDb) -> None:
    write_file(store, f"{FOLDER}/1.md", "The gateway throttles by tenant.\n")
    db.add_session()
    db.add_package(1)
    import_bazinga(store, db.path)
    db.execute("UPDATE context_packages SET priority = 'critical', summary = 'Better.'")
    assert updated_counts(store, db) == {"package": 1}
    assert get_package(store.primary, 1).summary == "Better."
    assert rows(store, "SELECT DISTINCT priority FROM documents") == [("critical",)]


def test_what_was_taken_here_stays_taken(store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    consume(store, 1, "developer", iteration=3)
    db.execute("UPDATE context_package_consumers SET iteration = 9 WHERE id = 1")
    assert import_bazinga(store, db.path).is_noop
    assert consumers_of(store.primary, 1)[0].iteration == 3


def test_a_session_of_the_same_name_is_joined(store: Store, db: PredecessorDb) -> None:
    save(store, "mine.md", session=SESSION, group="AUTH")
    db.fill()
    report = import_bazinga(store, db.path)
    assert report.counts["session"].new == 0 and SESSION in report.notes[0]
    assert rows(store, "SELECT count(DISTINCT session_id), count(*) FROM packages") == [(1, 4)]
    assert rows(store, "SELECT name, title FROM groups") == [("AUTH", "Sign-in")]


def test_what_was_counted_here_is_not_taken_back(store: Store, db: PredecessorDb) -> None:
    """An error and a strategy that were met here as well, and once more there."""
    db.add_error(occurrences=2, confidence=0.6)
    db.add_strategy(helpfulness=2)
    import_bazinga(store, db.path)
    with store.write() as change:
        change.connection.execute("UPDATE error_patterns SET occurrences = 7, confirmations = 4, state = 'confirmed'")
        change.connection.execute("UPDATE strategies SET helpfulness = 5")
    db.execute("UPDATE error_patterns SET occurrences = 3, confidence = 0.3, last_seen = '2025-12-02 09:00:00'")
    db.execute("UPDATE strategies SET helpfulness = 3")
    assert updated_counts(store, db) == {"error": 1}
    query = "SELECT occurrences, confirmations, refutations, state, confidence FROM error_patterns"
    assert rows(store, query) == [(7, 4, 1, "confirmed", 0.7)]
    assert rows(store, "SELECT helpfulness FROM strategies") == [(5,)]
    db.execute("UPDATE error_patterns SET occurrences = 9, last_seen = '2025-12-01 09:00:00'")
    db.execute("UPDATE strategies SET helpfulness = 9")
    import_bazinga(store, db.path)
    assert rows(store, "SELECT occurrences, last_seen / 1000000 - 1764666000 FROM error_patterns") == [(9, 0)]
    assert rows(store, "SELECT helpfulness FROM strategies") == [(9,)]


def test_who_took_a_package_here_is_not_designated_again(store: Store, db: PredecessorDb) -> None:
    """In a store that has the packages, and knows nothing of where they were from."""
    db.fill()
    import_bazinga(store, db.path)
    with store.write() as change:
        change.connection.execute("DELETE FROM imported_rows")
    before = {number: consumers_of(store.primary, number) for number in (1, 2, 3)}
    consume(store, 1, "developer", iteration=1)
    import_bazinga(store, db.path)
    after = {number: consumers_of(store.primary, number) for number in (1, 2, 3)}
    assert [len(rows) for rows in after.values()] == [len(rows) for rows in before.values()]
    assert not any(consumer.consumed_at is None for consumer in after[1])


def test_a_copy_of_the_database_is_the_same_source(tmp_path: Path, store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    copy = tmp_path / "elsewhere.db"
    copy.write_bytes(Path(db.path).read_bytes())
    assert import_bazinga(store, str(copy)).is_noop


def test_two_databases_with_the_same_numbers_do_not_overwrite_each_other(
    tmp_path: Path, store: Store, db: PredecessorDb
) -> None:
    db.fill()
    import_bazinga(store, db.path)
    other = PredecessorDb(tmp_path / "other.db")
    other.add_session(OTHER_SESSION)
    other.add_package(1, session_id=OTHER_SESSION)
    assert new_counts(store, other) == {"session": 1, "package": 1}
    assert get_package(store.primary, 1).session == SESSION


def test_what_was_removed_here_does_not_come_back(store: Store, db: PredecessorDb) -> None:
    db.fill()
    import_bazinga(store, db.path)
    store.primary.execute("DELETE FROM sessions")
    db.add_package(4)
    report = import_bazinga(store, db.path)
    assert report.is_noop
    assert [(row.kind, row.key) for row in report.skipped] == [("package", "4")]


def test_an_interrupted_run_is_finished_by_the_next(
    store: Store, db: PredecessorDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxrank.extensions.bazinga.database.importer.CHUNK_ROWS", 1)
    db.fill()

    def interrupt(done: int, total: int) -> None:
        assert total == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_bazinga(store, db.path, progress=interrupt)
    assert len(list_packages(store.primary)) == 2
    report = import_bazinga(store, db.path)
    assert (report.counts["package"].unchanged, report.counts["package"].new) == (2, 1)
    assert len(rows(store, "SELECT id FROM package_consumers")) == 6


def test_another_import_that_was_faster_is_seen_under_the_lock(store: Store, db: PredecessorDb, tmp_path: Path) -> None:
    db.fill()

    def overtake(done: int, total: int) -> None:
        with make_store(tmp_path) as other:
            import_bazinga(other, db.path)

    report = import_bazinga(store, db.path, progress=overtake)
    assert report.counts["reasoning"].unchanged == 1
    assert rows(store, "SELECT (SELECT count(*) FROM packages), count(*) FROM reasoning") == [(3, 1)]


def test_nothing_is_written_or_left_beside_the_database(store: Store, db: PredecessorDb) -> None:
    db.fill()
    before = Path(db.path).read_bytes()
    import_bazinga(store, db.path)
    assert Path(db.path).read_bytes() == before
    assert os.listdir(Path(db.path).parent) == ["bazinga.db"]


def test_what_waits_in_a_write_ahead_log_comes_in(store: Store, db: PredecessorDb) -> None:
    db.fill()
    writer = apsw.Connection(db.path)
    writer.execute("INSERT INTO sessions (session_id) VALUES ('late')")
    import_bazinga(store, db.path)
    assert find_session(store.primary, "late").mode == "simple"
    writer.close()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_off_database_changes_nothing(store: Store, db: PredecessorDb, share: float) -> None:
    db.fill()
    data = Path(db.path).read_bytes()
    Path(db.path).write_bytes(data[: int(len(data) * share)])
    refuses_and_changes_nothing(store, db.path)


def test_a_database_with_a_destroyed_page_changes_nothing(store: Store, db: PredecessorDb) -> None:
    db.fill()
    data = bytearray(Path(db.path).read_bytes())
    place = data.rindex(b"Finding 2.") // 4096 * 4096
    data[place : place + 4096] = bytes([0xA5]) * 4096
    Path(db.path).write_bytes(data)
    refuses_and_changes_nothing(store, db.path)


@pytest.mark.parametrize("data", [b"", b"no database\n" * 500, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_changes_nothing(store: Store, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(data)
    refuses_and_changes_nothing(store, str(path))


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE context_packages",
        "DROP TABLE schema_version",
        "DELETE FROM schema_version",
        "UPDATE schema_version SET version = 20",
        "UPDATE schema_version SET version = 5",
        "ALTER TABLE context_packages DROP COLUMN file_path",
        "ALTER TABLE sessions RENAME COLUMN session_id TO id",
    ],
)
def test_a_foreign_database_changes_nothing(store: Store, db: PredecessorDb, statement: str) -> None:
    db.fill()
    db.execute(statement)
    refuses_and_changes_nothing(store, db.path)


def refuses_and_changes_nothing(store: Store, path: str) -> None:
    before = contents(store)
    with pytest.raises(DamagedError, match=os.path.basename(path)):
        import_bazinga(store, path)
    assert contents(store) == before


def test_our_own_store_is_no_predecessor(store: Store) -> None:
    with pytest.raises(DamagedError, match="not a database of the predecessor"):
        import_bazinga(store, store.location.primary)


def test_a_missing_file_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        import_bazinga(store, str(tmp_path / "nowhere.db"))
    with pytest.raises(UsageError, match="no file"):
        import_bazinga(store, str(tmp_path))


def test_the_skills_config_beside_it_becomes_a_setting(store: Store, db: PredecessorDb) -> None:
    path = Path(db.path).parent / "skills_config.json"
    path.write_text('{"context_engineering": {"retrieval_limits": {"developer": 4}}}', encoding="utf-8")
    import_bazinga(store, db.path)
    value = rows(store, f"SELECT value FROM settings WHERE key = '{IMPORTED_SKILLS_CONFIG}'")[0][0]
    assert json.loads(str(value))["context_engineering"] == {"retrieval_limits": {"developer": 4}}
    assert import_bazinga(store, db.path).is_noop


def test_a_skills_config_that_is_no_json_is_only_noted(store: Store, db: PredecessorDb) -> None:
    (Path(db.path).parent / "skills_config.json").write_text("{", encoding="utf-8")
    report = import_bazinga(store, db.path)
    assert "skills_config.json was not imported" in report.notes[0]
    assert rows(store, "SELECT * FROM settings") == []


@pytest.mark.skipif(local_counter() is None, reason="no vocabulary on this machine")
def test_documents_get_exact_counts_without_a_change_of_the_feed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxrank.indexer.text.vocabulary.process_counter", lambda: None)
    save(store, "a.md", "One two three.\n")
    feed = rows(store, "SELECT seq FROM store")
    documents = len(rows(store, "SELECT id FROM documents"))
    assert (backfill_counts(store), backfill_counts(store)) == (documents, 0)
    assert rows(store, "SELECT DISTINCT token_counter FROM documents") == [(ENCODING,)]
    assert rows(store, "SELECT seq FROM store") == feed


def test_events_and_token_counts_come_in_as_events(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    payload = '{"verdict":"ACCEPT",  "n":[1,2]}'
    db.insert(
        "orchestration_logs", session_id=SESSION, agent_type="system", content="Event", log_type="event",
        event_subtype="validator_verdict", event_payload=payload, idempotency_key="k1", timestamp="2025-12-01 12:00:00",
    )  # fmt: skip
    db.execute(
        "CREATE TABLE token_usage (id INTEGER PRIMARY KEY, session_id TEXT, timestamp TEXT, agent_type TEXT,"
        " agent_id TEXT, tokens_estimated INTEGER)"
    )
    db.insert("token_usage", session_id=SESSION, agent_type="developer", agent_id="d1", tokens_estimated=1200)
    assert new_counts(store, db)["event"] == 2
    assert rows(store, "SELECT subtype, payload, idempotency_key FROM events WHERE subtype <> 'token_usage'") == [
        ("validator_verdict", payload, "k1")
    ]
    (used,) = rows(store, "SELECT payload FROM events WHERE subtype = 'token_usage'")
    assert json.loads(str(used[0])) == {"agent_type": "developer", "agent_id": "d1", "tokens_estimated": 1200}
    assert import_bazinga(store, db.path).is_noop


def test_what_is_left_out_is_counted_table_by_table(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    for _ in range(2):
        db.insert("orchestration_logs", session_id=SESSION, agent_type="developer", content="Just talk.")
    db.execute("CREATE TABLE state_snapshots (id INTEGER PRIMARY KEY, state_data TEXT)")
    db.insert("state_snapshots", state_data="{}")
    (note,) = [note for note in import_bazinga(store, db.path).notes if note.startswith("left out")]
    assert "2 of orchestration_logs that are neither reasoning nor events" in note and "1 of state_snapshots" in note


def test_json_comes_in_byte_for_byte(store: Store, db: PredecessorDb) -> None:
    text = '{"b":1,  "a":[ 1,2.50 ], "c":"\\u00e9"}'
    db.add_session(metadata=text)
    db.add_skill_output(text)
    import_bazinga(store, db.path)
    assert rows(store, "SELECT metadata FROM sessions") == [(text,)]
    assert rows(store, "SELECT output FROM skill_outputs") == [(text,)]
    twice = '{"password": "hunter2xx", "password": "b"}'
    db.add_skill_output(twice)
    import_bazinga(store, db.path)
    assert not rows(store, "SELECT 1 FROM skill_outputs WHERE output LIKE '%hunter2xx%'")


def test_a_path_that_names_no_file_below_the_root_is_noted(store: Store, db: PredecessorDb) -> None:
    db.add_session()
    root = Path(store.location.root)
    (root / "out").symlink_to("/")
    (root / "home").symlink_to(root)
    for number, path in enumerate(("out/etc/hosts", "home", "out/etc/passwd"), 1):
        db.add_package(number, file_path=path)
    notes = " ".join(import_bazinga(store, db.path).notes)
    assert f"3 paths of no file below {root}" in notes
