"""Settings: environment > project file > orchestrator's file > user file > defaults.

    .ctxrank/config.yaml                 the project's
    SKILLS_CONFIG_PATH                   the orchestrator's, read as it is; or the one an import brought along
    $XDG_CONFIG_HOME/ctxrank/config.yaml the user's

What a file says is cached in the store by size, mtime and hash, so that a query parses nothing.
"""

import os
import time
from collections.abc import Iterator, Mapping

import apsw

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple, is_dict
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import wait_for_locks
from ctxrank.indexer.store.store import Store

if TYPE_CHECKING:
    from ctxrank.indexer.agents import PackageType, Role, Team
    from ctxrank.indexer.redaction.purged_secrets import BlockedSecret
    from ctxrank.indexer.store.team_log import TeamState
    from ctxrank.indexer.store.wide_settings import WideSettings

# A configuration file of another program's, below the root.
SKILLS_CONFIG_PATH = "bazinga/skills_config.json"
IMPORTED_SKILLS_CONFIG = "imported_skills_config"
DEFAULT_RETRIEVAL_LIMIT = 3
RETRIEVAL_LIMITS = {
    "developer": 3,
    "senior_software_engineer": 5,
    "qa_expert": 5,
    "tech_lead": 5,
    "investigator": 5,
}
DEFAULT_SAFETY_MARGIN = 0.15
KEPT_FOR_EVER: Mapping[str, int] = {}
NO_ROLES: "Mapping[str, Role]" = {}
NO_TYPES: "Mapping[str, PackageType]" = {}
AS_KNOWN: Mapping[str, int] = {}  # the contexts of models as the program knows them
UNTUNED: Mapping[str, float] = {}  # the ranking as it was measured to be best
UNSET: Mapping[str, Any] = {}
FTS5, OPENSEARCH = "fts5", "opensearch"
# A file that was written less than this ago may change again without a change of its mtime.
_MTIME_RESOLUTION_NS = 2 * 10**9


class Config(NamedTuple):
    """What a call runs with; `notes` are for stderr.

    `ttl_us` is how long a kind is kept before `prune --expired` takes it; what is not in it is kept for ever.
    """

    fts5: bool = True
    redaction_mode: RedactionMode = RedactionMode.PATTERN_ONLY
    token_safety_margin: float = DEFAULT_SAFETY_MARGIN
    retrieval_limits: Mapping[str, int] = RETRIEVAL_LIMITS
    enable_context_assembler: bool = True
    ttl_us: Mapping[str, int] = KEPT_FOR_EVER
    ranking: Mapping[str, float] = UNTUNED
    hooks: Mapping[str, Any] = UNSET  # as hook_settings.py checked them
    roles: "Mapping[str, Role]" = NO_ROLES
    types: "Mapping[str, PackageType]" = NO_TYPES
    block_files: bool = True  # whether blocks show indexed files that are no package's
    context_limits: Mapping[str, int] = AS_KNOWN  # tokens by the name of a model in lower case
    team_log: "TeamState | None" = None  # how far the store is with the log of its team; None: it has none
    engine: str = FTS5  # which index answers
    wide: "WideSettings | None" = None  # where a cluster is; None: the user names none
    notes: tuple[str, ...] = ()

    @property
    def has_index(self) -> bool:
        """Whether an index is asked at all: FTS5 may be switched off, which leaves a cluster to answer."""
        return self.fts5 or (self.wide is not None and self.engine == OPENSEARCH)

    @property
    def team(self) -> "Team":
        """The team's own words, for what knows agents and types: a search does not load them."""
        from ctxrank.indexer.agents import Team  # noqa: PLC0415  start-up: see above

        return Team(self.roles, self.types)


