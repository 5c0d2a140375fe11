"""Settings: environment > project file > orchestrator's file > user file > defaults.

    .ctxrank/config.yaml                 the project's
    SKILLS_CONFIG_PATH                   the orchestrator's, read as it is; or the one an import brought along
    $XDG_CONFIG_HOME/ctxrank/config.yaml the user's

What a file says is cached in the store by size, mtime and hash, so that a query parses nothing.
"""

import os
import time
from collections.abc import Mapping

from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple, is_dict, object_of
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_setting, read_value

if TYPE_CHECKING:
    from ctxrank.indexer.agents import PackageType, Role, Team
    from ctxrank.indexer.store.store import Store
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
UNSET: Mapping[str, Any] = {}
FTS5, OPENSEARCH = "fts5", "opensearch"
_VARIABLES = {
    "CTXRANK_FTS5": "fts5",
    "CTXRANK_ENGINE": "engine",
    "CTXRANK_REDACTION_MODE": "redaction_mode",
    "CTXRANK_TOKEN_SAFETY_MARGIN": "token_safety_margin",
}
# A file that was written less than this ago may change again without a change of its mtime.
_MTIME_RESOLUTION_NS = 2 * 10**9


class Config(NamedTuple):
    """What a call runs with; `notes` are for stderr.

    `ttl_us` is how long a kind is kept before `prune --expired` takes it; what is not in it is kept for ever. A
    negative number counts iterations of its group instead.
    """

    fts5: bool = True
    redaction_mode: RedactionMode = RedactionMode.PATTERN_ONLY
    token_safety_margin: float = DEFAULT_SAFETY_MARGIN
    retrieval_limits: Mapping[str, int] = RETRIEVAL_LIMITS
    enable_context_assembler: bool = True
    ttl_us: Mapping[str, int] = UNSET
    ranking: Mapping[str, float] = UNSET  # empty: as it was measured to be best
    hooks: Mapping[str, Any] = UNSET  # as hook_settings.py checked them
    roles: "Mapping[str, Role]" = UNSET
    types: "Mapping[str, PackageType]" = UNSET
    block_files: bool = True  # whether blocks show indexed files that are no package's
    block_extras: bool = True  # whether `context-block` has strategies, passages and earlier sessions, too
    context_limits: Mapping[str, int] = UNSET  # tokens by a model's name in lower case, where they are not as known
    team_dsn: str = ""  # how the user says that the log of a team is connected to; a project is not asked
    team_log: "TeamState | None" = None  # how far the store is with the log of its team; None: it has none
    engine: str = FTS5  # which index answers
    wide: "WideSettings | None" = None  # where a cluster is; None: the user names none
    notes: tuple[str, ...] = ()

    @property
    def asked_cluster(self) -> "WideSettings | None":
        """The cluster that searches ask instead of the index."""
        return self.wide if self.engine == OPENSEARCH else None

    @property
    def has_index(self) -> bool:
        """Whether an index is asked at all: FTS5 may be switched off, which leaves a cluster to answer."""
        return self.fts5 or self.asked_cluster is not None

    @property
    def team(self) -> "Team":
        """The team's own words, for what knows agents and types: a search does not load them."""
        from ctxrank.indexer.agents import Team  # noqa: PLC0415  start-up: see above

        return Team(self.roles, self.types)


def load_config(store: "Store") -> Config:
    """The settings for this store as they are now, which `Store.config` gives again. Raises UsageError: file, key."""
    user_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    user_path = os.path.join(user_home, "ctxrank", "config.yaml")
    project_path = os.path.join(store.location.folder, "config.yaml")
    user = object_of(_cached(store, user_path))
    config = _merged(Config(), user, user_path)
    user_mode = config.redaction_mode
    skills_path = os.path.join(store.location.root, SKILLS_CONFIG_PATH)
    config = _merged(config, _orchestrators(store, skills_path), skills_path, "is_orchestrators")
    project = object_of(_cached(store, project_path, store.location.folder))
    config = _merged(config, project, project_path, "is_projects")
    covering = _covering(user_mode, config.redaction_mode)
    if covering != config.redaction_mode:
        note = f"redaction_mode stays '{covering.value}': a project cannot weaken the user's."
        config = config._replace(redaction_mode=covering, notes=(*config.notes, note))
    environment = {key: os.environ[name] for name, key in _VARIABLES.items() if os.environ.get(name)}
    config = _merged(config, environment, "the environment")
    if "types" in user or "types" in project:
        from ctxrank.indexer.store.team import check_consumers  # noqa: PLC0415  start-up: few teams have types

        check_consumers(config.team)
    if "redaction" in user or "redaction" in project:
        config = _with_rules(config, user.get("redaction"), user_path, project.get("redaction"), project_path)
    if config.redaction_mode.rules is not None:
        from ctxrank.indexer.store.rules_since import note_rules  # noqa: PLC0415  start-up: only with user rules

        note_rules(store, config.redaction_mode.rules)
    if store.primary.execute("SELECT 1 FROM blocklist WHERE kind = 'secret' LIMIT 1").fetchone() is not None:
        from ctxrank.indexer.redaction.user_rules import UserRules  # noqa: PLC0415  start-up: only with user rules
        from ctxrank.indexer.store.blocklist import blocked_secrets  # noqa: PLC0415  start-up: after a purge

        mode = config.redaction_mode  # takes out what was purged, too: of rules that are off, that alone
        rules = UserRules() if mode.rules is None or mode.is_off else mode.rules
        rules = rules._replace(blocked=blocked_secrets(store.primary))
        config = config._replace(redaction_mode=mode.with_rules(rules))
    if config.engine == OPENSEARCH or "wide" in user or "CTXRANK_WIDE" in os.environ:
        from ctxrank.indexer.store.wide_settings import wide_settings  # noqa: PLC0415  only a machine with a cluster

        wide = wide_settings(user.get("wide"), f"{user_path}: wide", keeps_local=config.fts5)
        config = config._replace(wide=wide)
        if wide is None and config.engine == OPENSEARCH:
            note = "engine is opensearch, but no cluster is named: set CTXRANK_WIDE, or wide: in your own config.yaml."
            config = config._replace(notes=(*config.notes, note))
    dsn = os.environ.get("CTXRANK_TEAM") or str(user.get("team") or "")
    if dsn:
        from ctxrank.indexer.store.team_log import read_state  # noqa: PLC0415  only a machine with a team needs it

        config = config._replace(team_dsn=dsn, team_log=read_state(store.primary))
    store.last_config = config
    return config


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


