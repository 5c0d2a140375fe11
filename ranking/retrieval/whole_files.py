"""Whole files: where a question asks for prose, the whole text of a file of prose counts beside its best passage.

    s = g + 1.5·w        in a manual for a statement g + 0.75·w

    g   the score of the file by its rows (grouping.py)
    w   BM25 of all its passages together, as if they were one text; its length is compared with that of a file of
        TYPICAL_PASSAGES average passages. A document of fewer than LEAST_PASSAGES is its own whole: w = g

A question in a sentence has words that its answer does not have, and some that only the rest of the page has; a short
passage of code or of a test holds many of them by chance. So where somebody asks how something is done or what it is
(questions.py), prose is lifted by as much as all of it says about the question. Where nearly all of the best files are
prose anyway (file_kinds.py), so it is by half for any other sentence, but for the longest, which are lists.

What users of three programs would ask, 121 questions (MRR at 10, 2026-11): of whole repositories 0.314, with w 0.499;
of their documentation alone 0.588 and 0.613. Shares from 1 to 2 differ by 0.025. With half of w for files of all kinds
in all sentences 0.02 more, but the passages of long sources are as many again as all other work of a query. Statements
that paraphrase two manuals: 0.539 and 0.553, two unseen ones 0.553 and 0.643 (half of that without TYPICAL_PASSAGES).
"""

from math import fsum

from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Scorer, TermScore, best_first, term_scores_of
from ctxrank.ranking.retrieval.file_kinds import Priors
from ctxrank.ranking.retrieval.grouping import HitGroup
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.query import Query
from ctxrank.ranking.retrieval.questions import asks_for_prose, is_prose
from ctxrank.ranking.retrieval.rerank import count_with_ties

WHOLE_SHARE = 1.5
STATEMENT_SHARE = WHOLE_SHARE / 2
TYPICAL_PASSAGES = 5  # with 10 0.02 less for paraphrases and for unseen questions
# The whole of one or two passages says no more than they do: abstracts were put in a worse order by it (cranfield,
# nDCG@10 0.404 for 0.406). With 4 the same.
LEAST_PASSAGES = 3
ROWS_LOOKED_AT = 100  # their files' wholes are read; with 50 0.01 less, with 300 no more
# For statements. Those that paraphrase four manuals: with 100 the same on the mean, with 12 0.003 less.
STATEMENT_ROWS = 15
# A list of changes or of plugins says something of everything: paraphrases of pytest 0.004 more without both, in three
# quarters of the time. Where questions leave them out, what users ask of celery and scrapy 0.005 less.
STATEMENT_PASSAGES = 128
WHOLE_FILE = -1  # the rowid of a whole in an explanation: no row has it


def add_wholes(query: Query, plan: Plan, rows: list[Candidate], groups: dict[int, HitGroup], priors: Priors) -> None:
    """Give the documents of prose among the best rows the support of their whole texts.

    A sentence that asks for no prose gets it in a manual alone.
    """
    is_asking = asks_for_prose(query)
    if not (is_asking or priors.is_manual):
        return
    share, looked_at, most = WHOLE_SHARE, ROWS_LOOKED_AT, None
    if not is_asking:
        share, looked_at, most = STATEMENT_SHARE, STATEMENT_ROWS, STATEMENT_PASSAGES
    best = best_first(rows)
    del best[count_with_ties([row.score for row in best], looked_at, 3 * looked_at) :]
    rowids = {row.owner_id: row.rowid for row in reversed(best)}  # of each document the best
    texts = plan.engine.texts(rowids.values(), 0)
    prose = [id_ for id_, rowid in rowids.items() if rowid in texts and is_prose(texts[rowid][3])]
    wholes = whole_term_scores(plan, [id_ for id_ in prose if groups[id_].passages], most)
    for id_ in prose:
        group = groups[id_]
        if priors.is_asked or not is_asking:
            group.own_share = priors.prose_share
        if parts := wholes.get(id_):
            whole = Candidate(WHOLE_FILE, id_, fsum(part.score for part in parts))
            group.support.append((share, whole, "the whole file"))
        elif id_ in wholes or not group.passages:
            group.support += [(share * part, row, "the whole of it") for part, row, _ in group.shares()]


def whole_term_scores(plan: Plan, ids: list[int], most: int | None = None) -> dict[int, list[TermScore]]:
    """The summands of w of each of these files that has no more than `most` passages; none where it has too few."""
    typical = TYPICAL_PASSAGES * plan.statistics.average_length
    return {
        id_: term_scores_of(plan, whole.frequencies, whole.length, typical)
        if len(whole.rowids) >= LEAST_PASSAGES
        else []
        for id_, whole in Scorer(plan).wholes(ids, most).items()
    }
