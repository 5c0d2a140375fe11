"""Limits: how full the conversation is, what a block may hold there, and how much of it each class is due.

    usage = current_tokens / (model limit × (1 − safety margin))

    Normal       below 60 %   summaries of 400 characters, everything
    Soft_Warning from 60 %    summaries of 200, no passages
    Conservative from 75 %    summaries of 100, the highest priority level that has any; nothing of low priority
    Wrap-up      from 85 %    no packages
    Emergency    from 95 %    nothing

Source: the context assembler's specification, steps 2c and 5; the shares are its allocation table.
ranking/context/budget.py defines when a share is due (`fair_queue`).
"""

from ctxrank.indexer.light_typing import NamedTuple


class Zone(NamedTuple):
    """A zone by its name in the output, from how many percent on it is, and the characters of a summary in it.

    There are these alone, compared by identity. Loading `enum` takes a quarter of a bare start.
    """

    value: str
    starts_at: float
    summary_chars: int


NORMAL = Zone("Normal", 0.0, 400)
SOFT_WARNING = Zone("Soft_Warning", 60.0, 200)
CONSERVATIVE = Zone("Conservative", 75.0, 100)
WRAP_UP = Zone("Wrap-up", 85.0, 60)
EMERGENCY = Zone("Emergency", 95.0, 0)
_FULLEST_FIRST = (EMERGENCY, WRAP_UP, CONSERVATIVE, SOFT_WARNING)
# Only here is a delivery recorded: elsewhere an agent sees too little to count it as seen.
MARKING = (NORMAL, SOFT_WARNING)

# Shares of the remaining tokens (packages, errors) by agent.
_SHARES = {
    "developer": (0.20, 0.10),
    "senior_software_engineer": (0.25, 0.15),
    "qa_expert": (0.30, 0.15),
    "tech_lead": (0.40, 0.15),
    "investigator": (0.35, 0.15),
}
REASONING_TOKENS = {"minimal": 400, "medium": 800, "full": 1200}
# In a tight budget reasoning gets this share in addition to the table's: it has a cap of its own, by its level.
REASONING_SHARE = 0.15
STRATEGY_SHARE = 0.05
# Of the packages' share, where the task is about indexed files.
FILES_SHARE = 0.15
CLASSES: tuple[str, ...] = ("packages", "files", "reasoning", "errors", "strategies", "skills")


class Usage(NamedTuple):
    """How much of a model's context is used: `percent` of the effective limit, of which so many tokens remain."""

    zone: Zone
    percent: float
    remaining: int

    @property
    def shown_percent(self) -> float:
        """The percentage to one decimal, never rounded up over the border of the next zone."""
        shown = round(self.percent, 1)
        return round(shown - 0.1, 1) if _zone_at(shown) is not self.zone else shown


def usage(model_limit: int, safety_margin: float, current_tokens: int) -> Usage:
    """The zone that a conversation of this many tokens is in."""
    effective = int(model_limit * (1 - safety_margin))
    percent = current_tokens / effective * 100 if effective > 0 else 0.0
    return Usage(_zone_at(percent), percent, max(0, effective - current_tokens))


def _zone_at(percent: float) -> Zone:
    return next((zone for zone in _FULLEST_FIRST if percent >= zone.starts_at), NORMAL)


class Budget(NamedTuple):
    """The limit of the whole block in tokens, and each class's share of it."""

    limit: int
    shares: dict[str, float]
    caps: dict[str, int]  # classes that never get more than this, whatever is left

    @property
    def shares_with_files(self) -> dict[str, float]:
        """The shares where the task is about indexed files: they take a part of the packages'."""
        packages = self.shares["packages"]
        return {**self.shares, "packages": packages * (1 - FILES_SHARE), "files": packages * FILES_SHARE}


def make_budget(agent: str, remaining: int, level: str, *, total: int | None) -> Budget:
    """The budget of an agent's block: shares of what remains, or of `total` where that is given."""
    packages, errors = _SHARES.get(agent, _SHARES["developer"])
    shares = {
        "packages": packages,
        "files": 0.0,
        "reasoning": REASONING_SHARE,
        "errors": errors,
        "strategies": STRATEGY_SHARE,
        "skills": 0.0,
    }
    caps = {"reasoning": REASONING_TOKENS[level]}
    limit = int(remaining * packages) + int(remaining * errors) + caps["reasoning"]
    return Budget(min(limit, remaining) if total is None else min(total, remaining), shares, caps)
