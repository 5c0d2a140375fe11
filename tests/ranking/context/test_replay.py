"""A replay after one change names that change and nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builders import make_store, save, write_file
from ranking_builders import TODAY, block_for, know_error, learn, think

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.replay import replay_receipt

LATER = 40_000 * 86_400_000_000  # after any moment of this test's own


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        for number in range(3):
            text = f"# Finding {number}\n\nThe walrus sleeps in the heron's nest {number}.\n"
            save(opened, f"notes/{number}.md", text, created_at=TODAY - number)
        save(opened, "elsewhere.md", "# Elsewhere\n\nA walrus.\n", session="T", created_at=TODAY)
        write_file(opened, "src/walrus.md", "# The walrus\n\nA walrus meets a heron.\n")
        index_artifacts(opened)
        think(opened, "developer", "completion", "The walrus sleeps.")
        know_error(opened, "walrus heron failed")
        learn(opened, "Let the walrus sleep.")
        yield opened


def _edit(store: Store, path: str) -> None:
    write_file(store, path, "# Rewritten\n\nNow a walrus swims with the heron, and more of it.\n")
    index_artifacts(store)


def _delete(store: Store, path: str) -> None:
    Path(store.location.root, path).unlink()
    index_artifacts(store)


CHANGES: dict[str, tuple[Callable[[Store], object], str]] = {
    "a package's file": (lambda store: _edit(store, "notes/0.md"), "package:1: its file was changed and indexed again"),
    "a package's file, not indexed": (
        lambda store: write_file(store, "notes/0.md", "other"), "package:1: the file has changed since",
    ),
    "an indexed file": (lambda store: _edit(store, "src/walrus.md"), "artifact:5, src/walrus.md, is new or changed"),
    "a new file": (lambda store: _edit(store, "src/new.md"), "artifact:6, src/new.md, is new or changed"),
    "an indexed file that goes": (
        lambda store: _delete(store, "src/walrus.md"),
        "artifact:5 is gone",
    ),
    "a new package": (lambda store: save(store, "notes/3.md", "Walrus heron.\n"), "package:5 is new"),
    "reasoning": (
        lambda store: think(store, "developer", "decisions", "A heron.", created_at=LATER), "reasoning:2 is new",
    ),
    "a strategy": (lambda store: learn(store, "Count herons."), "strategy:2 is changed"),
    "another session's package": (
        lambda store: save(store, "t.md", "# T\n\nwalrus walrus walrus heron\n", session="T"),
        "package:5 of session T has changed: the rarity of words has moved",
    ),
}  # fmt: skip
SETTINGS = {
    "safety margin was 0.15, is 0.2": Config(token_safety_margin=0.2),
    "fts5 was on, is off": Config(fts5=False),
    "files was on, is off": Config(block_files=False),
    "model limit was not set, is 1000000": Config(context_limits={"sonnet": 1_000_000}),
    "limit in force was 5, is 1": Config(retrieval_limits={"qa_expert": 1}),
    "ranking was not set, is k1=9": Config(ranking={"k1": 9.0}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_of_the_store_is_named_and_no_other(store: Store, name: str) -> None:
    change, line = CHANGES[name]
    block = block_for(store, "qa_expert", task="the walrus meets a heron", is_marking=False)
    receipt = get_receipt(store.primary, block.receipt or 0)
    assert replay_receipt(store, receipt, Config()).is_same
    change(store)
    replay = replay_receipt(store, receipt, Config())
    assert replay.changes == (() if replay.is_same else (line,))
    assert not replay.is_same


@pytest.mark.parametrize("line", SETTINGS)
def test_one_change_of_the_configuration_is_named_and_no_other(store: Store, line: str) -> None:
    block = block_for(store, "qa_expert", task="the walrus meets a heron", is_marking=False)
    replay = replay_receipt(store, get_receipt(store.primary, block.receipt or 0), SETTINGS[line])
    assert replay.changes == (() if replay.is_same else (line,))
