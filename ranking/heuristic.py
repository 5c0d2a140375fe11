"""The heuristic score: what is known of a document without reading it.

    H = 4·priority + 2·same_group + 1.5·agent_relevance + recency       recency = 1 / (days + 1)

    priority         critical 4, high 3, medium 2, low 1
    same_group       1 if the document's group is the one that asks
    agent_relevance  1 if the agent that asks is a designated consumer
    days             whole days since the document was made; bounded below by 0

The largest value is 4·4 + 2 + 1.5 + 1 = 20.5. Source: the context assembler's ranking step (3b) as it was
specified, with agent_relevance read as *designated*, not as *has consumed it already*.
"""

from ctxrank.indexer.records import NamedTuple

PRIORITY_WEIGHTS = {"critical": 4, "high": 3, "medium": 2, "low": 1}
# Kinds without a priority of their own are neither urgent nor negligible.
DEFAULT_PRIORITY_WEIGHT = 2
PRIORITY_FACTOR = 4.0
SAME_GROUP_BOOST = 2.0
AGENT_BOOST = 1.5
MAXIMUM = 20.5


class Signals(NamedTuple):
    """What the heuristic knows of one document."""

    priority: str
    is_same_group: bool
    is_designated: bool
    days: int


class HeuristicParts(NamedTuple):
    """The four summands of H, in the formula's order."""

    priority: float
    same_group: float
    agent: float
    recency: float

    @property
    def total(self) -> float:
        """H itself."""
        return self.priority + self.same_group + self.agent + self.recency


def heuristic(signals: Signals) -> HeuristicParts:
    """The summands of H for one document."""
    return HeuristicParts(
        PRIORITY_FACTOR * PRIORITY_WEIGHTS.get(signals.priority, DEFAULT_PRIORITY_WEIGHT),
        SAME_GROUP_BOOST if signals.is_same_group else 0.0,
        AGENT_BOOST if signals.is_designated else 0.0,
        1.0 / (max(signals.days, 0) + 1),
    )
