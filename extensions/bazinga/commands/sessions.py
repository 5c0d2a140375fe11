"""The predecessor's commands for sessions and task groups."""

import json

from ctxrank.cli.actions.project_skills import project_skills, seed
from ctxrank.extensions.bazinga.arguments import Arguments, one_of, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json
from ctxrank.extensions.bazinga.commands.events import tokens_by
from ctxrank.extensions.bazinga.records.groups import TIERS, save_group, specialization
from ctxrank.extensions.bazinga.records.views import VIEWS
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.records import sessions
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.config import load_config

_CREATED = ("session_id", "mode", "status", "start_time", "created_at")
_RECENT_LOGS = 10


def create_session(call: BazingaCall, given: Arguments) -> Json:
    """Make a session, or answer with the one of this name."""
    name, mode, requirements = given.positionals
    if not name.strip():
        raise UsageError("session_id cannot be empty.")
    one_of("mode", mode, sessions.MODES)
    if not requirements.strip():
        raise UsageError("requirements cannot be empty.")
    texts = IncomingTexts(call.mode)
    project, metadata = _metadata(texts, given.get("--metadata", ""))
    branch = texts.line(given.get("--initial_branch") or "main")
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
    session = get_session(call, given)
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


def get_session(call: BazingaCall, given: Arguments) -> Json:
    """One session."""
    found = call.select(f"{VIEWS['sessions']} WHERE s.name = ?", given["session"])
    if not found:
        error = {"success": False, "error": f"Session not found: {given['session']}"}
        call.warn(json.dumps(error, indent=2))
        raise Failed
    return found[0]


def update_session_status(call: BazingaCall, given: Arguments) -> Json:
    """Say that a session is over, or goes on."""
    name, status = given.positionals
    one_of("status", status, sessions.SESSION_STATUSES)
    with call.store.write() as change:
        sessions.set_session_status(change, name, status)
    call.done(f"Updated session {name} status to: {status}")
    return {"success": True, "session_id": name, "status": status}


def list_sessions(call: BazingaCall, given: Arguments) -> list[Json]:
    """The newest sessions."""
    limit = whole_number(given.get("limit") or "10", "limit")
    return call.select(f"{VIEWS['sessions']} ORDER BY s.created_at DESC, s.id DESC LIMIT ?", limit)


def create_task_group(call: BazingaCall, given: Arguments) -> Json:
    """Make a task group, or change the one of this name; what is not given stays as it is."""
    name, session = given["group"], given["session"]
    tier = given.get("--initial_tier")
    if tier is not None and tier not in TIERS:
        raise UsageError(f"--initial_tier must be one of {', '.join(TIERS)}, got {tier!a}.")
    paths = given.texts("--specializations") if "--specializations" in given else None
    others: Json = {
        "assigned_to": given.get("assigned_to"),
        "item_count": _within(given, "--item_count", 1 << 31),
        "component_path": given.get("--component-path"),
        "initial_tier": tier,
        "complexity": _within(given, "--complexity", 10),
    }
    try:
        # Text inside JSON, as the predecessor has it in its column.
        others["specializations"] = None if paths is None else json.dumps([specialization(path) for path in paths])
        save_group(call.store, session, name, given["name"], given.get("status"), others, call.mode)
    except (UsageError, NotFoundError) as error:
        hint = "Make it with create-session." if isinstance(error, NotFoundError) else error.hint
        raise call.failed(f"task group {name}", error, hint) from error
    (group,) = call.select(f"{VIEWS['task_groups']} WHERE s.name = ? AND g.name = ?", session, name)
    call.done(f"Task group saved: {name} (session: {session})")
    return {"success": True, "task_group": group}


def _within(given: Arguments, flag: str, most: int) -> int | None:
    if flag not in given:
        return None
    number = given.number(flag, 1)
    if not 1 <= number <= most:
        raise UsageError(f"{flag} must be between 1 and {most}, got {number}.")
    return number


def dashboard_snapshot(call: BazingaCall, given: Arguments) -> Json:
    """A session with its groups, tokens and last log entries; states are not kept here."""
    session = given["session"]
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