def _merged(config: Config, values: Mapping[str, object], source: str, of: str = "") -> Config:
    """The configuration with the values of one source over it; `of` says whose it is, but for the user's own."""
    if not values:
        return config
    from ctxrank.indexer.store.settings import SETTINGS  # noqa: PLC0415  start-up: few files set anything

    for key, value in values.items():
        setting = SETTINGS.get(key)
        note = ""
        if of == "is_orchestrators" and not (setting and setting.is_orchestrators):
            continue
        if setting is None:
            note = f"{source}: '{key}' is not a setting and is ignored; settings are {', '.join(SETTINGS)}."
        elif setting.is_users and of == "is_projects":
            note = f"{source}: '{key}' is refused: it is the user's to say, not a project's."
        elif not setting.is_apart:
            field = setting.field or key
            given = setting.check(value, f"{source}: {key}")
            merged = setting.merge(getattr(config, field), given) if setting.merge else given
            config = config._replace(**{field: merged})
        if note:
            config = config._replace(notes=(*config.notes, note))
    return config


def _orchestrators(store: "Store", path: str) -> Mapping[str, object]:
    """What the orchestrator's file holds under `context_engineering`: the one below the root, or an imported one."""
    document = _cached(store, path, store.location.root)
    if not document:
        text = read_setting(store.primary, IMPORTED_SKILLS_CONFIG)
        document = None if text is None else _parsed(text)
    return object_of(document.get("context_engineering")) if is_dict(document) else {}


def says_no_fts5(store: "Store") -> bool:
    """Whether the orchestrator's file says `enable_fts5: false`: reported by `status`, not obeyed.

    It stems from the belief that FTS5 needs a special SQLite build.
    """
    path = os.path.join(store.location.root, SKILLS_CONFIG_PATH)
    return _orchestrators(store, path).get("enable_fts5") is False


def _parsed(text: str) -> object:
    from ctxrank.indexer.text.light_json import loads  # noqa: PLC0415  start-up: most stores have no configuration

    return loads(text)


def _cached(store: "Store", path: str, within: str | None = None) -> object:
    """What a configuration file says, parsed at most once for each state of the file; None if there is none.

    A project's own file lies `within` the project. Raises UsageError.
    """
    try:
        info = os.stat(path)
    except OSError:
        return None
    query = "SELECT value FROM config_cache WHERE path = ? AND (size_bytes, mtime_ns) = (?, ?)"
    kept = read_value(store.primary, query, (path, info.st_size, info.st_mtime_ns), str)
    if kept is not None:
        return _parsed(kept)
    from ctxrank.indexer.store.config_file import read_config_file  # noqa: PLC0415  start-up: loads the YAML parser
    from ctxrank.indexer.text.light_json import dumps  # noqa: PLC0415  as above

    value, sha256 = read_config_file(path, within=within)
    if path.endswith(".yaml"):
        from ctxrank.indexer.store.settings import check_apart  # noqa: PLC0415  as above

        check_apart(object_of(value), path)
    if time.time_ns() - info.st_mtime_ns < _MTIME_RESOLUTION_NS:
        return value
    # The cache is a convenience: a read-only or a locked store answers without it, and no caller waits for it.
    query = "INSERT OR REPLACE INTO config_cache (path, size_bytes, mtime_ns, sha256, value) VALUES (?, ?, ?, ?, ?)"
    store.write_if_free(query, (path, info.st_size, info.st_mtime_ns, sha256, dumps(value)))
    return value
