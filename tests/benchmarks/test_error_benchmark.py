"""The measures of known errors are what they say, on three questions, and the split looks at names alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from errors.baselines import Answer, NaiveMasks, Predecessor
from errors.corpus import Row, is_held_out, load, make_round
from errors.protocol import Question, calibration_error, measure

RUN = Path(__file__).resolve().parents[2] / "benchmarks" / "errors" / "run.py"


def row(group: str, number: int, text: str = "error: x") -> Row:
    return Row(f"{group}-{number}", "tool", group, text, text)


ROWS = [row(f"g{group}", number) for group in range(60) for number in range(4)]


def test_precision_counts_answers_recall_known_questions_and_the_rest_unknown_ones() -> None:
    questions = [
        Question(row("a", 1), True, Answer("a", 0.9)),
        Question(row("b", 1), True, None),
        Question(row("c", 1), False, Answer("a", 0.6)),
        Question(row("c", 2), False, None),
    ]
    found = measure(questions)
    assert (found.precision, found.recall, found.false_positives) == (0.5, 0.5, 0.5)


def test_calibration_error_is_the_gap_between_confidence_and_success() -> None:
    # Two answers of 0.75 of which one is right: a gap of 0.25.
    assert calibration_error([(0.75, True), (0.75, False)]) == pytest.approx(0.25)
    assert calibration_error([(1.0, True)]) == 0.0


def test_a_round_stores_one_member_of_a_known_group_and_asks_with_the_rest() -> None:
    trial = make_round(ROWS, 1)
    stored = {one.group for one in trial.stored}
    assert len(stored) == len(trial.stored)
    assert {one.group for one in trial.known} == stored
    assert stored.isdisjoint(one.group for one in trial.unknown)
    assert len(trial.stored) + len(trial.known) + len(trial.unknown) == len(ROWS)
    assert trial == make_round(ROWS, 1) != make_round(ROWS, 2)


def test_a_group_is_in_one_part_only(tmp_path: Path) -> None:
    lines = [json.dumps({"id": r.id, "group": r.group, "text": r.text, "text_nocode": r.text}) for r in ROWS]
    (tmp_path / "tool.jsonl").write_text("\n".join(lines), encoding="utf-8")
    dev, held_out = load(str(tmp_path), "dev"), load(str(tmp_path), "held-out")
    assert len(dev) + len(held_out) == len(ROWS)
    assert all(is_held_out(one.group) for one in held_out)
    assert not any(is_held_out(one.group) for one in dev)


def test_the_predecessors_scheme_masks_paths_and_quotes_but_no_numbers() -> None:
    key = Predecessor().key
    assert key("error: no 'a' in /x/y.c") == key("error: no 'b' in /z/y.c")
    assert key("error: 1 thing") != key("error: 2 thing")
    assert NaiveMasks().key("error: 1 thing") == NaiveMasks().key("error: 2 thing")


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path: Path) -> None:
    texts = [f"error: the {word} of 'x{n}' is broken here" for word in ("lid", "rim", "hub", "cog") for n in range(3)]
    lines = [
        json.dumps({"id": str(at), "group": text[11:14], "text": text, "text_nocode": text})
        for at, text in enumerate(texts)
    ]
    (tmp_path / "tool.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, str(RUN), "--data", str(tmp_path), "--part", "all", "--seeds", "1", "--no-latency"]
    done = subprocess.run([*command, "--out", str(tmp_path)], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "errors-all.json").read_text(encoding="utf-8"))["rows"] == len(texts)
