"""Every page of both files, turned over, wiped or cut off: right, degraded with a reason, or error 5 and what to do."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from builders import copy_store, found, make_store, save
from damage import (
    DAMAGES,
    PAGE,
    closed,
    cut,
    flipped,
    leaves_of,
    pages_of,
    retype,
    root_of,
    spoil,
    without_logs,
    zeroed,
)
from index_contents import has_no_ghosts

from ctxrank.cli.main import run
from ctxrank.extensions.salvage.pages import PageFile, PageKind, UnreadablePage
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Repair
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.store import Store

# What reads each of the tables; nothing here writes.
_QUESTIONS = [
    ("search", "token refresh"), ("package", "list"), ("show", "package:3"), ("status",), ("error", "list"),
    ("reasoning", "get", "--session", "shop-2026-10"), ("strategy", "list"), ("session", "list"),
    ("error", "match", "--message", "sqlite3.OperationalError: database is locked", "--project", "shop"),
    ("assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "tokens", "--strict", "--no-mark"),
]  # fmt: skip


@pytest.fixture(scope="module")
def large_shop(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture store with enough beside it for trees of two levels, and one text of many pages."""
    home = tmp_path_factory.mktemp("large")
    store = open_store(copy_store(loaded_once, home).primary)
    words = " ".join(f"v{number}" for number in range(1900))
    for number in range(30):
        text = f"# Note {number}\n\n" + " ".join(f"w{number}x{word} shared{word % 7}" for word in range(60))
        save(store, f"notes/{number}.md", text, session="notes", summary=words if number == 7 else f"Note {number}.")
    index_of(store).connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")
    with store.write() as change:
        rows = [("elsewhere", "package", f"{number:040}", "cafe" * 16, number) for number in range(90)]
        change.connection.executemany("INSERT INTO imported_rows VALUES (?, ?, ?, ?, ?)", rows)
    closed(store)
    return home


