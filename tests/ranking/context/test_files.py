"""Indexed files in a block: which are shown, how much of it is theirs, and when they are left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save, write_file
from exported import bring, exported_bytes
from git_tree import commit_all, git
from ranking_builders import TODAY, block_for

from ctxrank.indexer.care.status import read_status
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.records.receipts import list_receipts
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.freshness import ELSEWHERE
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly import files
from ctxrank.ranking.context.why import why

PAGER = "# Paging\n\nLong output goes through a pager when stdout is a terminal.\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        write_file(opened, "src/pager.md", PAGER)
        write_file(opened, "src/other.md", "# Colours\n\nA theme is dark or light.\n")
        save(opened, "finding.md", "# A finding\n\nPagers lose colours.\n", created_at=TODAY)
        index_artifacts(opened)
        yield opened


def test_the_best_passages_of_files_that_are_no_package_s_are_a_class_of_their_own(store: Store) -> None:
    block = block_for(store, task="page long output through a pager")
    assert [(file.path, file.detail) for file in block.files] == [("src/pager.md", "passage")]
    assert "### From the project\n\n**src/pager.md** · artifact:" in block.text and "through a pager when" in block.text
    assert block.by_class["files"] > 0 and block.used <= block.budget.limit
    entry = next(entry for entry in list_receipts(store.primary)[0].entries if entry.id.startswith("artifact:"))
    assert (entry.is_included, entry.detail, entry.tokens) == (True, "passage", block.files[0].tokens)


def test_a_block_of_files_alone_does_not_say_that_nothing_is_known(store: Store) -> None:
    block = block_for(store, task="page long output through a pager", limit=0, include_reasoning=False)
    assert block.outcome == "matched" and "specialization context only" not in block.text


def test_a_task_about_code_gets_the_code_before_what_tells_of_it(store: Store) -> None:
    """A list of changes has more words of a task than the code that they are about."""
    write_file(
        store, "src/paging.py", 'def page(output):\n    """Send it to the terminal."""\n    return screens(output)\n'
    )
    write_file(store, "CHANGES.md", "# Fixed\n\nSend long output to the terminal by page: long output goes by page.\n")
    index_artifacts(store)
    shown = [file.path for file in block_for(store, task="send long output to the terminal by page").files]
    assert shown[0] == "src/paging.py" and "CHANGES.md" in shown


@pytest.mark.parametrize(
    "frame", ["    at load (src/deep.py:{line}:3)", '  File "/home/ci/shop/src/deep.py", line {line}, in load']
)
def test_the_line_that_a_stack_names_comes_first_and_nothing_else_is_lost(store: Store, frame: str) -> None:
    lines = [f"def step{at}(value):\n    return value + {at}\n\n" for at in range(200)]
    write_file(store, "src/deep.py", "".join(lines))
    index_artifacts(store)
    task = "page long output through a pager, which says KeyError\n"
    assert [file.path for file in block_for(store, task=task, budget=3000).files] == ["src/pager.md"]
    first, *others = block_for(store, task=task + frame.format(line=302), budget=3000).files
    assert (first.path, [file.path for file in others]) == ("src/deep.py", ["src/pager.md"])
    assert first.passages[0].start_line <= 302 <= first.passages[0].end_line
    missing = block_for(store, task=task + "at x (nowhere.py:3:1)", budget=3000)
    assert [file.path for file in missing.files] == ["src/pager.md"]


def test_without_a_task_a_file_has_nothing_to_be_chosen_by(store: Store) -> None:
    assert block_for(store).files == ()


def test_files_are_left_out_by_the_request_and_by_the_configuration(store: Store) -> None:
    task = "page long output through a pager"
    assert block_for(store, task=task, with_files=False).files == ()
    assert block_for(store, task=task, config=Config(block_files=False)).files == ()


def test_a_file_that_another_machine_has_as_well_is_shown_once(store: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with make_store(tmp_path / "there") as other:
        for name in ("src/pager.md", "src/theirs.md"):
            write_file(other, name, PAGER)
        index_artifacts(other)
        bring(store, exported_bytes(other))
    shown = block_for(store, task="page long output through a pager").files
    assert sorted((file.path, file.id > 0) for file in shown) == [("src/pager.md", True), ("src/theirs.md", False)]
    assert read_status(store).artifacts == {"elsewhere": 2, "indexed": 3}


def test_files_that_are_here_come_before_those_of_another_machine(store: Store, tmp_path: Path) -> None:
    with make_store(tmp_path / "other") as other:
        write_file(other, "src/screens.md", PAGER + "Page long output: a long pager pages output.\n")
        index_artifacts(other)
        bring(store, exported_bytes(other))
    shown = block_for(store, task="page long output through a pager").files
    assert [(file.path, file.label) for file in shown] == [("src/pager.md", ""), ("src/screens.md", ELSEWHERE)]


def test_files_of_this_checkout_come_first_and_those_of_another_say_so(store: Store, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(".ctxrank\n")
    git(tmp_path, "init", "-q")
    commit_all(tmp_path, "first")
    other = tmp_path.parent / f"{tmp_path.name}-other"
    git(tmp_path, "worktree", "add", "-q", str(other))
    with open_store(start=str(other)) as there:
        (other / "src" / "pager.md").rename(other / "src" / "screens.md")
        (other / "src" / "screens.md").write_text(PAGER + "Page long output: a long pager pages output.\n")
        index_artifacts(there)
        task = "page long output through a pager"
        own, copy = ("src/pager.md", str(tmp_path)), ("src/screens.md", str(other))
        for asked, order in ((store, (own, copy)), (there, (copy, own))):
            shown = [(file.path, file.label) for file in block_for(asked, task=task).files]
            assert shown == [(order[0][0], ""), (order[1][0], f"in the checkout {order[1][1]}")]


def test_why_a_file_is_not_there_says_that_none_was_asked_for(store: Store) -> None:
    block_for(store, task="page long output through a pager", with_files=False)
    (receipt,), number = list_receipts(store.primary), store.primary.execute("SELECT max(id) FROM artifacts").get
    assert why(store, DocumentRef("artifact", number), receipt).reasons == (
        "no files were asked for (--no-files, or block_files: off)",
    )


def test_a_file_that_hardly_matches_is_not_shown(store: Store) -> None:
    assert block_for(store, task="sort invoices by date before they are sent to the terminal").files == ()


def test_soft_warning_shows_paths_and_conservative_no_files(store: Store) -> None:
    task = "page long output through a pager"
    assert [file.detail for file in block_for(store, task=task, current_tokens=110_000).files] == ["path"]
    assert block_for(store, task=task, current_tokens=130_000).files == ()


def test_beyond_the_bound_of_rows_the_class_is_left_out_named_and_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 0)
    one, other = (block_for(store, task="page long output through a pager", is_marking=False) for _ in range(2))
    assert one.files == () and one.text == other.text
    assert "Indexed files are left out: the rarest words of the task are in more than 0 documents." in one.notes
    assert [entry.id for entry in list_receipts(store.primary)[0].entries if not entry.is_included] == ["files"]


def test_a_file_that_has_changed_since_says_so(store: Store) -> None:
    write_file(store, "src/pager.md", PAGER + "More.\n")
    (file,) = block_for(store, task="page long output through a pager").files
    assert file.file_state == "changed" and file.reason.startswith(
        "the file has changed since it was indexed; matches "
    )
