"""The setting `hooks`: what `ctxrank hook` says and keeps. Read where the configuration has it, and by the hook.

    hooks:
      enabled: on              off: no event is answered and nothing is kept
      learn: on                off: questions are answered; nothing of a session is kept
      spawn: prompt            prompt: the block goes before a spawned agent's prompt; start: it is given as it starts
      spawn_tokens: 2000       the most that a block for a spawned agent takes
      folders: [notes]         files that agents write here are indexed when they stop
      roles: {Explore: investigator}

`hooks: off` alone is `enabled: off`. A project's file cannot switch on what the user's has switched off.
"""

from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list

SPAWN_WAYS = ("prompt", "start")
MAX_SPAWN_TOKENS = 2500  # of 10,000 characters, which is what a runner takes
_MAX_FOLDERS = 20
_SWITCHES = ("enabled", "learn")
_KEYS = (*_SWITCHES, "spawn", "spawn_tokens", "folders", "roles")
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
    spawn: str = ""
    spawn_tokens: int = 2000
    folders: tuple[str, ...] = ("notes",)
    roles: Mapping[str, str] = DEFAULT_ROLES


def checked_hooks(value: object, source: str) -> dict[str, object]:
    """The settings that a file gives, as they are to be kept. Raises UsageError, which names what is allowed."""
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in ("on", "off")):
        return {"enabled": _switch(value, "enabled", source)}
    if not is_dict(value):
        raise UsageError(f"{source}: hooks is '{value}'.", f"Give off, or a mapping of {', '.join(_KEYS)}.")
    return {str(key): _checked(str(key), given, source) for key, given in value.items()}


def _checked(key: str, value: object, source: str) -> object:
    if key in _SWITCHES:
        return _switch(value, key, source)
    if key == "spawn" and value in SPAWN_WAYS:
        return value
    if key == "spawn_tokens" and isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value <= MAX_SPAWN_TOKENS:
            return value
    elif key == "folders" and is_list(value):
        folders = [str(folder) for folder in value]
        if len(folders) <= _MAX_FOLDERS and all(map(_is_inside, folders)):
            return folders
    elif key == "roles" and is_dict(value):
        return {str(agent): str(role) for agent, role in value.items()}
    raise UsageError(
        f"{source}: hooks.{key} is '{value}'.",
        f"There are enabled and learn (on or off), spawn ({' or '.join(SPAWN_WAYS)}), spawn_tokens (0 to"
        f" {MAX_SPAWN_TOKENS}), folders (a list of folders below the root), and roles (an agent's role for each type).",
    )


def _is_inside(folder: str) -> bool:
    return bool(folder.strip()) and not folder.startswith("/") and ".." not in folder.split("/")


def _switch(value: object, key: str, source: str) -> bool:
    text = str(value).strip().lower()
    if text in ("on", "true"):
        return True
    if text in ("off", "false"):
        return False
    raise UsageError(f"{source}: hooks.{key} is '{value}'.", "Give on or off.")


def merged_hooks(known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """The settings of one file over those known before; a switch that is off stays off."""
    merged = {**known, **given}
    for switch in _SWITCHES:
        if known.get(switch) is False:
            merged[switch] = False
    if is_dict(roles := known.get("roles")) and is_dict(more := given.get("roles")):
        merged["roles"] = {**roles, **more}
    return merged


def hook_settings(values: Mapping[str, object]) -> HookSettings:
    """The settings that checked values mean."""
    folders, roles = values.get("folders"), values.get("roles")
    default = HookSettings()
    tokens = values.get("spawn_tokens")
    return HookSettings(
        enabled=values.get("enabled") is not False,
        learn=values.get("learn") is not False,
        spawn=str(values.get("spawn") or ""),
        spawn_tokens=tokens if isinstance(tokens, int) else default.spawn_tokens,
        folders=tuple(map(str, folders)) if is_list(folders) else default.folders,
        roles={**DEFAULT_ROLES, **{str(key): str(role) for key, role in roles.items()}}
        if is_dict(roles)
        else DEFAULT_ROLES,
    )
