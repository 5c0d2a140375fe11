"""Which findings a prompt is about, and nothing where it is about none: what may be put before a model unasked.

A search always has a best hit. Here a finding counts only above the store's floor (floor.py), which is about how near
it is to the prompt, by its score and by the words that they share. Words that say what is wanted and not what it is
about do not count, nor does a digit alone; words that prompts of any project have count in part (common_words.tsv).
Beside the best finding only those are shown that cover nearly as much of the prompt:

    coverage    Σ idf of the shared words / Σ idf of all words of the prompt, those that no document holds included
"""

from collections.abc import Callable, Iterable, Iterator

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import from_index
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.parents import ParentDocument, few_rows
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text import tables
from ctxrank.ranking.context.floor import KINDS, PromptFinding, floor_of, nearness
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import Candidates, find_candidates, scored_rows, term_scores
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent
from ctxrank.ranking.retrieval.grouping import HitGroup, grouped
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm, make_plan
from ctxrank.ranking.retrieval.rerank import reranked
from ctxrank.ranking.retrieval.task_text import task_query

# Of the coverage of the best finding, whether that one may be shown or not: what is next best is not what is meant.
LEAST_SHARE_OF_BEST = 0.6
_FENCED_WORDS = 10  # of a fenced block of a prompt: the end of a log is its message
_MOST_COMPARED = 12
_MOST_OF_VALUE = 4.0  # what a finding scores for each q·idf of the prompt's words, at most
_ROWS_LOOKED_AT = 60
_FEW_ROWS = 200  # of findings and their passages: each is scored without asking FTS5 which of them match
_EVERYTHING, _FINDINGS = Scope(), Scope(kinds=KINDS, is_current=True)


def _forms(word: str) -> tuple[str, ...]:
    """A word, and the forms of it as a verb: get, gets, getting; make, makes, making."""
    stem = word.removesuffix("e")
    return word, f"{word}s", f"{stem}ed", f"{stem}ing", f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"


_words = {kind: words.split() for kind, words in tables.rows(__file__, "common_words")}
# Beside them all that a request is made of may stand in another form; the function words are left out of every query.
_REQUEST_WORDS = {form for word in _words.pop("request") for form in _forms(word)} | set(_words.pop("trouble"))
_COMMON = {stem: counts for row, stems in _words.items() for counts in (float(row),) for stem in stems}


class NearFinding(NamedTuple):
    """A finding and how near it is; `best` is the rowid of its best row."""

    parent: ParentDocument
    nearness: float
    coverage: float
    words: tuple[str, ...]
    best: int


def relevant_findings(
    store: Store,
    prompt: str,
    config: Config,
    limit: int,
    is_wanted: Callable[[ParentDocument], bool],
    among: frozenset[int] | None = None,
) -> list[PromptFinding]:
    """The findings that a prompt is about, best first; none where the index cannot answer, or is being built.

    `is_wanted` leaves out what may not be shown, before the limit counts; `among` are the documents that are asked, by
    their row ids, None is all.
    """
    if not (prompt.strip() and config.has_index):
        return []

    def above_floor(engine: Engine, statistics: Statistics) -> list[PromptFinding]:
        floor = floor_of(store, statistics.documents).of(prompt)
        findings: list[PromptFinding] = []
        least = 0.0
        for near in near_findings(store, _plan(prompt, engine, statistics, config), floor, among):
            if near.coverage < least:
                continue
            least = max(least, LEAST_SHARE_OF_BEST * near.coverage)
            if is_wanted(near.parent):
                parent = cleaned_parent(near.parent, config.redaction_mode)
                best_id = document_id_of(near.best)
                stored = None if best_id == parent.id else engine.passages([best_id]).get(best_id)
                passage = cleaned(stored.body, stored.ruleset, config.redaction_mode) if stored else ""
                findings.append(PromptFinding(parent, passage, near.words))
            if len(findings) == limit:
                break
        return findings

    return from_index(store, above_floor)


def nearest(store: Store, prompt: str, config: Config) -> float:
    """How near the nearest finding is to a prompt; 0 where none shares enough with it."""

    def near(engine: Engine, statistics: Statistics) -> list[float]:
        return [near.nearness for near in near_findings(store, _plan(prompt, engine, statistics, config), 0.0)]

    return max(from_index(store, near), default=0.0)


