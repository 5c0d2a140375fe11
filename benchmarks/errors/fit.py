"""What sizes.py and run.py fit the calibration tables of ranking/errors/calibration.py with.

Logistic regression by Newton's method with an L2 penalty, over every question's best
candidate, whether it was right, with the tools' codes and without, over several rounds.
"""

import math
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from errors.corpus import Field, Row, make_round, text_of
from errors.ours import Ours

from ctxrank.ranking.errors.calibration import CalibrationFamily, Evidence

FIELDS: tuple[Field, ...] = ("text", "text_nocode")
_PENALTY = 4.0
_STEPS = 40
_CLOSE_ENOUGH = 1e-5


class Sample(NamedTuple):
    """One question's best candidate."""

    source: str
    group: str
    field: str
    family: CalibrationFamily
    is_known: bool
    is_right: bool
    evidence: tuple[float, ...]


def print_tables(samples: list[Sample]) -> None:
    """The weights, as they stand in the program."""
    print("const    " + "  ".join(Evidence._fields))
    for family, weights in fitted(samples).items():
        print(f'    "{family}": ({", ".join(f"{weight:.2f}" for weight in weights)}),')


def sampled(rows: list[Row], field: Field, seed: int) -> Iterator[Sample]:
    """The best candidate of every question of one round."""
    trial = make_round(rows, seed)
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        ours = Ours(folder)
        ours.store([(row.group, text_of(row, field)) for row in trial.stored])
        for is_known, asked in ((True, trial.known), (False, trial.unknown)):
            for row in asked:
                best = ours.best(text_of(row, field))
                if best is not None:
                    is_right = is_known and best.group == row.group
                    yield Sample(row.source, row.group, field, best.family, is_known, is_right, best.evidence)
        ours.close()


def fitted(samples: list[Sample]) -> dict[str, list[float]]:
    """The weights of each family: the constant, then one for each field of the evidence."""
    families = sorted({sample.family for sample in samples})
    return {family: _regression([sample for sample in samples if sample.family == family]) for family in families}


def _regression(samples: list[Sample]) -> list[float]:
    inputs = [(1.0, *sample.evidence) for sample in samples]
    size = len(inputs[0])
    weights = [0.0] * size
    for _ in range(_STEPS):
        slope = [-_PENALTY * weight * (i > 0) for i, weight in enumerate(weights)]
        curve = [[_PENALTY * float(i == j and i > 0) + 1e-9 * float(i == j) for j in range(size)] for i in range(size)]
        for values, sample in zip(inputs, samples, strict=True):
            chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, sum(map(_product, weights, values))))))
            spread = max(chance * (1 - chance), 1e-6)
            nonzero = [i for i, value in enumerate(values) if value]
            for i in nonzero:
                slope[i] += (float(sample.is_right) - chance) * values[i]
                for j in nonzero:
                    curve[i][j] += spread * values[i] * values[j]
        step = _solved(curve, slope)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _CLOSE_ENOUGH:
            break
    return weights


def _product(one: float, other: float) -> float:
    return one * other


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss and Jordan, with pivoting."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i and rows[r][i]:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]
