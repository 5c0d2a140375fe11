"""Whether a known error's solution helped: counted, and told."""

from ctxrank.cli.call import Call


def count_outcome(call: Call, error: str, *, has_helped: bool, session: str | None) -> None:
    """Count that a known error's solution helped, or did not, and say what that makes of it."""
    from ctxrank.cli.commands.error_view import own_confidence
    from ctxrank.indexer.errors.failures import resolve
    from ctxrank.indexer.errors.listing import get_error
    from ctxrank.indexer.errors.solutions import confirm as count
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        session_id = None if session is None else find_session(store.truth, session).id
        before = get_error(store.truth, number_of(error))
        record = count(store, before.id, has_helped=has_helped)
        if session_id is not None:
            with store.write() as change:
                resolve(change, session_id, pattern_id=before.id)
    after = before._replace(confirmations=record.confirmations, refutations=record.refutations)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "id": f"error:{before.id}", "before": record.before, "state": record.after,
                "confirmations": record.confirmations, "refutations": record.refutations,
                "confidence": round(own_confidence(after), 4),
            }
        )  # fmt: skip
        return
    moved = f"{record.before} → {record.after}" if record.before != record.after else f"still {record.after}"
    print(
        f"error:{before.id}: {moved} ({record.confirmations} for, {record.refutations} against), "
        f"confidence {own_confidence(before):.2f} → {own_confidence(after):.2f}"
    )


def number_of(text: str) -> int:
    """`error:3` or 3. Raises UsageError."""
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.store.documents import parse_ref

    ref = parse_ref(f"error:{text.strip()}" if text.strip().isdecimal() else text)
    if ref.kind != "error":
        raise UsageError(f"{ref} is not an error.", "Give an error's id, such as 3 or error:3.")
    return ref.number
