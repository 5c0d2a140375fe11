"""A replay after one change names what differs: the input that changed, or each entry that is another one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, write_file
from ranking_builders import TODAY, block_for, know_error, learn, think
from tables import each_row

from ctxrank.indexer.agents import Role
from ctxrank.indexer.errors.solutions import confirm
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.privacy.removal import remove_records
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.records.receipts import ReceiptEntry, get_receipt
from ctxrank.indexer.records.sessions import end_session, set_group_status
from ctxrank.indexer.records.skills_config import seed_skills
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.store import Change, Store
from ctxrank.ranking.context.replay import (
    _said,  # pyright: ignore[reportPrivateUsage] # most of its cases are rare
    replay_receipt,
)

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
        with opened.write() as change:
            seed_skills(change, SKILLS)
        block_for(opened)  # of a developer, who was to lint and did not
        yield opened


SKILLS = {"developer": {"lint-check": "mandatory"}, "qa_expert": {"test-coverage": "mandatory"}}


def _edit(store: Store, path: str, text: str = "Now a walrus swims with the heron, and more of it.") -> None:
    write_file(store, path, f"# Rewritten\n\n{text}\n")
    index_artifacts(store)


def _seed(store: Store, agent: str, skill: str) -> None:
    with store.write() as change:
        seed_skills(change, {**SKILLS, agent: {skill: "mandatory"}})


def _write(store: Store, change_one: Callable[[Change], object]) -> None:
    with store.write() as change:
        change_one(change)


def _delete(store: Store, path: str) -> None:
    Path(store.location.root, path).unlink()
    index_artifacts(store)


CHANGES: dict[str, tuple[Callable[[Store], object], str]] = {
    "a package's file": (lambda store: _edit(store, "notes/0.md"), "package:1 is changed"),
    "a package's file, not indexed": (
        lambda store: write_file(store, "notes/0.md", "other"), "package:1 is changed",
    ),
    "an indexed file": (lambda store: _edit(store, "src/walrus.md"), "artifact:5 is changed"),
    "a new file": (lambda store: _edit(store, "src/new.md", "Here a walrus meets a heron."), "artifact:6 is shown now"),
    "an indexed file that goes": (
        lambda store: _delete(store, "src/walrus.md"),
        "artifact:5 is no longer shown",
    ),
    "a new package": (lambda store: save(store, "notes/3.md", "Walrus heron.\n"), "package:5 is shown now"),
    "reasoning": (
        lambda store: think(store, "developer", "decisions", "A heron.", created_at=LATER), "reasoning:2 is shown now",
    ),
    "reasoning that goes": (
        lambda store: _write(store, lambda change: remove_records(change, "reasoning", [1])),
        "reasoning:1 is no longer shown",
    ),
    "a package that is superseded": (lambda store: supersede(store, 1, 2), "package:1 is no longer shown"),
    "a package that goes": (
        lambda store: _write(store, lambda change: remove_records(change, "package", [1])),
        "package:1 is no longer shown",
    ),
    "an error that did not help": (
        lambda store: [confirm(store, 1, has_helped=False) for _ in range(9)], "error:1 is no longer shown",
    ),
    "the session's end": (
        lambda store: _write(store, lambda change: end_session(change, "S")),
        "state was not set, is Session S: completed.",
    ),
    "the group's status": (
        lambda store: _write(store, lambda change: set_group_status(change, "S", "G", "failed")),
        "state was not set, is Group G: failed.",
    ),
    "skills of this agent": (
        lambda store: _seed(store, "qa_expert", "security-scan"),
        "skills of qa_expert was mandatory test-coverage, is mandatory security-scan",
    ),
    "skills of the agent before it": (
        lambda store: _seed(store, "developer", "security-scan"),
        "skills of developer was mandatory lint-check, is mandatory security-scan",
    ),
    "a strategy": (lambda store: learn(store, "Count herons."), "strategy:2 is shown now"),
    "another session's package": (
        lambda store: [
            save(store, f"t{number}.md", f"# T {number}\n\nA heron.\n", session="T") for number in range(9)
        ],
        "artifact:5 is changed",
    ),
}  # fmt: skip


def test_what_has_less_room_in_a_budget_is_not_called_changed(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "# Walrus\n\n" + "\n".join(f"The walrus swims {at} times." for at in range(60)))
        values: dict[str, Any] = {"task": "walrus", "is_marking": False, "budget": 450}
        block = block_for(store, "qa_expert", **values)
        receipt = get_receipt(store.primary, block.receipt or 0)
        think(store, "developer", "completion", "It is done.", created_at=LATER)
        now = block_for(store, "qa_expert", **values)
        tokens = [one.packages[0].tokens for one in (now, block)]
        changes = replay_receipt(store, receipt, Config()).changes
        assert f"package:1 is shown in {tokens[0]} tokens, was in {tokens[1]}" in changes and tokens[0] < tokens[1]


SETTINGS = {
    "safety margin was 0.15, is 0.2": Config(token_safety_margin=0.2),
    "fts5 was on, is off": Config(fts5=False),
    "files was on, is off": Config(block_files=False),
    "model limit was not set, is 1000000": Config(context_limits={"sonnet": 1_000_000}),
    "limit in force was 5, is 1": Config(retrieval_limits={"qa_expert": 1}),
    "ranking was not set, is k1=9": Config(ranking={"k1": 9.0}),
    "roles was not set, is qa_expert like tech_lead": Config(roles={"qa_expert": Role("tech_lead", 1)}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_one_change_of_the_store_makes_different_is_named(store: Store, name: str) -> None:
    change, line = CHANGES[name]
    block = block_for(store, "qa_expert", task="the walrus meets a heron", is_marking=False, with_skills=True)
    receipt = get_receipt(store.primary, block.receipt or 0)
    assert replay_receipt(store, receipt, Config()).is_same
    change(store)
    replay = replay_receipt(store, receipt, Config())
    assert not replay.is_same
    assert line in replay.changes


@pytest.mark.parametrize("line", SETTINGS)
def test_a_change_of_the_configuration_is_named_and_nothing_that_follows_from_it(store: Store, line: str) -> None:
    block = block_for(store, "qa_expert", task="the walrus meets a heron", is_marking=False, with_skills=True)
    replay = replay_receipt(store, get_receipt(store.primary, block.receipt or 0), SETTINGS[line])
    assert replay.is_same or line in replay.changes
    assert not any(change.startswith(("package:", "reasoning:", "budget in force")) for change in replay.changes)


def test_tokens_that_are_counted_again_are_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxrank.indexer.text.vocabulary.process_counter", lambda: None)
    text = "walrus heron " * 40 + "\n\n" + "\u6d77\u8c61 \u9e6d " * 40
    save(store, "notes/3.md", f"# Sea\n\n{text}\n")
    blocks = [
        block_for(store, "qa_expert", task="the walrus meets a heron", is_marking=False, budget=budget)
        for budget in (100, 1100, 1150, 2000)
    ]
    assert backfill_counts(store)
    replays = [replay_receipt(store, get_receipt(store.primary, block.receipt or 0), Config()) for block in blocks]
    changed = {replay.changes for replay in replays if not replay.is_same}
    assert changed and all(" ".join(changes).count("package:5 is ") == 1 for changes in changed)
    assert any(one.startswith("package:5 is counted as ") for changes in changed for one in changes)


_SHOWN = ReceiptEntry("package:1", True, "summary", 9, "matches walrus")
_LEFT_OUT = ReceiptEntry("package:1", False, "", 9, "limit reached")


@each_row(
    "one, other, said",
    [
        (None, _SHOWN, "is shown now"),
        (None, _LEFT_OUT, "is left out now"),
        (_SHOWN, None, "is no longer shown"),
        (_LEFT_OUT, None, "is no longer left out"),
        (_LEFT_OUT, _SHOWN, "is shown now"),
        (_SHOWN, _LEFT_OUT, "is no longer shown: limit reached"),
        (_SHOWN, _SHOWN, ""),
        (_SHOWN, _SHOWN._replace(reason="matches heron"), "is changed"),
        (_LEFT_OUT, _LEFT_OUT._replace(reason="superseded"), ""),
    ],
)
def test_what_became_of_a_document_is_said(one: ReceiptEntry | None, other: ReceiptEntry | None, said: str) -> None:
    assert _said(one, other) == said
