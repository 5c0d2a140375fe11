"""Checkouts of one project that share a store: whose files come first, and which are said to be elsewhere."""

import shutil
from itertools import product
from pathlib import Path

import pytest
from builders import make_store, save
from tables import each_row

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.config import Config
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

_OFF = Config(fts5=False)


def _link(main: Path, folder: Path) -> Path:
    """A worktree as git would make it, without git."""
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    folder.mkdir()
    (own / "gitdir").write_text(f"{folder}/.git\n")
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


def _places(own: Path, query: str, config: Config | None = None, *, limit: int = 10) -> list[tuple[str, str]]:
    """(path, folder of the checkout) of each hit, as one sees them who asks from a folder."""
    with open_store(start=str(own)) as store:
        hits = search(store, SearchRequest(query, limit=limit), config).hits
        return [(hit.path, hit.checkout) for hit in hits]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a worktree, `one`; both hold a file b.py that is not quite the same."""
    main = tmp_path / "main"
    (main / ".git").mkdir(parents=True)
    make_store(main).close()
    for folder, text in ((main, "okapi = 1\n"), (_link(main, tmp_path / "one"), "okapi = 1\nokapi += leaves\n")):
        (folder / "b.py").write_text(text)
        with open_store(start=str(folder)) as store:
            index_artifacts(store)
    return main


@each_row("name, config", product(("main", "one"), (None, _OFF)))
def test_the_own_file_comes_first_and_all_others_are_marked(project: Path, name: str, config: Config | None) -> None:
    own, query = project.parent / name, "path:b.py okapi" if config is None else "okapi"
    other = project.parent / ("main" if name == "one" else "one")
    assert _places(own, query, config) == [("b.py", ""), ("b.py", str(other))]
    assert _places(own, query, config, limit=1) == [("b.py", "")]


def test_a_package_says_in_which_other_checkout_its_file_is(tmp_path: Path) -> None:
    """A hit of a search and the block of a spawn alike; a worktree that git has removed takes no package with it."""
    main = tmp_path / "main"
    (main / ".git").mkdir(parents=True)
    make_store(main).close()
    one = _link(main, tmp_path / "one")
    with open_store(start=str(one)) as store:
        save(store, "n.md", "herons unlock the okapi\n", summary="Herons.", priority="critical")
        index_artifacts(store)
    for own, folder in ((one, ""), (main, str(one))):
        assert _places(own, "herons unlock") == _places(own, "herons unlock", _OFF) == [("n.md", folder)]
        with open_store(start=str(own)) as store:
            text = assemble(store, AssembleRequest("S", "developer", "G", "herons unlock the okapi")).text
        assert ("in the checkout" in text) == (f"in the checkout {one}; matches" in text) == bool(folder)
    shutil.rmtree(one)
    shutil.rmtree(main / ".git" / "worktrees" / "one")
    assert _places(main, "herons unlock") == [("n.md", "")]


def test_own_records_are_not_lifted_by_a_package_of_another_checkout(tmp_path: Path) -> None:
    main = tmp_path / "main"
    (main / ".git").mkdir(parents=True)
    make_store(main).close()
    with open_store(start=str(_link(main, tmp_path / "one"))) as store:
        save(store, "n.md", "herons unlock the okapi\n", summary="Herons unlock the okapi.")
    with open_store(start=str(main)) as store:
        save(store, "a.md", "zebras graze, and an okapi\n" * 20, summary="Zebras.")
        save(store, "b.md", "herons and an okapi\n", summary="Herons and an okapi.")
    query = "herons unlock okapi"
    paths = [path for path, _ in _places(main, query)]
    assert paths == [path for path, _ in _places(tmp_path / "one", query)] == ["n.md", "b.md", "a.md"]


def test_a_worktree_whose_folder_alone_is_gone_is_still_another_checkout(project: Path) -> None:
    one = project.parent / "one"
    shutil.rmtree(one)
    assert ("b.py", str(one)) in _places(project, "okapi")


@pytest.mark.parametrize("config", [None, _OFF], ids=["index", "no index"])
def test_nothing_of_a_worktree_that_git_has_removed_is_found(project: Path, config: Config | None) -> None:
    shutil.rmtree(project.parent / "one")
    shutil.rmtree(project / ".git" / "worktrees" / "one")
    assert _places(project, "okapi", config) == [("b.py", "")]


def test_a_folder_of_another_project_is_no_checkout_of_this_one(project: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    (stranger / ".git").mkdir(parents=True)
    other = _link(stranger, tmp_path / "of the stranger")
    for folder in (stranger, other):
        (folder / "c.md").write_text("# Okapi okapi\n")
        with open_store(start=str(project), root=str(folder)) as store:
            index_artifacts(store)
            asked_there = [hit.checkout for hit in search(store, SearchRequest("okapi")).hits]
        assert set(asked_there) == {""}, "who asks from no checkout of the project has no own files"
    assert [checkout for path, checkout in _places(project, "okapi") if path == "c.md"] == ["", ""]
