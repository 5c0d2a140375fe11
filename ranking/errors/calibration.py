"""How sure a match is: the share of such matches that are right.

    recognition = 1 / (1 + exp(−w · x))                    the same error?  (logistic; Platt 1999)

    x   the evidence (`Evidence`), each between 0 and 1
    w   WEIGHTS of the family, fitted by benchmarks/errors/sizes.py --fit on stores of 1, 10 and 1,000 patterns

What the record of its solution adds is in confidence.py. Of patterns that fit equally well
the one with the better record comes first, judged by a bound and not by a mean: `record_bound` is the lower end of
Wilson's interval (1927), which one lucky success does not lift.
"""

import math
from typing import Final, Literal

from ctxrank.indexer.light_typing import NamedTuple

CalibrationFamily = Literal["message", "trace"]

# Below this recognition the answer is silence: where false positives on unknown errors met their target, with margin,
# in benchmarks/errors/cross_validate.py.
LEAST_RECOGNITION: Final = 0.945
_Z = 1.0  # of the bound: one standard error
_SHORT_CONTENT = 4.0  # weight of words
_FULL_MARGIN = 0.5
_MANY_RIVALS = 3
_TIE = 0.06  # a margin below this is none


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
    same_line: float
    margin: float
    is_tied: float
    rivals: float  # other patterns of the same template: this message is given for several errors


# Order: constant, then the fields of Evidence. Too few matches at the same place of the code were wrong to fit
# anything: the constants of "trace" say 0.98 for the same line and 0.95 for the same function.
WEIGHTS: Final[dict[CalibrationFamily, tuple[float, ...]]] = {
    "message": (3.04, 1.32, -1.70, -0.71, -0.05, -0.06, 2.84, 0.00, -0.33, -2.15, -1.87),
    "trace": (2.95, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.90, 0.00, 0.00, 0.00),
}


def evidence(
    *, is_template: bool, content: float, are_notes_apart: bool, have_both_notes: bool, values: float | None,
    other_kind: bool, changed: bool, same_code: bool, same_line: bool, margin: float | None, rivals: int,
) -> Evidence:  # fmt: skip
    """The evidence from a comparison; `values` and `margin` are None where there is nothing to compare with.

    That no other pattern is near says something only where there are others: a store of one pattern knows of none.
    """
    unsupported = are_notes_apart and (have_both_notes or values != 1.0)
    return Evidence(
        float(is_template), float(unsupported), float(unsupported and content < _SHORT_CONTENT), float(other_kind),
        float(changed), float(same_code), float(same_line), min(margin or 0.0, _FULL_MARGIN) / _FULL_MARGIN,
        float(is_tie(margin)), 0.0 if values == 1.0 else min(rivals, _MANY_RIVALS) / _MANY_RIVALS,
    )  # fmt: skip


def is_tie(margin: float | None) -> bool:
    """Whether another pattern fits as well."""
    return margin is not None and margin < _TIE


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
