"""`ctxrank error match`: whether a failure is known, and what fixed it."""

from collections.abc import Iterator

from ctxrank.cli.actions.errors.failure_input import GivenFailure, read_given
from ctxrank.cli.actions.errors.recording import record_sighting, sign_older_errors
from ctxrank.cli.actions.errors.words import record_words, times
from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.clock import format_day, format_us, now_us
from ctxrank.indexer.errors.failures import SeenBefore, seen_before
from ctxrank.indexer.errors.parse.units import error_units, looked_at
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.records.sessions import project_in_force
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import printable
from ctxrank.ranking.errors.answer import Asked, ErrorAnswer, Fix, recognise
from ctxrank.ranking.errors.match import ErrorMatch

_MASKED_SHOWN = 6


def match(
    call: Call,
    file: str | None,
    error_type: str | None,
    message: str | None,
    session: str | None,
    group: str | None,
    create_session: bool,
    project: str | None,
    lang: str | None,
    limit: int,
    with_units: bool,
) -> Reply:
    """Recognise a failure and record it for its session; 1 where it is not known."""
    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        place = project_in_force(store.primary, project, session)
        seen = None
        if failure.trouble:
            answer = ErrorAnswer("no_match", failure.trouble, (), None, "", 0)
        else:
            sign_older_errors(call, store)
            answer = recognise(store.primary, failure.text, Asked(place, now_us(), lang, limit, mode))
            if answer.signature is not None:
                seen = seen_before(store.primary, place, answer.signature.instance)
            if session is not None:
                record_sighting(call, store, answer, session, group, create_session=create_session)
    return Reply(
        lambda: _as_json(answer, seen) | (_units_json(failure.text) if with_units else {}),
        (line for fix in answer.fixes for line in _fix_lines(call, fix)),
        outcome=answer.outcome,
        exit_code=0 if answer.fixes else 1,
        text_notes=tuple(_cut(answer) if answer.fixes else _why_unknown(answer, seen)),
    )


def _cut(answer: ErrorAnswer) -> Iterator[str]:
    if answer.total > len(answer.fixes):
        yield f"{len(answer.fixes)} of {answer.total}; -n shows more at once."


def _why_unknown(answer: ErrorAnswer, seen: SeenBefore | None) -> Iterator[str]:
    yield f"not known. {answer.reason}"
    if seen is not None:
        last = format_day(seen.last_seen)
        yield f"It was seen {times(seen.times)} before, last on {last}, and no fix was saved."


def _as_json(answer: ErrorAnswer, seen: SeenBefore | None) -> dict[str, object]:
    """The fields of the contract, and what they rest on."""
    signature = answer.signature
    return {
        "signature": None if signature is None else {
            "text": title_of(signature.error_type, signature.message), "type": signature.error_type or None,
            "codes": [*signature.codes, *signature.conditions], "masked": signature.headline,
            "values": list(signature.values), "family": signature.family, "language": signature.language or None,
            "place": signature.frames[-1].place if signature.frames else None,
            "template": signature.template, "instance": signature.instance,
        },
        "total": answer.total,
        "has_more": answer.total > len(answer.fixes),
        "matches": [_fix_json(fix) for fix in answer.fixes],
        "reason": answer.reason,
        "errors": answer.errors,
        "unsure": [_match_json(match) for match in answer.unsure],
        "elsewhere": [{"project": one.project, **_match_json(one.match)} for one in answer.elsewhere],
        "seen_before": None if seen is None else {
            "times": seen.times, "last_seen": format_us(seen.last_seen), "unsolved": seen.unsolved,
        },
    }  # fmt: skip


def _units_json(output: str) -> dict[str, object]:
    """The output as it was read, and the errors that it was cut into; lines are counted from 1."""
    units: list[dict[str, object]] = []
    for unit in error_units(output):
        signature = sign(unit)
        units.append(
            {
                "line": unit.line + 1, "text": unit.text, "message": unit.message, "type": unit.error_type or None,
                "codes": list(unit.codes), "family": unit.family, "tool": unit.tool or None, "why": unit.why,
                "masked": signature.headline, "values": list(signature.values), "place": unit.place or None,
            }
        )  # fmt: skip
    return {"output": looked_at(output), "units": units}


def _fix_json(fix: Fix) -> dict[str, object]:
    head: dict[str, object] = {
        "id": public_id("error", fix.match.pattern_id), "grade": fix.match.grade,
        "confidence": round(fix.match.confidence, 4), "state": fix.match.state, "solution": fix.solution,
        "occurrences": fix.occurrences, "error": title_of(fix.error_type, fix.message), "lang": fix.lang,
        "last_seen": format_us(fix.last_seen),
    }  # fmt: skip
    return head | _match_json(fix.match)


def _match_json(match: ErrorMatch) -> dict[str, object]:
    return {
        "id": public_id("error", match.pattern_id), "grade": match.grade, "confidence": round(match.confidence, 4),
        "state": match.state, "why": list(match.why), "recognition": round(match.recognition, 4),
        "confirmations": match.confirmations, "refutations": match.refutations, "masked": list(match.masked),
        "differences": list(match.differences),
    }  # fmt: skip


def _fix_lines(call: Call, fix: Fix) -> Iterator[str]:
    match = fix.match
    yield (
        f"{call.bold(public_id('error', match.pattern_id))} {match.grade}, confidence {match.confidence:.2f}, "
        f"{record_words(match.state, match.confirmations, match.refutations)}, seen {times(fix.occurrences)}"
    )
    yield f"   {shown(title_of(fix.error_type, fix.message))}"
    first, *rest = printable(fix.solution).strip().split("\n")
    yield f"   {'It did not help' if match.state == 'refuted' else 'Solution'}: {first}"
    for line in rest:
        yield f"   {line}".rstrip()
    yield call.dim(f"   {shown(' '.join(match.why))}")
    if match.masked:
        values = ", ".join(match.masked[:_MASKED_SHOWN])
        yield call.dim(f"   Masked: {shown(values)}")
