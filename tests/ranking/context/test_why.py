"""Why a document is not in a block: each fact that keeps one out has its sentence, and each kind its rule."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, write_file
from exported import bring, exported_bytes
from ranking_builders import block_for, know_error, learn, think
from tables import each_row

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.receipts import Receipt, ReceiptEntry, list_receipts
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.ids import DocumentRef, parse_ref
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import assemble_without_session
from ctxrank.ranking.context.assembly.eligibility import news_since
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.context.why import why


def test_what_another_store_made_waits_until_that_is_accepted(tmp_path: Path) -> None:
    with make_store(tmp_path / "there") as there, make_store(tmp_path / "here") as here:
        save(there, "a.md", "walrus\n", summary="walrus")
        learn(there, "Let it sleep.")
        bring(here, exported_bytes(there), is_accepted=False)
        block_for(here, task="walrus")
        (receipt,) = list_receipts(here.primary, limit=1)
        for kind in ("package", "strategy"):
            number: int = here.primary.execute("SELECT record_id FROM documents WHERE kind = ?", (kind,)).get
            said = why(here, DocumentRef(kind, number), receipt).reasons
            assert said == ("the store that it is of is not accepted: 'ctxrank origins' decides",)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with a package, a file, an error and a strategy for all, and one of each for others."""
    with make_store(tmp_path) as store:
        save(store, "own.md", "walrus\n", summary="walrus")
        save(store, "h.md", "walrus\n", group="H", summary="walrus")
        save(store, "t.md", "walrus\n", session="T", summary="walrus")
        write_file(store, "src/walrus.py", "walrus = 1\n")
        index_artifacts(store)
        know_error(store, "heron failed")
        know_error(store, "tusk failed", project="other")
        learn(store, "Let it sleep.")
        learn(store, "Wake it.", project="other")
        think(store, "developer", "risks", "It may wake.", group="H")
        think(store, "developer", "risks", "It sleeps.", session="T")
        think(store, "investigator", "risks", "hm")
        yield store


def _reasons(store: Store, id_: str, **inputs: str) -> tuple[str, ...]:
    """Why it is not in a block that named nothing, of a request with these words."""
    receipt = list_receipts(store.primary, limit=1)[0]
    given = {**receipt.inputs, **inputs}
    return why(store, parse_ref(id_), receipt._replace(inputs=given, entries=())).reasons


@each_row(
    "id_, inputs, reasons",
    [
        ("package:1", {}, ["it was not a candidate of this assembly"]),
        ("package:2", {}, ["of another group, H: --reach session shows other groups, a context reference this one"]),
        ("package:2", {"reach": "session"}, ["it was not a candidate of this assembly"]),
        ("package:3", {}, ["of another session, T: --reach project shows earlier sessions of the project"]),
        ("package:3", {"reach": "project"}, ["of session T, which is not an earlier one of this project"]),
        ("package:1", {"after": "7"}, ["this block has only what is new since receipt:7"]),
        ("artifact:4", {}, ["it is none of the best files for the task, or too little of the task is in it"]),
        ("artifact:4", {"with_files": "False"}, ["no files were asked for (--no-files, or block_files: off)"]),
        ("artifact:4", {"files": "off"}, ["no files were asked for (--no-files, or block_files: off)"]),
        (
            "error:1",
            {},
            ["at most 3: of the failure; without one, confirmed three times, the task's first"],
        ),
        ("error:2", {}, ["of another project, other; this assembly was for default"]),
        ("strategy:1", {}, ["at most 3 that fit are shown, the most helpful first"]),
        ("strategy:2", {}, ["of another project, other; this assembly was for default"]),
        ("reasoning:1", {"include_reasoning": "False"}, ["of another group, H", "no prior reasoning was asked for"]),
        ("reasoning:2", {"include_reasoning": "False"}, ["of another session, T", "no prior reasoning was asked for"]),
        (
            "reasoning:2",
            {"reach": "project", "include_reasoning": "False"},
            ["of another session, T", "no prior reasoning was asked for"],
        ),
        ("reasoning:3", {}, ["developer gets no prior reasoning at iteration 0: --reasoning asks for it"]),
    ],
)
def test_each_fact_that_keeps_it_out_is_said(
    blocked: Store, id_: str, inputs: dict[str, str], reasons: list[str]
) -> None:
    assert _reasons(blocked, id_, **inputs) == tuple(reasons)


