"""A linked worktree is a root that goes with its folder; git itself makes and removes it."""

import shutil
import subprocess
from pathlib import Path

from builders import make_store

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.connection import require_value


def _git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(("git", "-C", str(folder), *name, *words), check=True, capture_output=True)


def test_the_files_of_a_removed_worktree_are_gone_and_those_of_an_absent_one_are_kept(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    _git(main, "init")
    (main / "a.md").write_text("zebras\n")
    _git(main, "add", "a.md")
    _git(main, "commit", "-m", "a")
    make_store(main).close()
    with open_store(start=str(main)) as store:
        index_artifacts(store)
    for command in ("remove --force", "prune"):
        _git(main, "worktree", "add", "--force", str(linked), "-B", "work")
        (linked / "b.md").write_text("okapis\n")
        with open_store(start=str(linked)) as store:
            assert index_artifacts(store).added == ("a.md", "b.md")
        if command == "prune":
            shutil.rmtree(linked)
            with open_store(start=str(main)) as store:
                report = index_artifacts(store)
                assert (report.stale_roots, report.removed) == ((str(linked),), ())
        _git(main, "worktree", *command.split(), *([str(linked)] if command != "prune" else []))
        with open_store(start=str(main)) as store:
            report = index_artifacts(store)
            assert (report.stale_roots, report.removed) == ((), (str(linked / "a.md"), str(linked / "b.md")))
            assert index_artifacts(store).stale_roots == ()
            assert require_value(store.primary, "SELECT count(*) FROM artifacts", (), int) == 1
