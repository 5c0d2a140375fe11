"""Failing tests of mutated programs, made once: one mutant is one cause, and another mutant is another.

The texts were printed by small programs in which one line was changed (2026-11); what made them is in the history.
"""

import gzip
import json
import os
import tempfile
from typing import Final

import errors.corpus
import pytest
from errors.corpus import Row, make_round
from errors.ours import Ours

_SAMPLE: Final = os.path.join(os.path.dirname(errors.corpus.__file__), "mutants.jsonl.gz")
_LEAST_PRECISION: Final = 0.90
_LEAST_RECALL: Final = 0.35


def _rows() -> list[Row]:
    with gzip.open(_SAMPLE, "rt", encoding="utf-8") as file:
        return [Row(one["id"], one["source"], one["group"], one["text"], one["text"]) for one in map(json.loads, file)]


def test_the_sample_names_no_machine_and_has_all_languages() -> None:
    rows = _rows()
    assert {row.source for row in rows} == {"python", "javascript", "java", "go"}
    assert not any("/root/" in row.text or "mutant-" in row.text for row in rows)


@pytest.mark.slow
def test_a_mutant_is_recognised_and_another_one_is_not_answered() -> None:
    known = right = given = 0
    for seed in (1, 2, 3, 4):
        trial = make_round(_rows(), seed)
        with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
            ours = Ours(folder)
            ours.store([(row.group, row.text) for row in trial.stored])
            answers = [(row, answer) for row in (*trial.known, *trial.unknown) if (answer := ours.answer(row.text))]
            ours.close()
        known += len(trial.known)
        given += len(answers)
        right += sum(answer.group == row.group for row, answer in answers)
    assert right >= _LEAST_PRECISION * given and right >= _LEAST_RECALL * known
