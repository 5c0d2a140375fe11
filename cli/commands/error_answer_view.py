"""The answer to a failure, on a terminal and as JSON."""

from ctxrank.cli.call import Call, shown
from ctxrank.cli.commands.error_words import record_words, times
from ctxrank.indexer.errors.failures import SeenBefore
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.ranking.errors.answer import ErrorAnswer, Fix
from ctxrank.ranking.errors.match import ErrorMatch

_MASKED_SHOWN = 6


def answer_json(answer: ErrorAnswer, seen: SeenBefore | None) -> dict[str, object]:
    """The answer to a failure: the fields of the contract, and what they rest on."""
    from ctxrank.indexer.clock import format_us

    signature = answer.signature
    return {
        "signature": None if signature is None else {
            "text": title_of(signature.error_type, signature.message), "type": signature.error_type or None,
            "codes": [*signature.codes, *signature.conditions], "masked": signature.headline,
            "values": list(signature.values), "family": signature.family, "language": signature.language or None,
            "place": signature.frames[-1].place if signature.frames else None,
            "template": signature.template, "instance": signature.instance,
        },
        "matches": [_fix_json(fix) for fix in answer.fixes],
        "reason": answer.reason,
        "errors": answer.errors,
        "unsure": [_match_json(match) for match in answer.unsure],
        "seen_before": None if seen is None else {
            "times": seen.times, "last_seen": format_us(seen.last_seen), "unsolved": seen.unsolved,
        },
    }  # fmt: skip


def _fix_json(fix: Fix) -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    head: dict[str, object] = {
        "id": f"error:{fix.match.pattern_id}", "grade": fix.match.grade, "confidence": round(fix.match.confidence, 4),
        "state": fix.match.state, "solution": fix.solution, "occurrences": fix.occurrences,
        "error": title_of(fix.error_type, fix.message), "lang": fix.lang, "last_seen": format_us(fix.last_seen),
    }  # fmt: skip
    return head | _match_json(fix.match)


def _match_json(match: ErrorMatch) -> dict[str, object]:
    return {
        "id": f"error:{match.pattern_id}", "grade": match.grade, "confidence": round(match.confidence, 4),
        "state": match.state, "why": list(match.why), "recognition": round(match.recognition, 4),
        "confirmations": match.confirmations, "refutations": match.refutations, "masked": list(match.masked),
        "differences": list(match.differences),
    }  # fmt: skip


def print_answer(call: Call, answer: ErrorAnswer, seen: SeenBefore | None) -> None:
    """The fixes on stdout; on stderr why there is none."""
    from ctxrank.indexer.text.lines import printable

    for fix in answer.fixes:
        match = fix.match
        print(
            f"{call.bold(f'error:{match.pattern_id}')} {match.grade}, confidence {match.confidence:.2f}, "
            f"{record_words(match.state, match.confirmations, match.refutations)}, seen {times(fix.occurrences)}"
        )
        print(f"   {shown(title_of(fix.error_type, fix.message))}")
        first, *rest = printable(fix.solution).strip().split("\n")
        print(f"   {'It did not help' if match.state == 'refuted' else 'Solution'}: {first}")
        for line in rest:
            print(f"   {line}".rstrip())
        print(call.dim(f"   {shown(' '.join(match.why))}"))
        if match.masked:
            values = ", ".join(match.masked[:_MASKED_SHOWN])
            print(call.dim(f"   Masked: {shown(values)}"))
    if not answer.fixes:
        call.note(f"not known. {answer.reason}")
        if seen is not None:
            call.note(seen_before_text(seen))


def seen_before_text(seen: SeenBefore) -> str:
    """What the sightings of an unknown failure say."""
    from ctxrank.indexer.clock import format_day

    return (
        f"It was seen {times(seen.times)} before, last on {format_day(seen.last_seen)}, and nobody saved what fixed it."
    )