def load_config(store: Store) -> Config:
    """The settings for this store, which keeps the redaction rules of its own. Raises UsageError: the file, the key."""
    user_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    user_path = os.path.join(user_home, "ctxrank", "config.yaml")
    project_path = os.path.join(store.location.folder, "config.yaml")
    skills_path = os.path.join(store.location.root, SKILLS_CONFIG_PATH)
    user = _own_values(_cached(store, user_path))
    config = _merged(Config(), user, user_path)
    user_mode = config.redaction_mode
    skills_config = _cached(store, skills_path, store.location.root) or _imported(store.primary)
    config = _with_orchestrator(config, skills_config, skills_path)
    project = _own_values(_cached(store, project_path, store.location.folder))
    config = _merged(config, project, project_path)
    if {"team", "wide"} & project.keys():
        config = config._replace(notes=(*config.notes, *_refused(project, project_path)))
    covering = _covering(user_mode, config.redaction_mode)
    if covering != config.redaction_mode:
        note = f"redaction_mode stays '{covering.value}': a project cannot weaken the user's."
        config = config._replace(redaction_mode=covering, notes=(*config.notes, note))
    config = _merged(config, _environment(), "the environment")
    if "types" in user or "types" in project:
        from ctxrank.indexer.store.team import check_consumers  # noqa: PLC0415  start-up: few teams have types

        check_consumers(config.team)
    if "redaction" in user or "redaction" in project:
        config = _with_rules(config, user.get("redaction"), user_path, project.get("redaction"), project_path)
    secrets = _blocked_secrets(store)
    if config.redaction_mode.rules is not None:
        from ctxrank.indexer.store.rules_since import note_rules  # noqa: PLC0415  start-up: only with user rules

        note_rules(store, config.redaction_mode.rules)
    if secrets:
        config = _with_blocked(config, secrets)
    store.user_rules = config.redaction_mode.rules
    if config.engine == OPENSEARCH or "wide" in user or "wide" in project or "CTXRANK_WIDE" in os.environ:
        config = _with_wide(config, store, user.get("wide"), f"{user_path}: wide")
    dsn = os.environ.get("CTXRANK_TEAM") or str(user.get("team") or "")
    return _with_team(config, store, dsn) if dsn else config


def team_dsn(store: Store) -> str:
    """How the user says that a team's log is connected to; '' where they do not. A project is not asked."""
    user_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    user = _own_values(_cached(store, os.path.join(user_home, "ctxrank", "config.yaml")))
    return os.environ.get("CTXRANK_TEAM") or str(user.get("team") or "")


def _refused(project: Mapping[str, object], path: str) -> Iterator[str]:
    from ctxrank.indexer.store.settings import SETTINGS  # noqa: PLC0415  start-up: few projects try

    for key in project:
        if key in SETTINGS and SETTINGS[key].is_users:
            yield f"{path}: '{key}' is refused: it is the user's to say, not a project's."


def _with_wide(config: Config, store: Store, value: object, name: str) -> Config:
    """The configuration of a user who names a cluster, and whether this store is searched there. Raises UsageError."""
    from ctxrank.indexer.store.wide_settings import wide_settings  # noqa: PLC0415  only a machine with a cluster

    wide = wide_settings(value, name, keeps_local=config.fts5)
    notes = list(config.notes)
    if wide is None and config.engine == OPENSEARCH:
        notes.append(
            "engine is opensearch, but no cluster is named: set CTXRANK_WIDE, or wide: in your own config.yaml."
        )
    store.wide = wide if config.engine == OPENSEARCH else None
    return config._replace(wide=wide, notes=tuple(notes))


def _with_team(config: Config, store: Store, dsn: str) -> Config:
    """The configuration of a machine that shares a log, if this store has joined it."""
    from ctxrank.indexer.store.team_log import read_state  # noqa: PLC0415  only a machine with a team needs it

    state = read_state(store.primary)
    store.team_log = dsn if state is not None else ""
    return config._replace(team_log=state)


def _blocked_secrets(store: Store) -> "tuple[BlockedSecret, ...]":
    if store.primary.execute("SELECT 1 FROM blocklist WHERE kind = 'secret' LIMIT 1").fetchone() is None:
        return ()
    from ctxrank.indexer.store.blocklist import blocked_secrets  # noqa: PLC0415  start-up: after a purge

    return blocked_secrets(store.primary)


def _with_blocked(config: Config, secrets: "tuple[BlockedSecret, ...]") -> Config:
    """The configuration whose redaction mode takes out what was purged, too: of rules that are off, that alone."""
    from ctxrank.indexer.redaction.user_rules import UserRules  # noqa: PLC0415  start-up: only with user rules

    mode = config.redaction_mode
    rules = UserRules() if mode.rules is None or mode.is_off else mode.rules
    return config._replace(redaction_mode=mode.with_rules(rules._replace(blocked=secrets)))


def _with_rules(config: Config, user: object, user_path: str, project: object, project_path: str) -> Config:
    """The configuration whose redaction mode carries the rules of both files. Raises UsageError."""
    from ctxrank.indexer.redaction.user_rules import UserRules, parse_user_rules  # noqa: PLC0415  start-up: rules only

    added = parse_user_rules(project, project_path, is_compiled=False)
    rules = parse_user_rules(user, user_path, is_compiled=False).with_project(added)
    if added.allowed_values or added.allowed_patterns:
        note = f"{project_path}: redaction.allow is ignored: a project cannot weaken the user's."
        config = config._replace(notes=(*config.notes, note))
    mode = config.redaction_mode
    return config if rules == UserRules() else config._replace(redaction_mode=mode.with_rules(rules))


