"""Which findings a prompt is about, and nothing where it is about none: what may be put before a model unasked.

A search always has a best hit. Here a finding counts only above a floor, which is about words and not about scores:

    shared      words of the prompt that the finding holds, as they were typed
    coverage    Σ idf of the shared words / Σ idf of all words of the prompt, those that no document holds included

The more words are shared, the less they need to cover (LEAST_COVERAGE); one is never enough: a word in common is
chance. Words that say what is wanted and not what it is about (REQUEST_WORDS) are neither shared nor counted, nor is a
digit alone.

The floor was set on 50 prompts of fixtures/prompts (every other line); the other 50 were asked once, afterwards
(2026-11). About nothing in the store: 24 of 25 get no answer, and of those kept aside 25 of 25. About a finding: 25 of
25 get it, and 25 of 25. In a store of 482 commit messages, which none of the first 50 is about, one of them gets an
answer.
"""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.task_text import task_query
from ctxrank.ranking.errors.relevance import from_index
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent
from ctxrank.ranking.retrieval.grouping import HitGroup, grouped
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm, make_plan
from ctxrank.ranking.retrieval.rerank import reranked

# Findings are what somebody wrote down. Files of the project are not: an agent reads these by itself.
KINDS = ("package", "reasoning", "error", "strategy", "linked")
# So many shared words are enough at this coverage. Five at .19 and three at .245 in place of three at .25 answer 2 more
# of 16 prompts of public issues, and 12 more of 2,734 that are of other projects than two stores (2026-11).
LEAST_COVERAGE = ((5, 0.19), (3, 0.245), (2, 0.5))
# A pasted prompt, such as an issue, shares three words with anything. Of 297 issues of other programs .020 and .051 are
# answered with .3 in two stores, with .25 .047 and .098; of own issues .375 and .175 get the note of what fixed them
# among three findings, and .482 and .302. As plain words with .25: .024 and .057; .214 and .127 (2026-11).
LEAST_COVERAGE_OF_PASTED = 0.3
# Of the coverage of the best finding, whether that one may be shown or not: what is next best is not what is meant.
LEAST_SHARE_OF_BEST = 0.6
_MAX_WORDS = 400  # of a prompt; the rarest 32 terms are what counts
_MOST_COMPARED = 12
_ROWS_LOOKED_AT = 60
_EVERYTHING, _FINDINGS = Scope(), Scope(kinds=KINDS, is_current=True)
# What a request is made of, whatever it is about; the function words are left out of every query already.
_REQUEST_WORDS = """
add allow ask build bring change check clean come commit continue convert create debug delete did do done explain
fails find fix follow generate get give go good great happen happens help hey hi hello implement improve introduce
keep know let like list look looks make migrate mind move need needs new next ok okay perfect please port prepare
put refactor remove rename replace review rewrite run say says see set setup show start stop summarise summarize
sure take tell test tests thank thanks thing things think today translate try turn undo update upgrade use want
wants way work works write wrong yes
"""
# Of anything that goes wrong; beside them all that a request is made of may stand in another form.
_TROUBLE_WORDS = (
    "error errors failed failure failures idea issue issues problem problems question resolve solve solved tried"
)


def _forms(word: str) -> tuple[str, ...]:
    """A word, and the forms of it as a verb: get, gets, getting; make, makes, making."""
    stem = word.removesuffix("e")
    return word, f"{word}s", f"{stem}ed", f"{stem}ing", f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"


REQUEST_WORDS = frozenset(form for word in _REQUEST_WORDS.split() for form in _forms(word)) | set(
    _TROUBLE_WORDS.split()
)


