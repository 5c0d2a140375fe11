"""Receipts: the blocks that were given, and two side by side: what was asked, what went in, what was left out."""

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.rendering import clock, said
from ctxrank.indexer.agents import AGENTS
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.light_typing import NamedTuple

_LISTED, _MORE = 30, 300


class ComparedEntry(NamedTuple):
    """A document of two receipts: what became of it in each; None where a receipt does not name it."""

    id: str
    title: str
    one: Json | None
    other: Json | None


def values(ask: Commands, given: Parameters) -> Json:
    """The receipts there are, narrowed by session and agent; with the numbers of two, these beside each other."""
    session, agent = given("session"), given("agent")
    limit = min(given.whole("n") or _LISTED, _MORE)
    one, other = given.whole("left"), given.whole("right")
    if one and other:
        return {"compared": _compared(ask, one, other)}
    listed = ask("receipt list", session=session or None, agent=agent or None, limit=limit).fields
    return {
        "compared": None, "receipts": listed.get("receipts", []), "session": session, "agent": agent, "agents": AGENTS,
        "sessions": ask("session list", limit=200).fields.get("sessions", []), "one": one, "other": other,
        "more": min(limit * 3, _MORE) if listed.get("has_more") and limit < _MORE else 0,
    }  # fmt: skip


def _compared(ask: Commands, one: int, other: int) -> Json:
    """How two receipts differ, as `receipt diff` says; both as they are."""
    found = ask("receipt diff", one=one, other=other).fields
    receipts = [ask("receipt show", receipt_id=number).fields["receipt"] for number in (one, other)]
    for receipt in receipts:
        receipt["held"] = sum(entry["included"] for entry in receipt["entries"])
    first, second = map(_states, receipts)
    entries = [ComparedEntry(id_, ask.title(id_), first.get(id_), second.get(id_)) for id_ in {**first, **second}]
    parts = (
        ("In both, and not the same", [each for each in entries if each.one and each.other and each.one != each.other]),
        (f"Only in {one}", [each for each in entries if not each.other]),
        (f"Only in {other}", [each for each in entries if not each.one]),
    )
    return {
        "receipts": receipts,
        "inputs": [_readable(each) for each in found["inputs"]],
        "same": [each for each in entries if each.one == each.other],
        "parts": [(label, named) for label, named in parts if named],
    }


def _states(receipt: Json) -> dict[str, Json]:
    """What became of each document of a receipt; one that is in the block and was shortened is in it."""
    entries = sorted(receipt["entries"], key=lambda entry: not entry["included"])
    states: dict[str, Json] = {}
    for entry in entries:
        states.setdefault(entry["id"], {**entry, "reason": said(entry["reason"], receipt["agent"])})
    return states


def _readable(one: Json) -> Json:
    """An input of two receipts; a moment is stored in microseconds."""
    if one["name"] != "as_of":
        return one
    mine, theirs = (clock(format_us(int(one[side]))) if one[side] else "" for side in ("one", "other"))
    return {"name": "as of", "one": mine, "other": theirs}
