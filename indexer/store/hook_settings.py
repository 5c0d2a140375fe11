"""The setting `hooks`: what `ctxrank hook` says and keeps. Read where the configuration has it, and by the hook.

    hooks:
      enabled: on              off: no event is answered and nothing is kept
      learn: on                off: questions are answered; nothing of a session is kept
      keep: off                conversations: what is said in a session is kept as well, for a search
      spawn: prompt            prompt: the block goes before a spawned agent's prompt; start: it is given as it starts
      spawn_tokens: 2000       the most that a block for a spawned agent takes
      folders: [notes]         files that agents write here are indexed when they stop
      roles: {Explore: investigator}

`hooks: off` alone is `enabled: off`. A project's file cannot switch on what the user's has switched off.
"""

from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any, NamedTuple, is_dict, is_list
from ctxrank.indexer.machine import HOOKS, NOTES, switched_off
from ctxrank.indexer.store.setting_checks import choice, entries, number, switch

MAX_SPAWN_TOKENS = 2500  # of 10,000 characters, which is what a runner takes
_MAX_FOLDERS = 20
CONVERSATIONS = "conversations"
# What runners call their agents, where a configuration does not say.
DEFAULT_ROLES: Mapping[str, str] = {
    "general-purpose": "developer",
    "Explore": "investigator",
    "Plan": "tech_lead",
    "main": "developer",
}


class HookSettings(NamedTuple):
    """What the hook runs with; `spawn` '' is the runner's own default."""

    enabled: bool = True
    learn: bool = True
    keep: str = ""
    spawn: str = ""
    spawn_tokens: int = 2000
    folders: tuple[str, ...] = ("notes",)
    roles: Mapping[str, str] = DEFAULT_ROLES


def _folders(value: object, name: str) -> tuple[str, ...]:
    folders = tuple(map(str, value)) if is_list(value) else ("",)
    are_inside = all(one.strip() and not one.startswith("/") and ".." not in one.split("/") for one in folders)
    if len(folders) > _MAX_FOLDERS or not are_inside:
        raise UsageError(f"{name} is '{value}'.", "Give a list of folders below the root.")
    return folders


def _keep(value: object, name: str) -> str:
    return "" if value is False or value == "off" else choice("off", CONVERSATIONS)(value, name)


_FIELDS = {
    "enabled": switch,
    "learn": switch,
    "keep": _keep,
    "spawn": choice("prompt", "start"),
    "spawn_tokens": number(0, MAX_SPAWN_TOKENS),
    "folders": _folders,
    "roles": entries(lambda value, _: str(value), "Give an agent's role for each type."),
}
_CHECK = entries(_FIELDS, f"Give off, or a mapping of {', '.join(_FIELDS)}.")


def checked_hooks(value: object, name: str) -> dict[str, Any]:
    """The settings that a file gives, as they are to be kept. Raises UsageError, which names what is allowed."""
    return dict(_CHECK(value if is_dict(value) else {"enabled": value}, name))


def hook_settings(values: Mapping[str, Any]) -> HookSettings:
    """The settings that checked values mean, without what is switched off on this machine."""
    given = HookSettings()._replace(**{**values, "roles": {**DEFAULT_ROLES, **values.get("roles", {})}})
    off = switched_off()
    return given._replace(enabled=given.enabled and HOOKS not in off, folders=() if NOTES in off else given.folders)
