"""`ctxrank origins`: which other stores' records are here, what was decided of them, and which orders wait."""

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.origin_removal import find_origin
from ctxrank.indexer.store.ids import origin_name
from ctxrank.indexer.store.origins import KnownOrigin, OriginState, known_origins
from ctxrank.indexer.store.store import Store

_STATES: dict[str, OriginState] = {"accept": "accepted", "revoke": "revoked", "refuse": "refused"}


def origins(call: Call, does: str | None, origin: str | None, name: str | None) -> Reply:
    """List the other stores, or decide of one. Raises UsageError, NotFoundError for one that is not known here."""
    state = _STATES.get(does or "")
    if (origin is None) is (state is not None):
        says = f"'origins {does}' needs an ORIGIN." if state else f"'origins {does}' takes none."
        raise UsageError(says, "'ctxrank origins' lists them, 'ctxrank origins accept 9f3c27ab' decides of one.")
    with call.open() as store:
        wanted = ""
        if state is not None and origin is not None:
            _, wanted = find_origin(store.primary, origin)
            with store.write() as change:
                decide(change, wanted, state, "person", name or "")
        found = [one for one in known_origins(store.primary) if not wanted or one.origin == wanted]
    answer = {"total": len(found), "has_more": False, "origins": found}
    return Reply(lambda: answer, [_line(one) for one in found] or ["no other store's records are here"])


def _line(one: KnownOrigin) -> str:
    decided = f" by {one.decided_by}, {format_day(one.decided_at)}" if one.decided_at else ""
    name = f"  {shown(one.name)}" if one.name else ""
    return f"{origin_name(one.code)}  {one.state}{decided}  {one.records} records{name}"


def status_notes(store: Store) -> list[str]:
    """What `status` says: who is asked about, and, once, who was accepted because the team's log has them."""
    notes: list[str] = []
    for one in known_origins(store.primary):
        name = f"{f'{shown(one.name)} ' if one.name else ''}{origin_name(one.code)}"
        if one.state == "asked":
            notes.append(f"{name} is not accepted: {one.records} records are found and said nowhere unasked.")
        elif one.state == "accepted" and not one.is_told:
            notes.append(f"{name} is accepted: it came through the team's log.")
    if notes:
        notes.append("'ctxrank origins accept ID', 'revoke ID' or 'refuse ID' decides.")
        store.write_if_free("UPDATE origins SET is_told = 1 WHERE state = 'accepted'", ())
    return notes
