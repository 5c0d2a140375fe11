"""A query's cold start is the product: what it may import is a list, and the list is held here."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from linked_builders import copy_fixture

from ctxrank.extensions.team.state import write_state
from ctxrank.indexer.exceptions import LockedError
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.store.location import TEAM_LOCK, Location
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.team_log import TeamState

# Each of these costs more than a tenth of a bare interpreter's start; click three of them, with what it imports.
_FORBIDDEN = (
    "click", "inspect", "uuid", "argparse", "dataclasses", "importlib.metadata", "importlib.resources", "logging",
    "pathspec", "rapidfuzz", "tiktoken", "yaml", "sqlite3", "asyncio", "multiprocessing", "concurrent.futures",
    "email", "http", "urllib.request",
)  # fmt: skip


def _imported(folder: Path, *arguments: str, given: str = "") -> set[str]:
    code = (
        "import sys; from ctxrank.cli.main import run; code = run(sys.argv[1:]);"
        "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, input=given, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.fixture
def shop(loaded: Location, tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "database", "locked"),
        ("assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "token refresh"),
        ("package", "list"),
        ("error", "match", "--project", "shop", "--message", "sqlite3.OperationalError: database is locked"),
    ],
)
def test_a_query_imports_none_of_the_expensive_modules(shop: Path, arguments: tuple[str, ...]) -> None:
    modules = _imported(shop, *arguments)
    assert not modules & set(_FORBIDDEN)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "database", "locked"),
        ("search", "refreshToken"),
        ("search", "-n", "3", '"expired token"', "title:token"),
        ("search", "why is the database locked?", "it was not."),
        ("assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "token refresh"),
        ("status",),
    ],
)
def test_the_questions_of_every_spawn_load_neither_typing_nor_re(shop: Path, arguments: tuple[str, ...]) -> None:
    modules = _imported(shop, *arguments)
    # OpenSSL takes half a bare start, too: the files of a copied store have other stats, so that some are hashed.
    assert not modules & {"typing", "importlib", "_hashlib"}
    # What stands in for compiled code, where there was no compiler, makes arrays.
    assert find_spec("ctxrank.indexer.fulltext._postings") is None or not modules & {"array", "_struct"}
    # `re` with `enum` and `functools` takes half a bare start: words and names are read without a pattern.
    assert arguments == ("status",) or not modules & {"contextlib", "re", "enum", "functools", "unicodedata"}


def test_findings_about_files_of_the_project_load_no_more(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("def claim(database: str) -> None:\n    lock(database)\n")
    (tmp_path / "locks.md").write_text("# Locks\n\nThe database is locked: see `claim` in queue.py:1.\n")
    create_store(str(tmp_path)).close()
    for arguments in (["index", "."], ["save", "locks.md", "--session", "shop"]):
        _imported(tmp_path, *arguments)
    asked = ("assemble", "--session", "shop", "--agent", "developer", "--task", "claim the database")
    modules = _imported(tmp_path, *asked)
    assert {"ctxrank.ranking.context.assembly.files", "ctxrank.indexer.records.anchors"} <= modules
    assert not modules & {*_FORBIDDEN, "contextlib", "re", "enum", "functools", "ctxrank.indexer.redaction.engine"}


def test_a_session_that_starts_beside_known_notes_loads_nothing_that_takes_notes_in(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "locks.md").write_text("# Locks\n\nThe database is locked.\n")
    create_store(str(tmp_path)).close()
    event = {"hook_event_name": "SessionStart", "session_id": "monday", "cwd": str(tmp_path), "source": "startup"}
    takes_in = {"ctxrank.cli.agents.notes", "ctxrank.indexer.files.scan", "ctxrank.indexer.redaction.engine", "re"}
    assert takes_in <= _imported(tmp_path, "hook", given=json.dumps(event))
    assert not _imported(tmp_path, "hook", given=json.dumps(event)) & {*_FORBIDDEN, *takes_in, "json"}


@pytest.mark.slow
@pytest.mark.parametrize("query", ["database locked", "database", "token refresh database", "how does the retry work"])
def test_a_search_for_words_of_the_index_loads_nothing_that_stands_in_for_others(shop: Path, query: str) -> None:
    modules = _imported(shop, "search", query)
    assert not modules & {"ctxrank.ranking.retrieval.expansion", "rapidfuzz"}
    assert "ctxrank.ranking.retrieval.expansion" in _imported(shop, "search", "databse locked")


def test_a_context_of_an_unchanged_tree_reads_no_file_and_loads_no_parser(tmp_path: Path) -> None:
    copy_fixture(tmp_path)
    create_store(str(tmp_path)).close()
    _imported(tmp_path, "context", "TASK-042")
    modules = _imported(tmp_path, "context", "TASK-042", "--budget", "2000")
    assert not modules & {*_FORBIDDEN, "hashlib", "ctxrank.indexer.text.frontmatter", "ctxrank.indexer.files.read"}
    # The last of them are `beneath` (with `systems`), by which the folders are listed, and what was compiled to count a
    # text: loading it takes a third of the time that its twin's patterns take.
    assert len([name for name in modules if name.startswith("ctxrank.")]) <= 76


@pytest.mark.parametrize(
    "arguments, most",
    [
        (("search", "database", "locked"), 63),
        (("assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "x"), 80),
    ],
)
def test_a_query_imports_at_most_this_many_modules_of_ours(shop: Path, arguments: tuple[str, ...], most: int) -> None:
    modules = _imported(shop, *arguments)
    ours = {name for name in modules if name.startswith("ctxrank.")}
    assert "ctxrank.indexer.store.known_stores" not in ours  # whose the store is takes one short look
    # The files of a copied store have other stats, so one is opened to see that its bytes are the same.
    opened = {"ctxrank.indexer.beneath", "ctxrank.indexer.systems", "ctxrank.indexer.text.digests"}
    assert len(ours - opened) <= most


@pytest.mark.parametrize("arguments", [("--help",), ("search", "--help"), ("assemble", "--help")])
def test_help_opens_neither_database_nor_config(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    modules = _imported(tmp_path, *arguments)
    assert "apsw" not in modules
    assert not modules & {*_FORBIDDEN} - {"click", "inspect", "uuid"}


@pytest.mark.parametrize("arguments", [("completion", "bash"), ("schema",), ("schema", "search"), ("--help",)])
def test_what_declarations_say_needs_neither_an_action_nor_click_nor_a_database(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    modules = _imported(tmp_path, *arguments)
    assert not modules & {"apsw", "ctxrank.cli.actions", "ctxrank.indexer.store.store"}
    assert arguments == ("--help",) or "click" not in modules


def test_a_store_without_a_team_loads_and_asks_nothing_of_one(shop: Path) -> None:
    for arguments in (("search", "database"), ("status",), ("package", "list")):
        assert not [name for name in _imported(shop, *arguments) if "team" in name.split(".")[-1] or ".team." in name]


def test_a_command_of_a_store_with_a_team_connects_to_nothing(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_TEAM", "host=127.0.0.1 port=1")
    with open_store(start=str(shop)) as store:
        folder = store.location.folder
        with store.write() as change:
            write_state(change, TeamState("shop", asked_at=1))
    # Held, so that no process is started in the background, which has a folder to be gone from.
    with only_one(str(Path(folder) / TEAM_LOCK), "4711", LockedError):
        for arguments in (("search", "database"), ("assemble", "--session", "shop-2026-10", "--agent", "developer")):
            modules = _imported(shop, *arguments)
            assert "ctxrank.extensions.team.wake" in modules
            assert not modules & {"psycopg", "cryptography", "socket", "ssl", "subprocess", "json", "threading"}
