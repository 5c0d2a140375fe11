"""The catalogue says what each table holds; whoever handles records of all kinds reads it there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from builders import make_store, next_schema, search_ids
from damage import closed
from exported import MOMENT, as_bytes, bring, exported, exported_bytes, fill
from notes import NOTE, TABLES, save_note
from written import Reasoning, write

from ctxrank.indexer import catalogue
from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.care.new_file import save_what_can_be_read
from ctxrank.indexer.catalogue import KINDS, as_row, kinds_with_documents
from ctxrank.indexer.declarations import Meaning
from ctxrank.indexer.owners import installed_owners, make_tables
from ctxrank.indexer.privacy.purge import forget_document, forget_session
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.retention import prune_older
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.record_table import document_of, read, revise
from ctxrank.indexer.records import anchors, packages, reasoning, sessions, strategies
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import facets, migrations
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.migrations import PRESENT, Schema
from ctxrank.indexer.store.rows import list_where, read_where
from ctxrank.indexer.store.settings import TTL_KINDS
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text import mentions

MODE = RedactionMode.PATTERN_ONLY
LAST = f"migration_{PRESENT.version:03d}.sql"
TOKEN = "ghp" + "_" + "a1B2" * 9


def undeclared(connection: apsw.Connection) -> list[str]:
    """What the schema and the catalogue do not both have, and texts that are declared as numbers."""
    declared = {
        (table.name, column.name): column.meaning
        for table in catalogue.tables_of(connection)
        for column in table.stored
    }
    query = """
        SELECT t.name, c.name, c.type
          FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
         WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
    """
    there = {(str(table), str(column)): str(type_) for table, column, type_ in connection.execute(query)}
    numeric = (Meaning.NUMBER, Meaning.TIME, Meaning.SHARE, Meaning.FLAG, Meaning.REFERENCE)
    return sorted(
        [f"{table}.{column} is not declared" for table, column in there.keys() - declared.keys()]
        + [f"{table}.{column} is not there" for table, column in declared.keys() - there.keys()]
        + [
            f"{table}.{column} is {type_} and declared as {declared[table, column].value}"
            for (table, column), type_ in there.items()
            if (table, column) in declared and (type_ == "TEXT") == (declared[table, column] in numeric)
        ]
    )


def schema() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    migrations.apply_schema(connection, 0)
    for owner in installed_owners():
        make_tables(connection, owner)
    return connection


@pytest.mark.needs("links")
def test_every_column_of_the_schema_is_declared() -> None:
    connection = schema()
    assert undeclared(connection) == []
    query = "SELECT count(*) FROM pragma_table_list AS t, pragma_table_info(t.name) AS c WHERE c.type = 'TEXT'"
    assert connection.execute(f"{query} AND t.name NOT LIKE 'sqlite_%'").get == 150


def test_a_text_column_that_nobody_declared_fails() -> None:
    connection = schema()
    connection.execute("ALTER TABLE reasoning ADD COLUMN mood TEXT; ALTER TABLE events DROP COLUMN payload")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
    assert undeclared(connection) == [
        "events.payload is not there",
        "notes.body is not declared",
        "notes.id is not declared",
        "reasoning.mood is not declared",
    ]


def _unlogged(primary: apsw.Connection) -> list[str]:
    """The exported kinds of which not every change is entered into the record log by a trigger."""
    query = """
        SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? AND instr(sql, 'INTO record_log')
           AND instr(sql, ?)
    """
    found: list[str] = []
    for kind in KINDS.values():
        table = "documents" if kind.is_file else kind.table.name
        entered = " ".join(str(sql) for (sql,) in primary.execute(query, (table, f"'{kind.name}'")))
        if kind.is_exported and not all(f"AFTER {event}" in entered for event in ("INSERT", "UPDATE", "DELETE")):
            found.append(kind.name)
    return found


def test_every_change_of_an_exported_kind_is_logged(tmp_path: Path) -> None:
    """What no trigger enters would be left out of `export --since` without a word."""
    with make_store(tmp_path) as store:
        assert _unlogged(store.primary) == []
        store.primary.execute("DROP TRIGGER logged_reasoning_removed")
        assert _unlogged(store.primary) == ["reasoning"]


def test_a_made_up_kind_logs_its_changes(noted: Store) -> None:
    assert _unlogged(noted.primary) == []


def test_references_and_keys_are_those_of_the_schema() -> None:
    connection = schema()
    query = """
        SELECT t.name, f."from", f."table", f.on_delete = 'CASCADE'
          FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f
    """
    there = {(str(a), str(b), str(c), bool(d)) for a, b, c, d in connection.execute(query)}
    declared = {
        (table.name, column.name, column.refers_to, column.is_owner)
        for table in catalogue.tables_of(connection)
        for column in table.stored
        if column.refers_to and column.none is None
    }
    assert declared == there
    query = "SELECT name FROM pragma_table_info(?) WHERE pk AND type = 'INTEGER'"
    for table in catalogue.tables_of(connection):
        keys = [str(key) for (key,) in connection.execute(query, (table.name,))]
        assert (table.key in keys) if table.key else len(keys) != 1, table.name


def test_the_words_of_a_column_are_those_of_the_schema_and_of_the_module_that_writes_them() -> None:
    connection = schema()
    declared = {
        (table.name, column.name): column.words
        for table in catalogue.tables_of(connection)
        for column in table.stored
        if column.words
    }
    assert declared == {
        ("anchors", "kind"): mentions.KINDS,
        ("anchors", "state"): anchors.STATES,
        ("sessions", "mode"): sessions.MODES,
        ("sessions", "status"): sessions.SESSION_STATUSES,
        ("groups", "status"): sessions.GROUP_STATUSES,
        ("packages", "priority"): packages.PRIORITIES,
        ("packages", "scope"): packages.SCOPES,
        ("reasoning", "phase"): reasoning.PHASES,
        ("reasoning", "confidence"): reasoning.CONFIDENCES,
        ("strategies", "topic"): strategies.TOPICS,
    }
    for (table, column), words in declared.items():
        (sql,) = [str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,))]
        allowed = re.search(rf"\b{column} IN[^(]*\(([^)]*)\)", sql)
        assert allowed is not None, f"{table}.{column} has no CHECK"
        assert tuple(re.findall("'([^']*)'", allowed[1])) == words


@pytest.mark.needs("links")
def test_what_the_store_itself_knows_of_kinds_is_what_the_catalogue_says() -> None:
    assert set(catalogue.document_kinds(catalogue.kinds_of(schema()))) == set(facets.KINDS)
    assert catalogue.aging_kinds() == TTL_KINDS
    (sql,) = schema().execute("SELECT sql FROM sqlite_schema WHERE name = 'blocklist'").fetchall()[0]
    assert [kind.name for kind in KINDS.values() if kind.blocked and f"'{kind.name}'" not in str(sql)] == []


def test_a_document_can_be_made_again_from_its_record(tmp_path: Path) -> None:
    """As saving the record made it, but for a package's title, which its file has."""
    with make_store(tmp_path) as store:
        fill(store)
        for kind in kinds_with_documents():
            names = [column.name for column in kind.table.stored]
            for row in store.primary.execute(f"SELECT {', '.join(names)} FROM {kind.table.name}").fetchall():
                made = document_of(kind, as_row(kind, row))
                query = """
                    SELECT body, agent, type, priority, path, session_id, group_id, superseded_by, created_at, title
                      FROM documents WHERE kind = ? AND record_id = ?
                """
                *rest, title = store.primary.execute(query, (kind.name, made.number)).fetchall()[0]
                assert rest == [
                    made.body, made.agent, made.type, made.priority, made.path, made.session_id, made.group_id,
                    made.superseded_by, made.created_at,
                ]  # fmt: skip
                assert kind.name == "package" or made.title == title


