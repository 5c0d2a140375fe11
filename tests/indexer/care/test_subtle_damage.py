"""Damage that leaves a file readable: a lost page of the schema, rows of another page, a byte that is no text."""

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from builders import found, make_store, save, search_ids
from damage import closed, flipped, leaves_of, root_of, rows_of, without_logs, zeroed
from exported import fill
from index_contents import has_no_ghosts
from linked_builders import copy_fixture
from page_damage import sorts_of
from tables import each_row

from ctxrank.cli.call import given_options
from ctxrank.cli.main import run
from ctxrank.cli.unexpected import explained
from ctxrank.indexer.catalogue import tables
from ctxrank.indexer.errors.failed_commands import FailedCommand, TreeState, remember
from ctxrank.indexer.exceptions import CtxrankError, DamagedError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.location import Location


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    monkeypatch.chdir(tmp_path)
    store = make_store(tmp_path)
    for number in range(12):
        save(store, f"notes/{number}.md", f"# Note {number}\n\nThe ibex {'of this hill ' * 40}w{number}.\n")
    with store.write() as change:
        rows = [("elsewhere", "package", f"{number:040}", "cafe" * 16, number) for number in range(90)]
        change.connection.executemany("INSERT INTO imported_rows VALUES (?, ?, ?, ?, ?)", rows)
    store.catch_up()
    return closed(store)


