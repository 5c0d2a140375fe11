"""How far an answer is to be trusted: that it is the same error, after the record of its solution.

    confidence = (n·recognition + c) / (n + c + r)

    c   times the solution was confirmed          r   times it was refuted
    n   PRIOR_STRENGTH: how many of these reports the recognition counts for

The posterior mean of a Beta(n·p, n·(1−p)) prior after c successes and r failures (Gelman et al., Bayesian Data
Analysis, 2.4). Without a record it is the recognition itself, so that a fresh store is calibrated as measured. For the
very error that was saved it is one figure, wherever that is shown.
"""

# The share of answers to an error that occurs again, as it was saved, that are right.
SAME_ERROR = 0.985
# The most that an answer is sure by its word: the shares that were right of the answers to failures seen so far.
SURE_BY_WORD = {"known": SAME_ERROR, "looks like": 0.94, "same kind": 0.50}
PRIOR_STRENGTH = 4.0


def confidence_in(confirmations: int, refutations: int, recognition: float = SAME_ERROR) -> float:
    """The confidence in a solution with this record, between 0 and 1."""
    return (PRIOR_STRENGTH * recognition + confirmations) / (PRIOR_STRENGTH + confirmations + refutations)