def test_what_the_catalogue_calls_a_text_is_redacted_again(tmp_path: Path) -> None:
    spoilt = {Meaning.JSON: f'["{TOKEN}"]', Meaning.PAIRS: f"task\t{TOKEN}"}
    with make_store(tmp_path) as store:
        fill(store)
        with store.write() as change:
            for table in catalogue.tables():
                for column in table.redacted:
                    text = spoilt.get(column.meaning, TOKEN)
                    change.connection.execute(f"UPDATE {table.name} SET {column.name} = ?", (text,))
        redact_again(store, MODE)
        for table in catalogue.tables():
            for column in table.stored:
                query = f"SELECT count(*) FROM {table.name} WHERE instr({column.name}, ?)"
                assert store.primary.execute(query, (TOKEN,)).get == 0, f"{table.name}.{column.name}"


@pytest.mark.needs("salvage")
def test_a_session_that_only_its_failures_know_is_made_again(tmp_path: Path) -> None:
    with make_store(tmp_path / "here") as store:
        fill(store)
        with store.write() as change:
            create_session(change, NewSession("lost", created_at=MOMENT))
            change.connection.execute("UPDATE error_sightings SET session_id = 3, group_id = 0")
        store.primary.execute("PRAGMA foreign_keys = OFF")
        store.primary.execute("DELETE FROM sessions WHERE id = 3")
        report = save_what_can_be_read(closed(store).primary, str(tmp_path / "new.db"))
    tables = {table.name: table for table in report.tables}
    assert (tables["error_sightings"].saved, tables["error_sightings"].lost, tables["sessions"].rebuilt) == (2, 0, 1)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store of a program that knows notes, with two of them, one with a secret from before a rule was there."""
    learn_notes(tmp_path, monkeypatch)
    with make_store(tmp_path / "here") as store:
        with store.write() as change:
            session_id = create_session(change, NewSession("S", created_at=MOMENT))
            save_note(change, session_id, "A heron stood still.", MOMENT)
            save_note(change, session_id, f"The key is {TOKEN}.", MOMENT + 1, mood="calm")
            change.connection.execute("UPDATE documents SET ruleset = 0 WHERE record_id = 2")
        yield store


def learn_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a program needs to know notes: the entry, the tables, and the kind's code in the index's schema."""
    monkeypatch.setitem(KINDS, NOTE.name, NOTE)
    monkeypatch.setitem(vars(facets)["_KIND_CODES"], NOTE.name, 99)
    folder = Path(next_schema(tmp_path / "sql", TABLES).sql_folder)

    def read(schema: Schema, name: str) -> str:
        made_up = (folder / f"migration_{PRESENT.version + 1:03d}.sql").read_text() if name == LAST else ""
        return (folder / name).read_text() + made_up

    monkeypatch.setattr(migrations, "_read_sql", read)