@pytest.fixture
def blocked(store: Store) -> Store:
    """The store after a block for a developer."""
    block_for(store, task="walrus")
    return store


def test_of_what_is_shown_in_part_it_is_said_what_is_not_and_why(blocked: Store) -> None:
    entries = (
        ReceiptEntry("package:1", True, "summary", 9, "matches walrus"),
        ReceiptEntry("package:1", False, "passage", 0, "the budget is full"),
        ReceiptEntry("package:2", False, "", 0, "the limit is reached"),
    )
    receipt = list_receipts(blocked.primary, limit=1)[0]._replace(entries=entries)
    whole, part = (why(blocked, parse_ref(id_), receipt).reasons for id_ in ("package:2", "package:1"))
    assert part == ("matches walrus", "not passage of it: the budget is full")
    assert whole == ("the limit is reached",)


@each_row("level, phases", [("minimal", 1), ("medium", 4), ("full", 7), ("odd", 4)])
def test_of_reasoning_the_phases_of_the_level_are_named(blocked: Store, level: str, phases: int) -> None:
    (said,) = _reasons(blocked, "reasoning:3", include_reasoning="True", reasoning_level=level)
    assert said.startswith("developer is handed the reasoning") and said.endswith(": of each the newest")
    assert len(said.rpartition(" in ")[2].split(", ")) == phases


def test_a_passage_leads_to_its_owner_and_a_kind_that_no_block_holds_says_so(blocked: Store) -> None:
    passages = blocked.primary.execute("SELECT id FROM documents WHERE kind = 'passage' ORDER BY id").fetchall()
    assert _reasons(blocked, f"passage:{passages[0][0]}") == ("a passage comes with its owner: ask why package:1",)
    with pytest.raises(NotFoundError, match="There is no error:99, and receipt 1 does not name it"):
        _reasons(blocked, "error:99")


# A block of what is new, and one before there is a session


def _receipt(store: Store) -> Receipt:
    return list_receipts(store.primary, limit=1)[0]


def test_what_is_new_is_what_was_made_since_or_was_left_out(blocked: Store) -> None:
    receipt = _receipt(blocked)
    shown = {entry.id for entry in receipt.entries if entry.is_included}
    assert "package:1" in shown and news_since(blocked, receipt.id, "S") == frozenset()
    save(blocked, "new.md", "walrus\n", summary="walrus")
    assert news_since(blocked, receipt.id, "S") == {"package:4"}
    after: dict[str, Any] = {"task": "walrus", "after": receipt.id}
    assert [one.id for one in block_for(blocked, **after).packages] == [4]


def test_news_are_since_a_block_of_the_same_session(blocked: Store) -> None:
    with pytest.raises(UsageError, match="Receipt 1 is of session S"):
        news_since(blocked, 1, "T")
    with pytest.raises(NotFoundError):
        news_since(blocked, 9, "S")
    blocked.primary.execute("UPDATE receipts SET kind = 'context'")
    with pytest.raises(UsageError, match="Receipt 1 is of no session"):
        news_since(blocked, 1, "S")


def test_the_first_spawn_of_a_session_gets_files_and_earlier_findings_and_leaves_no_receipt(store: Store) -> None:
    request = AssembleRequest("new", "developer", task="walrus")
    block = assemble_without_session(store, request, Config())
    assert block is not None and [one.path for one in block.files] == ["src/walrus.py"] and not block.packages
    assert list_receipts(store.primary) == []
    assert assemble_without_session(store, request._replace(session="S"), Config()) is None, "it is known"
    assert assemble_without_session(store, request, Config(block_files=False)) is None, "there is nothing for it"
    wide = assemble_without_session(store, request._replace(reach="project"), Config(block_files=False))
    assert wide is None or wide.packages
