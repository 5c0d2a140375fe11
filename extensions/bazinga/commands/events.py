"""The predecessor's commands for events and tokens: both are events here."""

import json

from ctxrank.cli.actions.given import read_given
from ctxrank.extensions.bazinga.arguments import Arguments, group_name, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Json
from ctxrank.extensions.bazinga.records.views import TOKEN_USAGE, VIEWS
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.sessions import require_group, require_session
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode


def save_event(call: BazingaCall, given: Arguments) -> Json:
    """Save an event once: a known key gives the first one again."""
    session, given_subtype = given["session"], given["subtype"]
    if not session.strip() or not given_subtype.strip():
        raise UsageError("Neither the session nor the subtype can be empty.")
    payload = _payload(call, given)
    group = group_name(given.get("--group-id", ""))
    texts = IncomingTexts(call.mode)
    clean, subtype = texts.json(payload, empty="{}"), texts.line(given_subtype)
    key = texts.line(given.get("--idempotency-key", "")) or None
    is_redacted = clean != IncomingTexts(RedactionMode.OFF).json(payload, empty="{}") or subtype != given_subtype
    try:
        with call.store.write() as change:
            owner = require_session(change, session, create=False)
            group_id = None if group is None else require_group(change, owner.id, group)
            event = record_event(change, owner.id, group_id, subtype, clean, idempotency_key=key)
    except NotFoundError as error:
        raise call.failed(f"{subtype} event", error) from error
    answer: Json = {"success": True, "event_id": event.id, "session_id": session, "event_subtype": subtype}
    if not event.is_new:
        call.done(f"Event already exists (idempotent, id={event.id})")
        return {**answer, "idempotent": True, "message": "Event already exists with same idempotency key"}
    if is_redacted:
        call.complain("Warning: secrets were redacted from the event's payload.")
    call.done(f"Saved {subtype} event (id={event.id})")
    return {**answer, "redacted": is_redacted}


def _payload(call: BazingaCall, given: Arguments) -> str:
    path = given.get("--payload-file")
    if path is None:
        if "payload" not in given:
            raise UsageError("There is no payload.", "Give it as the third argument or in --payload-file FILE.")
        return given["payload"]
    try:
        payload = read_given(call.path_of(path)).decode().strip()
        json.loads(payload)
    except OSError as error:
        raise UsageError(f"The payload file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The payload file {path} is not JSON: {error}.") from error
    return payload


def get_events(call: BazingaCall, given: Arguments) -> list[Json]:
    """Events of a session, the newest first."""
    limit = whole_number(given.get("--limit") or given.get("limit") or "50", "limit")
    query = f"""
        SELECT id, session_id, timestamp, event_subtype, event_payload
          FROM ({VIEWS["orchestration_logs"]})
         WHERE log_type = 'event' AND session_id = ?1 AND (?2 IS NULL OR event_subtype = ?2)
         ORDER BY timestamp DESC, abs(id) DESC LIMIT ?3
    """
    return call.select(query, given["session"], given.get("subtype") or None, limit)


def log_tokens(call: BazingaCall, given: Arguments) -> None:
    """Note what an agent has used, as an event."""
    tokens = given.number("tokens", 0)
    texts = IncomingTexts(call.mode)
    agent, agent_id = texts.agent(given["agent"]), given.get("agent_id")
    agent_id = None if agent_id is None else texts.line(agent_id)
    usage = json.dumps({"agent_type": agent, "agent_id": agent_id, "tokens_estimated": tokens})
    with call.store.write() as change:
        session = require_session(change, given["session"], create=False)
        record_event(change, session.id, None, TOKEN_USAGE, usage)
    call.done(f"Logged {tokens} tokens for {agent}")


def token_summary(call: BazingaCall, given: Arguments) -> dict[str, int]:
    """What a session's agents have used, by agent_type or agent_id."""
    return tokens_by(call, given["session"], given.get("by") or "agent_type")


def tokens_by(call: BazingaCall, session: str, by: str) -> dict[str, int]:
    """What each agent has used, and all of them under `total`."""
    column = "agent_type" if by == "agent_type" else "agent_id"
    query = f"""
        SELECT coalesce({column}, 'null') AS agent, sum(tokens_estimated) AS tokens FROM ({VIEWS[TOKEN_USAGE]})
         WHERE session_id = ? GROUP BY {column} ORDER BY {column}
    """
    summary = {str(row["agent"]): int(str(row["tokens"])) for row in call.select(query, session)}
    return {**summary, "total": sum(summary.values())}
