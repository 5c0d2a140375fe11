"""Stored errors on a terminal and as JSON."""

from collections.abc import Iterator

from ctxrank.cli.call import Call, Extended, shown
from ctxrank.cli.output.lines import cut, facts, indented, times
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.errors.listing import Recognition, StoredError
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.indexer.store.ids import public_id
from ctxrank.ranking.errors.confidence import confidence_in


def record_words(state: str, confirmations: int, refutations: int) -> str:
    """A solution's state, with its record where it has one."""
    return f"{state} ({confirmations} for, {refutations} against)" if confirmations or refutations else state


def error_lines(call: Call, error: StoredError) -> Iterator[str]:
    """One pattern in a list."""
    record = record_words(error.state, error.confirmations, error.refutations)
    about = facts(
        error.project, error.lang, f"seen {times(error.occurrences)}", f"last {format_day(error.last_seen)}",
        "expired" if error.is_expired else "",
    )  # fmt: skip
    yield (
        f"{call.bold(public_id('error', error.id))} {record}, confidence {own_confidence(error):.2f} · "
        f"{call.dim(about)}"
    )
    yield f"   {cut(shown(title_of(error.error_type, error.message)))}"
    yield f"   Solution: {cut(shown(error.solution))}"


def details_lines(call: Call, error: StoredError, recognition: Recognition | None) -> Iterator[str]:
    """One pattern whole."""
    yield from error_lines(call, error._replace(solution=error.solution.strip().split("\n")[0]))
    yield from list(indented(error.solution.strip()))[1:]
    for hint in error.hints:
        yield f"   Hint: {shown(hint)}"
    yield f"   {'Expired' if error.is_expired else 'Expires'} {format_us(error.expires_at)}"
    if recognition is None:
        yield "   It is not recognised yet: the next 'ctxrank error match' signs it."
        return
    yield f"   Recognised by: {shown(recognition.headline) or '(no words)'}"
    for name, values in (("Codes", recognition.codes), ("Masked", recognition.values), ("At", recognition.places)):
        if values:
            yield f"   {name}: {shown(', '.join(values))}"
    for line in indented(recognition.unit):
        yield call.dim(f"   | {line[3:]}".rstrip())


def error_json(error: StoredError) -> Extended:
    """One pattern as JSON."""
    return Extended(error, {"confidence": own_confidence(error)})


def own_confidence(error: StoredError) -> float:
    """The confidence in its solution where this very error occurs again."""
    return confidence_in(error.confirmations, error.refutations)
