"""The predecessor's commands for events and tokens: both are events here."""

import json

from ctxrank.cli.actions.given import read_given
from ctxrank.cli.bazinga.arguments import group_name, whole_number
from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.records.views import TOKEN_USAGE, VIEWS, rows
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.sessions import require_group, require_session
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode


def save_event(call: BazingaCall) -> int:
    """Save an event once: a known key gives the first one again."""
    given = call.read()
    session, subtype = given[0], given[1]
    if not session.strip() or not subtype.strip():
        raise UsageError("Neither the session nor the subtype can be empty.")
    payload = _payload(call, given.text("--payload-file"), given.optional(2))
    group = group_name(given.text("--group-id") or "")
    texts = IncomingTexts(call.mode)
    clean = texts.json(payload, empty="{}")
    kept_subtype = texts.line(subtype)
    key = texts.line(given.text("--idempotency-key") or "") or None
    is_redacted = clean != IncomingTexts(RedactionMode.OFF).json(payload, empty="{}") or kept_subtype != subtype
    try:
        with call.store.write() as change:
            owner = require_session(change, session, create=False)
            group_id = None if group is None else require_group(change, owner.id, group)
            event = record_event(change, owner.id, group_id, kept_subtype, clean, idempotency_key=key)
    except NotFoundError as error:
        call.complain(f"Failed to save {kept_subtype} event: {error.message}")
        return call.failed(error.message)
    answer = {"success": True, "event_id": event.id, "session_id": session, "event_subtype": kept_subtype}
    if event.is_new:
        if is_redacted:
            call.complain("Warning: secrets were redacted from the event's payload.")
        call.done(f"Saved {kept_subtype} event (id={event.id})")
        call.answer({**answer, "redacted": is_redacted})
    else:
        call.done(f"Event already exists (idempotent, id={event.id})")
        call.answer({**answer, "idempotent": True, "message": "Event already exists with same idempotency key"})
    return 0


def _payload(call: BazingaCall, path: str | None, text: str | None) -> str:
    if path is None:
        if text is None:
            raise UsageError("There is no payload.", "Give it as the third argument or in --payload-file FILE.")
        return text
    try:
        payload = read_given(call.path_of(path)).decode().strip()
        json.loads(payload)
    except OSError as error:
        raise UsageError(f"The payload file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The payload file {path} is not JSON: {error}.") from error
    return payload


def get_events(call: BazingaCall) -> int:
    """Events of a session, the newest first."""
    given = call.read()
    limit = whole_number(given.text("--limit") or given.optional(2) or "50", "limit")
    query = f"""
        SELECT id, session_id, timestamp, event_subtype, event_payload
          FROM ({VIEWS["orchestration_logs"]})
         WHERE log_type = 'event' AND session_id = ?1 AND (?2 IS NULL OR event_subtype = ?2)
         ORDER BY id DESC LIMIT ?3
    """
    call.answer(objects(rows(call.store.primary, query, (given[0], given.optional(1) or None, limit))))
    return 0


def log_tokens(call: BazingaCall) -> int:
    """Note what an agent has used, as an event."""
    given = call.read()
    tokens = whole_number(given[2], "tokens")
    texts = IncomingTexts(call.mode)
    agent_id = given.optional(3)
    usage = {
        "agent_type": texts.agent(given[1]),
        "agent_id": None if agent_id is None else texts.line(agent_id),
        "tokens_estimated": tokens,
    }
    with call.store.write() as change:
        session = require_session(change, given[0], create=False)
        record_event(change, session.id, None, TOKEN_USAGE, json.dumps(usage))
    call.done(f"Logged {tokens} tokens for {usage['agent_type']}")
    return 0


def token_summary(call: BazingaCall) -> int:
    """What a session's agents have used, by agent_type or agent_id."""
    given = call.read()
    call.answer(tokens_by(call, given[0], given.optional(1) or "agent_type"))
    return 0


def tokens_by(call: BazingaCall, session: str, by: str) -> dict[str, int]:
    """What each agent has used, and all of them under `total`."""
    column = "agent_type" if by == "agent_type" else "agent_id"
    query = f"""
        SELECT {column}, sum(tokens_estimated) FROM ({VIEWS[TOKEN_USAGE]})
         WHERE session_id = ? GROUP BY {column} ORDER BY {column}
    """
    found = rows(call.store.primary, query, (session,)).rows
    summary = {"null" if name is None else str(name): int(str(total)) for name, total in found}
    summary["total"] = sum(summary.values())
    return summary