@pytest.fixture
def shop(large_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """A copy of it, as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "2000")
    return copy_store(large_shop, tmp_path)


@pytest.fixture
def ask(shop: Location, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a command on the store; returns its exit code and what it printed, without what each call counts up."""

    def call(*command: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(["--db", shop.primary, *command, "--json"])
        printed = capsys.readouterr()
        assert "Internal error" not in printed.out + printed.err, (command, printed)
        return code, printed.out

    return call


def is_right_or_explained(code: int, printed: str, right: tuple[int, str]) -> bool:
    """The promise of a store that is damaged."""
    answer = json.loads(printed)
    if code == 5:
        return bool(answer["error"]["message"]) and "ctxrank doctor" in answer["error"]["hint"]
    if answer.get("outcome") == "degraded":
        return bool(answer.get("reason") or answer.get("index_trouble"))
    # An index that was built again is of another size.
    return code == right[0] and {**answer, "bytes": 0} == {**json.loads(right[1]), "bytes": 0}


def page_kinds(path: str) -> dict[str, int]:
    """One page of each sort that a file has (by number from 0), named by what it is."""
    file = PageFile(path)
    found_: dict[str, int] = {"header": 0}
    free = file.free_pages()
    for page in range(1, file.count):
        try:
            found_.setdefault(file.kind(page + 1).name, page)
        except UnreadablePage:
            if page + 1 not in free:
                found_.setdefault("OVERFLOW", page)
    if free:
        found_["FREE"] = min(free) - 1
    file.close()
    return found_


def test_the_store_of_these_tests_has_pages_of_every_sort(shop: Location) -> None:
    wanted = {kind.name for kind in PageKind} | {"header", "OVERFLOW"}
    assert wanted <= page_kinds(shop.primary).keys()
    assert wanted - {"INDEX_INTERIOR"} <= page_kinds(shop.index_file).keys()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_primary_answers_rightly_or_says_what_is_wrong(
    shop: Location, ask: Callable[..., tuple[int, str]], damage: Callable[[bytes, int], bytes]
) -> None:
    primary, index = Path(shop.primary).read_bytes(), Path(shop.index_file).read_bytes()
    right = [ask(*question) for question in _QUESTIONS]
    pages = {*page_kinds(shop.primary).values(), *range(0, pages_of(shop.primary), 17), pages_of(shop.primary) - 1}
    for page in sorted(pages):
        without_logs(shop)
        Path(shop.primary).write_bytes(damage(primary, page))
        Path(shop.index_file).write_bytes(index)
        for question, answer in zip(_QUESTIONS, right, strict=True):
            assert is_right_or_explained(*ask(*question), answer), (page, question)


def test_a_damaged_page_of_the_stores_history_does_not_cost_the_index(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    right = ask("status")
    spoil(shop.primary, "history_checkpoints")
    answer = json.loads(ask("search", "token")[1])
    assert (answer["outcome"], "ctxrank doctor" in answer["reason"]) == ("degraded", True)
    assert ask("status") == right


_SLOWLY = pytest.mark.slow


def _null(_: int) -> int:
    return 0


def _number(_: int) -> int:
    return 1


def _blob(type_: int) -> int:
    return type_ - 1 if type_ > 12 else 12


@pytest.fixture
def herons(tmp_path: Path) -> Location:
    """Five packages of a passage each that all say the same."""
    with make_store(tmp_path) as store:
        for number in range(5):
            save(store, f"{number}.md", f"# Birds\n\nA heron stands, {number}.\n", summary=f"A heron, {number}.")
        return closed(store)


_COLUMNS = [
    "id", "seq", "kind", "record_id", "owner_id", "session_id", "group_id", "agent", "type", "priority", "title",
    "body", "path", "identifiers", "passage_key", "start_line", "end_line", "superseded_by", "tokens", "token_counter",
    "ruleset", "created_at",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["on", "off"])
@pytest.mark.parametrize("retyped", [_blob, pytest.param(_null, marks=_SLOWLY), pytest.param(_number, marks=_SLOWLY)])
def test_no_value_in_a_torn_row_ends_a_search_unexplained(
    herons: Location, monkeypatch: pytest.MonkeyPatch, engine: str, retyped: Callable[[int], int]
) -> None:
    """A NULL, a number or a blob where the schema says something else, and all columns behind it moved."""
    monkeypatch.setenv("CTXRANK_FTS5", engine)
    primary = Path(herons.primary).read_bytes()
    for number, column in itertools.product((3, 4), range(2, len(_COLUMNS))):  # a package and its passage
        without_logs(herons)
        Path(herons.primary).write_bytes(primary)
        retype(herons.primary, "documents", number, column, retyped)
        for words in (["heron"], ["heron", "--passages"], ["kind:package"]):
            code = run(["--db", herons.primary, "--json", "search", *words])
            assert code in (0, 1, 5), (number, _COLUMNS[column], words)


@pytest.mark.parametrize("engine", ["on", "off"])
@pytest.mark.parametrize("column", ["title", "body", "path", "agent", "type", "priority"])
def test_a_torn_row_is_left_out_and_the_others_are_found(
    herons: Location, monkeypatch: pytest.MonkeyPatch, engine: str, column: str
) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", engine)
    retype(herons.primary, "documents", 3, _COLUMNS.index(column), _blob)
    with open_store(herons.primary) as store:
        answer = found(store, "heron")
        listed = found(store, "kind:package")
    for result in (answer, listed):
        assert result.outcome == "degraded" and result.reason
        assert [hit.path for hit in result.hits] == ["4.md", "3.md", "2.md", "0.md"]
        assert result.notes == (
            "1 row of the store is damaged and left out. See 'ctxrank doctor'; 'ctxrank doctor --repair plan' says"
            " what can be saved.",
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "every"), [(flipped, 0), *(pytest.param(damage, 9, marks=_SLOWLY) for damage in DAMAGES)]
)
def test_a_damaged_index_answers_rightly_or_degraded_and_heals(
    shop: Location, damage: Callable[[bytes, int], bytes], every: int
) -> None:
    """A page of each sort; and at length every ninth page, too."""
    queries = ("token refresh", "shared3", "w7x3 database locked")
    index = Path(shop.index_file).read_bytes()
    with open_store(shop.primary) as store:
        right = [found(store, query, limit=50).hits for query in queries]
    pages = {*page_kinds(shop.index_file).values(), *(range(0, pages_of(shop.index_file), every) if every else ())}
    for page in sorted(pages):
        without_logs(shop)
        Path(shop.index_file).write_bytes(damage(index, page))
        with open_store(shop.primary) as store:
            for query, hits in zip(queries, right, strict=True):
                answer = found(store, query, limit=50)
                assert answer.outcome == "degraded" or answer.hits == hits, (page, query)
            assert [found(store, query, limit=50).hits for query in queries] == right, page
            assert has_no_ghosts_or_doctor_knows(store), page


def has_no_ghosts_or_doctor_knows(store: Store) -> bool:
    """A page that none of the queries came to is healed by the one that does; until then doctor tells."""
    try:
        return has_no_ghosts(store)
    except apsw.CorruptError:
        return any(finding.repair is Repair.REBUILD for finding in examine(store.location))


_FTS_TABLES = ("fts_data", "fts_idx", "fts_docsize", "fts_config", "forward", "terms", "state")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flipped, pytest.param(zeroed, marks=_SLOWLY), pytest.param(cut, marks=_SLOWLY)])
@pytest.mark.parametrize("table", _FTS_TABLES)
def test_each_table_of_the_index_may_lose_any_of_its_pages(
    shop: Location, table: str, damage: Callable[[bytes, int], bytes]
) -> None:
    index = Path(shop.index_file).read_bytes()
    with open_store(shop.primary) as store:
        right = found(store, "token refresh").hits
    for page in {root_of(shop.index_file, table), leaves_of(shop.index_file, table)[-1]}:
        without_logs(shop)
        Path(shop.index_file).write_bytes(damage(index, page))
        with open_store(shop.primary) as store:
            save(store, "late.md", "an ibex", session="notes")
            assert found(store, "token refresh").hits[0].id == right[0].id
            assert [hit.path for hit in found(store, "ibex").hits] == ["late.md"]
            assert has_no_ghosts(store)


