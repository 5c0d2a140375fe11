"""`ctxrank error match`: whether a failure is known, and what fixed it."""

from collections.abc import Iterator
from functools import partial

from ctxrank.cli.actions.errors.lookup import Whose, given_failure, look_up, record_sighting, record_words
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import indented, times
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.errors.failures import FailurePlace, SeenBefore, seen_before
from ctxrank.indexer.errors.parse.units import ErrorUnit, error_units, looked_at
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import error_title, one_line
from ctxrank.ranking.context.floor import PromptFinding
from ctxrank.ranking.errors.answer import ErrorAnswer, Fix
from ctxrank.ranking.errors.match import ErrorMatch

_MASKED_SHOWN = 6


def match(
    call: Call, store: Store, session: str | None, group: str | None, create_session: bool, **options: Any
) -> Reply:
    """Recognise a failure and record it for its session; 1 where it is not known."""
    config = load_config(store)
    failure = given_failure(options["file"], options["error_type"], options["message"], config.redaction_mode)
    whose = Whose(options["project"], session, options["lang"])
    project, answer = look_up(store, failure, whose, call.note, options["limit"])
    seen = None if answer.signature is None else seen_before(store.primary, project, answer.signature.instance)
    quotes = [] if answer.fixes or answer.signature is None else _quotes(store, config, project, answer.signature)
    if session is not None and not failure.trouble:
        record_sighting(call.note, store, answer, FailurePlace(session, group), create_session=create_session)
    is_cut = answer.total > len(answer.fixes)
    notes = [f"{len(answer.fixes)} of {answer.total}; -n shows more at once."] if is_cut else []
    return Reply(
        lambda: Extended(
            answer,
            {
                "signature": None if answer.signature is None else _signature(answer.signature),
                "has_more": is_cut,
                "matches": list(map(_of_fix, answer.fixes)),
                "same_kind": list(map(_of_fix, answer.same_kind)),
                "unsure": [_of_match(one) for one in answer.unsure],
                "elsewhere": [_of_match(one.match, project=one.project) for one in answer.elsewhere],
                "seen_before": seen,
                "said_in": list(map(_of_quote, quotes)) or None,
                "output": looked_at(failure.text) if options["with_units"] else None,
                "units": list(map(_unit, error_units(failure.text))) if options["with_units"] else None,
            },
        ),
        (line for fix in answer.fixes for line in _fix_lines(call, fix)),
        outcome=answer.outcome,
        exit_code=0 if answer.fixes else 1,
        text_notes=tuple(notes if answer.fixes else (*_why_unknown(answer, seen), *map(_quote_line, quotes))),
    )


def _quotes(store: Store, config: Config, project: str, signature: Signature) -> list[PromptFinding]:
    """The findings of a project that quote the message of a failure that is not known."""
    from ctxrank.indexer.records.unconfirmed import may_be_said  # noqa: PLC0415  only for what is not known
    from ctxrank.ranking.context.quotes import findings_that_quote  # noqa: PLC0415  as above

    return findings_that_quote(store, signature.message, config, partial(may_be_said, store.primary, project=project))


def _of_quote(quote: PromptFinding) -> dict[str, object]:
    parent = quote.parent
    id_ = public_id(parent.kind, parent.number)
    return {"id": id_, "title": parent.title, "path": parent.path, "summary": parent.body, "passage": quote.passage}


def _quote_line(quote: PromptFinding) -> str:
    parent = quote.parent
    name = f"{public_id(parent.kind, parent.number)} {one_line(parent.path or parent.title)}"
    return f"Said in a finding: {name}: {one_line(parent.body)}"


def _why_unknown(answer: ErrorAnswer, seen: SeenBefore | None) -> Iterator[str]:
    yield f"not known. {answer.reason}"
    for fix in answer.same_kind[:1]:
        what = "What did not help there" if fix.match.state == "refuted" else "What fixed that"
        yield f"{what}: {one_line(fix.solution)}"
    if seen is not None:
        yield f"It was seen {times(seen.times)} before, last on {format_day(seen.last_seen)}."


def _signature(signature: Signature) -> Extended:
    more = {
        "text": error_title(signature.error_type, signature.message), "type": signature.error_type,
        "codes": [*signature.codes, *signature.conditions], "masked": signature.headline,
        "place": signature.frames[-1].place if signature.frames else None,
    }  # fmt: skip
    return Extended(signature, more)


def _unit(unit: ErrorUnit) -> Extended:
    """An error that the output was cut into; lines are counted from 1."""
    signature = sign(unit)
    more = {"line": unit.line + 1, "type": unit.error_type, "masked": signature.headline, "values": signature.values}
    return Extended(unit, more)


def _of_match(match: ErrorMatch, **more: object) -> Extended:
    return Extended(match, {"id": match.pattern_id, **more})


def _of_fix(fix: Fix) -> Extended:
    return Extended(_of_match(fix.match), {**fix._asdict(), "error": error_title(fix.error_type, fix.message)})


def _fix_lines(call: Call, fix: Fix) -> Iterator[str]:
    match = fix.match
    yield (
        f"{call.bold(public_id('error', match.pattern_id))} {match.word} ({match.grade}), "
        f"confidence {match.confidence:.2f}, "
        f"{record_words(match.state, match.confirmations, match.refutations)}, seen {times(fix.occurrences)}"
    )
    yield f"   {error_title(fix.error_type, fix.message)}"
    first, *rest = indented(fix.solution.strip())
    yield f"   {'It did not help' if match.state == 'refuted' else 'Solution'}: {first.strip()}"
    yield from rest
    yield call.dim(f"   {one_line(' '.join(match.why))}")
    if match.masked:
        yield call.dim(f"   Masked: {one_line(', '.join(match.masked[:_MASKED_SHOWN]))}")
