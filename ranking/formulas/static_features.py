"""The heuristic score: what is known of a document without reading it.

    H = 4·priority + 2·same_group + 1.5·agent_relevance + recency       recency = 1 / (days + 1)

    priority         critical 4, high 3, medium 2, low 1
    same_group       1 if the document's group is the one that asks
    agent_relevance  1 if the agent that asks is a designated consumer; for a task, -1 if others are and it is not
    days             whole days since the document was made; bounded below by 0

Next to a text score two summands differ: 1·same_group, and recency = 3·2^(−days/30), because by 1/(days + 1) a week is
as old as a year. The largest value is 4·4 + 2 + 1.5 + 1 = 20.5, and in a blend 4·4 + 1 + 1.5 + 3 = 21.5.

Source: the context assembler's ranking step (3b) as it was specified, with agent_relevance read as *designated*, not as
*has consumed it already*.
"""

from ctxrank.indexer.light_typing import NamedTuple

PRIORITY_WEIGHTS = {"critical": 4, "high": 3, "medium": 2, "low": 1}
# Kinds without a priority of their own are neither urgent nor negligible.
_USUAL_WEIGHT = 2
# In the history of pytest 300 commit messages look for the files they changed; same_group is the folder most worked in
# (2026-11, nDCG@10 over text alone, then with the files' signals shuffled). As above with w = 0.7: +0.005, -0.006;
# half-life 90 days, w = 0.7, group 2, recency 2: +0.027, -0.018; w = 0.8, group 1, recency 3: +0.025, -0.011.
# Over seven repositories (that one, black, caddy, celery, fzf, mkdocs, serde; mean gain, highest loss): half-life
# 90 days +0.0197, -0.0106; 45 days +0.0209, -0.0098; 30 days +0.0202, -0.0080; 90 days with w = 0.82 +0.0177, -0.0090.
HALF_LIFE_DAYS = 30.0


class Signals(NamedTuple):
    """What the heuristic knows of one document; in a search no agent asks, so no group or agent is favoured."""

    priority: str
    is_same_group: bool = False
    is_designated: bool = False
    days: int = 0
    is_for_others: bool = False


class Part(NamedTuple):
    """A summand of H: which share of a score it is (explanation.py), how it is said, and what it is at most."""

    share: str
    label: str
    maximum: float


_PRIORITY = Part("priority", "priority {:g}", 16.0)
_GROUP = Part("group", "same group {:g}", 2.0)
_AGENT = Part("group", "designated for the agent {:g}", 1.5)
_RECENCY = Part("recency", "recency {:.3f}", 1.0)
ALONE = (_PRIORITY, _GROUP, _AGENT, _RECENCY)
BLENDED = (_PRIORITY, _GROUP._replace(maximum=1.0), _AGENT, _RECENCY._replace(maximum=3.0))
BLENDED_MAXIMUM = sum(part.maximum for part in BLENDED)


class HeuristicParts(NamedTuple):
    """The summands of H of one document, in the formula's order."""

    parts: tuple[Part, ...]
    values: tuple[float, ...]

    @property
    def total(self) -> float:
        """H itself."""
        return sum(self.values)

    def of(self, share: str) -> float:
        """The summands that are this share of a score."""
        return sum(value for part, value in zip(self.parts, self.values, strict=True) if part.share == share)


def heuristic(signals: Signals, parts: tuple[Part, ...] = ALONE) -> HeuristicParts:
    """The summands of H for one document: alone, or BLENDED for one that has a text score, too."""
    days = max(signals.days, 0)
    recency = 0.5 ** (days / HALF_LIFE_DAYS) if parts is BLENDED else 1 / (days + 1)
    priority = PRIORITY_WEIGHTS.get(signals.priority, _USUAL_WEIGHT) / 4
    shares = (priority, signals.is_same_group, signals.is_designated - signals.is_for_others, recency)
    values = [part.maximum * share for part, share in zip(parts, shares, strict=True)]
    return HeuristicParts._make((parts, tuple(values)))
