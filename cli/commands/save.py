"""`ctxrank save`: a finding in one step."""

from ctxrank.cli.commands.options import DURABLE, OWNING_GROUP
from ctxrank.cli.declare import Command, Path, argument, by_name, option

SAVED_PACKAGE = {
    "id": "row",
    "file_path": "string",
    "version": "integer",
    "supersedes": "row?",
    "consumers": ["string"],
    "passages": "integer",
    "notes": ["string"],
}

_SAVE = Command(
    "save",
    "ctxrank.cli.actions.save:save",
    """Save a finding: a FILE, a sentence in quotes, or what is piped in.

    What is not said is guessed, and printed: the type by its words, the summary by the first sentence. The session is
    the newest one that is active and began today, else one with today's date. 'ctxrank package save' guesses nothing.

    Example: ctxrank save "The WAL switch ignores the busy timeout"
    """,
    (
        argument("finding", type=Path(), metavar="[FILE|TEXT|-]", required=False),
        option("--session", help="The session it belongs to; made if it is not there."),
        OWNING_GROUP,
        option("--agent", default="developer", show_default=True, help="The agent that found it."),
        option("--type", "type_", help="research, failures, decisions, handoff, investigation, or your own."),
        option("--summary", help="One line that says what is in it."),
        option("--priority", default="medium", show_default=True, help="low, medium, high or critical."),
        DURABLE,
    ),
    answer={**SAVED_PACKAGE, "session_id": "string", "group_id": "string?", "type": "string", "summary": "string"},
)

COMMANDS = by_name(_SAVE)
