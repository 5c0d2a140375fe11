"""The predecessor's commands for sessions, task groups, events and tokens: both of these are events here."""

import json
import re

from ctxrank.cli.actions.project_skills import project_skills, seed
from ctxrank.extensions.bazinga.arguments import group_name, one_of, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json, json_file, text_moment
from ctxrank.extensions.bazinga.records.groups import name_problem
from ctxrank.extensions.bazinga.records.views import TOKEN_USAGE, VIEWS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError, require_word
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.records import sessions
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.sessions import find_session, require_group
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config

_CREATED = ("session_id", "mode", "status", "start_time", "created_at")
_RECENT_LOGS = 10
_TIERS = ("Developer", "Senior Software Engineer")
_SPECIALIZATIONS = "bazinga/templates/specializations/"


def create_session(call: BazingaCall) -> Json:
    """Make a session, or answer with the one of this name."""
    name, mode, requirements = call.positionals
    if not name.strip():
        raise UsageError("session_id cannot be empty.")
    one_of("mode", mode, sessions.MODES)
    if not requirements.strip():
        raise UsageError("requirements cannot be empty.")
    texts = IncomingTexts(call.mode)
    project, metadata = _metadata(texts, call.get("--metadata", ""))
    branch = texts.line(call.get("--initial_branch") or "main")
    new = sessions.NewSession(
        name, project, mode, requirements=texts.text(requirements), initial_branch=branch, metadata=metadata
    )
    skills, trouble = project_skills(call.store.location.root)
    if trouble:
        call.complain(f"no skills are seeded: {trouble}")
    with call.store.write() as change:
        is_new = not sessions.has_session(change.connection, name)
        if is_new:
            seed(change, skills, load_config(call.store).team, call.complain)
            sessions.create_session(change, new)
    session = get_session(call)
    call.done(f"Session created: {name}" if is_new else f"Session already exists: {name}")
    shown = {key: session[key] for key in _CREATED}
    added = {"initial_branch": session["initial_branch"], "metadata": session["metadata"]}
    return {"success": True, **shown, **added} if is_new else shown


def _metadata(texts: IncomingTexts, metadata: str) -> tuple[str, str]:
    """(the project that the metadata name, the metadata redacted)."""
    clean = texts.json(metadata, empty="{}")
    value: object = json.loads(clean)
    project: object = value.get("project_id") if is_dict(value) else None
    if isinstance(value, str):  # a text, which is given back as one
        clean = json.dumps(texts.text(metadata), ensure_ascii=False)
    return (isinstance(project, str) and project.strip()) or sessions.DEFAULT_PROJECT, clean


def get_session(call: BazingaCall) -> Json:
    """One session."""
    found = call.select(f"{VIEWS['sessions']} WHERE s.name = ?", call["session"])
    if not found:
        error = {"success": False, "error": f"Session not found: {call['session']}"}
        call.warn(json.dumps(error, indent=2))
        raise Failed
    return found[0]


def update_session_status(call: BazingaCall) -> Json:
    """Say that a session is over, or goes on."""
    name, status = call.positionals
    one_of("status", status, sessions.SESSION_STATUSES)
    with call.store.write() as change:
        sessions.set_session_status(change, name, status)
    call.done(f"Updated session {name} status to: {status}")
    return {"success": True, "session_id": name, "status": status}


def list_sessions(call: BazingaCall) -> list[Json]:
    """The newest sessions."""
    limit = whole_number(call.get("limit") or "10", "limit")
    return call.select(f"{VIEWS['sessions']} ORDER BY s.created_at DESC, s.id DESC LIMIT ?", limit)


def create_task_group(call: BazingaCall) -> Json:
    """Make a task group, or change the one of this name; what is not given stays as it is."""
    name, session = call["group"], call["session"]
    tier = call.get("--initial_tier")
    if tier is not None and tier not in _TIERS:
        raise UsageError(f"--initial_tier must be one of {', '.join(_TIERS)}, got {tier!a}.")
    paths = call.texts("--specializations") if "--specializations" in call else None
    metadata: Json = {
        "assigned_to": call.get("assigned_to"),
        "item_count": _within(call, "--item_count", 1 << 31),
        "component_path": call.get("--component-path"),
        "initial_tier": tier,
        "complexity": _within(call, "--complexity", 10),
    }
    try:
        if paths is not None:  # text inside JSON, as the predecessor has it in its column
            metadata["specializations"] = json.dumps([_specialization(path) for path in paths])
        _save_group(call, metadata)
    except (UsageError, NotFoundError) as error:
        hint = "Make it with create-session." if isinstance(error, NotFoundError) else error.hint
        raise call.failed(f"task group {name}", error, hint) from error
    (group,) = call.select(f"{VIEWS['task_groups']} WHERE s.name = ? AND g.name = ?", session, name)
    call.done(f"Task group saved: {name} (session: {session})")
    return {"success": True, "task_group": group}


def _save_group(call: BazingaCall, metadata: Json) -> None:
    """Make the group, or change the one of this name; None leaves what it says already."""
    name, status, texts = call["group"], call.get("status"), IncomingTexts(call.mode)
    problem = name_problem(name, is_task_group=True)
    if problem:
        raise UsageError(problem)
    if status is not None:
        require_word(status, sessions.GROUP_STATUSES, "a group's status", "Statuses")
    kept = {key: value for key, value in metadata.items() if value is not None}
    clean = texts.json(json.dumps({**kept, "updated_at": text_moment(now_us())}), empty="{}")
    with call.store.write() as change:
        owner = sessions.find_session(change.connection, call["session"])
        group_id = sessions.require_group(change, owner.id, name)
        title = texts.line(call["name"]) or None
        sessions.update_group(change, group_id, title=title, status=status, metadata=clean)


