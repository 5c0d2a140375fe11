"""How up to date the team's memory is here, as a person and a program are told."""

from ctxrank.indexer.clock import format_us
from ctxrank.indexer.store.team_log import TeamState


def as_json(state: TeamState) -> dict[str, object]:
    """The fields of an answer."""
    return {
        "project": state.project, "as_of": format_us(state.asked_at) if state.asked_at else None,
        "change": state.applied, "behind": state.behind, "trouble": state.trouble or None,
    }  # fmt: skip


def sentence(state: TeamState) -> str:
    """The same in words: as of which time, and how many changes are known not to be here."""
    if not state.asked_at:
        return "team memory: nothing yet"
    # To the minute: a note is read by a person, who looks at the clock on the wall.
    moment = format_us(state.asked_at - state.asked_at % 60_000_000).replace("T", " ")[:16]
    return f"team memory as of {moment} UTC, {state.behind} changes behind"
