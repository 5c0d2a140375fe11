"""Bounds: what a term can add to any row's score, and which rows can therefore score more than so much.

    most(t) = qₜ · idf(t) · max over the levels of  sat(most occurrences of the level, its shortest document)

The index keeps the shortest document of each level of each term (`indexer/fulltext/impact_bounds.py`), so a bound holds
whatever the average length and the constants are. A row scores at most the sum of its terms' bounds. Rows that can
score more than `least` are those that hold one of certain sets of terms, an expression that FTS5 can answer:

    bounds 9 5 4 2, least 8:    9 OR (5 AND (4 OR …)) …        no row with none of these sets can score 8

Sources: Turtle and Flood, Query Evaluation: Strategies and Optimizations (1995), for the bound of a term (MaxScore);
Broder and others, Efficient Query Evaluation using a Two-Level Retrieval Process (2003), for sets of terms (WAND).
There the lists are walked with a rising threshold; here FTS5 walks them, so the threshold is raised between questions.
"""

from collections.abc import Sequence
from itertools import accumulate

import apsw

from ctxrank.indexer.fulltext.impact_bounds import BODY, COLUMNS, IDENTIFIERS, LEVELS, NONE, PATH, TITLE
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.formulas.bm25 import saturated
from ctxrank.ranking.formulas.tuning import Tuning
from ctxrank.ranking.retrieval.plan import QueryTerm

# An expression with more terms costs more to read than it saves: each is one more walk over a list.
_MAX_LEAVES = 64
_MOST_TOGETHER = 4  # terms that an expression asks for together; more make it longer than its rows are worth
# What FTS5 needs for a place in a list, over what fetching and scoring a row takes: 25 ns over 5 µs.
_PLACE_COST = 0.005
_HALVINGS = 8  # of the range in which `least_for` looks: to 1/256 of the best score


class Reach(NamedTuple):
    """Rows that can score more than so much: how FTS5 finds them, how many there are by chance, and how many places
    of its lists it passes."""

    expression: str
    rows: float
    places: float

    @property
    def cost(self) -> float:
        """In rows that are fetched and scored."""
        return self.rows + _PLACE_COST * self.places


class BoundedTerm(NamedTuple):
    """A term of the query: how FTS5 is asked for it, the most it adds to a score, and the share of rows with it."""

    fragment: str
    most: float
    share: float


class Bounds:
    """The terms of one query by their bounds, the highest first."""

    def __init__(self, terms: Sequence[BoundedTerm], documents: int) -> None:
        self._terms = sorted(terms, key=lambda term: (-term.most, term.fragment))
        self._documents = documents
        # What the terms from each place on add at most together.
        self._rest = list(accumulate((term.most for term in reversed(self._terms)), initial=0.0))[::-1]

    @property
    def most(self) -> float:
        """What a row with every term scores at most."""
        return self._rest[0]

    def reach(self, least: float) -> Reach | None:
        """The rows that can score more than `least`, by the cheapest expression for them; None where no row can.

        It may find more rows, never fewer.
        """
        found: list[Reach] = []
        for together in range(1, _MOST_TOGETHER + 1):
            builder = _Builder(self._terms, self._rest)
            expression, share = builder.build(0, least, together)
            if builder.leaves > _MAX_LEAVES:
                break
            if expression:
                found.append(Reach(expression, share * self._documents, builder.places * self._documents))
        return min(found, key=_cost, default=None)

    def least_for(self, cost: float) -> float:
        """About the lowest `least` whose reach costs no more than this."""
        everything = self.reach(0.0)
        if everything is None or everything.cost <= cost:
            return 0.0
        low, high = 0.0, self.most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self.reach(middle)
            if found is not None and found.cost > cost:
                low = middle
            else:
                high = middle
        return high


def _cost(reach: Reach) -> float:
    return reach.cost


class _Builder:
    """Puts one expression together, and counts what it asks."""

    def __init__(self, terms: list[BoundedTerm], rest: list[float]) -> None:
        self._terms = terms
        self._rest = rest
        self.leaves = 0
        self.places = 0.0  # as a share of the documents

    def build(self, first: int, least: float, together: int) -> tuple[str, float]:
        """For rows whose terms from `first` on reach more than `least`; and their share, as if terms met by chance."""
        alternatives: list[str] = []
        share = 0.0
        for place in range(first, len(self._terms)):
            # Whichever set of terms reaches so far: its first one is no later than this.
            if self._rest[place] <= least or self.leaves > _MAX_LEAVES:
                break
            term = self._terms[place]
            fragment, part = term.fragment, term.share
            if term.most <= least and together > 1:
                inner, inner_share = self.build(place + 1, least - term.most, together - 1)
                if not inner:  # by rounding alone
                    continue
                fragment, part = f"({fragment} AND ({inner}))", part * inner_share
            self.leaves += 1
            self.places += term.share
            alternatives.append(fragment)
            share += part
        return " OR ".join(alternatives), min(share, 1.0)


def most_of(connection: apsw.Connection, terms: Sequence[QueryTerm], average: float, tuning: Tuning) -> list[float]:
    """What each term adds at most to any row's score, in their order."""
    ids = ",".join(str(term.ids[0]) for term in terms)
    lengths = {
        int(row[0]): tuple(map(int, row[1:]))
        for row in connection.execute(
            f"SELECT id, {', '.join(COLUMNS)} FROM main.terms WHERE id IN (SELECT value FROM json_each(?))",
            (f"[{ids}]",),
        )
    }
    scale = _scale(tuning)
    return [
        # The forms of a prefix add up in one row, as nobody counted them together.
        term.value * (_most(lengths[term.ids[0]], average, tuning, scale) if len(term.ids) == 1 else tuning.k1 + 1)
        for term in terms
    ]


def _most(shortest: Sequence[int], average: float, tuning: Tuning, scale: float) -> float:
    most = 0.0
    for level, length in zip(LEVELS, shortest, strict=False):
        if length < NONE:
            most = max(most, saturated(level * scale, length, average, tuning.k1, tuning.b))
    # Above the last level, or of a term that nothing is known of: what nothing exceeds.
    return most if most and shortest[-1] == NONE else tuning.k1 + 1


def _scale(tuning: Tuning) -> float:
    """How much more an occurrence can count than the levels of the index count it."""
    weights = tuning.weights
    return max(
        weights.title / TITLE, weights.body / BODY, weights.path / PATH, weights.identifiers / IDENTIFIERS
    )  # fmt: skip
