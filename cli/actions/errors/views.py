"""Stored errors on a terminal and as JSON."""

from collections.abc import Iterator

from ctxrank.cli.actions.errors.words import record_words, times
from ctxrank.cli.call import Call, Extended, shown
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.errors.listing import Recognition, StoredError
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import printable
from ctxrank.ranking.errors.confidence import confidence_in

_SHOWN_CHARACTERS = 300


def error_lines(call: Call, error: StoredError) -> Iterator[str]:
    """One pattern in a list."""
    facts = [error.project, error.lang or "", f"seen {times(error.occurrences)}", f"last {format_day(error.last_seen)}"]
    if error.is_expired:
        facts.append("expired")
    record = record_words(error.state, error.confirmations, error.refutations)
    about = call.dim(shown(" · ".join(filter(None, facts))))
    yield f"{call.bold(public_id('error', error.id))} {record}, confidence {own_confidence(error):.2f} · {about}"
    yield f"   {_cut(shown(title_of(error.error_type, error.message)))}"
    yield f"   Solution: {_cut(shown(error.solution))}"


def details_lines(call: Call, error: StoredError, recognition: Recognition | None) -> Iterator[str]:
    """One pattern whole."""
    yield from error_lines(call, error._replace(solution=error.solution.strip().split("\n")[0]))
    for line in printable(error.solution).strip().split("\n")[1:]:
        yield f"   {line}".rstrip()
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
    for line in printable(recognition.unit).strip("\n").split("\n"):
        yield call.dim(f"   | {line}".rstrip())


def error_json(error: StoredError) -> Extended:
    """One pattern as JSON."""
    more = {"id": public_id("error", error.id), "confidence": round(own_confidence(error), 4)}
    return Extended(error, more)


def recognition_json(recognition: Recognition | None) -> Extended | None:
    """What a pattern is recognised by, as JSON."""
    return None if recognition is None else Extended(recognition, {"masked": recognition.headline})


def own_confidence(error: StoredError) -> float:
    """The confidence in its solution where this very error occurs again."""
    return confidence_in(error.confirmations, error.refutations)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3].rstrip() + "..."