class PromptFinding(NamedTuple):
    """A finding above the floor; `words` are those of the prompt that it shares, the most telling first.

    `passage` is the text of its best passage, '' where its own row (title and summary) matches best.
    """

    parent: ParentDocument
    passage: str
    words: tuple[str, ...]


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
        plan = make_plan(task_query(prompt, _MAX_WORDS), engine, statistics, tuned(config.ranking))
        # What the words of the prompt are worth that say what it is about, found or not.
        telling = [term for term in plan.terms if not term.is_extra and _is_telling(term.text)]
        known = sum(term.value for term in telling)
        asked = known + plan.unknown_value * sum(map(_is_telling, plan.unknown))
        words = {term.text.lower() for term in telling}
        if not asked or not is_above_floor(len(words), known / asked):  # no finding shares more than all of them
            return []
        groups, parents = _best_findings(plan, among)
        findings: list[PromptFinding] = []
        least = LEAST_COVERAGE_OF_PASTED if "\n" in prompt.strip() else 0.0
        rows_of = {id_: _rows_of(groups[id_]) for id_ in parents}
        scores = term_scores(plan, [row for rows in rows_of.values() for row in rows])
        for id_, rows in rows_of.items():
            shared = _shared([part.term for row in rows for part in scores.get(row, ())])
            coverage = sum(shared.values()) / asked
            if not is_above_floor(len(shared), coverage) or coverage < least:
                continue
            least = max(least, LEAST_SHARE_OF_BEST * coverage)
            if is_wanted(parents[id_]):
                parent = cleaned_parent(parents[id_], config.redaction_mode)
                best_id = document_id_of(groups[id_].best.rowid)
                stored = None if best_id == id_ else engine.passages([best_id]).get(best_id)
                passage = cleaned(stored.body, stored.ruleset, config.redaction_mode) if stored else ""
                findings.append(PromptFinding(parent, passage, tuple(shared)))
            if len(findings) == limit:
                break
        return findings

    return from_index(store, above_floor)


def _best_findings(plan: Plan, among: frozenset[int] | None) -> tuple[dict[int, HitGroup], dict[int, ParentDocument]]:
    """Hits by document, and the _MOST_COMPARED best findings among them, the best first.

    Asked among all documents first, which takes a third of the time; among findings alone where files crowd them out.
    """
    scopes = (_EVERYTHING, _FINDINGS) if among is None else (_FINDINGS._replace(document_ids=among),)
    for scope in scopes:
        found = find_candidates(plan, scope, threshold_of=_least_score)
        groups = grouped(reranked(plan, found).rows)
        order = sorted(groups, key=lambda id_: (-groups[id_].score, -id_))[:_ROWS_LOOKED_AT]
        read = plan.engine.parents(order)
        best = [id_ for id_ in order if read[id_].kind in KINDS and read[id_].superseded_by is None][:_MOST_COMPARED]
        if len(best) == _MOST_COMPARED or found.is_complete:
            break
    return groups, {id_: read[id_] for id_ in best}


def _least_score(scores: list[float]) -> float:
    """What a row must score to be looked at: the best findings are among the best rows."""
    return scores[_ROWS_LOOKED_AT - 1] if len(scores) >= _ROWS_LOOKED_AT else 0.0


def is_above_floor(shared: int, coverage: float) -> bool:
    """Whether so many shared words, worth this share of what was asked for, say that a prompt is about a finding."""
    return any(shared >= words and coverage >= least for words, least in LEAST_COVERAGE)


def _is_telling(word: str) -> bool:
    """Whether a word says what a prompt is about; a digit alone is part of a version or a list."""
    return word.lower() not in REQUEST_WORDS and not (len(word) == 1 and word.isdigit())


def _rows_of(group: HitGroup) -> list[int]:
    """A finding's own row and its best passage."""
    return [row.rowid for row in (group.own, *group.passages[:1]) if row is not None]


def _shared(terms: list[QueryTerm]) -> dict[str, float]:
    """The words of the prompt among these terms, and their worth; the dearest first."""
    values = {term.text.lower(): term.value for term in terms if not term.is_extra and _is_telling(term.text)}
    return dict(sorted(values.items(), key=lambda item: (-item[1], item[0])))
