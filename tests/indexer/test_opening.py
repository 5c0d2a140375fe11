"""A store is made and opened by its place, and extensions are asked for by their names."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from builders import always, make_store, save

from ctxrank.indexer.engine import EngineError, IndexHealth, Readiness, Statistics
from ctxrank.indexer.exceptions import (
    CtxrankError,
    DamagedError,
    LockedError,
    NoStoreError,
    NotFoundError,
    UntrustedError,
    UsageError,
    refused_by_system,
    require_word,
)
from ctxrank.indexer.extensions import EXTENSIONS, absence, is_installed, provided
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.opening import (
    answer_of,
    create_named_store,
    create_scratch_store,
    create_store,
    engine_of,
    from_index,
    open_project_store,
    open_store,
)

if TYPE_CHECKING:
    from ctxrank.indexer.engine import Engine


def test_a_store_of_any_name_lies_where_its_folder_is(tmp_path: Path) -> None:
    with create_named_store(str(tmp_path / "mine.db"), root=str(tmp_path)) as store:
        assert Path(store.location.index_file) == tmp_path / "mine.index.db" and not (tmp_path / ".ctxrank").exists()
        save(store, "a.md", "zebra")
    with create_named_store(str(tmp_path / "mine.db")) as again, open_store(str(tmp_path / "mine.db")) as opened:
        assert again.last_seq() == opened.last_seq() > 0
    with create_named_store(str(tmp_path / "p" / ".ctxrank" / "ctxrank.db")) as store:
        assert store.location.project == str(tmp_path / "p")  # its folder is made


@pytest.mark.parametrize(("name", "why"), [("no/mine.db", "there is no folder"), ("here", "it is a folder")])
def test_a_store_is_made_in_a_folder_that_is_there(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(UsageError, match=why):
        create_named_store(str(tmp_path / name))


def test_the_store_of_a_project_is_asked_for_and_not_looked_for_above_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store, open_project_store(str(tmp_path)) as opened:
        assert opened.location.primary == store.location.primary
    (tmp_path / "inner").mkdir()
    with pytest.raises(NoStoreError, match=r"There is no store at .*inner"):
        open_project_store(str(tmp_path / "inner"))


def test_a_scratch_store_is_noted_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    create_scratch_store(str(tmp_path / "scratch")).close()
    assert not (tmp_path / "state").exists()
    create_store(str(tmp_path / "kept")).close()
    assert os.listdir(tmp_path / "state" / "ctxrank" / "stores")


def test_what_an_index_cannot_answer_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "zebra")
        errors: list[Exception] = []

        def ask(engine: "Engine", _: Statistics) -> list[str]:
            if errors:
                raise errors.pop()
            return [engine.name]

        def is_off(_: int) -> Readiness:
            return Readiness(IndexHealth.OFF, 0)

        for asked_again in ([], [apsw.CorruptError()], [EngineError()], [TypeError()]):
            errors += asked_again
            assert from_index(store, ask) == ["fts5"]
        errors += [apsw.CorruptError(), apsw.CorruptError()]
        assert from_index(store, ask) == []
        monkeypatch.setattr("ctxrank.indexer.store.parents.has_corrupt_rows", always(True))
        generation = index_of(store).generation
        errors.append(TypeError())
        assert from_index(store, ask) == [] and index_of(store).generation == generation, "its index is sound"
        monkeypatch.setattr(fts5_of(store), "make_ready", is_off)
        assert from_index(store, ask) == []


def test_an_index_that_is_switched_off_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", "0")
    with make_store(tmp_path) as store:
        save(store, "a.md", "zebra")
        assert from_index(store, lambda engine, _: [engine.name]) == []


def test_an_index_that_fails_anew_points_to_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> None:
        raise apsw.CorruptError

    def is_locked(*_: object) -> Readiness:
        return Readiness(IndexHealth.LOCKED, 3)

    with make_store(tmp_path) as store:
        asked = store, engine_of(store), store.config, 1000, ask
        assert answer_of(*asked)[1].health == IndexHealth.STORE
        monkeypatch.setattr(fts5_of(store), "recover", is_locked)
        assert answer_of(*asked) == (None, Readiness(IndexHealth.LOCKED, 3))


def test_what_is_not_there_is_said_by_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    team = absence("ctxrank.extensions.team", "'team join'")
    assert (team.message, "PostgreSQL" in team.hint) == ("'team join' is not installed.", True)
    assert absence("ctxrank.ranking", "x").hint == "This installation leaves ctxrank.ranking out."
    assert absence("psycopg", "'team'").message == "'team' needs psycopg, which is not installed."
    monkeypatch.setitem(EXTENSIONS, "absent", "nothing")
    assert not is_installed("absent")
    with pytest.raises(UsageError, match="'this' is not installed"):
        provided("ctxrank.extensions.absent.port:X", "this")
    assert provided("ctxrank.indexer.extensions:absence", "it") is absence


def test_each_error_has_an_exit_code_and_a_kind_of_its_own() -> None:
    kinds = (CtxrankError, UsageError, NotFoundError, NoStoreError, UntrustedError, DamagedError, LockedError)
    assert [(kind.kind, kind.exit_code) for kind in kinds] == [
        ("refused", 6),
        ("usage", 2),
        ("not_found", 1),
        ("no_store", 3),
        ("untrusted", 3),
        ("damaged", 5),
        ("locked", 7),
    ]
    assert [kind for kind in kinds if kind.retryable] == [LockedError]


def test_a_word_that_is_not_allowed_and_what_the_system_refuses_are_sentences() -> None:
    assert require_word("a", ("a", "b"), "a kind", "Kinds") == "a"
    with pytest.raises(UsageError) as refused:
        require_word("c", ("a", "b"), "a kind", "Kinds", said=" C")
    assert (refused.value.message, refused.value.hint) == ("' C' is not a kind.", "Kinds are a, b.")
    said = pytest.raises(DamagedError, match=r"It cannot be read: No such file or directory\.")
    with said, refused_by_system("It cannot be read", "Look.", DamagedError):
        raise FileNotFoundError(2, "No such file or directory")