@pytest.fixture
def ask(shop: Location, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(*command: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(["--db", shop.primary, *command, "--json"])
        return code, capsys.readouterr().out

    return call


@pytest.mark.slow
def test_a_lost_page_of_the_schema_is_repaired_and_costs_no_row(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    before, primary = rows_of(shop.primary), Path(shop.primary).read_bytes()
    pages = [page for page, sort in sorts_of(shop.primary).items() if sort == "sqlite_schema leaf"]
    assert len(pages) > 2
    for page in pages:
        without_logs(shop)
        Path(shop.primary).write_bytes(zeroed(primary, page - 1))
        assert ask("search", "ibex")[0] == 5
        code, printed = ask("doctor", "--repair", "apply")
        assert (code, json.loads(printed)["repair"]["complete"]) in ((0, True), (5, False)), page
        assert ask("doctor", "--deep")[0] == 0
        after = rows_of(shop.primary)
        assert {name for name, rows in before.items() if rows - after[name]} == set(), page


def test_a_text_that_is_no_utf_8_is_found_by_doctor_and_stops_no_index_for_good(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    data = Path(shop.primary).read_bytes()
    assert data.count(b" w7.") == 1
    Path(shop.primary).write_bytes(data.replace(b" w7.", b" \xff7."))
    code, printed = ask("doctor")
    (texts,) = [finding for finding in json.loads(printed)["findings"] if finding["id"] == "texts"]
    assert (code, "no longer UTF-8" in texts["evidence"]) == (5, True)
    ask("doctor", "--repair", "apply")
    with open_store(shop.primary) as store:
        save(store, "late.md", "A chamois.\n")
        assert search_ids(store, "chamois") != [] and has_no_ghosts(store)


_OF_ANOTHER_TYPE = ("3", "null", '"a"')
_WRONG = {"'[": (*_OF_ANOTHER_TYPE, "{}"), "'{": (*_OF_ANOTHER_TYPE, "[]")}
# What is inside is of a type, too, where the catalogue says so.
_WRONG_INSIDE = {
    "context_references": ("[[3]]", "[null]", "[true]", "[1.5]", '["3"]'),
    "terms": ("[[3]]", '["a"]'),
    "features": ("{}", '{"type": "KeyError"}', '{"codes": 3}'),
    "git_state": ("[]", '["", []]', '["", [3], []]', '["", [], [], null]'),
}
_TYPED = [
    (table.name, one.name, one.replacement)
    for table in tables()
    for one in table.stored
    if one.replacement[:2] in _WRONG
]


def test_a_signature_of_older_rules_that_lacks_what_newer_ones_have_is_no_damage(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    ask("error", "save", "--type", "KeyError", "--message", "port", "--solution", "Set it.")
    with open_store(shop.primary) as store:
        older = "json_object('type', 'KeyError', 'codes', json('[]'), 'message', 'port')"
        store.primary.execute(f"UPDATE error_signatures SET features = {older}, normaliser_version = 1")
    assert ask("doctor")[0] == 0


@each_row("table, column, replacement", _TYPED)
def test_json_of_another_type_than_its_columns_is_damage_that_a_repair_ends(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    table: str,
    column: str,
    replacement: str,
) -> None:
    with make_store(tmp_path_factory.mktemp("typed")) as store:
        fill(store)
        with store.write() as change:
            remember(change, FailedCommand("k", "make", ".", "KeyError: 'port'", TreeState(), 1))
        (type,) = next(store.primary.execute(f"SELECT json_type({replacement})"))
        good = list(store.primary.execute(f"SELECT rowid, {column} FROM {table}"))
        for value in (*_WRONG[replacement[:2]], *_WRONG_INSIDE.get(column, ())):
            store.primary.execute(f"UPDATE {table} SET {column} = ?", (value,))
            assert store.primary.changes()
            told = explained(TypeError("odd"), store.location.primary).message
            assert told.startswith("The store is damaged (texts are") and f"{table}.{column}" in told, value
        for number, value in good:
            store.primary.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, number))
        assert explained(TypeError("odd"), store.location.primary).message.startswith("Internal error")
        store.primary.execute(f"UPDATE {table} SET {column} = ?", (_WRONG_INSIDE.get(column, "3")[0],))
        location = closed(store)
    assert run(["--db", location.primary, "doctor", "--repair", "apply"]) == 0
    with open_store(location.primary) as store:
        (found,) = store.primary.execute(f"SELECT DISTINCT json_type({column}) FROM {table}")
        assert found == (type,)
    capsys.readouterr()
    for command in (
        ("error", "show", "error:1"),
        ("error", "match", "--message", "KeyError: no 8"),
        ("list", "errors"),
    ):
        run(["--db", location.primary, *command])
    assert "Internal error" not in "".join(capsys.readouterr())


def test_a_term_that_only_fts5_has_makes_the_index_anew(shop: Location) -> None:
    index = apsw.Connection(shop.index_file)
    index.execute("DELETE FROM terms WHERE term = 'ibex'")
    index.close()
    with open_store(shop.primary) as store:
        assert len(search_ids(store, "ibex", limit=50)) == 12
        assert found(store, "ibex").outcome == "matched"
        assert found(store, "unheard of").outcome == "no_match"


def test_a_row_without_what_it_holds_makes_the_index_anew(shop: Location) -> None:
    index = apsw.Connection(shop.index_file)
    index.execute("DELETE FROM forward WHERE id IN (SELECT id FROM forward LIMIT 3)")
    index.close()
    with open_store(shop.primary) as store:
        assert len(search_ids(store, "ibex", limit=50)) == 12 and has_no_ghosts(store)


def test_an_index_with_pages_that_are_nobodys_is_replaced_by_a_repair(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    index = apsw.Connection(shop.index_file)
    index.execute("CREATE TABLE lost (text); INSERT INTO lost VALUES (zeroblob(20000))")
    index.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    index.execute("PRAGMA writable_schema = ON")
    index.execute("DELETE FROM sqlite_schema WHERE name = 'lost'")
    index.close()
    assert "index-integrity" in [
        one["id"] for one in json.loads(ask("doctor")[1])["findings"] if one["result"] == "fail"
    ]
    assert ask("doctor", "--repair", "apply")[0] == 0
    assert ask("doctor", "--deep")[0] == 0


def test_what_no_new_index_helps_against_is_said_to_be_the_store(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    primary = Path(shop.primary).read_bytes()
    outcomes = set[str]()
    for page in {
        *leaves_of(shop.primary, "artifacts"),
        *leaves_of(shop.primary, "documents"),
        root_of(shop.primary, "groups"),
    }:
        without_logs(shop)
        Path(shop.primary).write_bytes(flipped(primary, page))
        code, printed = ask("search", "ibex")
        answer = json.loads(printed)
        outcomes.add(str(answer.get("outcome")))
        assert code == 5 or answer["outcome"] == "matched" or "store cannot be read" in answer["reason"], page
    assert outcomes - {"matched"}


def test_a_context_says_when_search_could_add_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_fixture(tmp_path)
    make_store(tmp_path).close()
    assert run(["context", "TASK-042", "--json"]) == 0
    assert "Search adds nothing" not in capsys.readouterr().out
    monkeypatch.setenv("CTXRANK_FTS5", "off")
    assert run(["context", "TASK-042", "--json"]) == 0
    assert "Search adds nothing: FTS5 is switched off" in " ".join(json.loads(capsys.readouterr().out)["warnings"])


@each_row(
    "words, given",
    [
        ("--db a --root b", {"--db": "a", "--root": "b"}),
        ("--db=a=b find --root", {"--db": "a=b"}),
        ("--db= --dbx c --rootless=d e", {}),
        ("find --db --root", {"--db": "--root"}),
        ("--root a --root b", {"--root": "b"}),
    ],
)
def test_an_option_is_given_by_the_next_word_or_behind_its_sign(words: str, given: dict[str, str]) -> None:
    assert given_options(words.split(), ("--db", "--root")) == given


def test_what_nobody_foresaw_is_damage_where_the_store_is_damaged(shop: Location) -> None:
    given = given_options(["--db", shop.primary, "search", "--root=/x"], ("--db", "--root"))
    assert given == {"--db": shop.primary, "--root": "/x"}
    error = explained(ValueError("odd"), shop.primary)
    assert type(error) is CtxrankError and "Internal error" in error.message
    data = Path(shop.primary).read_bytes()
    Path(shop.primary).write_bytes(zeroed(data, leaves_of(shop.primary, "documents")[0]))
    assert isinstance(explained(ValueError("odd"), shop.primary), DamagedError)
