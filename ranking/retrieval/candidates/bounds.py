"""Bounds: what a term can add to any row's score, and which rows can therefore score more than so much.

    bound(t) = qₜ · idf(t) · max over the levels of  sat(most occurrences of the level, its shortest document)

The index keeps the shortest document of each level of each term (`Engine.impact_bounds`), so a bound holds
whatever the average length and the constants are. A row scores at most the sum of its terms' bounds. Rows that can
score more than θ are those that hold one of certain sets of terms, a clause that the index can answer:

    bounds 9 5 4 2, θ = 8:    9 OR (5 AND (4 OR …)) …        no row with none of these sets can score 8

Sources: Turtle and Flood, Query Evaluation: Strategies and Optimizations (1995), for the bound of a term (MaxScore);
Broder and others, Efficient Query Evaluation using a Two-Level Retrieval Process (2003), for sets of terms (WAND).
There the lists are walked with a rising threshold; here the index walks them, so it is raised between questions.
"""

from collections.abc import Sequence
from itertools import accumulate

from ctxrank.indexer.engine import AllOf, AnyOf, Clause, Engine, ImpactBound, Statistics, TermClause
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.formulas.tuning import Tuning
from ctxrank.ranking.retrieval.plan import QueryTerm, clause_of

# A clause with more terms costs more to read than it saves: each is one more walk over a list.
_MAX_LEAVES = 64
_MOST_TOGETHER = 4  # terms that a clause asks for together; more make it longer than its rows are worth
# What the index needs for a place in a list, over what fetching and scoring a row takes: 25 ns over 5 µs.
_PLACE_COST = 0.005
_HALVINGS = 8  # of the range in which `threshold_for_cost` looks: to 1/256 of the best score


class CandidateSet(NamedTuple):
    """Rows that can score more than a threshold: the clause that finds them, how many there are by chance, and how
    many places of its lists the index passes."""

    clause: Clause
    rows: float
    places: float

    @property
    def cost(self) -> float:
        """In rows that are fetched and scored."""
        return self.rows + _PLACE_COST * self.places


class BoundedTerm(NamedTuple):
    """A term of the query: the clause that finds it, the most it adds to a score, and the share of rows with it."""

    clause: TermClause
    bound: float
    share: float


class Bounds:
    """The terms of one query by their bounds, the highest first."""

    def __init__(self, terms: Sequence[BoundedTerm], documents: int) -> None:
        self._terms = sorted(terms, key=lambda term: (-term.bound, term.clause.surfaces, term.clause.column))
        self._documents = documents
        # What the terms from each place on add at most together.
        self._rest = list(accumulate((term.bound for term in reversed(self._terms)), initial=0.0))[::-1]

    @property
    def max_score(self) -> float:
        """What a row with every term scores at most."""
        return self._rest[0]

    def candidates_above(self, theta: float) -> CandidateSet | None:
        """The rows that can score more than `theta`, by the cheapest clause for them; None where no row can.

        It may find more rows, never fewer.
        """
        found: list[CandidateSet] = []
        for together in range(1, _MOST_TOGETHER + 1):
            builder = _Builder(self._terms, self._rest)
            clauses, share = builder.build(0, theta, together)
            if builder.leaves > _MAX_LEAVES:
                break
            if clauses:
                found.append(CandidateSet(AnyOf(clauses), share * self._documents, builder.places * self._documents))
        return min(found, key=_cost, default=None)

    def threshold_for_cost(self, cost: float) -> float:
        """About the lowest threshold whose candidates cost no more than this."""
        everything = self.candidates_above(0.0)
        if everything is None or everything.cost <= cost:
            return 0.0
        low, high = 0.0, self.max_score
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self.candidates_above(middle)
            if found is not None and found.cost > cost:
                low = middle
            else:
                high = middle
        return high


def _cost(candidates: CandidateSet) -> float:
    return candidates.cost


class _Builder:
    """Puts one clause together, and counts what it asks."""

    def __init__(self, terms: list[BoundedTerm], rest: list[float]) -> None:
        self._terms = terms
        self._rest = rest
        self.leaves = 0
        self.places = 0.0  # as a share of the documents

    def build(self, first: int, theta: float, together: int) -> tuple[tuple[Clause, ...], float]:
        """Alternatives for rows whose terms from `first` on reach more than `theta`; and their share, by chance."""
        alternatives: list[Clause] = []
        share = 0.0
        for place in range(first, len(self._terms)):
            # Whichever set of terms reaches so far: its first one is no later than this.
            if self._rest[place] <= theta or self.leaves > _MAX_LEAVES:
                break
            term = self._terms[place]
            clause: Clause = term.clause
            part = term.share
            if term.bound <= theta and together > 1:
                inner, inner_share = self.build(place + 1, theta - term.bound, together - 1)
                if not inner:  # by rounding alone
                    continue
                clause, part = AllOf((clause, AnyOf(inner))), part * inner_share
            self.leaves += 1
            self.places += term.share
            alternatives.append(clause)
            share += part
        return tuple(alternatives), min(share, 1.0)


def bounded_terms(
    engine: Engine, terms: Sequence[QueryTerm], statistics: Statistics, tuning: Tuning
) -> list[BoundedTerm] | None:
    """The terms with what each adds at most to any row's score; None where the engine keeps no bounds.

    A word of texts and paths is two of them: together they add no more than both, because what is added to an
    occurrence counts less than it would alone. A prefix may add up forms in one row that were not counted together.
    """
    ids = [term.ids[0] for term in terms] + [term.path_ids[0] for term in terms if term.path_ids]
    bounds = engine.impact_bounds(ids, tuning.weights)
    if bounds is None:
        return None
    documents, average_length = statistics.documents, statistics.average_length
    bounded: list[BoundedTerm] = []
    for term, bound in zip(terms, bounds, strict=False):
        highest = _highest_saturation(bound, average_length, tuning) if len(term.ids) == 1 else tuning.k1 + 1
        bounded.append(BoundedTerm(clause_of(term), term.value * highest, min(term.df / documents, 1.0)))
    for term, bound in zip([term for term in terms if term.path_ids], bounds[len(terms) :], strict=True):
        scaled = tuple((tf * term.path_scale, length) for tf, length in bound)
        highest = _highest_saturation(scaled, average_length, tuning) if len(term.path_ids) == 1 else tuning.k1 + 1
        in_paths = clause_of(term)._replace(column="path")
        bounded.append(BoundedTerm(in_paths, term.value * highest, min(term.path_df / documents, 1.0)))
    return bounded


def _highest_saturation(bound: ImpactBound, average_length: float, tuning: Tuning) -> float:
    saturations = [tf_saturation(tf, length, average_length, tuning.k1, tuning.b) for tf, length in bound]
    # Of a term that nothing is known of: what nothing exceeds.
    return max(saturations, default=0.0) or tuning.k1 + 1
