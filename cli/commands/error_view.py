"""Stored errors on a terminal and as JSON."""

from ctxrank.cli.call import Call, shown
from ctxrank.cli.commands.error_words import record_words, times
from ctxrank.indexer.errors.listing import Recognition, StoredError
from ctxrank.indexer.errors.patterns import title_of

# Nothing speaks for or against a solution that nobody has tried.
_UNTRIED = 0.5
_SHOWN_CHARACTERS = 300


def print_error(call: Call, error: StoredError) -> None:
    """One pattern in a list."""
    from ctxrank.indexer.clock import format_day

    facts = [error.project, error.lang or "", f"seen {times(error.occurrences)}", f"last {format_day(error.last_seen)}"]
    if error.is_expired:
        facts.append("expired")
    print(
        f"{call.bold(f'error:{error.id}')} {record_words(error.state, error.confirmations, error.refutations)} · "
        f"{call.dim(shown(' · '.join(filter(None, facts))))}"
    )
    print(f"   {_cut(shown(title_of(error.error_type, error.message)))}")
    print(f"   Solution: {_cut(shown(error.solution))}")


def print_details(call: Call, error: StoredError, recognition: Recognition | None) -> None:
    """One pattern whole."""
    from ctxrank.indexer.clock import format_us
    from ctxrank.indexer.text.lines import printable

    print_error(call, error._replace(solution=error.solution.strip().split("\n")[0]))
    for line in printable(error.solution).strip().split("\n")[1:]:
        print(f"   {line}".rstrip())
    for hint in error.hints:
        print(f"   Hint: {shown(hint)}")
    print(
        f"   {'Expired' if error.is_expired else 'Expires'} {format_us(error.expires_at)}; the solution's own "
        f"confidence is {own_confidence(error):.2f}"
    )
    if recognition is None:
        print("   It is not recognised yet: the next 'ctxrank error match' signs it.")
        return
    print(f"   Recognised by: {shown(recognition.headline) or '(no words)'}")
    for name, values in (("Codes", recognition.codes), ("Masked", recognition.values), ("At", recognition.places)):
        if values:
            print(f"   {name}: {shown(', '.join(values))}")
    for line in printable(recognition.unit).strip("\n").split("\n"):
        print(call.dim(f"   | {line}".rstrip()))


def error_json(error: StoredError) -> dict[str, object]:
    """One pattern as JSON."""
    from ctxrank.indexer.clock import format_us

    value: dict[str, object] = error._asdict()
    value["id"] = f"error:{error.id}"
    value["hints"] = list(error.hints)
    value["confidence"] = round(own_confidence(error), 4)
    value["expired"] = value.pop("is_expired")
    for name in ("last_seen", "created_at", "expires_at"):
        value[name] = format_us(getattr(error, name))
    return value


def recognition_json(recognition: Recognition | None) -> dict[str, object] | None:
    """What a pattern is recognised by, as JSON."""
    if recognition is None:
        return None
    value: dict[str, object] = recognition._asdict()
    return {"masked": value.pop("headline")} | value


def own_confidence(error: StoredError) -> float:
    """The posterior of the solution alone, without a match: what confirming and refuting move."""
    from ctxrank.ranking.errors.calibration import confidence

    return confidence(_UNTRIED, error.confirmations, error.refutations)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3].rstrip() + "..."