def _plan(prompt: str, engine: Engine, statistics: Statistics, config: Config) -> Plan:
    """The plan of the words of a prompt that say what it is about. Raises INDEX_READ_ERRORS."""
    plan = make_plan(task_query(prompt, _FENCED_WORDS), engine, statistics, tuned(config.ranking))
    telling = tuple(term for term in plan.terms if _is_telling(term.text))
    return plan._replace(terms=telling, unknown=tuple(filter(_is_telling, plan.unknown)))


def near_findings(store: Store, plan: Plan, floor: float, among: frozenset[int] | None = None) -> Iterator[NearFinding]:
    """The findings that are nearer than that to a prompt, the best first. Raises INDEX_READ_ERRORS."""
    asked, half = sum(plan.values), half_score(plan.values)
    worth, count, _ = _telling(_typed(plan.terms))
    if nearness(calibrated(_MOST_OF_VALUE * worth, half), count) <= floor:
        return
    groups, parents = _best_findings(plan, _candidates(store, plan, among))
    # A finding's own row and its best passage.
    rows_of = {id_: [row.rowid for row in (groups[id_].own, *groups[id_].passages[:1]) if row] for id_ in parents}
    scores_of = term_scores(plan, plan.engine.rows_of([row for rows in rows_of.values() for row in rows]))
    for id_, rows in rows_of.items():
        shared = _typed(part.term for row in rows for part in scores_of(row))
        worth, count, whole = _telling(shared)
        near = nearness(calibrated(groups[id_].score * worth / whole, half), count) if shared else 0.0
        if near > floor:
            yield NearFinding(parents[id_], near, whole / asked, tuple(shared), groups[id_].best.rowid)


def _best_findings(plan: Plan, choices: Iterable[Candidates]) -> tuple[dict[int, HitGroup], dict[int, ParentDocument]]:
    """Hits by document and their _MOST_COMPARED best findings, the best first: of the first choice with so many."""
    groups: dict[int, HitGroup] = {}
    findings: dict[int, ParentDocument] = {}
    for found in choices:
        groups = grouped(reranked(plan, found).rows)
        order = sorted(groups, key=lambda id_: (-groups[id_].score, -id_))[:_ROWS_LOOKED_AT]
        read = plan.engine.parents(order)
        best = [id_ for id_ in order if read[id_].kind in KINDS and read[id_].superseded_by is None][:_MOST_COMPARED]
        findings = {id_: read[id_] for id_ in best}
        if len(best) == _MOST_COMPARED or found.is_complete:
            break
    return groups, findings


def _candidates(store: Store, plan: Plan, among: frozenset[int] | None) -> Iterator[Candidates]:
    """The rows of few findings all at once. Of many, those among all documents first, which takes a third of the time;
    then those among findings alone, where files crowd them out.
    """
    if among is None and (rows := few_rows(store.primary, KINDS, _FEW_ROWS)) is not None:
        yield Candidates([row for row in scored_rows(plan, plan.engine.rows_of(rows)) if row.score], is_complete=True)
        return
    for scope in (_EVERYTHING, _FINDINGS) if among is None else (_FINDINGS._replace(document_ids=among),):
        yield find_candidates(plan, scope, threshold_of=_least_score)


def _least_score(scores: list[float]) -> float:
    """What a row must score to be looked at: the best findings are among the best rows."""
    return scores[_ROWS_LOOKED_AT - 1] if len(scores) >= _ROWS_LOOKED_AT else 0.0


def _is_telling(word: str) -> bool:
    """Whether a word says what a prompt is about; a digit alone is part of a version or a list."""
    return word.lower() not in _REQUEST_WORDS and not (len(word) == 1 and word.isdigit())


def _typed(terms: Iterable[QueryTerm]) -> dict[str, QueryTerm]:
    """The terms that are words of the prompt, by them; the dearest first."""
    words = {term.text.lower(): term for term in terms if not term.is_extra}
    return dict(sorted(words.items(), key=lambda item: (-item[1].value, item[0])))


def _telling(words: dict[str, QueryTerm]) -> tuple[float, float, float]:
    """What words are worth, and how many they are, if a common one counts in part; and their whole worth."""
    counts = [(_COMMON.get(term.stems[0], 1.0), term.value) for term in words.values()]
    return sum(share * value for share, value in counts), sum(share for share, _ in counts), sum(v for _, v in counts)
