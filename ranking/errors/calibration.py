"""How sure a match is: the share of such matches that are right.

    recognition = 1 / (1 + exp(−w · x))                    the same error?  (logistic; Platt 1999)

    x   the evidence (`Evidence`), each between 0 and 1
    w   WEIGHTS of the family, fitted by benchmarks/errors/sizes.py --fit on stores of 1, 10 and 1,000 patterns

What the record of its solution adds is in confidence.py. Of patterns that fit equally well
the one with the better record comes first, judged by a bound and not by a mean: `record_bound` is the lower end of
Wilson's interval (1927), which one lucky success does not lift.
"""

import math

from ctxrank.indexer.light_typing import Literal, NamedTuple

CalibrationFamily = Literal["message", "trace"]

# Below this recognition the answer is silence: where false positives on unknown errors met their target, with margin,
# in benchmarks/errors/cross_validate.py.
LEAST_RECOGNITION = 0.945
# Of an error at a place of the code: where root causes of languages that nothing was fitted on met theirs.
LEAST_TRACE_RECOGNITION = 0.90
_Z = 1.0  # of the bound: one standard error
_SHORT_CONTENT = 4.0  # weight of words
_FULL_MARGIN = 0.5
_MANY_RIVALS = 3
_MANY_CALLS = 2
_NOWHERE = (0.0, 0.0, 0.0, 0.0)
TIE = 0.06  # a margin below this is none


class Evidence(NamedTuple):
    """What a recognition is calibrated on.

    `margin` is the distance to the next different pattern, 0 without any: that something else is near, however far
    below, speaks against a match; that nothing is says little, because a store of one pattern knows of nothing else.
    """

    is_template: float
    unsupported: float  # notes stand below both, and none agrees; or below one, and the values do not agree either
    barely_said: float  # and the message is short, too
    other_kind: float
    changed: float  # a word that changes the meaning, outweighed by a note
    same_code: float
    same_outcome: float  # of a trace: the same was said, values and all
    same_calls: float  # and the same calls led to it, but for the outermost; half for one call
    same_stack: float  # and the outermost, too
    reworded: float  # the same line through the same calls, in other words
    margin: float
    is_tied: float
    rivals: float  # other patterns of the same template: this message is given for several errors


class Place(NamedTuple):
    """What two errors at the same function have in common."""

    same_line: bool
    same_outcome: bool
    same_calls: int
    same_stack: bool
    same_template: bool

    def evidence(self) -> tuple[float, float, float, float]:
        """The four fields of Evidence that are about a place."""
        return (
            float(self.same_outcome), self.same_outcome * min(self.same_calls, _MANY_CALLS) / _MANY_CALLS,
            float(self.same_outcome and self.same_stack),
            float(self.same_line and self.same_stack and not self.same_template),
        )  # fmt: skip


# Order: constant, then the fields of Evidence.
WEIGHTS: dict[CalibrationFamily, tuple[float, ...]] = {
    "message": (3.04, 1.32, -1.70, -0.71, -0.05, -0.06, 2.84, 0.00, 0.00, 0.00, 0.00, -0.33, -2.15, -1.87),
    "trace": (-0.20, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 1.95, 0.53, 1.50, 3.45, 0.42, -1.80, -0.25),
}


def evidence(
    *, is_template: bool, content: float, are_notes_apart: bool, have_both_notes: bool, values: float | None,
    other_kind: bool, changed: bool, same_code: bool, place: Place | None, margin: float | None, rivals: int,
) -> Evidence:  # fmt: skip
    """The evidence from a comparison; `values` and `margin` are None where there is nothing to compare with.

    That no other pattern is near says something only where there are others: a store of one pattern knows of none.
    """
    unsupported = are_notes_apart and (have_both_notes or values != 1.0)
    return Evidence(
        float(is_template and place is None), float(unsupported), float(unsupported and content < _SHORT_CONTENT),
        float(other_kind),
        float(changed and place is None), float(same_code), *(place.evidence() if place else _NOWHERE),
        min(margin or 0.0, _FULL_MARGIN) / _FULL_MARGIN,
        float(is_tie(margin)), 0.0 if values == 1.0 else min(rivals, _MANY_RIVALS) / _MANY_RIVALS,
    )  # fmt: skip


def is_tie(margin: float | None) -> bool:
    """Whether another pattern fits as well."""
    return margin is not None and margin < TIE


def recognition(family: CalibrationFamily, found: Evidence) -> float:
    """The probability that the match is the same error."""
    weights = WEIGHTS[family]
    return logistic(weights[0] + sum(weight * value for weight, value in zip(weights[1:], found, strict=True)))


def record_bound(confirmations: int, refutations: int) -> float:
    """The least share of successes that the record supports; 0 without a record."""
    return _wilson(confirmations, confirmations + refutations, -_Z)


def logistic(value: float) -> float:
    """1 / (1 + exp(−value)), for any value."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))


def _wilson(successes: int, tried: int, z: float) -> float:
    """An end of Wilson's score interval: the lower one for a negative z."""
    if not tried:
        return 0.0
    share = successes / tried
    spread = math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return (share + z * z / (2 * tried) + z * spread) / (1 + z * z / tried)
