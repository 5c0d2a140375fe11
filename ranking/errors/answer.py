"""What a failure's text is answered with: the known errors that it is, with what fixed them; or why none is named.

    answer = recognise(store.primary, "ModuleNotFoundError: No module named 'yaml'", Asked("default", now=now_us()))
    answer.fixes[0].solution

The matcher (match.py) says which patterns it is; here they get their texts.
"""

from collections.abc import Iterator

import apsw

from ctxrank.indexer.clock import format_day
from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.patterns import IS_ALIVE
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.freshness import gone_of
from ctxrank.indexer.store.ids import public_id
from ctxrank.ranking.errors.match import ErrorMatch, match_errors
from ctxrank.ranking.errors.within import as_told, told_within
from ctxrank.ranking.retrieval.cleaning import cleaned

MAX_FIXES = 3
_MAX_PROJECTS = 8  # other ones that are asked whether they know an error


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


class KnownElsewhere(NamedTuple):
    """A known error of another project that this one is."""

    project: str
    match: ErrorMatch


class ErrorAnswer(NamedTuple):
    """`fixes` is empty where `outcome` is "no_match"; `reason` says why it is what it is.

    `same_kind` are other failures that are told in the same words, of another name, with what fixed those.

    `signature` and `unit` are of the error that was recognised, else of the primary one; None where there is none.
    """

    outcome: str
    reason: str
    fixes: tuple[Fix, ...]
    signature: Signature | None
    unit: str
    errors: int  # in the output
    unsure: tuple[ErrorMatch, ...] = ()
    total: int = 0  # fixes, those that the limit left out counted
    elsewhere: tuple[KnownElsewhere, ...] = ()  # where there are no fixes: what other projects know
    same_kind: tuple[Fix, ...] = ()


def recognise(primary: apsw.Connection, failure: str, asked: Asked) -> ErrorAnswer:
    """What is known of a redacted failure: of its errors, primary first, the first one that is recognised answers."""
    units = error_units(failure)
    first: ErrorAnswer | None = None
    signatures: list[Signature] = []
    for unit in units:
        signatures.append(sign(unit))
        answer = _answer(primary, signatures[-1], asked, unit.text, len(units))
        if answer.fixes and not (first and first.same_kind and _ids(answer.fixes) <= _ids(first.same_kind)):
            return answer
        first = answer if first is None or (answer.same_kind and not first.same_kind) else first
    if first is None:
        return ErrorAnswer("no_match", "Nothing was printed.", (), None, "", 0)
    if not first.same_kind and (found := _found_within(primary, failure, first, asked)) is not None:
        return found
    for signature in signatures:
        elsewhere = tuple(_known_elsewhere(primary, signature, asked))
        if elsewhere:
            known = ", ".join(f"{public_id('error', one.match.pattern_id)} of {one.project}" for one in elsewhere)
            reason = f"{first.reason} Another project knows it: {known} (--project {elsewhere[0].project})."
            return first._replace(reason=reason, elsewhere=elsewhere)
    return first


def _found_within(primary: apsw.Connection, failure: str, first: ErrorAnswer, asked: Asked) -> ErrorAnswer | None:
    """The answer where a known error and this report share a statement that one of them leads with."""
    assert first.signature is not None, "there is a unit"
    told = told_within(primary, first.signature, failure, Whose(asked.project, asked.now, asked.lang))
    fix = None if told is None else _fix(primary, as_told(first.signature, *told), asked.mode)
    if fix is None or asked.limit < 1:
        return None
    return first._replace(outcome="matched", reason=fix.match.why[0], fixes=(fix,), unsure=(), total=1)


def _ids(fixes: tuple[Fix, ...]) -> set[int]:
    return {fix.match.pattern_id for fix in fixes}


def _known_elsewhere(primary: apsw.Connection, signature: Signature, asked: Asked) -> Iterator[KnownElsewhere]:
    """What other projects know of the same message, by the same judgement."""
    query = """
        SELECT DISTINCT e.project
          FROM error_signatures AS s
         CROSS JOIN error_patterns AS e ON e.id = s.pattern_id
         WHERE s.template = ? AND e.project NOT IN (?, ?)
         ORDER BY e.project LIMIT ?
    """
    values = (signature.template, asked.project, DEFAULT_PROJECT, _MAX_PROJECTS)
    for project in read_column(primary, query, values, str):
        found = match_errors(primary, signature, Whose(project, asked.now, asked.lang, own_only=True), limit=1)
        for match in found.matches:
            yield KnownElsewhere(project, match)


def _answer(primary: apsw.Connection, signature: Signature, asked: Asked, unit: str, count: int) -> ErrorAnswer:
    found = match_errors(primary, signature, Whose(asked.project, asked.now, asked.lang), asked.limit)
    fixes, same_kind = (
        [fix for match in some if (fix := _fix(primary, match, asked.mode)) is not None]
        for some in (found.matches, found.same_kind)
    )
    if not fixes:
        reason = _why_left_out(primary, signature, asked) or found.reason
        unsure = found.unsure[: asked.limit]
        return ErrorAnswer("no_match", reason, (), signature, unit, count, unsure, same_kind=tuple(same_kind))
    # The matcher puts the likeliest first; of equally sure ones what is refuted comes last.
    fixes.sort(key=lambda fix: (-round(fix.match.recognition, 2), fix.match.state == "refuted"))
    total = found.total - len(found.matches) + len(fixes)
    reason = fixes[0].match.why[0]
    return ErrorAnswer("matched", reason, tuple(fixes), signature, unit, count, total=total, same_kind=tuple(same_kind))


def _fix(primary: apsw.Connection, match: ErrorMatch, mode: RedactionMode) -> Fix | None:
    """The pattern with its texts; None for one that was removed meanwhile."""
    row = primary.execute(
        """
        SELECT e.error_type, e.message, e.solution, e.occurrences, e.lang, e.last_seen, d.ruleset
          FROM error_patterns AS e
          JOIN documents AS d ON d.kind = 'error' AND d.record_id = e.id
         WHERE e.id = ?
        """,
        (match.pattern_id,),
    ).fetchone()
    if row is None:
        return None
    error_type, message, solution, *rest, ruleset = row
    if gone := gone_of(primary, "error", match.pattern_id):
        match = match._replace(why=(*match.why, cleaned(gone, ruleset, mode)))
    return Fix(match, error_type, cleaned(message, ruleset, mode), cleaned(solution, ruleset, mode), *rest)


def _why_left_out(primary: apsw.Connection, signature: Signature, asked: Asked) -> str:
    """Why a pattern with this very message does not count; '' where there is none."""
    row = primary.execute(
        f"""
        SELECT e.id, e.last_seen, e.lang, {IS_ALIVE}
          FROM error_signatures AS s
          JOIN error_patterns AS e ON e.id = s.pattern_id
         WHERE s.template = :template AND e.project IN (:project, :shared)
         ORDER BY s.instance = :instance DESC, e.last_seen DESC
         LIMIT 1
        """,
        signature._asdict() | {"project": asked.project, "shared": DEFAULT_PROJECT, "now": asked.now},
    ).fetchone()
    number, last_seen, lang, is_alive = row or (0, 0, None, True)
    if not is_alive:
        return f"The known error, {public_id('error', number)}, has expired: last seen {format_day(last_seen)}."
    is_other = asked.lang and lang and lang.lower() != asked.lang.lower()
    return f"The known error, {public_id('error', number)}, is for {lang}." if is_other else ""
