"""The roles and types that a configuration file gives a team.

roles:
  reviewer: {like: tech_lead, limit: 4}
  code-reviewer: {like: tech_lead}
types:
  runbook: {like: handoff, for: [developer, reviewer]}
"""

from collections.abc import Iterator, Mapping

from ctxrank.indexer.agents import AGENTS, ALIASES, PACKAGE_TYPES, PackageType, Role, Team, fold_agent, folded_name
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any, is_list
from ctxrank.indexer.store.setting_checks import Check, entries, number
from ctxrank.indexer.text.lines import is_one_line

MAX_NAME_CHARS = 60
_ROLE, _TYPE = "Write it as 'reviewer: {like: tech_lead, limit: 4}'.", "Write it as 'runbook: {like: handoff}'."


def checked_roles(value: object, name: str) -> dict[str, Role]:
    """The roles of one file. Raises UsageError: the file, the role, what is allowed."""
    roles: dict[str, Role] = {}
    for role, fields in _named(value, name, {"like": _agent, "limit": number(0, 1000)}, _ROLE):
        if folded_name(role) in (*AGENTS, *ALIASES):
            raise UsageError(f"{name}: '{role}' is an agent already.", "retrieval_limits sets an agent's limit.")
        roles[role] = Role(fields.get("like") or _agent("", f"{name}.{role}.like"), fields.get("limit"))
    return roles


def checked_types(value: object, name: str) -> dict[str, PackageType]:
    """The types of one file. Raises UsageError: the file, the type, what is allowed."""
    types: dict[str, PackageType] = {}
    for written, fields in _named(value, name, {"like": _type, "for": _consumers}, _TYPE):
        type_ = written.lower()
        if type_ in PACKAGE_TYPES:
            raise UsageError(f"{name}: '{type_}' is a package type already.", "Choose another name.")
        types[type_] = PackageType(fields.get("like") or _type("", f"{name}.{type_}.like"), fields.get("for", ()))
    return types


def check_consumers(team: Team) -> None:
    """Raises UsageError for a type that is for an agent that is neither known nor a role: roles may come from either
    file, so this is asked when both are read.
    """
    for name, type_ in team.types.items():
        for agent in type_.consumers:
            if not team.knows(fold_agent(agent, team)):
                raise UsageError(f"types: {name} is for '{agent}'.", f"Agents and roles are {', '.join(team.agents)}.")


def _agent(value: object, name: str) -> str:
    return _known(fold_agent(str(value)), name, AGENTS, "Agents")


def _type(value: object, name: str) -> str:
    return _known(str(value).strip().lower(), name, PACKAGE_TYPES, "Types")


def _known(word: str, name: str, known: tuple[str, ...], plural: str) -> str:
    if word not in known:
        raise UsageError(f"{name} is '{word}'.", f"{plural} are {', '.join(known)}.")
    return word


def _consumers(value: object, name: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else list(value) if is_list(value) else [None]
    if not all(isinstance(one, str) and one.strip() for one in names):
        raise UsageError(f"{name} is '{value}'.", "Give a list of agents or roles.")
    return tuple(map(str, names))


def _named(value: object, of: str, checks: Mapping[str, Check], hint: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a file names, with its fields."""
    for written, fields in entries(entries(checks, hint), hint)(value, of).items():
        name = " ".join(written.split())
        if not name or len(name) > MAX_NAME_CHARS or not is_one_line(name):
            raise UsageError(f"{of} has {written!a}, which is no name.", f"Choose at most {MAX_NAME_CHARS} characters.")
        yield name, fields
