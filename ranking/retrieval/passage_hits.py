"""Passage hits: passages as hits of their own, each with the support of what is around it.

    s = own + 1·whole + 0.2·(before + after)

    own            the passage's score
    whole          BM25 of all passages of the file together, as if they were one text
    before, after  the scores of its neighbours in the file

A turn of a conversation, or a paragraph, often does not contain the words of its topic; the rest of the conversation
does. Finding turns of ten long conversations (nDCG@10, recall@100): alone 0.50, 0.81; with 0.6·whole 0.527, 0.896;
with 1·whole 0.533, 0.901; with the neighbours 0.544, 0.907 (2026-11, locomo_turn).
"""

from collections import Counter
from math import fsum

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.ranking.formulas.bm25 import inverse_document_frequency, tf_saturation
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, best_first
from ctxrank.ranking.retrieval.candidates.scorer import Scorer
from ctxrank.ranking.retrieval.grouping import HitGroup
from ctxrank.ranking.retrieval.plan import Plan

WHOLE_SHARE = 1.0
NEIGHBOUR_SHARE = 0.2
_SUPPORTED = 1000  # rows whose files are looked at; those behind them have no support
_WHOLE = 0  # the rowid of a whole in an explanation: no row has it


class PassageGroup(HitGroup):
    """What one passage was found by: itself, and what is around it."""

    __slots__ = ()

    def __init__(self, passage: Candidate) -> None:
        super().__init__()
        self.passages.append(passage)

    @property
    def score(self) -> float:
        """The passage's score, and each share of what supports it."""
        return sum(share * candidate.score for share, candidate, _ in self.shares())

    def shares(self) -> list[tuple[float, Candidate, str]]:
        """The passage first, then its support."""
        return [(1.0, self.passages[0], "the passage"), *self.support]


class _Whole(NamedTuple):
    """A file that passages belong to."""

    row_ids: list[int]  # of its passages, in order
    score: float


def passage_groups(engine: Engine, statistics: Statistics, plan: Plan, rows: list[Candidate]) -> dict[int, HitGroup]:
    """A group for each passage among the rows, by its document's id."""
    passages = best_first([row for row in rows if document_id_of(row.rowid) != row.owner_id])
    by_rowid = {row.rowid: row for row in passages}
    groups = {document_id_of(row.rowid): PassageGroup(row) for row in passages}
    for owner_id, whole in _wholes(engine, statistics, plan, passages[:_SUPPORTED]).items():
        for at, rowid in enumerate(whole.row_ids):
            support: list[tuple[float, Candidate, str]] = []
            for place, meaning in ((at - 1, "the passage before"), (at + 1, "the passage after")):
                neighbour = by_rowid.get(whole.row_ids[place]) if 0 <= place < len(whole.row_ids) else None
                if neighbour is not None:
                    support.append((NEIGHBOUR_SHARE, neighbour, meaning))
            group = groups.get(document_id_of(rowid))
            if group is not None:
                whole_row = Candidate(_WHOLE, owner_id, whole.score)
                group.support = [(WHOLE_SHARE, whole_row, "its whole"), *support]
    return dict(groups)


def _wholes(engine: Engine, statistics: Statistics, plan: Plan, passages: list[Candidate]) -> dict[int, _Whole]:
    owner_ids = sorted({row.owner_id for row in passages})
    scorer = Scorer(engine, plan.terms, statistics.average_length, plan.tuning)
    row_ids: dict[int, list[int]] = {}
    lengths: dict[int, int] = {}
    found: dict[int, dict[int, float]] = {}  # file → place of the term → tf
    rows = engine.passages_of(owner_ids)
    for (rowid, owner_id, length, _), counted in zip(rows, scorer.frequencies(rows), strict=True):
        row_ids.setdefault(owner_id, []).append(rowid)
        lengths[owner_id] = lengths.get(owner_id, 0) + length
        frequencies = found.setdefault(owner_id, {})
        for place, tf in counted.items():
            frequencies[place] = frequencies.get(place, 0.0) + tf
    average = max(sum(lengths.values()) / len(lengths), 1.0) if lengths else 1.0
    holding = Counter(place for frequencies in found.values() for place in frequencies)
    values = [
        term.weight * inverse_document_frequency(len(found), holding[place]) for place, term in enumerate(plan.terms)
    ]
    k1, b = plan.tuning.k1, plan.tuning.b
    return {
        owner_id: _Whole(
            row_ids[owner_id],
            fsum(values[at] * tf_saturation(tf, lengths[owner_id], average, k1, b) for at, tf in frequencies.items()),
        )
        for owner_id, frequencies in found.items()
    }
