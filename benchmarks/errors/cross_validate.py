"""Choose the threshold of recognition: python benchmarks/errors/cross_validate.py --data FOLDER

Groups are split at random, several times: the calibration is fitted on seven tenths of them and measured on the others,
with every text's codes stripped, as all groups are stored and asked. Prints what each threshold gives, mean and spread,
and with --fit the tables of all groups together, to paste into ranking/errors/calibration.py.
"""

import argparse
import os
import random
import statistics
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from errors.corpus import Row, load, make_round
from errors.fit import FIELDS, Sample, fitted, print_tables, sampled

from ctxrank.ranking.errors.calibration import logistic

_THRESHOLDS = (0.86, 0.88, 0.90, 0.91, 0.92, 0.93, 0.935, 0.94, 0.945, 0.95, 0.96)
_TESTED = 0.3
_ROOT_CAUSE = ("pytb",)  # measured apart: a group is no template


class Outcome(NamedTuple):
    """What a threshold gives on the groups of one split."""

    precision: float
    recall: float
    false_positives: float


def main() -> None:
    """Split, fit, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5], help="rounds [default: 1 2 3 4 5]")
    parser.add_argument("--splits", type=int, default=12, help="[default: 12]")
    parser.add_argument("--fit", action="store_true", help="print the tables of all groups, too")
    options = parser.parse_args()
    rows = load(options.data, "all")
    samples = [sample for seed in options.seeds for field in FIELDS for sample in sampled(rows, field, seed)]
    stripped = [one for one in samples if one.field == "text_nocode" and one.source not in _ROOT_CAUSE]
    found: dict[float, list[Outcome]] = {threshold: [] for threshold in _THRESHOLDS}
    for split in range(options.splits):
        tested = _tested(rows, split)
        weights = fitted([one for one in samples if one.family == "message" and one.group not in tested])["message"]
        rated = [(_chance(weights, one), one) for one in stripped if one.group in tested]
        known, unknown = _asked(rows, options.seeds, tested)
        for threshold in _THRESHOLDS:
            answered = [one for chance, one in rated if chance >= threshold]
            right = sum(one.is_right for one in answered)
            wrong = sum(not one.is_known for one in answered)
            found[threshold].append(Outcome(right / max(len(answered), 1), right / known, wrong / unknown))
    print("threshold  precision        recall           on unknown")
    for threshold, outcomes in found.items():
        columns = zip(*outcomes, strict=True)
        print(
            f"{threshold:9.3f}", *(f"{statistics.mean(c):.4f} ± {statistics.pstdev(c):.4f}" for c in columns), sep="  "
        )
    if options.fit:
        print_tables(samples)


def _tested(rows: list[Row], split: int) -> set[str]:
    groups = sorted({row.group for row in rows})
    return set(random.Random(split).sample(groups, round(_TESTED * len(groups))))


def _asked(rows: list[Row], seeds: list[int], tested: set[str]) -> tuple[int, int]:
    """How many questions of these groups are known and unknown, over all rounds."""
    known = unknown = 0
    for seed in seeds:
        trial = make_round(rows, seed)
        known += sum(row.group in tested and row.source not in _ROOT_CAUSE for row in trial.known)
        unknown += sum(row.group in tested and row.source not in _ROOT_CAUSE for row in trial.unknown)
    return known, unknown


def _chance(weights: list[float], sample: Sample) -> float:
    return logistic(weights[0] + sum(w * value for w, value in zip(weights[1:], sample.evidence, strict=True)))


if __name__ == "__main__":
    main()
