"""The predecessor's commands for context packages and who was given them."""

import json
import os

from ctxrank.extensions.bazinga.arguments import group_name, json_list, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json, text_moment
from ctxrank.extensions.bazinga.records.views import VIEWS, scope_id
from ctxrank.indexer.agents import AGENTS, PACKAGE_TYPES, fold_agent
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records import packages, sessions
from ctxrank.indexer.store.rows import update
from ctxrank.ranking.context.assembly.receipt import BlockDelivery, mark

_MAX_LIMIT = 50
_MAX_CONSUMPTIONS = 1000
# The agents of a consumption: there a constraint, whose refusals were never reported.
_CONSUMERS = ("developer", "qa_expert", "tech_lead", "senior_software_engineer", "investigator")


def save_context_package(call: BazingaCall) -> Json:
    """Save a package whose file lies, or will lie, among the session's artifacts."""
    session, group, type_, path, producer, consumers_json, priority, summary = call.positionals
    consumers = tuple(str(one) for one in _list(call, "consumers", "agent types", consumers_json) if str(one).strip())
    if not consumers:
        raise UsageError("At least one valid consumer agent is required.")
    if type_.strip().lower() not in PACKAGE_TYPES:
        raise UsageError(f"'{type_}' is not a package type.", f"Types are {', '.join(PACKAGE_TYPES)}.")
    for agent in (producer, *consumers):
        if fold_agent(agent) not in AGENTS:
            raise UsageError(f"'{agent.strip()}' is not an agent.", f"Agents are {', '.join(AGENTS)}.")
    place = _artifact(call, session, path)
    new = packages.NewPackage(session, group_name(group), type_, place, producer, summary, priority, None, consumers)
    try:
        saved = packages.save_package(call.store, new)
    except NotFoundError as error:
        raise NotFoundError(f"Failed to save context package: {error.message}") from error
    full = os.path.join(call.store.location.root, saved.path)
    if not saved.passages and os.path.isfile(full):
        with call.store.write() as change:
            update(change.connection, "packages", saved.id, {"size_bytes": os.path.getsize(full)})
    for note in saved.notes:
        call.complain(note)
    call.done(f"Created context package {saved.id} ({type_}) with {len(saved.consumers)} consumers")
    return {"package_id": saved.id, "file_path": saved.path, "consumers_created": len(saved.consumers)}


_EXAMPLES = {"agent types": '["developer", "qa_expert"]', "integers": "[1, 3, 5]"}


def _list(call: BazingaCall, name: str, of: str, text: str) -> list[object]:
    """A JSON array of agents or of numbers; what is none is said in the predecessor's two lines. Raises Failed."""
    try:
        items = json_list(text, name)
        if of == "integers" and not all(type(item) is int for item in items):
            raise UsageError("package_ids must be a JSON array of integers")
        if of == "agent types" and not all(isinstance(item, str) and item for item in items):
            raise UsageError("All consumer elements must be non-empty strings")
    except UsageError as error:
        argument = "consumers_json" if name == "consumers" else name
        call.warn(f"ERROR: Invalid {argument} argument: {error.message}")
        call.warn(f"Expected: JSON array of {of}, e.g., {_EXAMPLES[of]}")
        raise Failed from error
    return items


def _artifact(call: BazingaCall, session: str, path: str) -> str:
    """The path from the root, which must lie below the session's artifacts once links are followed."""
    folder = f"bazinga/artifacts/{session}"
    if "\0" in path + session:
        raise UsageError("Invalid file_path: it has a zero character in it.")
    root = os.path.realpath(os.path.join(call.store.location.root, folder))
    real = os.path.realpath(os.path.join(call.store.location.root, path))
    if not is_inside(root, real) or real == root:
        raise UsageError(f"Invalid file_path: must be within {folder}. Got: {path}")
    return f"{folder}/{os.path.relpath(real, root).replace(os.sep, '/')}"


_BY_PRIORITY = (
    "CASE {0}.priority WHEN 'critical' THEN 1 WHEN 'high' THEN 2 WHEN 'medium' THEN 3 ELSE 4 END,"
    " {0}.created_at DESC, {0}.id DESC"
)
# The few that are wanted are found by their ids before any row of the view is made.
_PENDING = f"""
    SELECT id, package_type, priority, summary, file_path, size_bytes, group_id
      FROM ({VIEWS["context_packages"]}
             WHERE p.id IN (
                   SELECT q.id FROM main.packages AS q
                    WHERE q.session_id = (SELECT id FROM main.sessions WHERE name = ?1)
                      AND q.superseded_by IS NULL AND (NOT ?3 OR q.scope = 'global')
                      AND (?2 IS NULL OR q.scope = 'global' OR q.group_id = (
                           SELECT id FROM main.groups WHERE session_id = q.session_id AND name = ?2))
                      AND EXISTS (SELECT 1 FROM main.package_consumers AS c
                                   WHERE c.package_id = q.id AND c.agent = ?4 AND c.consumed_at IS NULL)
                    ORDER BY {_BY_PRIORITY.format("q")} LIMIT ?5)
             ORDER BY {_BY_PRIORITY.format("p")} LIMIT ?5)
"""


