"""Budget: how many tokens a block may have, and who gets them.

Each class has a share. Its items come as steps (a title, then a summary, then a passage …) of known cost,
in the order they are wanted. All classes' steps are merged by *virtual finish time*

    F(step) = (cost of the class's steps up to and with this one) / share of the class

and taken in that order until the next one does not fit. Source: weighted fair queueing (Demers, Keshav
and Shenker 1989, section 2). It follows that

* no class can starve another: at any budget each has about its share;
* an unused share flows on, because a class without further steps leaves the rest to the others;
* a larger budget never removes or lowers an item: the order does not depend on it, so more budget is only
  a longer prefix;
* what does not fit is lowered before it is dropped: a title is an earlier step than its summary;
* a class without a share comes after everything else: it is the first to go.
"""

from collections.abc import Mapping, Sequence
from math import inf

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
# In a tight budget reasoning gets this share beside the table's: it has a reserve of its own, capped by its level.
REASONING_SHARE = 0.15
STRATEGY_SHARE = 0.05
CLASSES: tuple[str, ...] = ("packages", "reasoning", "errors", "strategies", "skills")


class Step(NamedTuple):
    """One thing to add: item `key` of class `kind` at `level`; `cost` in tokens."""

    kind: str
    key: int
    level: str
    cost: int


class Budget(NamedTuple):
    """The limit of the whole block in tokens, and each class's share of it."""

    limit: int
    shares: dict[str, float]
    caps: dict[str, int]  # classes that never get more than this, whatever is left


class Packed(NamedTuple):
    """Steps taken, in order, and those that were not, with what each class used."""

    taken: tuple[Step, ...]
    left: tuple[Step, ...]
    used: int
    by_class: dict[str, int]
    is_complete: bool = False  # nothing is left that a larger limit would take


def make_budget(agent: str, remaining: int, level: str, *, total: int | None) -> Budget:
    """The budget of an agent's block: shares of what remains, or of `total` where that is given."""
    packages, errors = _SHARES.get(agent, _DEFAULT_SHARES)
    shares = {
        "packages": packages,
        "errors": errors,
        "reasoning": REASONING_SHARE,
        "strategies": STRATEGY_SHARE,
        "skills": 0.0,
    }
    caps = {"reasoning": REASONING_TOKENS[level]}
    limit = int(remaining * packages) + int(remaining * errors) + caps["reasoning"]
    return Budget(min(limit, remaining) if total is None else min(total, remaining), shares, caps)


def pack(budget: Budget, base: int, steps: Sequence[Step], headings: Mapping[str, int] = {}) -> Packed:
    """Take steps until the next one does not fit; `base` tokens are spent already.

    The steps of one class are in the order they are wanted, and later ones build on earlier ones. `headings`
    is what the first step of a class costs beside itself.
    """
    spent: dict[str, int] = dict.fromkeys(CLASSES, 0)
    queue: list[tuple[float, int, int, Step]] = []
    left: list[Step] = []
    for number, step in enumerate(steps):
        if not spent[step.kind]:
            step = step._replace(cost=step.cost + headings.get(step.kind, 0))
        cap = budget.caps.get(step.kind)
        if cap is not None and spent[step.kind] + step.cost > cap:
            left.append(step)
            continue
        spent[step.kind] += step.cost
        share = budget.shares[step.kind]
        finish = spent[step.kind] / share if share else inf
        queue.append((finish, CLASSES.index(step.kind), number, step))
    queue.sort(key=lambda entry: entry[:3])
    used = base
    by_class = dict.fromkeys(CLASSES, 0)
    taken: list[Step] = []
    for _, _, _, step in queue:
        if used + step.cost > budget.limit:
            break
        used += step.cost
        by_class[step.kind] += step.cost
        taken.append(step)
    left += [step for _, _, _, step in queue[len(taken) :]]
    return Packed(tuple(taken), tuple(left), used, by_class, len(taken) == len(queue))
