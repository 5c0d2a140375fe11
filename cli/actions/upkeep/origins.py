"""`ctxrank origins`: which other stores' records are here, what was decided of them, and which orders wait."""

from collections.abc import Sequence

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.sharing import sharing
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.exceptions import LockedError, NotFoundError, UsageError
from ctxrank.indexer.exchange import orders
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.exchange import carry_out
from ctxrank.indexer.exchange.orders import WaitingOrder
from ctxrank.indexer.exchange.origin_removal import find_origin
from ctxrank.indexer.privacy.erase import is_erasing_due
from ctxrank.indexer.privacy.removal import Removal, removals
from ctxrank.indexer.store.ids import origin_name
from ctxrank.indexer.store.origins import KnownOrigin, OriginState, known_origins
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

_STATES: dict[str, OriginState] = {"accept": "accepted", "revoke": "revoked", "refuse": "refused"}
_OF_ORDERS = {"agree": "carried out", "decline": "declined", "undo": "taken back"}
_NOTHING = {"origins": "no other store's records", "orders": "no order waits", "removals": "nothing was removed"}


def origins(call: Call, store: Store, does: str | None, which: str | None, name: str | None) -> Reply:
    """List the other stores or the orders that wait, or decide of one; 7 while orders wait that are asked about.

    Raises UsageError, NotFoundError.
    """
    needs_one = does in _STATES or does in _OF_ORDERS
    if (which is not None) is not needs_one or (name is not None and does != "accept"):
        says = f"'origins {does}' needs an ORIGIN, or the number of an order." if needs_one else "Too many words."
        raise UsageError(says, "'ctxrank origins accept 9f3c27ab anna', 'ctxrank origins agree 3'.")
    if does == "removed":
        return _reply("removals", [(_removal_line(one), one) for one in removals(store.primary)])
    if does in ("pending", *_OF_ORDERS):
        return _of_orders(store, does, which or "")
    wanted = ""
    if does in _STATES and which is not None:
        _, wanted = find_origin(store.primary, which)
        with store.write() as change:
            decide(change, wanted, _STATES[does], "person", name or "")
    found = [one for one in known_origins(store.primary) if not wanted or one.origin == wanted]
    return _reply("origins", [(_line(one), one) for one in found])


def _of_orders(store: Store, does: str, which: str) -> Reply:
    waiting = orders.waiting_orders(store.primary)
    if does == "undo":
        sharing("origins undo").undo(store, which)
    elif does in _OF_ORDERS:
        chosen = [one for one in waiting if which in (str(one.number), "all")]
        if not chosen:
            raise NotFoundError(f"No order {which} waits.", "'ctxrank origins pending' shows their numbers.")
        which = ", ".join(str(one.number) for one in chosen)
        if does == "agree":
            carry_out(store, chosen)
        else:
            with store.write() as change:
                orders.settle(change, [one.number for one in chosen], "declined")
        waiting = orders.waiting_orders(store.primary)
    reply = _reply("orders", [(_order_line(one), one) for one in waiting])
    if does in _OF_ORDERS:
        reply = reply._replace(lines=[f"{_OF_ORDERS[does]}: {which}", *reply.lines])
    if is_erasing_due(store.primary):
        reply = reply._replace(notes=("not yet purged: another process reads the store; 'ctxrank purge' finishes it.",))
    return reply._replace(exit_code=LockedError.exit_code if waiting or reply.notes else 0)


def _reply(key: str, found: Sequence[tuple[str, KnownOrigin | WaitingOrder | Removal]]) -> Reply:
    answer = {"total": len(found), "has_more": False, key: [record for _, record in found]}
    return Reply(lambda: answer, [line for line, _ in found] or [_NOTHING[key]])


def _line(one: KnownOrigin) -> str:
    decided = f" by {one.decided_by}, {format_day(one.decided_at)}" if one.decided_at else ""
    name = f"  {one_line(one.name)}" if one.name else ""
    return f"{origin_name(one.code)}  {one.state}{decided}  {one.records} records{name}"


def _order_line(one: WaitingOrder) -> str:
    what = f"a {one.kind}" if one.record == orders.FORGET else f"{one.kind} {one.key}"
    touches = " ".join(filter(None, (f"{one.touched} records of others; by", one_line(one.name), one.origin)))
    return f"{one.number}  {format_day(one.came_at)}  {what}: {touches}, in a {one.came_by}"


def _removal_line(one: Removal) -> str:
    by = f"by {one.origin}{f', order {one.order}' if one.order else ''}" if one.origin else "here"
    return f"{format_day(one.removed_at)}  {one.removed} {one.kind}  {by}"
