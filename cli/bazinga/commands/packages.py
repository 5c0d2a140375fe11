"""The predecessor's commands for context packages and who was given them."""

import os

from ctxrank.cli.bazinga.arguments import group_name, json_list, whole_number
from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.records.groups import set_references
from ctxrank.cli.bazinga.records.packages import Consumption, consumptions, pending_packages, record_consumption
from ctxrank.indexer.agents import AGENTS, PACKAGE_TYPES, fold_agent
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records.packages import NewPackage, consume, consumers_of, save_package, set_size

_MAX_LIMIT = 50
_DEFAULT_LIMIT = 3
_MAX_CONSUMPTIONS = 1000
# The agents of a consumption: there a constraint, whose refusals were never reported.
_CONSUMERS = ("developer", "qa_expert", "tech_lead", "senior_software_engineer", "investigator")


def save_context_package(call: BazingaCall) -> int:
    """Save a package whose file lies, or will lie, among the session's artifacts."""
    given = call.read()
    session, group, type_, path, producer, consumers_json, priority, summary = given.positionals
    consumers = _consumers(call, consumers_json)
    if consumers is None:
        return 1
    if type_.strip().lower() not in PACKAGE_TYPES:
        raise UsageError(f"'{type_}' is not a package type.", f"Types are {', '.join(PACKAGE_TYPES)}.")
    for agent in (producer, *consumers):
        if fold_agent(agent) not in AGENTS:
            raise UsageError(f"'{agent.strip()}' is not an agent.", f"Agents are {', '.join(AGENTS)}.")
    new = NewPackage(
        session, group_name(group), type_, _artifact(call, session, path), producer, summary, priority,
        None, consumers,
    )  # fmt: skip
    try:
        saved = save_package(call.store, new, mode=call.mode)
    except NotFoundError as error:
        raise NotFoundError(f"Failed to save context package: {error.message}") from error
    full = os.path.join(call.store.location.root, saved.path)
    if not saved.passages and os.path.isfile(full):
        with call.store.write() as change:
            set_size(change, saved.id, os.path.getsize(full))
    for note in saved.notes:
        call.complain(note)
    call.done(f"Created context package {saved.id} ({type_}) with {len(saved.consumers)} consumers")
    call.answer({"package_id": saved.id, "file_path": saved.path, "consumers_created": len(saved.consumers)})
    return 0


def _consumers(call: BazingaCall, text: str) -> tuple[str, ...] | None:
    """The agents in a JSON array; None where it is none, which was said in the predecessor's two lines."""
    try:
        items = json_list(text, "consumers")
        if not all(isinstance(item, str) and item for item in items):
            raise UsageError("All consumer elements must be non-empty strings")
    except UsageError as error:
        call.warn(f"ERROR: Invalid consumers_json argument: {error.message}")
        call.warn('Expected: JSON array of agent types, e.g., ["developer", "qa_expert"]')
        return None
    consumers = tuple(str(item) for item in items if str(item).strip())
    if not consumers:
        raise UsageError("At least one valid consumer agent is required.")
    return consumers


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


def get_context_packages(call: BazingaCall) -> int:
    """What waits for an agent, the most important first."""
    given = call.read()
    text = given.optional(3)
    limit = _DEFAULT_LIMIT if text is None else whole_number(text, "limit")
    if not 1 <= limit <= _MAX_LIMIT:
        call.warn(f"ERROR: limit must be between 1 and {_MAX_LIMIT} (got {limit})")
        return 1
    call.answer(objects(pending_packages(call.store.primary, given[0], given[1], fold_agent(given[2]), limit=limit)))
    return 0


def mark_context_consumed(call: BazingaCall) -> int:
    """Record that a designated agent has taken a package."""
    given = call.read()
    package_id = whole_number(given[0], "package_id")
    iteration = whole_number(given.optional(2) or "1", "iteration")
    if iteration < 0:
        raise UsageError(f"iteration must not be negative, got {iteration}.")
    agent = fold_agent(given[1])
    designated = {consumer.agent for consumer in consumers_of(call.store.primary, package_id)}
    if agent not in designated or agent not in AGENTS:
        call.complain(f"Agent '{agent}' was not designated as consumer for package {package_id}")
        return 1
    consume(call.store, package_id, agent, iteration)
    call.done(f"Marked package {package_id} as consumed by {agent} (iteration {iteration})")
    return 0


def update_context_references(call: BazingaCall) -> int:
    """Name the packages that a group may see in addition to its own."""
    given = call.read()
    try:
        items = json_list(given[2], "package_ids")
        if not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            raise UsageError("package_ids must be a JSON array of integers")
    except UsageError as error:
        call.warn(f"ERROR: Invalid package_ids argument: {error.message}")
        call.warn("Expected: JSON array of integers, e.g., [1, 3, 5]")
        return 1
    ids = tuple(whole_number(str(item), "package_ids") for item in items)
    strange = set_references(call.store, given[1], given[0], ids)
    if strange is None:
        call.complain(f"Warning: No task group found with id='{given[0]}' and session_id='{given[1]}'")
        return 1
    if strange:
        call.complain(f"Warning: the session has no package {', '.join(map(str, strange))}; nothing comes of it.")
    call.done(f"Updated context references for {given[0]}: {list(ids)}")
    return 0


def save_consumption(call: BazingaCall) -> int:
    """Record that an agent was given a package at an iteration, once."""
    given = call.read()
    group = group_name(given[1], may_be_global=False) or ""
    iteration, package_id = whole_number(given[3], "iteration"), whole_number(given[4], "package_id")
    agent = fold_agent(given[2])
    if agent not in _CONSUMERS:
        return _not_saved(call, f"'{given[2]}' cannot consume: agents are {', '.join(_CONSUMERS)}.")
    if iteration < 0:
        return _not_saved(call, f"iteration must not be negative, got {iteration}.")
    new = Consumption(given[0], group, agent, iteration, package_id)
    try:
        is_new = record_consumption(call.store, new)
    except NotFoundError as error:
        raise NotFoundError(f"Failed to save consumption: {error.message}") from error
    if is_new:
        call.done(f"Saved consumption: {agent} consumed package {package_id}")
    else:
        call.done(f"Consumption exists: {agent} package {package_id} (idempotent)")
    call.answer(
        {
            "success": True, "inserted": is_new, "scope_id": new.scope_id, "session_id": new.session,
            "group_id": new.group, "agent_type": agent, "iteration": iteration, "package_id": package_id,
        }
    )  # fmt: skip
    return 0


def _not_saved(call: BazingaCall, message: str) -> int:
    call.complain(message)
    call.answer({"success": False, "inserted": False, "error": message})
    return 1


def get_consumption(call: BazingaCall) -> int:
    """What a session's agents were given, the newest first."""
    given = call.read()
    agent = given.text("--agent_type")
    limit = max(1, min(given.number("--limit", 50), _MAX_CONSUMPTIONS))
    found = consumptions(
        call.store.primary, given[0], group=given.text("--group_id"),
        agent=fold_agent(agent) if agent else None, limit=limit,
    )  # fmt: skip
    call.answer(objects(found))
    return 0