def test_doctor_finds_every_page_that_a_command_stumbles_over(
    shop: Location, ask: Callable[..., tuple[int, str]]
) -> None:
    primary = Path(shop.primary).read_bytes()
    for page in page_kinds(shop.primary).values():
        without_logs(shop)
        Path(shop.primary).write_bytes(zeroed(primary, page))
        if any(ask(*question)[0] == 5 for question in _QUESTIONS):
            code, printed = ask("doctor")
            broken = [finding for finding in json.loads(printed)["findings"] if finding["result"] == "fail"]
            assert code == 5 and all(finding["next_step"] for finding in broken), page


@pytest.mark.slow
@pytest.mark.parametrize("damage", [zeroed, pytest.param(flipped, marks=_SLOWLY), pytest.param(cut, marks=_SLOWLY)])
def test_what_doctor_repairs_answers_again(
    shop: Location, ask: Callable[..., tuple[int, str]], damage: Callable[[bytes, int], bytes]
) -> None:
    primary = Path(shop.primary).read_bytes()
    for kind, page in page_kinds(shop.primary).items():
        if damage is cut and page < 60:
            continue  # most of the store would be gone
        without_logs(shop)
        Path(shop.primary).write_bytes(damage(primary, page))
        ask("doctor", "--repair", "apply")
        _, printed = ask("doctor", "--deep")
        broken = [finding for finding in json.loads(printed)["findings"] if finding["result"] == "fail"]
        assert not broken, (kind, page, [(finding["id"], finding["evidence"]) for finding in broken])
        assert ask("search", "token refresh")[0] == 0
        assert ask("index")[0] == 0


def test_a_file_that_ends_within_a_page_is_damaged(shop: Location, ask: Callable[..., tuple[int, str]]) -> None:
    """SQLite reads the missing end as zeros, and the rows there as rows of nothing."""
    data = Path(shop.primary).read_bytes()
    Path(shop.primary).write_bytes(data[: -PAGE + 200])
    code, printed = ask("package", "list")
    assert (code, "ends within a page" in json.loads(printed)["error"]["message"]) == (5, True)


def test_a_text_that_is_no_utf8_any_more_is_damage(shop: Location, ask: Callable[..., tuple[int, str]]) -> None:
    data = Path(shop.primary).read_bytes()
    Path(shop.primary).write_bytes(data.replace(b"Note 3.", b"Note \xff."))
    code, printed = ask("package", "list", "--session", "notes", "--limit", "100")
    assert (code, json.loads(printed)["error"]["kind"]) == (5, "damaged")
