"""The predecessor's commands for sessions and task groups."""

import json

from ctxrank.cli.actions.project_skills import project_skills, seed
from ctxrank.cli.bazinga.arguments import whole_number
from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.commands.events import tokens_by
from ctxrank.cli.bazinga.records.groups import TIERS, NewGroup, save_group
from ctxrank.cli.bazinga.records.views import VIEWS, rows
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT, MODES, NewSession, has_session
from ctxrank.indexer.records.sessions import create_session as create
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.config import load_config

_CREATED = ("session_id", "mode", "status", "start_time", "created_at")
_RECENT_LOGS = 10


def create_session(call: BazingaCall) -> int:
    """Make a session, or answer with the one of this name."""
    given = call.read()
    name, mode, requirements = given.positionals
    if not name.strip():
        raise UsageError("session_id cannot be empty.")
    if mode not in MODES:
        raise UsageError(f"Invalid mode: {mode}. It must be one of {', '.join(MODES)}.")
    if not requirements.strip():
        raise UsageError("requirements cannot be empty.")
    project, metadata, texts = _session_texts(call, given.text("--metadata"))
    new = NewSession(
        name, project, mode, requirements=texts.text(requirements),
        initial_branch=texts.line(given.text("--initial_branch") or "main"), metadata=metadata,
    )  # fmt: skip
    skills, trouble = project_skills(call.store.location.root)
    if trouble:
        call.complain(f"no skills are seeded: {trouble}")
    with call.store.write() as change:
        is_new = not has_session(change.connection, name)
        if is_new:
            seed(change, skills, load_config(call.store).team, call.complain)
            create(change, new)
    session = _session(call, name)
    assert session is not None, "it was there before, or was just made"
    call.done(f"Session created: {name}" if is_new else f"Session already exists: {name}")
    shown = {key: session[key] for key in _CREATED}
    if is_new:
        shown = {"success": True, **shown, "initial_branch": session["initial_branch"], "metadata": session["metadata"]}
    call.answer(shown)
    return 0


def _session_texts(call: BazingaCall, metadata: str | None) -> tuple[str, str, IncomingTexts]:
    """(the project that the metadata name, the metadata redacted, what redacts)."""
    texts = IncomingTexts(call.mode)
    clean = texts.json(metadata or "", empty="{}")
    value: object = json.loads(clean)
    if isinstance(value, str):  # a text, which is given back as one
        return DEFAULT_PROJECT, json.dumps(texts.text(metadata or ""), ensure_ascii=False), texts
    project: object = value.get("project_id") if is_dict(value) else None
    return (project.strip() or DEFAULT_PROJECT if isinstance(project, str) else DEFAULT_PROJECT), clean, texts


def _session(call: BazingaCall, name: str) -> dict[str, object] | None:
    found = objects(rows(call.store.primary, f"{VIEWS['sessions']} WHERE s.name = ?", (name,)))
    return found[0] if found else None


def get_session(call: BazingaCall) -> int:
    """One session."""
    given = call.read()
    session = _session(call, given[0])
    if session is None:
        call.warn(json.dumps({"success": False, "error": f"Session not found: {given[0]}"}, indent=2))
        return 1
    call.answer(session)
    return 0


def list_sessions(call: BazingaCall) -> int:
    """The newest sessions."""
    given = call.read()
    limit = whole_number(given.optional(0) or "10", "limit")
    query = f"{VIEWS['sessions']} ORDER BY s.created_at DESC, s.id DESC LIMIT ?"
    call.answer(objects(rows(call.store.primary, query, (limit,))))
    return 0


def create_task_group(call: BazingaCall) -> int:
    """Make a task group, or change the one of this name."""
    given = call.read()
    tier = given.text("--initial_tier")
    if tier is not None and tier not in TIERS:
        raise UsageError(f"--initial_tier must be one of {', '.join(TIERS)}, got {tier!a}.")
    item_count = _within("--item_count", given.text("--item_count"), 1, 1 << 31)
    complexity = _within("--complexity", given.text("--complexity"), 1, 10)
    specializations = given.text("--specializations")
    new = NewGroup(
        given[0], given[1], given[2], given.optional(3), given.optional(4),
        None if specializations is None else given.texts("--specializations"),
        item_count, given.text("--component-path"), tier, complexity,
    )  # fmt: skip
    try:
        save_group(call.store, new, mode=call.mode)
    except (UsageError, NotFoundError) as error:
        hint = "Make it with create-session." if isinstance(error, NotFoundError) else error.hint
        call.complain(f"Failed to save task group {new.name}: {error.message} {hint}".rstrip())
        return call.failed(error.message)
    query = f"{VIEWS['task_groups']} WHERE s.name = ? AND g.name = ?"
    call.done(f"Task group saved: {new.name} (session: {new.session})")
    call.answer({"success": True, "task_group": objects(rows(call.store.primary, query, (new.session, new.name)))[0]})
    return 0


def _within(flag: str, text: str | None, least: int, most: int) -> int | None:
    if text is None:
        return None
    number = whole_number(text, flag)
    if not least <= number <= most:
        raise UsageError(f"{flag} must be between {least} and {most}, got {number}.")
    return number


def dashboard_snapshot(call: BazingaCall) -> int:
    """A session with its groups, tokens and last log entries; states are not kept here."""
    given = call.read()
    groups = f"{VIEWS['task_groups']} WHERE s.name = ? ORDER BY g.created_at, g.id"
    logs = f"""
        SELECT * FROM ({VIEWS["orchestration_logs"]})
         WHERE session_id = ?1 ORDER BY timestamp DESC, log_type, id DESC LIMIT ?2
    """
    call.answer(
        {
            "session": _session(call, given[0]),
            "orchestrator_state": None,
            "pm_state": None,
            "task_groups": objects(rows(call.store.primary, groups, (given[0],))),
            "token_summary": tokens_by(call, given[0], "agent_type"),
            "recent_logs": objects(rows(call.store.primary, logs, (given[0], _RECENT_LOGS))),
        }
    )
    return 0
