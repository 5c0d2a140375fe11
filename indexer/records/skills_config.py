"""Which skills an agent must, may and must not invoke: the skills configuration.

    with store.write() as change:
        seed_skills(change, {"developer": {"lint-check": "mandatory", "security-scan": "optional"}})
    skill_levels(store.primary, "developer").mandatory        ("lint-check",)

The file is an orchestrator's `skills_config.json`, or the same as YAML: one object for each agent or role of the team,
and other settings as well. A role without an object of its own has the skills of the agent that it is like. A session
takes a copy when it is made, so a later seed does not change what its agents were given; one from before any seed
follows the store's, or else what an import brought along.
"""

import apsw

from ctxrank.indexer.agents import AGENTS, ALIASES, NO_TEAM, Team, fold_agent, folded_name
from ctxrank.indexer.exceptions import UsageError, require_word
from ctxrank.indexer.light_typing import NamedTuple, is_dict, object_of
from ctxrank.indexer.records.sessions import Session
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.store.config import SKILLS_CONFIG_PATH as SKILLS_CONFIG_PATH  # for those who seed from it
from ctxrank.indexer.store.connection import put_setting, read_setting, read_value
from ctxrank.indexer.store.store import Change

SKILLS_CONFIG = "skills_config"
LEVELS = ("mandatory", "optional", "disabled")
TESTING_MODES = ("full", "minimal", "disabled")
# What else the orchestrator's file holds; a name that begins with an underscore is a remark.
_NO_AGENTS = ("specializations", "dashboard", "context_engineering")
_TEST_SKILLS = ("test-coverage", "test-pattern-analysis")
# Set while the store's configuration is the one of SKILLS_CONFIG_PATH, taken over in passing.
_IS_FROM_PROJECT = "skills_config_is_from_project"


