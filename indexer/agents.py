"""The agents there are, and how a name that was typed becomes one of them."""

from ctxrank.indexer.errors import UsageError

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


def normalise_agent(text: str) -> str:
    """`" QA_Expert "` → `"qa_expert"`. Raises UsageError, which names the agents."""
    agent = fold_agent(text)
    if agent not in AGENTS:
        raise UsageError(f"'{text.strip()}' is not an agent.", f"Agents are {', '.join(AGENTS)}.")
    return agent


def fold_agent(text: str) -> str:
    """A name without the differences of case, space and hyphen; it may still be unknown."""
    return "_".join(text.strip().lower().replace("-", " ").replace("_", " ").split())
