"""The agents there are, a team's own roles and types of packages, and how a name that was typed becomes one of them.

    team = Team({"reviewer": Role("tech_lead", 4)})
    fold_agent(" Reviewer ", team)      "reviewer"
    team.like("reviewer")               "tech_lead"

A role is like one of the agents: it gets that agent's limits, shares and hand-overs, and what is designated for it.
"""

from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple

AGENTS = (
    "developer",
    "senior_software_engineer",
    "qa_expert",
    "tech_lead",
    "investigator",
    "requirements_engineer",
    "project_manager",
    "orchestrator",
)
ALIASES = {"pm": "project_manager"}
PACKAGE_TYPES = ("research", "failures", "decisions", "handoff", "investigation")
# Whose limits an agent gets that is neither of these nor a role of the configuration; and whom a package is for whose
# type is neither of these nor configured: the type that most agents read.
UNKNOWN_AGENT_LIKE = "developer"
UNKNOWN_TYPE_LIKE = "investigation"
# How the `agent_name` of an entry of reasoning begins that was kept without anybody having asked for it.
UNCONFIRMED = "unconfirmed"


class Role(NamedTuple):
    """A team's own role: the agent that it is like, and how many packages its block holds (None: as many as there)."""

    like: str
    limit: int | None = None


class PackageType(NamedTuple):
    """A team's own type of package: the type that it is like, and whom it is for (empty: those of that type)."""

    like: str
    consumers: tuple[str, ...] = ()


NO_ROLES: Mapping[str, Role] = {}
NO_TYPES: Mapping[str, PackageType] = {}


class Team(NamedTuple):
    """The roles and types of the configuration, by the names that it gives them."""

    roles: Mapping[str, Role] = NO_ROLES
    types: Mapping[str, PackageType] = NO_TYPES

    def like(self, agent: str) -> str:
        """The agent that a role is like; any other name is itself."""
        role = self.roles.get(agent)
        return agent if role is None else role.like

    def served_as(self, agent: str) -> str:
        """The agent whose limits and shares a name gets: an unknown one is served as a developer."""
        like = self.like(agent)
        return like if like in AGENTS else UNKNOWN_AGENT_LIKE

    def knows(self, agent: str) -> bool:
        """Whether a name is an agent's or a role's."""
        return agent in AGENTS or agent in self.roles

    def with_roles(self, agents: tuple[str, ...]) -> tuple[str, ...]:
        """These agents, and the roles that are like one of them."""
        return (*agents, *(name for name, role in self.roles.items() if role.like in agents and name not in agents))

    @property
    def agents(self) -> tuple[str, ...]:
        """All names that are known."""
        return (*AGENTS, *self.roles)

    @property
    def described(self) -> str:
        """The roles on one line, as a receipt keeps them; '' for none."""
        return ", ".join(f"{name} like {role.like}" for name, role in sorted(self.roles.items()))


NO_TEAM = Team()


def saved_type(text: str, team: Team = NO_TEAM) -> tuple[str, str, str]:
    """(type, the type that it is like, note) of a package that is saved; an unknown one is kept. Raises UsageError for
    none.
    """
    type_ = " ".join(text.lower().split())
    if type_ in PACKAGE_TYPES:
        return type_, type_, ""
    known = ", ".join((*PACKAGE_TYPES, *team.types))
    if not type_:
        raise UsageError("A package needs a type.", f"Types are {known}.")
    own = team.types.get(type_)
    if own is not None:
        return type_, own.like, ""
    note = (
        f"'{type_}' is kept as it is; it is no type that is known ({known}), and is read by those who read"
        f" {UNKNOWN_TYPE_LIKE}. 'types:' in the configuration says what it is like."
    )
    return type_, UNKNOWN_TYPE_LIKE, note


def saved_agent(text: str, team: Team = NO_TEAM) -> tuple[str, str]:
    """(agent, note) of a name that is saved; an unknown one is kept. Raises UsageError for none."""
    agent = fold_agent(text, team)
    if not agent:
        raise UsageError("An agent needs a name.", f"Agents are {', '.join(team.agents)}.")
    if team.knows(agent):
        return agent, ""
    return agent, (
        f"'{agent}' is kept as it is; it is no agent that is known ({', '.join(team.agents)}), and gets a developer's"
        " limits. 'roles:' in the configuration says what it is like."
    )


def fold_agent(text: str, team: Team = NO_TEAM) -> str:
    """An agent of ours in whichever spelling: `"PM"` → `"project_manager"`; any other name as it is, on one line."""
    folded = folded_name(text)
    agent = ALIASES.get(folded, folded)
    if agent in AGENTS or not agent:
        return agent
    return next((name for name in team.roles if folded_name(name) == folded), " ".join(text.split()))


def folded_name(text: str) -> str:
    """A name without the differences of case, space and hyphen."""
    return "_".join(text.strip().lower().replace("-", " ").replace("_", " ").split())
