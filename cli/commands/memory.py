"""`ctxrank reasoning` and `strategy`: what agents thought, and what worked."""

from ctxrank.cli.commands.kinds import HANDOFFS, REASONING, STRATEGIES, TIMELINE
from ctxrank.cli.commands.options import (
    CREATE_SESSION,
    DURABLE,
    OWNING_GROUP,
    OWNING_SESSION,
    SESSION,
)
from ctxrank.cli.declare import FOUND, Command, Group, Path, Whole, argument, by_name, option, page

_SAVED_FIELDS = {
    "id": "row", "name": "string", "project": "string", "topic": "string", "helpfulness": "integer",
    "new": "boolean",
}  # fmt: skip
_FOR_LANG = option("--lang", help="Only for this language [default: all].")
_FOR_FRAMEWORK = option("--framework", help="Only for this framework [default: all].")

_REASONING_SAVE = Command(
    "save",
    "ctxrank.cli.actions.reasoning:save",
    """Save what an agent thought in one phase; '-' reads TEXT from stdin.

    TEXT is stored in full, without its secrets. After '--' it may begin with a dash.

    Example: ctxrank reasoning save --session S --group AUTH --agent developer --phase completion
    "Tokens refresh once: a lock guards the call"
    """,
    (
        argument("text", required=False),
        OWNING_SESSION,
        OWNING_GROUP,
        option("--agent", required=True, help="The agent that thought it."),
        option(
            "--phase", required=True, help="understanding, approach, decisions, risks, blockers, pivot or completion."
        ),
        option("--content", metavar="TEXT", help="The text, instead of the argument."),
        option("--content-file", type=Path(), metavar="FILE", help="Read the text from a file; '-' is stdin."),
        option("--confidence", help="high, medium or low."),
        option("--reference", "references", multiple=True, help="A file, task or link that it refers to."),
        option("--iteration", type=Whole(0), default=0, show_default=True, help="Number of the attempt."),
        option("--agent-name", default="", help="Which of several agents of one kind."),
        CREATE_SESSION,
        DURABLE,
    ),
    answer={
        "id": "row",
        "session_id": "string",
        "group_id": "string?",
        "agent": "string",
        "phase": "string",
        "created_at": "time",
        "redacted": "boolean",
        "notes": ["string"],
    },
)
_REASONING_CHECK = Command(
    "check",
    "ctxrank.cli.actions.reasoning:check",
    """Say whether an agent has saved the mandatory phases.

    The exit code is 0 if understanding and completion are there, else 1.

    Example: ctxrank reasoning check --session S --group AUTH --agent developer
    """,
    (
        SESSION,
        option("--group", help="In this group, exactly; none means in any."),
        option("--agent", required=True, help="Whose reasoning."),
    ),
    answer={"complete": "boolean", "missing": ["string"], "documented": ["string"], "all_documented": ["string"]},
    exits={0: "the mandatory phases are there", 1: "one is missing"},
)
_REASONING = Group(
    "reasoning",
    "Reasoning: what an agent thought, phase by phase, kept for the next agent.",
    (_REASONING_SAVE, REASONING, TIMELINE, _REASONING_CHECK, HANDOFFS),
)
_STRATEGY_SAVE = Command(
    "save",
    "ctxrank.cli.actions.strategies:save",
    """Save what worked; '-' reads TEXT from stdin. One that is known is counted as helpful once more.

    Example: ctxrank strategy save --project shop --topic methodology "Write the failing test first"
    """,
    (
        argument("text", required=False),
        option("--insight", metavar="TEXT", help="The text, instead of the argument."),
        option("--project", help="The project it worked in [default: the store's]."),
        option("--topic", required=True, help="implementation, architecture, methodology or general."),
        _FOR_LANG,
        _FOR_FRAMEWORK,
        DURABLE,
    ),
    answer=_SAVED_FIELDS,
)
_STRATEGY_HELPFUL = Command(
    "helpful",
    "ctxrank.cli.actions.strategies:helpful",
    """Count a strategy as helpful once more, by its id (strategy:3, 3) or its name; never below 0.

    Example: ctxrank strategy helpful strategy:3
    """,
    (
        argument("ref", metavar="ID"),
        option("--by", "increment", type=Whole(), default=1, show_default=True, help="How much; below 0 takes back."),
    ),
    answer={"name": "string", "before": "integer", "after": "integer"},
)
_STRATEGY_EXTRACT = Command(
    "extract",
    "ctxrank.cli.actions.strategies:extract",
    """Create strategies from what the authors of a session or group said at its completion.

    Of each group the newest completion of an agent that does not judge others' work is used; earlier tries, plans and
    verdicts are not. Each completion counts as one success, however often this is called.

    Example: ctxrank strategy extract --session S --group AUTH --lang python
    """,
    (
        option("--session", required=True, help="The session whose work succeeded."),
        option("--group", help="Only from this group, exactly; none means all."),
        option("--project", help="Project of the strategies [default: the session's, else the store's]."),
        _FOR_LANG,
        _FOR_FRAMEWORK,
    ),
    answer={"session_id": "string", "group_id": "string?", "extracted": "integer", **page("strategies", _SAVED_FIELDS)},
    exits=FOUND,
)
_STRATEGY = Group(
    "strategy",
    "Strategies: what worked in a project, the most helpful first.",
    (_STRATEGY_SAVE, STRATEGIES, _STRATEGY_HELPFUL, _STRATEGY_EXTRACT),
)

COMMANDS = by_name(_REASONING, _STRATEGY)
