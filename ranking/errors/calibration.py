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
from ctxrank.ranking.errors.similarity import Likeness

CalibrationFamily = Literal["message", "trace"]

# Below this recognition the answer is silence: where false positives on unknown errors met their target, with margin,
# in cross-validation (benchmarks/errors/README.md). Of an error at a place of the code: where root causes of languages
# that nothing was fitted on met theirs.
LEAST_RECOGNITION: dict[CalibrationFamily, float] = {"message": 0.945, "trace": 0.90}
_Z = 1.0  # of the bound: one standard error
_SHORT_CONTENT = 4.0  # weight of words
_FULL_MARGIN = 0.5
_MANY_RIVALS = 3
_MANY_CALLS = 2
TIE = 0.06  # a margin below this is none


class Evidence(NamedTuple):
    """What a recognition is calibrated on.

    `margin` is the distance to the next different pattern, 0 without any: that something else is near, however far
    below, speaks against a match; that nothing is says little, because a store of one pattern knows of nothing else.
    """

    is_template: float
    unsupported: float  # notes stand below both, and none agrees; or below one, and the values do not agree either
    barely_said: float  # and the message is short, too
    same_code: float
    same_outcome: float  # of a trace: the same was said, values and all
    same_calls: float  # and the same calls led to it, but for the outermost; half for one call
    same_stack: float  # and the outermost, too
    reworded: float  # the same line through the same calls, in other words
    margin: float
    is_tied: float
    rivals: float  # other patterns of the same template: this message is given for several errors


# Order: constant, then the fields of Evidence.
WEIGHTS: dict[CalibrationFamily, tuple[float, ...]] = {
    "message": (3.04, 1.32, -1.70, -0.71, 2.84, 0.00, 0.00, 0.00, 0.00, -0.33, -2.15, -1.87),
    "trace": (-0.20, 0.00, 0.00, 0.00, 0.00, 1.95, 0.53, 1.50, 3.45, 0.42, -1.80, -0.25),
}


def evidence(likeness: Likeness, margin: float | None, rivals: int) -> Evidence:
    """The evidence from a comparison; `margin` is None where there is no other pattern.

    That no other pattern is near says something only where there are others: a store of one pattern knows of none.
    """
    is_place, has_all_values = likeness.frames > 0, likeness.values == 1.0
    is_same = is_place and likeness.has_same_outcome
    unsupported = likeness.notes_apart and (likeness.have_both_notes or not has_all_values)
    return Evidence(
        is_template=float(likeness.is_template and not is_place),
        unsupported=float(unsupported),
        barely_said=float(unsupported and likeness.headlines.weight < _SHORT_CONTENT),
        same_code=float(likeness.same_code),
        same_outcome=float(is_same),
        same_calls=is_same * min(likeness.same_calls, _MANY_CALLS) / _MANY_CALLS,
        same_stack=float(is_same and likeness.has_same_stack),
        reworded=float(likeness.frames == 2 and likeness.has_same_stack and not likeness.is_template),
        margin=max(0.0, min(margin or 0.0, _FULL_MARGIN)) / _FULL_MARGIN,
        is_tied=float(is_tie(margin)),
        rivals=0.0 if has_all_values else min(rivals, _MANY_RIVALS) / _MANY_RIVALS,
    )


def is_tie(margin: float | None) -> bool:
    """Whether another pattern fits as well."""
    return margin is not None and margin < TIE


def recognition(family: CalibrationFamily, found: Evidence) -> float:
    """The probability that the match is the same error."""
    weights = WEIGHTS[family]
    return logistic(weights[0] + sum(weight * value for weight, value in zip(weights[1:], found, strict=True)))


def record_bound(confirmations: int, refutations: int) -> float:
    """The least share of successes that the record supports; 0 without a record."""
    tried = confirmations + refutations
    if not tried:
        return 0.0
    share = confirmations / tried
    spread = math.sqrt(share * (1 - share) / tried + _Z * _Z / (4 * tried * tried))
    return (share + _Z * _Z / (2 * tried) - _Z * spread) / (1 + _Z * _Z / tried)


def logistic(value: float) -> float:
    """1 / (1 + exp(−value)), for any value."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))
