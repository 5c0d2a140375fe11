"""What a failure's text is answered with: the known errors that it is, with what fixed them; or why none is named.

    answer = recognise(store.truth, "ModuleNotFoundError: No module named 'yaml'", Asked("default", now=now_us()))
    answer.fixes[0].solution

The matcher (error_match.py) says which patterns it is; here those that have expired or belong to another language
fall away, and the rest gets its texts.
"""

import apsw

from ctxrank.indexer.clock import format_day
from ctxrank.indexer.error_patterns import IS_ALIVE
from ctxrank.indexer.error_signature import Signature, sign
from ctxrank.indexer.error_units import ErrorUnit, error_units
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.ruleset import RedactionMode
from ctxrank.ranking.cleaning import cleaned
from ctxrank.ranking.error_match import ErrorMatch, match_errors

MAX_FIXES = 3
# More than are shown, because some may have expired.
_MATCHED = 12


class Asked(NamedTuple):
    """Whose errors are meant; a language leaves out the patterns of others."""

    project: str
    now: int
    lang: str | None = None
    limit: int = MAX_FIXES
    mode: RedactionMode = RedactionMode.PATTERN_ONLY


class Fix(NamedTuple):
    """A known error with what fixed it; `match` says how it was recognised."""

    match: ErrorMatch
    error_type: str
    message: str
    solution: str
    occurrences: int
    lang: str | None
    last_seen: int


class ErrorAnswer(NamedTuple):
    """`fixes` is empty where `outcome` is "no_match"; `reason` says why it is what it is.

    `signature` and `unit` are of the error that was recognised, else of the primary one; None where there is none.
    """

    outcome: str
    reason: str
    fixes: tuple[Fix, ...]
    signature: Signature | None
    unit: str
    errors: int  # in the output
    unsure: tuple[ErrorMatch, ...] = ()


def recognise(truth: apsw.Connection, failure: str, asked: Asked) -> ErrorAnswer:
    """What is known of a redacted failure: of its errors, primary first, the first one that is recognised answers."""
    units = error_units(failure)
    first: ErrorAnswer | None = None
    for unit in units:
        answer = _answer(truth, unit, asked, len(units))
        if answer.fixes:
            return answer
        first = first or answer
    return first or ErrorAnswer("no_match", "Nothing was printed.", (), None, "", 0)


def _answer(truth: apsw.Connection, unit: ErrorUnit, asked: Asked, count: int) -> ErrorAnswer:
    signature = sign(unit)
    found = match_errors(truth, (signature,), project=asked.project, limit=_MATCHED)
    fixes: list[Fix] = []
    reason = found.reason
    for match in found.matches:
        fix, why_not = _fix(truth, match, asked)
        if fix is not None:
            fixes.append(fix)
        elif not fixes:
            reason = why_not
    if not fixes:
        return ErrorAnswer("no_match", reason, (), signature, unit.text, count, found.unsure[: asked.limit])
    # The matcher puts the likeliest first; of equally sure ones what is refuted comes last.
    fixes.sort(key=lambda fix: (-round(fix.match.recognition, 2), fix.match.state == "refuted"))
    return ErrorAnswer(
        "matched", fixes[0].match.why[0], tuple(fixes[: asked.limit]), signature, unit.text, count
    )  # fmt: skip


def _fix(truth: apsw.Connection, match: ErrorMatch, asked: Asked) -> tuple[Fix | None, str]:
    """The pattern with its texts; None, and why, for one that is not to be shown."""
    row = truth.execute(
        f"""
        SELECT e.error_type, e.message, e.solution, e.occurrences, e.lang, e.last_seen, d.ruleset, {IS_ALIVE}
          FROM error_patterns AS e
          JOIN documents AS d ON d.kind = 'error' AND d.number = e.id
         WHERE e.id = :id
        """,
        {"id": match.pattern_id, "now": asked.now},
    ).fetchone()
    if row is None:
        return None, "The known error was removed meanwhile."
    error_type, message, solution, occurrences, lang, last_seen, ruleset, is_alive = row
    if not is_alive:
        return None, f"The known error, error:{match.pattern_id}, has expired: last seen {format_day(last_seen)}."
    if asked.lang and lang and lang != asked.lang.lower():
        return None, f"The known error, error:{match.pattern_id}, is one of {lang}."
    message, solution = (cleaned(str(text), ruleset, asked.mode) for text in (message, solution))
    return Fix(match, error_type, message, solution, occurrences, lang, last_seen), ""
