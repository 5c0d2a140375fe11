"""The budget's laws, over any steps: it is hard, it is fair, and more of it never takes away."""

from hypothesis import given
from hypothesis import strategies as st

from ctxrank.ranking.context.assembly.budget import CLASSES, REASONING_TOKENS, Budget, Packed, Step, make_budget, pack

_STEPS = st.lists(st.tuples(st.sampled_from(CLASSES), st.integers(0, 5), st.integers(1, 400)), max_size=40).map(
    lambda parts: [Step(kind, key, "entry", cost) for kind, key, cost in parts]
)
_HEADINGS = {"reasoning": 9, "errors": 7, "strategies": 5}


def _budget(limit: int, level: str = "medium") -> Budget:
    return make_budget("qa_expert", 10**6, level, total=limit)


def _pack(limit: int, steps: list[Step], base: int = 0) -> Packed:
    return pack(_budget(limit), base, steps, _HEADINGS)


@given(_STEPS, st.integers(0, 5000), st.integers(0, 100))
def test_it_is_hard(steps: list[Step], limit: int, base: int) -> None:
    packed = _pack(limit + base, steps, base)
    assert packed.used == base + sum(packed.by_class.values()) <= limit + base


@given(_STEPS, st.integers(0, 4000), st.integers(0, 2000))
def test_a_larger_one_never_removes_anything(steps: list[Step], limit: int, more: int) -> None:
    small, large = _pack(limit, steps), _pack(limit + more, steps)
    assert large.taken[: len(small.taken)] == small.taken


@given(_STEPS, st.integers(0, 4000))
def test_every_step_is_taken_or_left(steps: list[Step], limit: int) -> None:
    packed = _pack(limit, steps)
    both = [step[:3] for step in (*packed.taken, *packed.left)]
    assert sorted(both) == sorted(step[:3] for step in steps)


@given(_STEPS, st.integers(0, 4000))
def test_within_a_class_the_order_is_kept(steps: list[Step], limit: int) -> None:
    packed = _pack(limit, steps)
    for kind in ("packages", "errors", "strategies"):
        wanted = [step.key for step in steps if step.kind == kind]
        taken = [step.key for step in packed.taken if step.kind == kind]
        assert wanted[: len(taken)] == taken


@given(st.integers(200, 3000), st.integers(1, 60))
def test_no_class_starves_another(limit: int, cost: int) -> None:
    """All want more than there is: each has its share, but for one step."""
    steps = [Step(kind, n, "entry", cost) for kind in CLASSES for n in range(limit // cost + 1)]
    budget = _budget(limit, "full")
    packed = pack(budget, 0, steps)
    total = sum(budget.shares.values())
    for kind in CLASSES:
        share = min(budget.shares[kind] / total * limit, budget.caps.get(kind, limit))
        assert packed.by_class[kind] > share - 2 * cost


def test_an_unused_share_flows_on() -> None:
    steps = [Step("packages", n, "entry", 100) for n in range(10)]
    assert _pack(1000, steps).used == 1000


def test_reasoning_never_gets_more_than_its_level() -> None:
    steps = [Step("reasoning", n, "entry", 150) for n in range(20)]
    for level, cap in REASONING_TOKENS.items():
        packed = pack(_budget(10**6, level), 0, steps)
        assert packed.used == cap // 150 * 150


def test_an_entry_above_the_cap_does_not_block_the_next_and_leaves_it_the_heading() -> None:
    packed = _pack(5000, [Step("reasoning", 0, "entry", 900), Step("reasoning", 1, "entry", 100)])
    assert [(step.key, step.cost) for step in packed.taken] == [(1, 109)]


def test_the_shares_are_the_specification_s_of_what_remains() -> None:
    limits = {agent: make_budget(agent, 100_000, "medium", total=None).limit for agent in (
        "developer", "senior_software_engineer", "qa_expert", "tech_lead", "investigator", "anyone")}  # fmt: skip
    assert limits == {
        "developer": 30_800, "senior_software_engineer": 40_800, "qa_expert": 45_800, "tech_lead": 55_800,
        "investigator": 50_800, "anyone": 30_800,
    }  # fmt: skip


def test_a_budget_that_is_asked_for_is_the_limit_but_never_more_than_remains() -> None:
    assert make_budget("developer", 100_000, "medium", total=500).limit == 500
    assert make_budget("developer", 300, "medium", total=500).limit == 300
    assert make_budget("developer", 300, "medium", total=None).limit == 300


def test_the_shares_of_each_agent_are_the_specification_s() -> None:
    beside = {"reasoning": 0.15, "strategies": 0.05, "skills": 0.0}
    shares = {
        agent: make_budget(agent, 100_000, "medium", total=None).shares
        for agent in (
            "developer", "senior_software_engineer", "qa_expert", "tech_lead", "investigator", "anyone",
        )
    }  # fmt: skip
    assert shares == {
        "developer": {"packages": 0.20, "errors": 0.10, **beside},
        "senior_software_engineer": {"packages": 0.25, "errors": 0.15, **beside},
        "qa_expert": {"packages": 0.30, "errors": 0.15, **beside},
        "tech_lead": {"packages": 0.40, "errors": 0.15, **beside},
        "investigator": {"packages": 0.35, "errors": 0.15, **beside},
        "anyone": {"packages": 0.20, "errors": 0.10, **beside},
    }
    assert REASONING_TOKENS == {"minimal": 400, "medium": 800, "full": 1200}


def test_where_all_want_more_than_there_is_each_class_gets_its_share() -> None:
    """Paper: shares .20 + .15 + .10 + .05 = .50, so of 500 tokens 200, 150, 100 and 50; skills have none."""
    steps = [Step(kind, number, "entry", 10) for kind in CLASSES for number in range(100)]
    packed = pack(make_budget("developer", 10**6, "full", total=500), 0, steps)
    assert packed.by_class == {"packages": 200, "reasoning": 150, "errors": 100, "strategies": 50, "skills": 0}


def test_a_class_without_a_share_is_the_last_to_come() -> None:
    """Paper: 90 + 90, 5 for the heading of the strategies, and 10 where there is room."""
    steps = [Step("skills", 0, "checklist", 10), Step("strategies", 0, "entry", 90), Step("packages", 0, "title", 90)]
    assert [step.kind for step in _pack(195, steps).taken] == ["packages", "strategies", "skills"]
    assert [step.kind for step in _pack(194, steps).taken] == ["packages", "strategies"]
