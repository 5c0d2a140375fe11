"""Whole files: where a query is a sentence, the whole text of a file counts beside its best passage.

    s = (g + λ·w) / (1 + λ)            s = (g + λ·w) / (1 + λ) + μ·w    of prose, where prose is asked for

    g   the score of the file by its rows (grouping.py)
    w   BM25 of all its passages together, as if they were one text; its length is compared with that of a file of
        TYPICAL_PASSAGES average passages. A document without passages is its own whole: w = g
    λ   WHOLE_SHARE        μ   PROSE_SHARE

A question in a sentence has words that its answer does not have, and some that only the rest of the page has. A short
passage of code or of a test holds many of them by chance. So where somebody asks how something is done or what it is
(questions.py), prose is lifted by as much as all of it says about the question.
"""

from collections.abc import Iterator
from math import fsum

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, TermScore
from ctxrank.ranking.retrieval.candidates.scorer import Scorer
from ctxrank.ranking.retrieval.grouping import HitGroup
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.questions import is_prose
from ctxrank.ranking.retrieval.rerank import count_with_ties

WHOLE_SHARE = 0.5
PROSE_SHARE = 0.7
TYPICAL_PASSAGES = 10
ROWS_SHARE = 1 / (1 + WHOLE_SHARE)  # of g
ROWS_LOOKED_AT = 100  # their files' wholes are read; 50 lose 0.01, 300 gain nothing
_MAX_TIED = 300
WHOLE_FILE = -1  # the rowid of a whole in an explanation: no row has it
_MEANING = "the whole file"


def add_wholes(
    engine: Engine,
    statistics: Statistics,
    plan: Plan,
    rows: list[Candidate],
    groups: dict[int, HitGroup],
    *,
    is_prose_asked: bool,
) -> None:
    """Give the groups of the best rows the support of their whole files."""
    for group in groups.values():
        if group.passages:
            group.share = ROWS_SHARE
    best = sorted(rows, key=lambda row: (-row.score, row.rowid))
    del best[count_with_ties([row.score for row in best], ROWS_LOOKED_AT, _MAX_TIED) :]
    rowids = {row.owner_id: row.rowid for row in reversed(best)}  # of each document the best
    prose: set[int] = set()
    if is_prose_asked:
        texts = engine.texts(rowids.values(), 0)
        prose = {id_ for id_, rowid in rowids.items() if rowid in texts and is_prose(texts[rowid][3])}
    wholes = _scores(engine, statistics, plan, [id_ for id_ in rowids if groups[id_].passages])
    for id_ in rowids:
        group = groups[id_]
        if id_ in wholes:
            share = WHOLE_SHARE * ROWS_SHARE + (PROSE_SHARE if id_ in prose else 0.0)
            group.support.append((share, Candidate(WHOLE_FILE, id_, wholes[id_]), _MEANING))
        elif id_ in prose and group.own is not None:
            group.support.append((PROSE_SHARE, group.own, "prose, which was asked for"))


def _scores(engine: Engine, statistics: Statistics, plan: Plan, ids: list[int]) -> dict[int, float]:
    return {
        id_: fsum(part.score for part in parts) for id_, parts in whole_term_scores(engine, statistics, plan, ids)
    }


def whole_term_scores(
    engine: Engine, statistics: Statistics, plan: Plan, ids: list[int]
) -> Iterator[tuple[int, list[TermScore]]]:
    """The summands of w of each of these files."""
    scorer = Scorer(engine, plan.terms, statistics.average_length, plan.tuning)
    rows = engine.passages_of(ids)
    lengths: dict[int, int] = {}
    found: dict[int, dict[int, float]] = {}  # file → place of the term → tf
    for row, counted in zip(rows, scorer.frequencies(rows), strict=True):
        id_ = row[1]
        lengths[id_] = lengths.get(id_, 0) + row[2]
        frequencies = found.setdefault(id_, {})
        for place, tf in counted:
            frequencies[place] = frequencies.get(place, 0.0) + tf
    typical, k1, b = TYPICAL_PASSAGES * statistics.average_length, plan.tuning.k1, plan.tuning.b
    for id_, frequencies in found.items():
        yield id_, [
            TermScore(
                term=plan.terms[at], tf=tf, length=lengths[id_], average_length=typical,
                score=plan.terms[at].value * tf_saturation(tf, lengths[id_], typical, k1, b),
            )
            for at, tf in frequencies.items()
        ]  # fmt: skip
