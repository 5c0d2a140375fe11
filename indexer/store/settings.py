"""The settings that a file can hold, one line each: what it may be, and who may set it. Read where a file sets one."""

from collections.abc import Callable, Mapping

from ctxrank.indexer.clock import age_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES, RedactionMode
from ctxrank.indexer.store.setting_checks import Check, choice, entries, number, switch

# The formulas' modules say what each means and why it has its value; `ctxrank eval --sweep` finds values for labels of
# one's own. Beyond these ranges a formula means nothing.
RANKING_RANGES: Mapping[str, tuple[float, float]] = {
    "k1": (0.1, 10.0),
    "b": (0.0, 1.0),
    "title": (0.0, 20.0),
    "path": (0.0, 20.0),
    "identifiers": (0.0, 20.0),
    "near": (0.0, 5.0),
    "exact": (0.0, 5.0),
    "text": (0.0, 1.0),
}
# What can have a time to live. An error pattern has one of its own, too.
TTL_KINDS: tuple[str, ...] = ("package", "reasoning", "error", "strategy", "skill", "event")
TTL_KINDS_OF_A_GROUP: tuple[str, ...] = ("package", "reasoning", "skill", "event")
NEVER = "never"


def _mode(value: object, name: str) -> RedactionMode:
    # YAML reads a bare `off` as false.
    word = "off" if value is False else str(value).strip().lower()
    modes = {mode.value: mode for mode in REDACTION_MODES}
    if word not in modes:
        raise UsageError(f"{name} is '{value}'.", f"Modes are {', '.join(modes)}.")
    return modes[word]


def _margin(value: object, name: str) -> float:
    try:
        margin = float(str(value))
    except ValueError:
        margin = -1.0
    if not 0 <= margin < 1:
        raise UsageError(f"{name} is '{value}'.", "Give a share from 0 up to 1, such as 0.15.")
    return margin


def _age(value: object, name: str) -> int | None:
    """Microseconds; None is for ever."""
    age = age_us(str(value))
    if not age and str(value).strip().lower() != NEVER:
        raise UsageError(f"{name} is '{value}'.", f"Give an age such as 90d, 12h or 2w, or {NEVER}.")
    return age


def _age_or_iterations(value: object, name: str) -> int | None:
    """The same, or as a negative number how many iterations of its group."""
    count, _, unit = str(value).strip().lower().partition(" ")
    is_counted = unit in ("iteration", "iterations") and count.isdecimal() and int(count) > 0
    return -int(count) if is_counted else _age(value, name)


def _over(known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {**known, **given}


def _over_ages(known: Mapping[str, int], given: Mapping[str, int | None]) -> dict[str, int]:
    return {kind: age for kind, age in {**known, **given}.items() if age is not None}


def _models(value: object, name: str) -> dict[str, int]:
    limits = entries(number(1000, 100_000_000), "Give a number of tokens for each model.")(value, name)
    return {model.lower(): tokens for model, tokens in limits.items()}


def _rules(value: object, name: str) -> object:
    """Patterns that can be used: what was read before is not compiled to be checked."""
    from ctxrank.indexer.redaction.user_rules import parse_user_rules  # noqa: PLC0415  start-up: rules only

    return parse_user_rules(value, name.removesuffix(": redaction"))


def _team_log(value: object, name: str) -> str:
    """A connection string without a password: what is cached is in the store."""
    if not isinstance(value, str) or "password" in value or "@" in value.partition("://")[2].partition(":")[2]:
        raise UsageError(
            f"{name} is not a connection string without a password.",
            "Such as 'host=log.example user=anna dbname=team'; the password belongs into ~/.pgpass.",
        )
    return value


def _read_by(module: str, name: str) -> Check:
    """A check of another module, which is loaded when it is first made: few files have the setting."""

    def check(value: object, at: str) -> Any:
        return getattr(__import__(f"ctxrank.indexer.store.{module}", fromlist=[name]), name)(value, at)

    return check


def _over_hooks(known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A switch that is off stays off: a project cannot switch on what its user has switched off."""
    off = {key: known[key] for key in ("enabled", "learn", "keep") if known.get(key, True) in (False, "")}
    return {**known, **given, **off, "roles": {**known.get("roles", {}), **given.get("roles", {})}}


def _over_roles(known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    from ctxrank.indexer.agents import folded_name  # noqa: PLC0415  as above

    written = set(map(folded_name, given))  # the file that is read later says how a name is written
    return {**{name: role for name, role in known.items() if folded_name(name) not in written}, **given}


class Setting(NamedTuple):
    """One setting. Where `merge` is given, it puts the value of a file over what those before it said."""

    check: Check
    merge: Callable[[Any, Any], Any] | None = None
    is_apart: bool = False  # checked before the file is cached, and read when all else is known
    is_users: bool = False  # and a project's is refused
    is_orchestrators: bool = False  # the orchestrator's file may have it, too
    field: str = ""  # of `Config`, where it has another name


_RANGES = {name: number(*bounds, is_whole=False) for name, bounds in RANKING_RANGES.items()}

SETTINGS: Mapping[str, Setting] = {
    "fts5": Setting(switch),
    "redaction_mode": Setting(_mode, is_orchestrators=True),
    "token_safety_margin": Setting(_margin, is_orchestrators=True),
    "retrieval_limits": Setting(entries(number(0, 1000), "Give a number for each."), _over, is_orchestrators=True),
    "enable_context_assembler": Setting(switch, is_orchestrators=True),
    "ttl": Setting(
        entries(
            {kind: _age_or_iterations if kind in TTL_KINDS_OF_A_GROUP else _age for kind in TTL_KINDS},
            "Give an age for each kind, such as 'event: 90d'.",
        ),
        _over_ages,
        field="ttl_us",
    ),
    "redaction": Setting(_rules, is_apart=True),
    "ranking": Setting(entries(_RANGES, f"Give a number for each of {', '.join(RANKING_RANGES)}."), _over),
    "hooks": Setting(_read_by("hook_settings", "checked_hooks"), _over_hooks),
    "roles": Setting(_read_by("team", "checked_roles"), _over_roles),
    "types": Setting(_read_by("team", "checked_types"), _over),
    "block_files": Setting(switch),
    "block_extras": Setting(switch, is_orchestrators=True),
    "context_limits": Setting(_models, _over),
    "team": Setting(_team_log, is_apart=True, is_users=True),
    "engine": Setting(choice("fts5", "opensearch")),
    "wide": Setting(_read_by("wide_settings", "checked_wide"), is_apart=True, is_users=True),
}


def check_apart(values: Mapping[Any, object], path: str) -> None:
    """Refuse what cannot be used before a file is cached."""
    for key, value in values.items():
        setting = SETTINGS.get(str(key))
        if setting is not None and setting.is_apart:
            setting.check(value, f"{path}: {key}")
