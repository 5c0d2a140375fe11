"""An older store is brought up to date when it is opened, and nothing in it is lost."""

from pathlib import Path

import apsw
import pytest
from builders import BUSY_MS, make_store, open_again

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.known_errors.failures import sign_older
from ctxrank.indexer.store import APPLICATION_ID, SCHEMA_VERSION, Store
from ctxrank.ranking.hits import SearchRequest
from ctxrank.ranking.known_errors.answer import Asked, recognise
from ctxrank.ranking.retrieval import search

SQL_FILES = sorted((Path(__file__).parent.parent / "indexer").glob("truth_*.sql"))


def store_of_schema(tmp_path: Path, version: int) -> None:
    """A store as the program of that schema left it: one session, one error pattern with its document."""
    folder = tmp_path / ".ctxrank"
    folder.mkdir()
    truth = apsw.Connection(str(folder / "ctxrank.db"))
    for path in SQL_FILES[:version]:
        truth.execute(path.read_text(encoding="utf-8"))
    truth.execute("INSERT INTO store VALUES (1, 'u', 1, 0); INSERT INTO roots VALUES (1, '.')")
    truth.execute("INSERT INTO sessions (name, created_at) VALUES ('S', 5)")
    moment = now_us()
    confidence = "confidence" if version == 1 else "bazinga_confidence"
    truth.execute(
        "INSERT INTO error_patterns (project, pattern_hash, error_type, message, solution, last_seen, created_at,"
        f" {confidence}) VALUES ('shop', 'cafe', 'ImportError', 'No module named', 'Install it.', ?, ?, 0.9)",
        (moment, moment),
    )
    truth.execute(
        "INSERT INTO documents (seq, kind, number, title, body, ruleset, created_at)"
        " VALUES (1, 'error', 1, 'ImportError', 'Install it.', 1, ?)",
        (moment,),
    )
    truth.pragma("application_id", APPLICATION_ID)
    truth.pragma("user_version", version)
    truth.close()


@pytest.fixture(params=range(1, SCHEMA_VERSION + 1))
def upgraded(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    store_of_schema(tmp_path, request.param)
    return make_store(tmp_path)


def schema_of(store: Store) -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.truth.execute("SELECT type, name, tbl_name FROM sqlite_schema ORDER BY name")]


def test_there_is_one_file_for_each_schema() -> None:
    assert len(SQL_FILES) == SCHEMA_VERSION


def test_a_store_of_any_schema_becomes_the_present_one(upgraded: Store, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with upgraded, make_store(tmp_path / "new") as new:
        assert upgraded.truth.pragma("user_version") == SCHEMA_VERSION
        assert schema_of(upgraded) == schema_of(new)


def test_what_an_older_store_knew_is_still_known(upgraded: Store) -> None:
    with upgraded:
        assert upgraded.truth.execute("SELECT solution, bazinga_confidence FROM error_patterns").get == (
            "Install it.", 0.9,
        )  # fmt: skip
        assert [hit.id for hit in search(upgraded, SearchRequest("ImportError")).hits] == ["error:1"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_error_of_an_older_store_is_recognised_and_its_confidence_is_a_record(tmp_path: Path, version: int) -> None:
    store_of_schema(tmp_path, version)
    with make_store(tmp_path) as store:
        assert sign_older(store) == 1 and sign_older(store) == 0
        answer = recognise(store.truth, "ImportError: No module named", Asked("shop", now_us()))
        assert [(fix.solution, fix.match.state, fix.match.confirmations) for fix in answer.fixes] == [
            ("Install it.", "confirmed", 4)
        ]


def test_an_upgrade_is_made_once(upgraded: Store) -> None:
    with upgraded, open_again(upgraded, busy_ms=BUSY_MS) as again:
        assert again.truth.pragma("user_version") == SCHEMA_VERSION