def _covering(user: RedactionMode, project: RedactionMode) -> RedactionMode:
    """The mode that redacts whatever either of the two would: known forms and entropy are two things."""
    if user.is_off or project.is_off:
        return user if project.is_off else project
    return user if user == project else RedactionMode.BOTH


def _merged(config: Config, values: Mapping[str, object], source: str) -> Config:
    """The configuration with the values of one source over it."""
    if not values:
        return config
    from ctxrank.indexer.store.settings import SETTINGS  # noqa: PLC0415  start-up: few files set anything

    for key, value in values.items():
        setting = SETTINGS.get(key)
        if setting is None:
            note = f"{source}: '{key}' is not a setting and is ignored; settings are {', '.join(SETTINGS)}."
            config = config._replace(notes=(*config.notes, note))
        elif not setting.is_apart:
            field = setting.field or key
            given = setting.check(value, f"{source}: {key}")
            config = config._replace(
                **{field: setting.merge(getattr(config, field), given) if setting.merge else given}
            )
    return config


def _with_orchestrator(config: Config, document: object, source: str) -> Config:
    """The settings that the orchestrator's file holds under `context_engineering`."""
    section = document.get("context_engineering") if is_dict(document) else None
    if not is_dict(section):
        return config
    from ctxrank.indexer.store.settings import SETTINGS  # noqa: PLC0415  as above

    allowed = [key for key, setting in SETTINGS.items() if setting.is_orchestrators]
    values = {key: section[key] for key in allowed if key in section}
    return _merged(config, values, source)


def says_no_fts5(store: Store) -> bool:
    """Whether the orchestrator's file says `enable_fts5: false`: reported by `status`, not obeyed.

    It stems from the belief that FTS5 needs a special SQLite build.
    """
    path = os.path.join(store.location.root, SKILLS_CONFIG_PATH)
    document = _cached(store, path, store.location.root) or _imported(store.primary)
    section = document.get("context_engineering") if is_dict(document) else None
    return is_dict(section) and section.get("enable_fts5") is False


def _own_values(document: object) -> Mapping[str, object]:
    return {str(key): value for key, value in document.items()} if is_dict(document) else {}


def _environment() -> Mapping[str, object]:
    names = {
        "CTXRANK_FTS5": "fts5",
        "CTXRANK_ENGINE": "engine",
        "CTXRANK_REDACTION_MODE": "redaction_mode",
        "CTXRANK_TOKEN_SAFETY_MARGIN": "token_safety_margin",
    }
    return {key: os.environ[name] for name, key in names.items() if os.environ.get(name)}


def _imported(primary: apsw.Connection) -> object:
    row = primary.execute("SELECT value FROM settings WHERE key = ?", (IMPORTED_SKILLS_CONFIG,)).fetchone()
    return None if row is None else _parsed(row[0])


def _parsed(text: str) -> object:
    import json  # noqa: PLC0415  start-up: 1 ms that a store without configuration does not pay

    return json.loads(text)


def _cached(store: Store, path: str, within: str | None = None) -> object:
    """What a configuration file says, parsed at most once for each state of the file; None if there is none.

    A project's own file lies `within` the project. Raises UsageError.
    """
    try:
        info = os.stat(path)
    except OSError:
        return None
    row = store.primary.execute(
        "SELECT size_bytes, mtime_ns, value FROM config_cache WHERE path = ?", (path,)
    ).fetchone()
    if row is not None and (row[0], row[1]) == (info.st_size, info.st_mtime_ns):
        return _parsed(row[2])
    import json  # noqa: PLC0415  start-up: most calls parse no JSON

    from ctxrank.indexer.store.config_file import read_config_file  # noqa: PLC0415  start-up: loads the YAML parser

    value, sha256 = read_config_file(path, within=within)
    if path.endswith(".yaml"):
        from ctxrank.indexer.store.settings import check_apart  # noqa: PLC0415  as above

        check_apart(_own_values(value), path)
    if time.time_ns() - info.st_mtime_ns < _MTIME_RESOLUTION_NS:
        return value
    # The cache is a convenience: a read-only or a locked store answers without it, and no caller waits for it.
    wait_for_locks(store.primary, 0)
    try:
        with store.write() as change:
            change.connection.execute(
                "INSERT OR REPLACE INTO config_cache (path, size_bytes, mtime_ns, sha256, value)"
                " VALUES (?, ?, ?, ?, ?)",
                (path, info.st_size, info.st_mtime_ns, sha256, json.dumps(value)),
            )
    except CtxrankError:
        pass
    finally:
        wait_for_locks(store.primary, store.busy_ms)
    return value