class _Note(NamedTuple):
    id: int
    session: str
    group: str | None
    mood: str
    body: str


def test_a_made_up_kind_is_listed_found_and_revised(noted: Store) -> None:
    calm, cross = list_where(noted.primary, "notes", _Note, {"session": "S", "group": None})
    assert cross == _Note(1, "S", None, "cross", "A heron stood still.")
    assert list_where(noted.primary, "notes", _Note, {"mood": "calm"}) == [calm]
    with noted.write() as change:
        revise(change, NOTE, 1, {"body": "A heron took off.", "mood": "calm"})
    assert read_where(noted.primary, "notes", _Note, {"id": 1}) == _Note(1, "S", None, "calm", "A heron took off.")
    assert documents_of_notes(noted)[0] == (1, "calm note", "A heron took off.", "calm")
    assert noted.primary.execute("SELECT max(seq) FROM record_log WHERE kind = 'note' AND number = 1").get == 4


def test_a_thought_that_nobody_confirmed_ranks_low_however_its_document_is_made(noted: Store) -> None:
    thought = Reasoning(1, None, "developer", "risks", "x", 1, agent_name=UNCONFIRMED)
    with noted.write() as change:
        number = write(change, thought)
    record = read(noted.primary, KINDS["reasoning"], number)
    assert record is not None and document_of(KINDS["reasoning"], record).priority == "low"


def note_lines(store: Store) -> list[dict[str, object]]:
    lines = [line for line in exported(store, all_origins=True) if line.get("record") == "note"]
    return [{name: line[name] for name in line if name not in ("seq", "project", "origin")} for line in lines]


def documents_of_notes(store: Store) -> list[tuple[object, ...]]:
    query = "SELECT record_id, title, body, type FROM documents WHERE kind = 'note' ORDER BY record_id"
    return [tuple(row) for row in store.primary.execute(query)]


def problems(store: Store) -> list[str]:
    """What the doctor finds in a store, every byte of it looked at."""
    store.catch_up()
    findings = list(examine(store.location, is_deep=True))
    return [f"{finding.id}: {finding.evidence}" for finding in findings if finding.result is Result.FAIL]


def test_a_made_up_kind_is_exported_and_comes_in_elsewhere(noted: Store, tmp_path: Path) -> None:
    first, second = note_lines(noted)
    assert first == {
        "record": "note", "id": 1, "session": "S", "group": None, "mood": "cross", "text": "A heron stood still.",
        "facts": [1], "pinned": True, "created_at": "2023-11-14T22:13:20.123456Z",
    }  # fmt: skip
    assert second["text"] == "The key is GITHUB_TOKEN_REDACTED.", second
    with make_store(tmp_path / "there") as other:
        assert bring(other, exported_bytes(noted)).counts["note"] == (2, 0, 0)
        assert note_lines(other) == [first, second]
        uuid = str(noted.primary.execute("SELECT uuid FROM store").get)
        assert search_ids(other, "heron") == [f"note:1@{uuid[:8]}"]
        assert bring(other, exported_bytes(noted)).is_noop
        assert problems(other) == []
    assert bring(noted, exported_bytes(noted)).is_noop