class SkillLevels(NamedTuple):
    """The skills of one agent by level, each in the order of the file."""

    mandatory: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The skills of each level that has any, as a receipt keeps them; 'none' for none."""
        named = [f"{level} {', '.join(skills)}" for level, skills in zip(LEVELS, self, strict=True) if skills]
        return ", ".join(named) or "none"


class SeededSkills(NamedTuple):
    """What seeding stored: the agents, how many skills they have together, and notes for a person."""

    agents: tuple[str, ...]
    skills: int
    notes: tuple[str, ...]


def skill_levels(
    primary: apsw.Connection,
    agent: str,
    *,
    team: Team = NO_TEAM,
    session: Session | None = None,
    testing_mode: str = "full",
) -> SkillLevels:
    """The skills of an agent or role, in this session or as the store has them; none where nothing is configured.

    In the testing modes minimal and disabled test-coverage and test-pattern-analysis are mandatory for none.
    Raises UsageError for an unknown testing mode.
    """
    mode = require_word(testing_mode.strip().lower(), TESTING_MODES, "a testing mode", "Modes", testing_mode)
    name, agents = fold_agent(agent, team), _agents(_in_force(primary, session), team)
    skills = agents[name] if name in agents else agents.get(team.like(name), {})
    excused = () if mode == "full" else _TEST_SKILLS
    mandatory, optional, disabled = (
        tuple(skill for skill, its_level in skills.items() if its_level == level) for level in LEVELS
    )
    return SkillLevels(tuple(skill for skill in mandatory if skill not in excused), optional, disabled)


def has_skills_config(primary: apsw.Connection, session: Session | None) -> bool:
    """Whether there is a skills configuration; it may still name no skill."""
    return _in_force(primary, session) is not None


def configured_skills(
    primary: apsw.Connection, *, team: Team = NO_TEAM, session: Session | None = None
) -> tuple[str, ...]:
    """The skills that any agent has, by name."""
    levels = _agents(_in_force(primary, session), team).values()
    return tuple(sorted({skill for skills in levels for skill in skills}))


def seed_skills(change: Change, value: object, *, team: Team = NO_TEAM, session_id: int | None = None) -> SeededSkills:
    """Store a configuration, for sessions still to come or for one that is there, in the caller's transaction.

    Raises UsageError before anything is written: the value is not an object, or a level is none of the three.
    """
    seeded, text = _checked(value, team)
    if session_id is None:
        put_setting(change.connection, SKILLS_CONFIG, text)
        put_setting(change.connection, _IS_FROM_PROJECT, "")
    else:
        change.connection.execute("UPDATE sessions SET skills_config = ? WHERE id = ?", (text, session_id))
    return seeded


def seed_from_project(change: Change, value: object, team: Team = NO_TEAM) -> SeededSkills | None:
    """Take over what the project's own file says, unless the store was seeded by hand or the file names no agent.

    Called whenever a session is made, so a new one has the file as it is now. Raises UsageError as `seed_skills`.
    """
    is_seeded, is_from_project = (read_setting(change.connection, key) for key in (SKILLS_CONFIG, _IS_FROM_PROJECT))
    if (is_seeded and not is_from_project) or not _merged(value, team):
        return None
    seeded = seed_skills(change, value, team=team)
    put_setting(change.connection, _IS_FROM_PROJECT, "true")
    return seeded


def _in_force(primary: apsw.Connection, session: Session | None) -> object:
    """The configuration that holds for a session, or for the store; None if there is none."""
    query = """
        SELECT coalesce((SELECT skills_config FROM sessions WHERE id = ?),
                        (SELECT value FROM settings WHERE key = ?),
                        (SELECT value FROM settings WHERE key = ?))
    """
    values = (None if session is None else session.id, SKILLS_CONFIG, IMPORTED_SKILLS_CONFIG)
    text = read_value(primary, query, values, str)
    if text is None:
        return None
    import json  # noqa: PLC0415  start-up: a millisecond that a store without configuration does not pay

    return json.loads(text)


def _agents(value: object, team: Team) -> dict[str, dict[str, str]]:
    """Agent or role → skill → level, as read from an unchecked value."""
    agents: dict[str, dict[str, str]] = {}
    for agent, skills in _merged(value, team).items():
        levels = {name.strip(): str(level).strip().lower() for name, level in object_of(skills).items()}
        agents[agent] = {name: level for name, level in levels.items() if name and level in LEVELS}
    return agents


def _merged(value: object, team: Team) -> dict[str, object]:
    """The parts that are an agent's or a role's, by its own name; of two names `pm` wins, which orchestrators write."""
    parts = {folded_name(key): part for key, part in object_of(value).items()}
    agents = {key: part for key, part in parts.items() if key in AGENTS}
    agents |= {role: parts[folded_name(role)] for role in team.roles if folded_name(role) in parts}
    for alias, agent in ALIASES.items():
        if alias not in parts:
            continue
        short, long = parts[alias], agents.get(agent)
        agents[agent] = {**long, **short} if is_dict(short) and is_dict(long) else short
    return agents


def _checked(value: object, team: Team) -> tuple[SeededSkills, str]:
    """What a value seeds, and its normalised JSON. Raises UsageError, which names agent, skill and levels."""
    import json  # noqa: PLC0415  start-up: most calls parse no JSON

    from ctxrank.indexer.records.skill_outputs import skill_name  # noqa: PLC0415  start-up: writing only
    from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  start-up: writing only

    if not is_dict(value):
        raise UsageError(
            "A skills configuration is an object.", 'Write {"developer": {"lint-check": "mandatory"}}, or that as YAML.'
        )
    keys = {folded_name(key): key for key in object_of(value)}
    known = {*AGENTS, *ALIASES, *_NO_AGENTS, *map(folded_name, team.roles)}
    notes = [
        f"'{shown}' is not an agent and is ignored; agents are {', '.join(team.agents)}."
        for key, shown in keys.items()
        if key not in known and not shown.startswith("_")
    ]
    notes += [
        f"'{keys[alias]}' and '{keys[agent]}' are one agent: their skills are taken together, '{keys[alias]}' first."
        for alias, agent in ALIASES.items()
        if alias in keys and agent in keys
    ]
    agents: dict[str, dict[str, str]] = {}
    for agent, skills in _merged(value, team).items():
        if not is_dict(skills):
            raise UsageError(f"The skills of {agent} are not an object.", f"Give each a level: {', '.join(LEVELS)}.")
        levels: dict[str, str] = {}
        for name, level in object_of(skills).items():
            folded = level.strip().lower() if isinstance(level, str) else ""
            skill = redact(skill_name(name)).text
            if folded not in LEVELS:
                raise UsageError(
                    f"The level of {agent}'s skill {skill} is {level!a}.", f"Levels are {', '.join(LEVELS)}."
                )
            levels[skill] = folded
        agents[agent] = levels
    if not any(agents.values()):
        notes.append("It names no agent's skills: nothing is mandatory and nothing optional.")
    seeded = SeededSkills(tuple(agents), sum(map(len, agents.values())), tuple(notes))
    return seeded, json.dumps(agents, ensure_ascii=False)
