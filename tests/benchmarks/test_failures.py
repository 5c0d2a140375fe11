"""Real failures of many tools, made once: the same cause elsewhere is recognised, a near miss is not answered.

The texts are kept, so that no toolchain is needed; `benchmarks/errors/failures/make.py` makes them.
"""

from collections import defaultdict

import pytest
from errors.failures.measure import FRESH, HALVES, VARIANTS, Failure, asked_alone, asked_of_all, is_fault, load, matrix
from tables import first_quick

_LEAST_CASES = 64
# Its message is the same; only the types in it say that they are two errors.
_KNOWN_FAULTS = {("gxx: invalid conversion", "C")}
# "Unable to load certificate" is the last line of two failures; the file that is missing stands above it.
_SHARED_LAST_LINE = {
    ("openssl: no certificate", "B"),
}


# Near misses that are answered, most because they print what the case prints: the cases' fault (README.md beside them).
_ANSWERED = {
    "fresh": {
        "alembic: no config", "archives: xz format", "eslint: undefined", "gdb: no symbol", "js_runners: ava assertion",
    },
    "newest": {"naga: syntax", "py_databases: mako name"},
    "last": {
        "packers: zip nothing", "py_more_libraries: xmlschema",
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("half", first_quick(FRESH, 1))
def test_of_tools_that_no_rule_was_made_with_a_near_miss_is_not_answered_either(half: str) -> None:
    told = asked_of_all(load(half))
    assert {one.failure.name for one in told if one.failure.variant == "C" and is_fault(one)} == _ANSWERED[half]


@pytest.mark.parametrize("half", (*HALVES, *FRESH))
def test_every_case_has_three_variants_that_name_no_machine(half: str) -> None:
    cases: dict[str, set[str]] = defaultdict(set)
    for failure in load(half):
        cases[failure.name].add(failure.variant)
        assert "/root/" not in failure.text and "failure-" not in failure.text
    assert len(cases) >= _LEAST_CASES
    assert all(variants == set(VARIANTS) for variants in cases.values())


@pytest.mark.slow
@pytest.mark.parametrize("half", first_quick(HALVES, 1))
def test_where_all_are_stored_the_same_cause_is_found_and_a_near_miss_is_not(half: str) -> None:
    told = asked_of_all(load(half))
    faults = {(one.failure.name, one.failure.variant) for one in told if is_fault(one)}
    assert faults == (_SHARED_LAST_LINE if half == "later" else set())


@pytest.mark.slow
def test_one_stored_pattern_answers_a_near_miss_no_more_than_many() -> None:
    failures = [one for half in HALVES for one in load(half) if _is_sampled(one)]
    told = asked_alone(failures)
    assert {(one.failure.name, one.failure.variant) for one in told if is_fault(one)} <= _KNOWN_FAULTS
    counts = matrix(told)
    assert sum(counts.own.values()) + counts.kind["B"] >= 2 * len(failures) / 3


def _is_sampled(failure: Failure) -> bool:
    """One case in eight, and all that is known to fail: a store for each takes its time."""
    return sum(map(ord, failure.name)) % 8 == 0 or (failure.name, "C") in _KNOWN_FAULTS