def test_a_made_up_kind_that_changes_is_revised_elsewhere(noted: Store, tmp_path: Path) -> None:
    with make_store(tmp_path / "there") as other:
        bring(other, exported_bytes(noted))
        second = note_lines(other)[1]
        with noted.write() as change:
            revise(change, NOTE, 1, {"body": "A heron took off.", "mood": "calm"})
        assert bring(other, exported_bytes(noted)).counts["note"] == (0, 1, 1)
        assert documents_of_notes(other)[1][1:] == ("calm note", "A heron took off.", "calm")
        assert note_lines(other)[1] == second
        assert problems(other) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mood": "glum"}, "its 'mood' is 'glum'; allowed are calm, cross"),
        ({"text": None}, "it has no 'text'"),
        ({"pinned": "yes"}, "its 'pinned' is 'yes', not true or false"),
        ({"session": "X"}, "its session 'X' is not there"),
    ],
)
def test_a_line_of_a_made_up_kind_that_cannot_be_used_is_named(
    noted: Store, tmp_path: Path, change: dict[str, object], why: str
) -> None:
    header, session, note, *_ = [json.loads(line) for line in exported_bytes(noted).splitlines()]
    del note["project"]  # the session is there, or it is not
    with make_store(tmp_path / "there") as other:
        (skipped,) = bring(
            other, as_bytes(header, session, {**note, **change}, {"record": "end", "counts": {}})
        ).skipped
        assert (skipped.kind, skipped.reason) == ("note", why)
        less = {name: note[name] for name in ("record", "id", "seq", "session", "text", "created_at")}
        assert not bring(other, as_bytes(header, session, less, {"record": "end", "counts": {}})).skipped
        del note["seq"]
        assert note_lines(other) == [{**note, "mood": "calm", "facts": [], "pinned": False}]


def test_a_made_up_kind_is_redacted_again(noted: Store) -> None:
    assert redact_again(noted, MODE).redacted == {"note": 1}
    rows = noted.primary.execute("SELECT body FROM notes").fetchall()
    assert rows == [("A heron stood still.",), ("The key is GITHUB_TOKEN_REDACTED.",)]
    assert noted.primary.execute("SELECT min(ruleset) FROM documents").get == RULESET_VERSION
    assert forget_secrets(noted, ["stood still"], MODE).removed == {"note": 1}
    assert note_lines(noted)[0]["text"] == "A heron [FORGOTTEN]."


@pytest.mark.parametrize("what", ["record", "session"])
def test_a_made_up_kind_is_purged_and_kept_from_coming_back(noted: Store, what: str) -> None:
    lines = exported_bytes(noted)
    if what == "record":
        removed = forget_document(noted, DocumentRef("note", 1)).removed
        assert removed == {"note": 1}
    else:
        assert forget_session(noted, "S").removed == {"note": 2, "session": 1}
    left = 1 if what == "record" else 0
    assert [len(documents_of_notes(noted)), noted.primary.execute("SELECT count(*) FROM note_marks").get] == [left] * 2
    assert bring(noted, lines).counts["note"].new == 0
    assert len(documents_of_notes(noted)) == left


def test_a_made_up_kind_ages(noted: Store) -> None:
    assert prune_older(noted, MOMENT + 1).deleted["note"] == 1
    assert [number for number, *_ in documents_of_notes(noted)] == [2]
    assert noted.primary.execute("SELECT count(*) FROM note_marks").get == 1
    assert prune_older(noted, MOMENT + 2, kinds=["note"], session="S").deleted == {"note": 1}


@pytest.mark.needs("salvage")
@pytest.mark.parametrize("lost", ["documents", "notes"])
def test_a_made_up_kind_is_missed_by_the_doctor_and_made_again(noted: Store, lost: str, tmp_path: Path) -> None:
    before = documents_of_notes(noted)
    assert problems(noted) == []
    noted.primary.execute("PRAGMA foreign_keys = OFF")
    noted.primary.execute("DELETE FROM documents WHERE kind = 'note'" if lost == "documents" else "DELETE FROM notes")
    (problem,) = [problem for problem in problems(noted) if problem.startswith("records")]
    assert "note" in problem
    location = closed(noted)
    report = save_what_can_be_read(location.primary, str(tmp_path / "new.db"))
    assert {table.name: table.rebuilt for table in report.tables if table.rebuilt} == {lost: 2}
    Path(tmp_path / "new.db").rename(location.primary)
    with make_store(tmp_path / "here") as again:
        assert documents_of_notes(again) == before
        assert next(line["text"] for line in note_lines(again)) == "A heron stood still."
        assert problems(again) == []
