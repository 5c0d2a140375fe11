"""Why a score is what it is: a tree of (value, meaning) in which every node is the sum of its parts."""

from ctxrank.indexer.light_typing import NamedTuple


class ScoreShares(NamedTuple):
    """The same score by what it is made of; the values add up to it, but for rounding.

    `terms` is what each word of the query gave to `words`, the most valuable first.
    """

    words: float  # BM25 of the words
    together: float  # words near each other, or as they were typed
    priority: float
    group: float  # of the same group, or meant for the agent
    recency: float
    terms: tuple[tuple[str, float], ...] = ()


class Explanation(NamedTuple):
    """One summand of a score; a leaf has no parts."""

    value: float
    meaning: str
    parts: "tuple[Explanation, ...]" = ()

    def lines(self, depth: int = 0) -> list[str]:
        """The tree as indented lines, the value first."""
        own = f"{'  ' * depth}{self.value:.4f}  {self.meaning}"
        return [own, *(line for part in self.parts for line in part.lines(depth + 1))]

    def as_json(self) -> dict[str, object]:
        """The tree as JSON: value, meaning, parts."""
        return {
            "value": round(self.value, 6),
            "meaning": self.meaning,
            "parts": [part.as_json() for part in self.parts],
        }
