"""The agents there are, and how a name that was typed becomes one of them."""

from ctxrank.indexer.exceptions import UsageError

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


def normalise_agent(text: str) -> str:
    """`" QA_Expert "` → `"qa_expert"`. Raises UsageError, which names the agents."""
    agent = fold_agent(text)
    if agent not in AGENTS:
        raise UsageError(f"'{text.strip()}' is not an agent.", f"Agents are {', '.join(AGENTS)}.")
    return agent


def fold_agent(text: str) -> str:
    """An agent of ours in whichever spelling: `"PM"` → `"project_manager"`; any other name as it is, on one line."""
    folded = folded_name(text)
    agent = ALIASES.get(folded, folded)
    return agent if agent in AGENTS or not agent else " ".join(text.split())


def folded_name(text: str) -> str:
    """A name without the differences of case, space and hyphen."""
    return "_".join(text.strip().lower().replace("-", " ").replace("_", " ").split())
