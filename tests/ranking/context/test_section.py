"""A section that is made up here is one module at the port: its text, its receipt, its replay and its reasons."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from builders import make_store, save
from ranking_builders import block_for

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records.receipts import Receipt, get_receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.shapes import SECTIONS, SectionItem
from ctxrank.ranking.context.replay import replay_receipt
from ctxrank.ranking.context.section import AskedSection, RemadeText, SectionPart, Why
from ctxrank.ranking.context.why import why

SIGNS = {"django": "Mind the migrations.\n"}


class Signs:
    """A sign for each framework."""

    def gather(self, store: Store, wanted: str, asked: AskedSection) -> SectionPart:
        text = SIGNS[wanted]
        item = SectionItem("SIGN-1", "sign", wanted, "", "full", 9, "T0", ("SIGN-1",), "asked for")
        return SectionPart("signs", text, 9, asked.budget.limit - 9, (item,), notes=("A sign is shown.",))

    def why(self, store: Store, document: str, receipt: Receipt) -> Why:
        return Why(document, reasons=("no such sign",))

    def remade(self, store: Store, receipt: Receipt, config: Config | None) -> RemadeText:
        raise NotImplementedError  # no receipt of these tests is replayed


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    module = ModuleType("ctxrank.extensions.signs.section")
    vars(module)["SECTION"] = Signs()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for field in tuple(SECTIONS):
        monkeypatch.delitem(SECTIONS, field)
    monkeypatch.setitem(SECTIONS, "framework", "signs")
    with make_store(tmp_path) as opened:
        save(opened, "notes.md", "# Notes\n\nA walrus sleeps.\n")
        yield opened


def test_a_section_comes_first_and_is_counted(store: Store) -> None:
    block = block_for(store, framework="django")
    assert block.text.startswith("Mind the migrations.\n\n## Context for developer")
    assert block.by_class["signs"] == 9 and block.used > 9 and "A sign is shown." in block.notes
    assert "migrations" not in block_for(store).text


@pytest.mark.parametrize("tokens, lines", [(None, 1), (4_000, 2)])
def test_what_a_block_within_a_budget_leaves_is_the_sections(
    store: Store, monkeypatch: pytest.MonkeyPatch, tokens: int | None, lines: int
) -> None:
    class Larger(Signs):
        def gather(self, store: Store, wanted: str, asked: AskedSection) -> SectionPart:
            part = super().gather(store, wanted, asked)

            def more(limit: int) -> SectionPart:
                assert 9 < limit < (tokens or 0)
                return part._replace(text=part.text * 2, used=18)

            return part._replace(more=more)

    vars(sys.modules["ctxrank.extensions.signs.section"])["SECTION"] = Larger()
    assert block_for(store, framework="django", budget=tokens).text.count(SIGNS["django"]) == lines


def test_its_receipt_replays_and_says_what_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = get_receipt(store.primary, block_for(store, framework="django").receipt or 0)
    entry = receipt.entry("SIGN-1")
    assert entry is not None and entry.is_included and replay_receipt(store, receipt).is_same
    assert why(store, "SIGN-2", receipt).reasons == ("no such sign",)
    monkeypatch.setitem(SIGNS, "django", "Mind the models.\n")
    assert replay_receipt(store, receipt).changes == ("1 of 5 parts of the text are others",)


def test_where_its_extension_is_absent_a_block_has_a_note_and_no_receipt_replays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = get_receipt(store.primary, block_for(store, framework="django").receipt or 0)
    monkeypatch.delitem(sys.modules, "ctxrank.extensions.signs.section")
    block = block_for(store, framework="django")
    assert block.used == block_for(store).used, "what is not there costs nothing"
    assert block.packages and any("'assemble --framework' is not installed" in note for note in block.notes)
    with pytest.raises(UsageError, match="'receipt replay' is not installed"):
        replay_receipt(store, shown)
