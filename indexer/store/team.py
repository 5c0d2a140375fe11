"""The roles and types that a configuration file gives a team.

roles:
  reviewer: {like: tech_lead, limit: 4}
  code-reviewer: {like: tech_lead}
types:
  runbook: {like: handoff, for: [developer, reviewer]}
"""

from collections.abc import Iterator

from ctxrank.indexer.agents import AGENTS, ALIASES, PACKAGE_TYPES, PackageType, Role, Team, fold_agent, folded_name
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.text.lines import is_one_line

MAX_NAME_CHARS = 60
MAX_LIMIT = 1000


def with_roles(team: Team, value: object, source: str) -> Team:
    """The team with the roles of one file over those it has. Raises UsageError: the file, the role, what is allowed."""
    roles = dict(team.roles)
    for name, fields in _entries(value, "roles", "'reviewer: {like: tech_lead, limit: 4}'", source):
        _refuse_fields(name, fields, ("like", "limit"), source)
        if folded_name(name) in (*AGENTS, *ALIASES):
            raise UsageError(f"{source}: '{name}' is an agent already.", "retrieval_limits sets an agent's limit.")
        like = fold_agent(str(fields.get("like", "")))
        if like not in AGENTS:
            raise UsageError(f"{source}: the role {name} is like '{like}'.", f"Agents are {', '.join(AGENTS)}.")
        limit = fields.get("limit")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_LIMIT):
            raise UsageError(f"{source}: the limit of {name} is '{limit}'.", f"Give a number from 0 to {MAX_LIMIT}.")
        twin = next((known for known in roles if folded_name(known) == folded_name(name)), name)
        roles.pop(twin, None)  # the file that is read later says how a name is written
        roles[name] = Role(like, limit)
    return team._replace(roles=roles)


def with_types(team: Team, value: object, source: str) -> Team:
    """The team with the types of one file over those it has. Raises UsageError: the file, the type, what is allowed."""
    types = dict(team.types)
    for written, fields in _entries(value, "types", "'runbook: {like: handoff}'", source):
        name = written.lower()
        _refuse_fields(name, fields, ("like", "for"), source)
        if name in PACKAGE_TYPES:
            raise UsageError(f"{source}: '{name}' is a package type already.", "Choose another name.")
        like = str(fields.get("like", "")).strip().lower()
        if like not in PACKAGE_TYPES:
            raise UsageError(f"{source}: the type {name} is like '{like}'.", f"Types are {', '.join(PACKAGE_TYPES)}.")
        named = fields.get("for", [])
        names = [named] if isinstance(named, str) else list(named) if is_list(named) else [None]
        if not all(isinstance(one, str) and one.strip() for one in names):
            raise UsageError(f"{source}: the type {name} is for '{named}'.", "Give a list of agents or roles.")
        types[name] = PackageType(like, tuple(str(one) for one in names))
    return team._replace(types=types)


def check_consumers(team: Team) -> None:
    """Raises UsageError for a type that is for an agent that is neither known nor a role: roles may come from either
    file, so this is asked when both are read.
    """
    for name, type_ in team.types.items():
        for agent in type_.consumers:
            if not team.knows(fold_agent(agent, team)):
                raise UsageError(f"types: {name} is for '{agent}'.", f"Agents and roles are {', '.join(team.agents)}.")


def _entries(value: object, key: str, example: str, source: str) -> Iterator[tuple[str, dict[object, object]]]:
    if not is_dict(value):
        raise UsageError(f"{source}: {key} is '{value}'.", f"Give an entry for each, such as {example}.")
    for written, fields in value.items():
        name = " ".join(str(written).split())
        if not name or len(name) > MAX_NAME_CHARS or not is_one_line(name):
            raise UsageError(
                f"{source}: {written!a} in {key} is no name.", f"Choose at most {MAX_NAME_CHARS} characters."
            )
        if not is_dict(fields):
            raise UsageError(f"{source}: {name} in {key} is '{fields}'.", f"Write it as {example}.")
        yield name, fields


def _refuse_fields(name: str, fields: dict[object, object], known: tuple[str, ...], source: str) -> None:
    for field in fields:
        if field not in known:
            raise UsageError(f"{source}: {name} has no '{field}'.", f"It has {' and '.join(known)}.")
