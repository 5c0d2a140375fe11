"""Is confidence honest however little is stored, on a source that nothing was fitted on?

    python benchmarks/errors/sizes.py --data FOLDER [FOLDER …] [--fit]

For each source the calibration is fitted on the others and measured on this one, with 1, 10 and 1,000 patterns in the
store. Prints precision, recall, false positives and calibration error by size, then the reliability curve, and with
--fit the tables fitted on all sources and sizes. Raw results go to benchmarks/results/errors-calibration.json.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from errors.corpus import Field, Round, Row, load, make_sized_round, text_of
from errors.fit import FIELDS, Sample, fitted, print_tables
from errors.ours import Ours

from ctxrank.indexer.errors.masks import lasting
from ctxrank.ranking.errors.calibration import LEAST_RECOGNITION, logistic

# Patterns stored, how often, and how many texts of other groups are asked each time.
SIZES = ((1, 60, 40), (10, 20, 150), (1000, 1, 1500))
_BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.0001)
# Their groups are causes, not templates. A text that two causes print alike is left out: nobody can tell whose it is.
_ROOT_CAUSE = ("pytb", "python", "javascript", "java", "go")
_PASSING = re.compile(r"Time: [\d.]+|goroutine \d+|\d+\.\d+s|:\d+(?::\d+)?|/(?:home|srv)/\w+")


class Asked(NamedTuple):
    """A question's best candidate; None where there is none."""

    source: str
    size: int
    field: Field
    is_known: bool
    sample: Sample | None


class Rated(NamedTuple):
    """A question with the chance that its best candidate was given; 0 where there is none."""

    asked: Asked
    chance: float

    @property
    def is_answered(self) -> bool:
        """Whether the chance is enough to answer."""
        return self.chance >= LEAST_RECOGNITION[self.asked.sample.family if self.asked.sample else "message"]

    @property
    def is_right(self) -> bool:
        """Whether the best candidate is the right one."""
        return self.asked.sample is not None and self.asked.sample.is_right


def main() -> None:
    """Ask, fit with each source left out, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, nargs="+", metavar="FOLDER")
    parser.add_argument("--fit", action="store_true", help="print the tables of all sources, too")
    parser.add_argument("--out", default=os.path.join(sys.path[0], "results"), metavar="DIR")
    options = parser.parse_args()
    rows = _told_apart([row for folder in options.data for row in load(folder, "all")])
    sources = sorted({row.source for row in rows})
    asked = [one for source in sources for one in _questions([row for row in rows if row.source == source])]
    rated: list[Rated] = []
    for source in sources:
        tables = fitted([one.sample for one in asked if one.sample and one.source != source])
        rated += [Rated(one, _chance(tables, one.sample)) for one in asked if one.source == source]
    result: list[dict[str, object]] = []
    print("left out    texts        stored  precision  recall  on unknown  calibration error")
    for source in (*sources, "templates", "causes"):
        for field in FIELDS:
            for size, _, _ in SIZES:
                some = [
                    one for one in rated
                    if one.asked.field == field and one.asked.size == size
                    and source in (one.asked.source, "causes" if one.asked.source in _ROOT_CAUSE else "templates")
                ]  # fmt: skip
                line = _figures(some)
                print(f"{source:12}{field:12}{size:7}", "".join(f"{value:10.4f}" for value in line.values()))
                result.append({"left_out": source, "texts": field, "stored": size, **line})
    curve = list(_curve([one for one in rated if one.asked.sample]))
    print("\nchance       questions  mean chance  right")
    for row in curve:
        print(f"{row['from']:.2f}\u2013{row['to']:.2f}{row['questions']:12}{row['chance']:13.4f}{row['right']:8.4f}")
    with open(os.path.join(options.out, "errors-calibration.json"), "w", encoding="utf-8") as file:
        lines = [",\n".join(f"    {json.dumps(one)}" for one in table) for table in (result, curve)]
        file.write(f'{{\n  "by_size": [\n{lines[0]}\n  ],\n  "reliability": [\n{lines[1]}\n  ]\n}}\n')
    if options.fit:
        print_tables([one.sample for one in asked if one.sample])


def _told_apart(rows: list[Row]) -> list[Row]:
    """Without the texts of root causes that two causes print alike, which are counted."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        groups[row.source, _PASSING.sub("", lasting(row.text))].add(row.group)
    kept = [
        row
        for row in rows
        if row.source not in _ROOT_CAUSE or len(groups[row.source, _PASSING.sub("", lasting(row.text))]) == 1
    ]
    print(f"{len(rows) - len(kept)} texts left out that two causes print alike")
    return kept


def _questions(rows: list[Row]) -> Iterator[Asked]:
    for size, rounds, others in SIZES:
        for seed in range(rounds):
            trial = make_sized_round(rows, size, others, seed)
            for field in FIELDS:
                yield from _asked(trial, size, field)


def _asked(trial: Round, size: int, field: Field) -> Iterator[Asked]:
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        ours = Ours(folder)
        ours.store([(row.group, text_of(row, field)) for row in trial.stored])
        for is_known, some in ((True, trial.known), (False, trial.unknown)):
            for row in some:
                best = ours.best(text_of(row, field))
                is_right = is_known and best is not None and best.group == row.group
                sample = best and Sample(row.source, row.group, field, best.family, is_known, is_right, best.evidence)
                yield Asked(row.source, size, field, is_known, sample)
        ours.close()


def _chance(tables: dict[str, list[float]], sample: Sample | None) -> float:
    if sample is None or sample.family not in tables:
        return 0.0
    weights = tables[sample.family]
    return logistic(weights[0] + sum(w * value for w, value in zip(weights[1:], sample.evidence, strict=True)))


def _figures(rated: list[Rated]) -> dict[str, float]:
    answered = [one for one in rated if one.is_answered]
    right = sum(one.is_right for one in answered)
    known = sum(one.asked.is_known for one in rated)
    wrong = sum(not one.asked.is_known for one in answered)
    gap = abs(sum(one.chance for one in answered) - right)
    return {
        "precision": round(right / max(len(answered), 1), 4), "recall": round(right / max(known, 1), 4),
        "false_positives": round(wrong / max(len(rated) - known, 1), 4),
        "calibration_error": round(gap / max(len(answered), 1), 4),
    }  # fmt: skip


def _curve(rated: list[Rated]) -> Iterator[dict[str, float]]:
    """Each size and source counts as much as any other: a bin's share is of questions as they were asked."""
    bins: dict[int, list[Rated]] = defaultdict(list)
    for one in rated:
        bins[sum(one.chance >= edge for edge in _BINS) - 1].append(one)
    for at, members in sorted(bins.items()):
        counts = Counter(one.is_right for one in members)
        yield {
            "from": _BINS[at], "to": min(_BINS[at + 1], 1.0), "questions": len(members),
            "chance": round(sum(one.chance for one in members) / len(members), 4),
            "right": round(counts[True] / len(members), 4),
        }  # fmt: skip


if __name__ == "__main__":
    main()
