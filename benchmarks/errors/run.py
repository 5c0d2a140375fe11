"""Measure how well known errors are recognised: python benchmarks/errors/run.py --data FOLDER [--part dev|held-out|all]

FOLDER holds one JSONL file for each source (see corpus.py). Prints precision, recall, false positives on unknown errors
and calibration error for us and for what could be done instead, with the tools' own codes and without; then how the
calibration does on sources it was not fitted on; then how long a lookup takes. Raw results go to
benchmarks/results/errors-PART.json.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import machine
from errors import latency
from errors.baselines import Bm25, Bm25ThenRatio, Contender, NaiveMasks, Predecessor
from errors.corpus import Field, Part, Row, load
from errors.fit import FIELDS, Sample, fitted, sampled
from errors.ours import Ours
from errors.protocol import Measures, Question, ask, by_source, calibration_error, measure

from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.ranking.errors.calibration import LEAST_RECOGNITION, logistic

_BASELINES: tuple[tuple[str, Callable[[], Contender]], ...] = (
    ("predecessor", Predecessor),
    ("naive masks", NaiveMasks),
    ("BM25 top 1", Bm25),
    ("BM25 top 20, ratio", Bm25ThenRatio),
)
# Sources whose groups are one root cause; they are measured apart from message templates.
_ROOT_CAUSE = ("pytb",)
_RESULTS = os.path.join(sys.path[0], "results")


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FOLDER", help="folder of SOURCE.jsonl files")
    parser.add_argument("--part", choices=("dev", "held-out", "all"), default="held-out", help="[default: held-out]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="rounds [default: 1 2 3]")
    parser.add_argument("--ours", action="store_true", help="leave out the other schemes")
    parser.add_argument("--no-latency", action="store_true", help="leave out the times")
    parser.add_argument("--out", default=_RESULTS, metavar="DIR", help="[default: benchmarks/results]")
    options = parser.parse_args(arguments)
    part: Part = options.part
    rows = load(options.data, part)
    result: dict[str, object] = {
        "benchmark": "errors", "part": part, "seeds": options.seeds, "rows": len(rows),
        "groups": len({row.group for row in rows}), "machine": machine.facts(),
        "recognition": _recognition(rows, options.seeds, with_others=not options.ours),
        "unseen_source": _unseen_sources(load(options.data, "dev"), rows, options.seeds[0]),
    }  # fmt: skip
    if not options.no_latency:
        result["latency"] = latency.measured(rows)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, f"errors-{part}.json"), "w", encoding="utf-8") as file:
        file.write(as_lines(result))


def _recognition(rows: list[Row], seeds: list[int], *, with_others: bool) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    print(f"{'':22}{'texts':12}{'source':22}precision  recall  on unknown  calibration error  questions")
    for field in FIELDS:
        for name, make in (("ours", None), *(_BASELINES if with_others else ())):
            questions = [question for seed in seeds for question in _asked(make, rows, field, seed)]
            for source, some in _parts(questions):
                one = measure(some)
                print(
                    f"{name:22}{field:12}{source:22}{one.precision:9.4f}{one.recall:8.4f}{one.false_positives:12.4f}"
                    f"{one.calibration_error:19.4f}{one.questions:11}", flush=True,
                )  # fmt: skip
                found.append({"scheme": name, "texts": field, "source": source, **_rounded(one)})
    return found


def _asked(make: Callable[[], Contender] | None, rows: list[Row], field: Field, seed: int) -> list[Question]:
    if make is not None:
        return ask(make, rows, field, seed)
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        ours = Ours(folder)
        questions = ask(lambda: ours, rows, field, seed)
        ours.close()
        return questions


def _parts(questions: list[Question]) -> list[tuple[str, list[Question]]]:
    """Each source, the templates together, the root causes together, and all."""
    parts = list(by_source(questions))
    pooled = parts.pop()
    templates = [question for question in questions if question.row.source not in _ROOT_CAUSE]
    return [*parts, ("templates pooled", templates), ("everything", pooled[1])]


def _unseen_sources(dev: list[Row], rows: list[Row], seed: int) -> list[dict[str, object]]:
    """Calibration fitted on the development groups of the other sources, measured on the rows of this one."""
    fitting = [sample for field in FIELDS for sample in sampled(dev, field, seed)]
    testing = [sample for field in FIELDS for sample in sampled(rows, field, seed)]
    found: list[dict[str, object]] = []
    print("\ncalibration on a source that was not fitted on   error  precision  answered")
    for source in sorted({sample.source for sample in testing if sample.family == "message"}):
        others = [sample for sample in fitting if sample.source != source and sample.family == "message"]
        if not others:
            continue  # a single source leaves nothing to fit on
        weights = fitted(others)
        for field in FIELDS:
            some = [s for s in testing if s.source == source and s.field == field and s.family == "message"]
            rated = [(_chance(weights["message"], sample), sample.is_right) for sample in some]
            sure = [(chance, is_right) for chance, is_right in rated if chance >= LEAST_RECOGNITION["message"]]
            if not sure:
                continue
            error, precision = calibration_error(sure), sum(is_right for _, is_right in sure) / len(sure)
            print(f"{source:10}{field:39}{error:6.4f}{precision:11.4f}{len(sure):10}")
            found.append({"source": source, "texts": field, "calibration_error": round(error, 4),
                          "precision": round(precision, 4), "answered": len(sure)})  # fmt: skip
    return found


def _chance(weights: list[float], sample: Sample) -> float:
    return logistic(weights[0] + sum(w * value for w, value in zip(weights[1:], sample.evidence, strict=True)))


def as_lines(result: dict[str, object]) -> str:
    """JSON with each row of a table on a line of its own, so that a diff shows rows and not numbers."""
    parts: list[str] = []
    for name, value in result.items():
        if is_list(value) and value and is_dict(value[0]):
            rows = ",\n".join(f"    {json.dumps(row)}" for row in value)
            parts.append(f'  "{name}": [\n{rows}\n  ]')
        else:
            parts.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _rounded(measures: Measures) -> dict[str, float]:
    return {name: round(value, 4) for name, value in measures._asdict().items()}


if __name__ == "__main__":
    main()
