"""What a call about a failure writes down of it."""

from ctxrank.cli.call import Call
from ctxrank.indexer.errors.failures import Failure, Place, record_failure, sign_older
from ctxrank.indexer.exceptions import LockedError, NotFoundError
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import ErrorAnswer


def record_sighting(
    call: Call, store: Store, answer: ErrorAnswer, session: str, group: str | None, *, create_session: bool
) -> None:
    """Record the failure; an answer that was found is not lost because recording fails."""
    assert answer.signature is not None, "a failure with text has a signature"
    known = answer.fixes[0].match if answer.fixes else None
    failure = Failure(answer.signature, answer.unit, None if known is None else known.pattern_id)
    try:
        record_failure(store, Place(session, group), failure, create_session=create_session)
    except (NotFoundError, LockedError) as error:
        call.note(f"the failure is not recorded: {error.message} {error.hint}".rstrip())


def sign_older_errors(call: Call, store: Store) -> None:
    """Bring errors from before an upgrade up to date; a locked store is a note."""
    try:
        sign_older(store)
    except LockedError:
        call.note("the store is locked: errors from before an upgrade are not recognised this time.")
