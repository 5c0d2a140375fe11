"""The first page: what was found, decided, failed and mended since yesterday, and what waits for a decision."""

from collections.abc import Iterable

from ctxrank.extensions.web.answers import Commands, Json
from ctxrank.extensions.web.lately import LateRecord, frequent_errors, lately, open_failures
from ctxrank.extensions.web.rendering import address, headline
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.exchange.orders import returnable_orders
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.anchors import drifted_findings
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.ranking.retrieval.cleaning import cleaned_task

_CONVERSATIONS, _RECORDS = 8, 6  # as many are shown, and of each as many records
_WAITING = 5
_FREQUENT = 3
_OPEN_FOR_US = 14 * DAY_US  # a failure that was not met for longer has most likely been passed


class LateConversation(NamedTuple):
    """A conversation and what it recorded, the newest first; `more` records are not shown."""

    session: str | None
    records: list[Json]
    more: int


def values(ask: Commands) -> Json:
    """What happened since yesterday began; where nothing did, what happened last."""
    now = now_us()
    yesterday = now - now % DAY_US - DAY_US
    with ask.open() as store:
        mode = load_config(store).redaction_mode
        found = lately(store.primary, yesterday)
        is_older = not found
        found = found or lately(store.primary, 0, _CONVERSATIONS * _RECORDS)
        failures = open_failures(store.primary, now - _OPEN_FOR_US, _WAITING)
        frequent = frequent_errors(store.primary, _FREQUENT)
        drifted = [*drifted_findings(store)]
        carried_out = returnable_orders(store.primary)[-_WAITING:]
    found, failures, frequent = (  # perhaps of older redaction rules
        [one._replace(title=cleaned_task(one.title, mode)) for one in some] for some in (found, failures, frequent)
    )
    unconfirmed = ask("error list", state="sighted", limit=_WAITING).fields
    return {
        "conversations": _conversations(found)[:_CONVERSATIONS],
        "is_older": is_older,
        "frequent": [_shown(one) for one in frequent],
        "unconfirmed": unconfirmed.get("errors", []),
        "unconfirmed_total": unconfirmed.get("total") or 0,
        "failures": [_shown(one) for one in failures],
        "drifted": drifted[:_WAITING],
        "drifted_total": len(drifted),
        "carried_out": carried_out,
        "orders": ask("origins", does="pending").fields.get("orders", []),
    }


def _conversations(found: Iterable[LateRecord]) -> list[LateConversation]:
    """The records by conversation, the one that recorded last first."""
    of: dict[str | None, list[Json]] = {}
    for one in found:
        of.setdefault(one.session, []).append(_shown(one))
    return [
        LateConversation(session, records[:_RECORDS], max(len(records) - _RECORDS, 0))
        for session, records in of.items()
    ]


def _shown(one: LateRecord) -> Json:
    """A record with the address that it opens."""
    id_ = public_id(one.kind, one.number)
    link = address("/failure", name=one.session, id=id_) if one.kind == "failure" else address("/finding", id=id_)
    return {**one._asdict(), "title": headline(one.title), "at": format_us(one.at), "link": link}
