"""The confusion matrix of real failures: python benchmarks/errors/failures/measure.py HALF [--list]

Stored is A of every case. Asked is A again, B (the same cause elsewhere) and C (a near miss). Any answer to C that
names its sibling is wrong. Beside it the same with A alone in the store, which is how a new store begins.
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from errors.ours import PROJECT, Ours

from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.ranking.errors.match import match_errors

HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = ("A", "B", "C")
KNOWN = ("known-seen", "known-unseen")  # with the same again, elsewhere, and a near miss of each
HALVES = ("seen", "unseen", "later")
FRESH = ("fresh", "newest", "last")  # what was first asked of these is in README.md


class Failure(NamedTuple):
    """One thing that a tool printed."""

    tool: str
    case: str
    variant: str
    text: str

    @property
    def name(self) -> str:
        """The case, over all tools."""
        return f"{self.tool}: {self.case}"


class Told(NamedTuple):
    """What was answered to a failure: the case of the pattern, or ''; `reason` says why."""

    failure: Failure
    answer: str
    confidence: float
    reason: str
    word: str = ""


class Matrix(NamedTuple):
    """How many of each variant were answered with their own case or another one, how many by kind, and not at all."""

    own: Counter[str]
    other: Counter[str]
    kind: Counter[str]
    silent: Counter[str]


def load(half: str) -> list[Failure]:
    """The failures of one half."""
    with gzip.open(os.path.join(HERE, f"{half}.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [Failure(**json.loads(line)) for line in file]


def asked_of_all(failures: list[Failure]) -> list[Told]:
    """Every failure asked of a store that holds A of every case."""
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        ours = Ours(folder)
        ours.store([(one.name, one.text) for one in failures if one.variant == "A"])
        found = [_told(ours, one) for one in failures]
        ours.close()
    return found


def asked_alone(failures: list[Failure]) -> list[Told]:
    """Every failure asked of a store that holds A of its own case and nothing else."""
    found: list[Told] = []
    for first in (one for one in failures if one.variant == "A"):
        with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
            ours = Ours(folder)
            ours.store([(first.name, first.text)])
            found += [_told(ours, one) for one in failures if one.name == first.name]
            ours.close()
    return found


def matrix(told: Iterable[Told]) -> Matrix:
    """The counts."""
    counts = Matrix(Counter(), Counter(), Counter(), Counter())
    for one in told:
        row = counts.silent if not one.answer else counts.own if one.answer == one.failure.name else counts.other
        row = counts.kind if one.word == "same kind" else row
        row[one.failure.variant] += 1
    return counts


def is_fault(told: Told) -> bool:
    """Whether this is no answer to a case, or an answer to a near miss that is more than its kind."""
    if told.failure.variant in ("C", "near"):
        return bool(told.answer) and told.word != "same kind"
    return told.answer != told.failure.name


def _told(ours: Ours, failure: Failure) -> Told:
    answers = [match_errors(ours.opened.primary, sign(unit), Whose(PROJECT), 3) for unit in error_units(failure.text)]
    best = next((match for one in answers for match in one.matches), None)
    best = best or next((match for one in answers for match in one.same_kind), None)
    if best is None:
        return Told(failure, "", 0.0, answers[0].reason)
    return Told(failure, ours.group_of(best.pattern_id), best.recognition, best.why[0], best.word)


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("half", choices=(*HALVES, *FRESH, *KNOWN))
    parser.add_argument("--list", action="store_true", help="name the faults")
    options = parser.parse_args()
    failures = load(options.half)
    for title, told in (("A of all stored", asked_of_all(failures)), ("A alone stored", asked_alone(failures))):
        print(f"{title:18}own case  another  by kind  silence")
        counts = matrix(told)
        for variant in dict.fromkeys(one.variant for one in failures):
            print(f"{variant:18}{counts.own[variant]:8}", *(f"{count[variant]:8}" for count in counts[1:]))
        if options.list:
            for one in filter(is_fault, told):
                print(f"  {one.failure.variant} {one.failure.name} -> {one.answer or 'silence'} ({one.reason})")


if __name__ == "__main__":
    main()