def _within(call: BazingaCall, flag: str, most: int) -> int | None:
    if flag not in call:
        return None
    number = call.number(flag, 1)
    if not 1 <= number <= most:
        raise UsageError(f"{flag} must be between 1 and {most}, got {number}.")
    return number


def _specialization(path: str) -> str:
    """The path of a specialisation in full. Raises UsageError for one that leaves their folder."""
    if not re.fullmatch(r"[a-zA-Z0-9/_.-]+", path):
        raise UsageError(f"Invalid specialization path: {path!a} has characters that no path there has.")
    if ".." in path:
        raise UsageError(f"Invalid specialization path: {path} leaves its folder.")
    for start in (_SPECIALIZATIONS, _SPECIALIZATIONS.removeprefix("bazinga/"), "specializations/"):
        if path.startswith(start):
            return _SPECIALIZATIONS + path.removeprefix(start)
    return _SPECIALIZATIONS + path.lstrip("/")


def dashboard_snapshot(call: BazingaCall) -> Json:
    """A session with its groups, tokens and last log entries; states are not kept here."""
    session = call["session"]
    groups = f"{VIEWS['task_groups']} WHERE s.name = ? ORDER BY g.created_at, g.id"
    logs = f"""
        SELECT * FROM ({VIEWS["orchestration_logs"]})
         WHERE session_id = ?1 ORDER BY timestamp DESC, log_type, abs(id) DESC LIMIT ?2
    """
    return {
        "session": next(iter(call.select(f"{VIEWS['sessions']} WHERE s.name = ?", session)), None),
        "orchestrator_state": None,
        "pm_state": None,
        "task_groups": call.select(groups, session),
        "token_summary": tokens_by(call, session, "agent_type"),
        "recent_logs": call.select(logs, session, _RECENT_LOGS),
    }


def save_event(call: BazingaCall) -> Json:
    """Save an event once: a known key gives the first one again."""
    session, given_subtype = call["session"], call["subtype"]
    if not session.strip() or not given_subtype.strip():
        raise UsageError("Neither the session nor the subtype can be empty.")
    payload = _payload(call)
    group = group_name(call.get("--group-id", ""))
    texts = IncomingTexts(call.mode)
    clean, subtype = texts.json(payload, empty="{}"), texts.line(given_subtype)
    key = texts.line(call.get("--idempotency-key", "")) or None
    is_redacted = clean != IncomingTexts(RedactionMode.OFF).json(payload, empty="{}") or subtype != given_subtype
    try:
        with call.store.write() as change:
            owner = find_session(change.connection, session)
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


def _payload(call: BazingaCall) -> str:
    path = call.get("--payload-file")
    if path is None:
        if "payload" not in call:
            raise UsageError("There is no payload.", "Give it as the third argument or in --payload-file FILE.")
        return call["payload"]
    return json_file(call.path_of(path), "payload")


def get_events(call: BazingaCall) -> list[Json]:
    """Events of a session, the newest first."""
    limit = whole_number(call.get("--limit") or call.get("limit") or "50", "limit")
    query = f"""
        SELECT id, session_id, timestamp, event_subtype, event_payload
          FROM ({VIEWS["orchestration_logs"]})
         WHERE log_type = 'event' AND session_id = ?1 AND (?2 IS NULL OR event_subtype = ?2)
         ORDER BY timestamp DESC, abs(id) DESC LIMIT ?3
    """
    return call.select(query, call["session"], call.get("subtype") or None, limit)


def log_tokens(call: BazingaCall) -> None:
    """Note what an agent has used, as an event."""
    tokens = call.number("tokens", 0)
    texts = IncomingTexts(call.mode)
    agent, agent_id = texts.agent(call["agent"]), call.get("agent_id")
    agent_id = None if agent_id is None else texts.line(agent_id)
    usage = json.dumps({"agent_type": agent, "agent_id": agent_id, "tokens_estimated": tokens})
    with call.store.write() as change:
        session = find_session(change.connection, call["session"])
        record_event(change, session.id, None, TOKEN_USAGE, usage)
    call.done(f"Logged {tokens} tokens for {agent}")


def token_summary(call: BazingaCall) -> dict[str, int]:
    """What a session's agents have used, by agent_type or agent_id."""
    return tokens_by(call, call["session"], call.get("by") or "agent_type")


def tokens_by(call: BazingaCall, session: str, by: str) -> dict[str, int]:
    """What each agent has used, and all of them under `total`."""
    column = "agent_type" if by == "agent_type" else "agent_id"
    query = f"""
        SELECT coalesce({column}, 'null') AS agent, sum(tokens_estimated) AS tokens FROM ({VIEWS[TOKEN_USAGE]})
         WHERE session_id = ? GROUP BY {column} ORDER BY {column}
    """
    summary = {str(row["agent"]): int(str(row["tokens"])) for row in call.select(query, session)}
    return {**summary, "total": sum(summary.values())}