def get_context_packages(call: BazingaCall) -> list[Json]:
    """What is designated for an agent, not consumed and not superseded: by priority, then the newest.

    A group means its own packages and global ones, 'global' global ones alone, '' all of the session.
    """
    limit = call.number("limit", 3)
    if not 1 <= limit <= _MAX_LIMIT:
        call.warn(f"ERROR: limit must be between 1 and {_MAX_LIMIT} (got {limit})")
        raise Failed
    session, group, agent = call.positionals[:3]
    is_global = group.strip().lower() == "global"
    return call.select(
        _PENDING, session, None if sessions.is_session_wide(group) else group, is_global, fold_agent(agent), limit
    )


def mark_context_consumed(call: BazingaCall) -> None:
    """Record that a designated agent has taken a package."""
    package_id = call.number("package_id", 0)
    iteration = whole_number(call.get("iteration") or "1", "iteration")
    if iteration < 0:
        raise UsageError(f"iteration must not be negative, got {iteration}.")
    agent = fold_agent(call["agent"])
    designated = {consumer.agent for consumer in packages.consumers_of(call.store.primary, package_id)}
    if agent not in designated or agent not in AGENTS:
        call.complain(f"Agent '{agent}' was not designated as consumer for package {package_id}")
        raise Failed
    packages.consume(call.store, package_id, agent, iteration)
    call.done(f"Marked package {package_id} as consumed by {agent} (iteration {iteration})")


def update_context_references(call: BazingaCall) -> None:
    """Name the packages that a group may see in addition to its own."""
    group, session, text = call.positionals
    ids = tuple(whole_number(str(item), "package_ids") for item in _list(call, "package_ids", "integers", text))
    with call.store.write() as change:
        session_id = sessions.session_id_of(change.connection, session)
        found = None if session_id is None else sessions.find_group(change.connection, session_id, group)
        if found is not None:
            sessions.set_group_references(change, found.id, ids)
            sessions.update_group(change, found.id, metadata=json.dumps({"updated_at": text_moment(now_us())}))
        known = packages.list_packages(change.connection, session=session, include_superseded=True)
    if found is None:
        call.complain(f"Warning: No task group found with id='{group}' and session_id='{session}'")
        raise Failed
    strange = [str(number) for number in ids if all(package.id != number for package in known)]
    if strange:
        call.complain(f"Warning: the session has no package {', '.join(strange)}; nothing comes of it.")
    call.done(f"Updated context references for {group}: {list(ids)}")


def save_consumption(call: BazingaCall) -> Json:
    """Record that an agent was given a package at an iteration, once."""
    session, agent = call["session"], fold_agent(call["agent"])
    group = group_name(call["group"], may_be_global=False) or ""
    iteration, package_id = call.number("iteration", 0), call.number("package_id", 0)
    trouble = f"iteration must not be negative, got {iteration}." if iteration < 0 else ""
    if agent not in _CONSUMERS:
        trouble = f"'{call['agent']}' cannot consume: agents are {', '.join(_CONSUMERS)}."
    if trouble:
        call.complain(trouble)
        raise Failed({"success": False, "inserted": False, "error": trouble})
    try:
        with call.store.write() as change:
            owner = sessions.find_session(change.connection, session)
            if packages.get_package(change.connection, package_id).session != owner.name:
                raise NotFoundError(f"Package {package_id} is not of the session '{owner.name}'.")
            group_id = 0 if sessions.is_session_wide(group) else sessions.require_group(change, owner.id, group)
            mark(change, BlockDelivery(owner.id, group_id, agent, iteration, (package_id,), ()))
            is_new = bool(change.connection.changes())
    except NotFoundError as error:
        raise NotFoundError(f"Failed to save consumption: {error.message}") from error
    saved = f"Saved consumption: {agent} consumed package {package_id}"
    call.done(saved if is_new else f"Consumption exists: {agent} package {package_id} (idempotent)")
    what: Json = {"session_id": session, "group_id": group, "agent_type": agent, "iteration": iteration}
    id_ = scope_id(session, group, agent, iteration, package_id)
    return {"success": True, "inserted": is_new, "scope_id": id_, **what, "package_id": package_id}


def get_consumption(call: BazingaCall) -> list[Json]:
    """What a session's agents were given, the newest first; no group means all."""
    agent, group = call.get("--agent_type"), call.get("--group_id")
    limit = max(1, min(call.number("--limit", 50), _MAX_CONSUMPTIONS))
    query = f"""{VIEWS["consumption_scope"]}
         WHERE s.name = ?1 AND (?2 IS NULL OR g.name = ?2) AND (?3 IS NULL OR d.agent = ?3)
         ORDER BY d.delivered_at DESC, d.package_id DESC, d.iteration DESC, d.agent LIMIT ?4
    """
    group = None if sessions.is_session_wide(group) else group
    return call.select(query, call["session"], group, fold_agent(agent) if agent else None, limit)
