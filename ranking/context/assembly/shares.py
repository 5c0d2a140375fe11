"""Shares: how many tokens the block of an agent may have, and how much of them each class is due.

ranking/context/budget.py defines when a share is due (`fair_queue`).
"""

from ctxrank.indexer.light_typing import NamedTuple

# Shares of the remaining tokens (packages, errors) by agent: the specification's allocation table.
_SHARES = {
    "developer": (0.20, 0.10),
    "senior_software_engineer": (0.25, 0.15),
    "qa_expert": (0.30, 0.15),
    "tech_lead": (0.40, 0.15),
    "investigator": (0.35, 0.15),
}
_DEFAULT_SHARES = (0.20, 0.10)
REASONING_TOKENS = {"minimal": 400, "medium": 800, "full": 1200}
# In a tight budget reasoning gets this share in addition to the table's: it has a cap of its own, by its level.
REASONING_SHARE = 0.15
STRATEGY_SHARE = 0.05
CLASSES: tuple[str, ...] = ("packages", "reasoning", "errors", "strategies", "skills")


class Budget(NamedTuple):
    """The limit of the whole block in tokens, and each class's share of it."""

    limit: int
    shares: dict[str, float]
    caps: dict[str, int]  # classes that never get more than this, whatever is left


def make_budget(agent: str, remaining: int, level: str, *, total: int | None) -> Budget:
    """The budget of an agent's block: shares of what remains, or of `total` where that is given."""
    packages, errors = _SHARES.get(agent, _DEFAULT_SHARES)
    shares = {
        "packages": packages,
        "reasoning": REASONING_SHARE,
        "errors": errors,
        "strategies": STRATEGY_SHARE,
        "skills": 0.0,
    }
    caps = {"reasoning": REASONING_TOKENS[level]}
    limit = int(remaining * packages) + int(remaining * errors) + caps["reasoning"]
    return Budget(min(limit, remaining) if total is None else min(total, remaining), shares, caps)
