"""A linked worktree is a root that goes with its folder; git itself makes and removes it."""

import json
import shutil
from pathlib import Path

import pytest
from builders import answer_of, make_store
from git_tree import git

from ctxrank.cli.agents.hook import answer_of as answer_to
from ctxrank.cli.call import Call
from ctxrank.cli.main import run
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.connection import require_value
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search


def test_the_files_of_a_removed_worktree_are_gone_and_those_of_an_absent_one_are_kept(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init")
    (main / "a.md").write_text("zebras\n")
    git(main, "add", "a.md")
    git(main, "commit", "-m", "a")
    make_store(main).close()
    with open_store(start=str(main)) as store:
        index_artifacts(store)
    for command in ("remove --force", "prune"):
        git(main, "worktree", "add", "--force", str(linked), "-B", "work")
        (linked / "b.md").write_text("okapis\n")
        with open_store(start=str(linked)) as store:
            assert index_artifacts(store).added == ("a.md", "b.md")
        if command == "prune":
            shutil.rmtree(linked)
            with open_store(start=str(main)) as store:
                report = index_artifacts(store)
                assert (report.stale_roots, report.removed) == ((str(linked),), ())
        git(main, "worktree", *command.split(), *([str(linked)] if command != "prune" else []))
        with open_store(start=str(main)) as store:
            report = index_artifacts(store)
            assert (report.stale_roots, report.removed) == ((), (str(linked / "a.md"), str(linked / "b.md")))
            assert index_artifacts(store).stale_roots == ()
            for table in ("artifacts", "roots"):
                assert require_value(store.primary, f"SELECT count(*) FROM {table}", (), int) == 1


def test_nothing_of_a_removed_worktree_is_shown_and_the_next_run_forgets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init")
    (main / "a.md").write_text("zebras graze near the river\n")
    git(main, "add", ".")
    git(main, "commit", "-m", "a")
    make_store(main).close()

    def known(table: str) -> int:
        with open_store(start=str(main)) as store:
            return require_value(store.primary, f"SELECT count(*) FROM {table}", (), int)

    def run_start() -> None:
        event = {"hook_event_name": "SessionStart", "session_id": "runner", "cwd": str(main)}
        assert answer_to(json.dumps(event).encode(), None, Call()) == ""

    def run_part() -> None:
        with open_store(start=str(main)) as store:
            index_artifacts(store, [str(main / "a.md")])

    for forget in (run_start, run_part):
        git(main, "worktree", "add", "--force", str(linked), "-B", "work")
        (linked / "b.md").write_text("zebras and okapis graze near the river\n")
        for own in (main, linked):
            with open_store(start=str(own)) as store:
                index_artifacts(store)
        git(main, "worktree", "remove", "--force", str(linked))
        assert (known("roots"), known("artifacts")) == (2, 3)
        with open_store(start=str(main)) as store:
            for request in (
                SearchRequest("zebras"),
                SearchRequest("path:*.md"),
                SearchRequest("", kinds=("artifact",)),
            ):
                assert [hit.path for hit in search(store, request).hits] == ["a.md"]
            monkeypatch.setenv("CTXRANK_FTS5", "off")
            assert [hit.path for hit in search(store, SearchRequest("zebras")).hits] == ["a.md"]
            monkeypatch.delenv("CTXRANK_FTS5")
        monkeypatch.chdir(main)
        spawn = ("assemble", "--session", "new", "--agent", "developer", "--task", "okapis and zebras near the river")
        assert [one["path"] for one in answer_of(lambda: run(["--json", *spawn])).json()["files"]] == ["a.md"]  # noqa: B023  called at once
        forget()
        assert (known("roots"), known("artifacts")) == (1, 1)


def test_a_folder_that_was_no_worktree_may_come_back_and_its_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, disk = tmp_path / "main", tmp_path / "disk"
    disk.mkdir()
    make_store(main).close()
    git(main, "init")
    (disk / "b.md").write_text("okapis\n")
    monkeypatch.setenv("CTXRANK_ROOT", str(disk))  # which no file notes
    with open_store(start=str(main)) as store:
        assert index_artifacts(store).added == ("b.md",)
    monkeypatch.delenv("CTXRANK_ROOT")
    shutil.rmtree(disk)
    with open_store(start=str(main)) as store:
        report = index_artifacts(store)
        assert (report.stale_roots, report.removed) == ((str(disk),), ())


def test_in_each_checkout_its_own_files_come_first_and_those_of_the_other_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init")
    (main / "a.md").write_text("Zebras graze on the plain near the river, and they sleep while standing up.\n")
    (main / "b.py").write_text("okapi = 1\n")
    git(main, "add", ".")
    git(main, "commit", "-m", "a")
    make_store(main).close()
    git(main, "worktree", "add", str(linked))
    (linked / "b.py").write_text("okapi = 1\nokapi += other_leaves + of_the_forest\n")
    for own in (main, linked):
        with open_store(start=str(own)) as store:
            index_artifacts(store)
    for own, other in ((main, linked), (linked, main)):
        with open_store(start=str(own)) as store:
            (same,) = search(store, SearchRequest("zebras", is_folded=True)).hits
            assert (same.checkout, len(same.folded)) == ("", 1)
            for is_by_passage in (False, True):
                hits = search(store, SearchRequest("zebras", is_by_passage=is_by_passage)).hits
                assert [hit.checkout for hit in hits] == ["", str(other)]
            hits = search(store, SearchRequest("okapi", is_folded=True)).hits
            assert [hit.checkout for hit in hits] == ["", str(other)]
            assert search(store, SearchRequest("okapi", limit=1)).hits == hits[:1]
            listed = search(store, SearchRequest("path:b.py")).hits
            assert [(hit.checkout, hit.score) for hit in listed] == [("", None), (str(other), None)]
            with monkeypatch.context() as without_index:
                without_index.setenv("CTXRANK_FTS5", "off")
                by_heuristic = search(store, SearchRequest("zebras"))
            assert by_heuristic.outcome == "degraded" and [hit.checkout for hit in by_heuristic.hits] == [
                "",
                str(other),
            ]
        monkeypatch.chdir(own)
        assert f"   b.py:1 (in the checkout {other})\n" in answer_of(lambda: run(["search", "okapi"])).out
        first, second = answer_of(lambda: run(["search", "okapi", "--format", "compact"])).out.splitlines()
        assert " b.py:1 " in first and str(other)[-20:] in second
        spawn = ("assemble", "--session", "new", "--agent", "developer", "--task", "zebras graze near the river")
        (file,) = answer_of(lambda: run(["--json", *spawn])).json()["files"]  # noqa: B023  called at once
        assert (file["path"], file["id"] > 2) == ("a.md", own == linked)


def test_files_of_a_folder_that_is_no_checkout_keep_their_places(tmp_path: Path) -> None:
    main, notes = tmp_path / "main", tmp_path / "notes"
    notes.mkdir()
    make_store(main).close()
    for folder, text in ((main, "an okapi, and much more that is not about one\n"), (notes, "# Okapi\n")):
        (folder / "a.md").write_text(text)
        with open_store(start=str(main), root=str(folder)) as store:
            index_artifacts(store)
    with open_store(start=str(main)) as store:
        first, second = search(store, SearchRequest("okapi")).hits
        assert (first.title, first.checkout, second.checkout) == ("Okapi", "", "")
