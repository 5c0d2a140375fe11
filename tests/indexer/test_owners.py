"""An extension that owns tables: what it declares is all that is needed, and they are never passed over."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from builders import before_extensions, make_store, save
from damage import closed
from exported import exported
from linked_builders import LINK_TABLES, copy_fixture

from ctxrank.extensions.links.sync import index_linked
from ctxrank.indexer import extensions, owners
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.new_file import save_what_can_be_read
from ctxrank.indexer.declarations import declared
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.owners import Owner, make_tables
from ctxrank.indexer.privacy.purge import forget_document, forget_path
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.migrations import migrate
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

MODE = RedactionMode.PATTERN_ONLY
TOKEN = "ghp" + "_" + "a1B2" * 9
TABLES = """
    CREATE TABLE signs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, root_id INTEGER NOT NULL REFERENCES roots (id), path TEXT NOT NULL,
        name TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL
    ) STRICT;
    CREATE TRIGGER logged_sign AFTER INSERT ON signs BEGIN
        INSERT INTO record_log (kind, number) VALUES ('sign', NEW.id);
    END;
"""
ENTRY = """
kind|sign|identity name|left_out id root_id
table|signs|counted_as sign
|id|number
|root_id|reference|refers_to roots
|path|path
|name|name
|body|text
|created_at|time
"""


@pytest.fixture
def signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with a table of a made-up extension, which is its declaration and its SQL file."""
    folder = tmp_path / "signs"
    folder.mkdir()
    (folder / "schema_001.sql").write_text(TABLES)
    kinds, _ = declared(line.split("|") for line in ENTRY.split("\n")[1:-1])
    module = ModuleType("ctxrank.extensions.signs")
    vars(module)["OWNER"] = Owner("signs", 1, str(folder), kinds=tuple(kinds.values()))
    for name in (module.__name__, f"{module.__name__}.tables"):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(vars(extensions)["EXTENSIONS"], "signs", "signs")
    monkeypatch.setitem(vars(owners), "OWNERS", (*extensions.OWNERS, "signs"))
    with make_store(tmp_path / "here") as store:
        with store.write() as change:
            make_tables(change.connection, vars(module)["OWNER"])
            for number, body in enumerate((f"The key is {TOKEN}.", "A heron stands here."), 1):
                change.connection.execute(
                    "INSERT INTO signs (root_id, path, name, body, created_at) VALUES (1, ?, ?, ?, 1)",
                    (f"signs/{number}.txt", f"SIGN-{number}", body),
                )
        yield store


def signs(store: Store) -> list[str]:
    return [str(body) for (body,) in store.primary.execute("SELECT body FROM signs ORDER BY id")]


def test_a_declared_table_is_exported_redacted_and_purged(signed: Store) -> None:
    lines = [line for line in exported(signed) if line.get("record") == "sign"]
    assert [(line["name"], line["path"]) for line in lines] == [("SIGN-1", "signs/1.txt"), ("SIGN-2", "signs/2.txt")]
    assert redact_again(signed, MODE).redacted == {"sign": 1}
    assert signs(signed) == ["The key is GITHUB_TOKEN_REDACTED.", "A heron stands here."]
    assert forget_secrets(signed, ["stands here"], MODE).removed == {"sign": 1}
    assert forget_path(signed, "signs/1.txt").removed == {"sign": 1} and signs(signed) == ["A heron [FORGOTTEN]."]


def test_a_declared_table_is_salvaged(signed: Store, tmp_path: Path) -> None:
    report = save_what_can_be_read(closed(signed).primary, str(tmp_path / "new.db"))
    assert {table.name: table.saved for table in report.tables}["signs"] == 2
    assert "linked_artifacts" not in {table.name for table in report.tables}


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with linked artifacts, of a program without links."""
    copy_fixture(tmp_path)
    with make_store(tmp_path) as store:
        save(store, "notes.md", "# Notes\n\nA walrus sleeps.\n")
        index_linked(store)
        monkeypatch.setattr(owners, "is_installed", "links".__ne__)
        yield store


def test_where_the_owner_is_absent_nothing_passes_over_its_tables(linked: Store, tmp_path: Path) -> None:
    for refused in (
        lambda: exported(linked),
        lambda: forget_document(linked, DocumentRef("package", 1)),
        lambda: forget_path(linked, "notes.md"),
        lambda: forget_secrets(linked, ["walrus"], MODE),
        lambda: redact_again(linked, MODE),
        lambda: list(examine(linked.location)),
    ):
        with pytest.raises(UsageError, match="must not pass over the tables of 'links'"):
            refused()
    assert search(linked, SearchRequest("walrus")).hits
    with pytest.raises(UsageError, match="'doctor --repair' must not pass over"):
        save_what_can_be_read(closed(linked).primary, str(tmp_path / "new.db"))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_store_from_before_names_the_owner_of_what_it_holds(rows: int, tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        database = closed(store).primary
    import apsw

    connection = apsw.Connection(database)
    connection.execute(f"{LINK_TABLES} {before_extensions()} PRAGMA user_version = 10")
    connection.execute("INSERT INTO linked_trees (path) SELECT '.' WHERE ?", (rows,))
    migrate(connection, database)
    assert connection.execute("SELECT name, version FROM extensions").fetchall() == [("links", 1)] * rows
    query = "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'linked_*' AND type = 'table'"
    assert connection.execute(query).get == 3 * rows
