"""The measures: precision, recall, false positives on unknown errors, and how honest a confidence is."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from errors.baselines import Answer, Contender
from errors.corpus import Field, Row, make_round, text_of

_BINS = 10


class Question(NamedTuple):
    """One text that was asked, and what came back."""

    row: Row
    is_known: bool
    answer: Answer | None

    @property
    def is_right(self) -> bool:
        """Whether the answer names the right group of a known error."""
        return self.is_known and self.answer is not None and self.answer.group == self.row.group


class Measures(NamedTuple):
    """Precision counts every answer, recall the known questions, false positives the unknown ones."""

    precision: float
    recall: float
    false_positives: float
    calibration_error: float
    questions: int


def ask(make: Callable[[], Contender], rows: list[Row], field: Field, seed: int) -> list[Question]:
    """One round of one scheme."""
    trial = make_round(rows, seed)
    contender = make()
    contender.store([(row.group, text_of(row, field)) for row in trial.stored])
    return [
        Question(row, is_known, contender.answer(text_of(row, field)))
        for is_known, asked in ((True, trial.known), (False, trial.unknown))
        for row in asked
    ]


def measure(questions: list[Question]) -> Measures:
    """The figures of these questions; with no answer at all precision is 1."""
    answered = [one for one in questions if one.answer is not None]
    right = sum(one.is_right for one in answered)
    known = sum(one.is_known for one in questions)
    unknown = len(questions) - known
    return Measures(
        right / len(answered) if answered else 1.0,
        right / known if known else 0.0,
        sum(not one.is_known for one in answered) / unknown if unknown else 0.0,
        calibration_error([(one.answer.confidence, one.is_right) for one in answered if one.answer]),
        len(questions),
    )


def calibration_error(answers: list[tuple[float, bool]]) -> float:
    """Expected calibration error: |confidence − share that is right|, over ten bins of equal width."""
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, is_right in answers:
        bins[min(_BINS - 1, int(confidence * _BINS))].append((confidence, is_right))
    total = len(answers)
    return sum(
        abs(sum(c for c, _ in members) - sum(right for _, right in members)) / total for members in bins.values()
    )


def by_source(questions: list[Question]) -> Iterator[tuple[str, list[Question]]]:
    """The questions of each source, then all of them."""
    for source in sorted({one.row.source for one in questions}):
        yield source, [one for one in questions if one.row.source == source]
    yield "pooled", questions
