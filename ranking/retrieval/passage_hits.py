"""Parts: passages as hits of their own, each with the support of what stands around it.

    s = own + 1·whole + 0.2·(before + after)

    own            the passage's score
    whole          BM25 of all passages of the file together, as if they were one text
    before, after  the scores of its neighbours in the file

A turn of a conversation, or a paragraph, often lacks the words that say what it is about; the rest of the conversation
has them. Finding turns of ten long conversations (nDCG@10, recall@100): alone 0.50, 0.81; with 0.6·whole 0.527, 0.896;
with 1·whole 0.533, 0.901; with the neighbours 0.544, 0.907 (2026-11, locomo_turn).
"""

from collections import Counter
from math import fsum

from ctxrank.indexer.fulltext.index_file import Index, IndexState
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.ranking.formulas.bm25 import inverse_document_frequency, saturated
from ctxrank.ranking.retrieval.candidates.candidates import Candidate
from ctxrank.ranking.retrieval.candidates.scorer import Scorer
from ctxrank.ranking.retrieval.grouping import Evidence
from ctxrank.ranking.retrieval.plan import Plan

WHOLE_SHARE = 1.0
NEIGHBOUR_SHARE = 0.2
_SUPPORTED = 1000  # rows whose files are looked at; whoever is behind them has no support
_WHOLE = 0  # the rowid of a whole in an explanation: no row has it


class PartEvidence(Evidence):
    """What one passage was found by: itself, and what stands around it."""

    __slots__ = ("support",)

    def __init__(self, part: Candidate) -> None:
        super().__init__()
        self.passages.append(part)
        self.support: list[tuple[float, Candidate, str]] = []

    def shares(self) -> list[tuple[float, Candidate, str]]:
        """The passage first, then its support."""
        return [(1.0, self.passages[0], "the passage"), *self.support]


class _Whole(NamedTuple):
    """A file that passages belong to."""

    row_ids: list[int]  # of its passages, in order
    score: float


def parts_of(index: Index, state: IndexState, plan: Plan, rows: list[Candidate]) -> dict[int, Evidence]:
    """Evidence of each passage among the rows, by its document's id."""
    parts = [row for row in rows if document_id_of(row.rowid) != row.owner_id]
    parts.sort(key=lambda row: (-row.score, row.rowid))
    by_rowid = {row.rowid: row for row in parts}
    evidence = {document_id_of(row.rowid): PartEvidence(row) for row in parts}
    for owner_id, whole in _wholes(index, state, plan, parts[:_SUPPORTED]).items():
        for at, rowid in enumerate(whole.row_ids):
            support: list[tuple[float, Candidate, str]] = []
            for place, meaning in ((at - 1, "the passage before"), (at + 1, "the passage after")):
                neighbour = by_rowid.get(whole.row_ids[place]) if 0 <= place < len(whole.row_ids) else None
                if neighbour is not None:
                    support.append((NEIGHBOUR_SHARE, neighbour, meaning))
            entry = evidence.get(document_id_of(rowid))
            if entry is not None:
                whole_row = Candidate(_WHOLE, owner_id, whole.score)
                entry.support = [(WHOLE_SHARE, whole_row, "its whole"), *support]
    return dict(evidence)


def _wholes(index: Index, state: IndexState, plan: Plan, parts: list[Candidate]) -> dict[int, _Whole]:
    owner_ids = sorted({row.owner_id for row in parts})
    scorer = Scorer(plan.terms, state.average_length, plan.tuning)
    row_ids: dict[int, list[int]] = {}
    lengths: dict[int, int] = {}
    found: dict[int, dict[int, float]] = {}  # file → place of the term → tf
    for owner_id, rowid, length, terms in index.connection.execute(
        """
        SELECT f.owner_id, f.id, f.length, f.terms
          FROM json_each(?) AS wanted
         CROSS JOIN primary_db.documents AS d ON d.owner_id = wanted.value
         CROSS JOIN main.forward AS f ON f.id = d.session_id << 32 | d.id
         ORDER BY f.owner_id, d.start_line, d.id
        """,
        (f"[{','.join(map(str, owner_ids))}]",),
    ):
        row_ids.setdefault(owner_id, []).append(rowid)
        lengths[owner_id] = lengths.get(owner_id, 0) + length
        frequencies = found.setdefault(owner_id, {})
        for place, tf in scorer.frequencies(terms):
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
            fsum(values[at] * saturated(tf, lengths[owner_id], average, k1, b) for at, tf in frequencies.items()),
        )
        for owner_id, frequencies in found.items()
    }
