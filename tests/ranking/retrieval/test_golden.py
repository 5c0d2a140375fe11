"""Golden rankings: what the fixture store answers to real questions, at its true ranks.

A file of `golden/` is one question, the document that is wanted, and the ranking; `totals.txt` sums them up. A
question that is answered badly stays in. `pytest --rewrite-golden` writes them again: the diff is what gets
reviewed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import copy_store, found

from ctxrank.indexer.clock import parse_time
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.store import Store

GOLDEN = Path(__file__).parent / "golden"
QUESTIONS = sorted(path for path in GOLDEN.glob("*.txt") if path.name != "totals.txt")
_DEPTH = 10


@pytest.fixture(scope="module")
def shop(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(copy_store(loaded_once, tmp_path_factory.mktemp("shop")).primary) as store:
        yield store


def _rank(store: Store, question: Path) -> tuple[int, str]:
    """The rank of the wanted document (0: not among the first ten) and the golden text as it is now."""
    query, wanted = (line.partition(": ")[2] for line in question.read_text(encoding="utf-8").split("\n")[:2])
    hits = found(store, query, limit=_DEPTH, as_of=parse_time("2026-11-20", now=0)).hits
    names = [hit.path or hit.title for hit in hits]
    rank = names.index(wanted) + 1 if wanted in names else 0
    lines = [f"{'>' if name == wanted else ' '} {place:2} {name}" for place, name in enumerate(names, start=1)]
    return rank, "\n".join([f"query: {query}", f"wanted: {wanted}", f"rank: {rank or '-'}", "", *lines, ""])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda path: path.stem)
def test_a_question_is_answered_in_the_order_that_was_reviewed(
    shop: Store, question: Path, request: pytest.FixtureRequest
) -> None:
    _, text = _rank(shop, question)
    if request.config.getoption("--rewrite-golden"):
        question.write_text(text, encoding="utf-8")
    assert text == question.read_text(encoding="utf-8")


def test_the_totals_are_those_that_were_reviewed(shop: Store, request: pytest.FixtureRequest) -> None:
    ranks = [_rank(shop, question)[0] for question in QUESTIONS]
    totals = {
        "questions": f"{len(ranks)}",
        "MRR@10": f"{sum(1 / rank for rank in ranks if rank) / len(ranks):.3f}",
        "recall@1": f"{sum(rank == 1 for rank in ranks) / len(ranks):.3f}",
        "recall@5": f"{sum(1 <= rank <= 5 for rank in ranks) / len(ranks):.3f}",
    }
    text = "".join(f"{name}: {value}\n" for name, value in totals.items())
    page = GOLDEN / "totals.txt"
    if request.config.getoption("--rewrite-golden"):
        page.write_text(text, encoding="utf-8")
    assert text == page.read_text(encoding="utf-8")
