"""`ctxrank skill`: what skills reported, which ones an agent must invoke, and whether it did."""

from ctxrank.cli.commands.kinds import OUTPUT_FIELDS, SKILLS
from ctxrank.cli.commands.options import CREATE_SESSION, DURABLE, OWNING_GROUP, OWNING_SESSION
from ctxrank.cli.declare import FOUND, AnyOf, Command, Group, Path, Whole, argument, by_name, option, page

_TESTING_MODE_HELP = "full, minimal or disabled: the last two exempt test-coverage and test-pattern-analysis."
_SAVE_OUTPUT = Command(
    "save-output",
    "ctxrank.cli.actions.skill_outputs:save_output",
    """Save what SKILL reported, any JSON value; without JSON, or with -, it is read from stdin.

    Example: ctxrank skill save-output lint-check '{"errors": 0}' --session S --agent developer
    """,
    (
        argument("skill"),
        argument("output", metavar="[JSON|-]", required=False),
        OWNING_SESSION,
        option("--agent", default="", help="The agent that invoked the skill."),
        OWNING_GROUP,
        CREATE_SESSION,
        DURABLE,
    ),
    answer={"id": "row", "session_id": "string", "skill": "string", "iteration": "integer", "redacted": "boolean"},
)
_LATEST = Command(
    "latest",
    "ctxrank.cli.actions.skill_outputs:latest",
    """Print the JSON value that SKILL reported last; exit code 1 if there is none.

    Example: ctxrank skill latest lint-check --session S
    """,
    (
        argument("skill"),
        option("--session", required=True, help="The session to look in."),
        option("--agent", help="Only what this agent reported."),
        option("--group", help="Only of this group."),
    ),
    answer=AnyOf(OUTPUT_FIELDS, {"output": (None,)}),
    exits=FOUND,
)
_SEED = Command(
    "seed",
    "ctxrank.cli.actions.skills:seed",
    """Import the skills configuration of FILE, JSON or YAML [default: bazinga/skills_config.json].

    It is valid until the next seed. If there is none, 'ctxrank session create' takes the default file as it is.

    Example: ctxrank skill seed bazinga/skills_config.json
    """,
    (
        argument("file", type=Path(), required=False),
        option("--session", help="Only for this session [default: for every session made from now on]."),
    ),
    answer={"file": "string", "session_id": "string?", "agents": ["string"], "skills": "integer", "notes": ["string"]},
)
_CHECKLIST = Command(
    "checklist",
    "ctxrank.cli.actions.skills:checklist",
    """Print the skills that an agent must and may invoke, as the section of its block.

    Example: ctxrank skill checklist --agent developer --session S
    """,
    (
        option("--agent", required=True, help="Who is to invoke them."),
        option("--session", help="The session it works in [default: the store's configuration]."),
        option("--testing-mode", default="full", show_default=True, help=_TESTING_MODE_HELP),
    ),
    answer={
        "agent": "string",
        "mandatory": ["string"],
        "optional": ["string"],
        "disabled": ["string"],
        "text": "string",
    },
    exits=FOUND,
)
_EVIDENCE = Command(
    "evidence",
    "ctxrank.cli.actions.skills:evidence",
    """Say which mandatory skills an agent has an output of: a warning where one is missing, never a failure.

    Example: ctxrank skill evidence --session S --agent developer --group AUTH --since 30m
    """,
    (
        option("--session", required=True, help="The session to look in."),
        option(
            "--agent",
            required=True,
            help="The agent whose mandatory skills are looked for in its outputs, and in those of no agent.",
        ),
        option("--group", help="Only of this group, and of the whole session."),
        option("--since", default="30m", metavar="WHEN", show_default=True, help="An age (30m), a date or a time."),
        option("--iteration", type=Whole(1), help="Only outputs of this iteration."),
        option("--testing-mode", default="full", show_default=True, help=_TESTING_MODE_HELP),
        option("--skill", "skills", multiple=True, help="Check this one instead of the mandatory ones."),
    ),
    answer={
        "agent": "string",
        "complete": "boolean",
        "missing": ["string"],
        "found": ["string"],
        "mandatory": ["string"],
        "recency_window_minutes": "number",
        "note?": "string",
    },
    exits={0: "said, also where a skill has no output"},
)
_SUGGEST = Command(
    "suggest",
    "ctxrank.cli.actions.skills:suggest",
    """Name the optional skills of an agent that fit a TASK; - reads it from stdin.

    Example: ctxrank skill suggest --agent developer add a users endpoint
    """,
    (
        argument("task", nargs=-1, required=True),
        option("--agent", required=True, help="Who is to invoke them."),
        option("--session", help="The session it works in [default: the store's configuration]."),
    ),
    answer={"agent": "string", **page("suggestions", {"skill": "string", "reason": "string"})},
    exits=FOUND,
)
_SKILL = Group(
    "skill",
    "Skills: their outputs, and which of them an agent must, may and should invoke.",
    (_SAVE_OUTPUT, _LATEST, SKILLS, _SEED, _CHECKLIST, _EVIDENCE, _SUGGEST),
)

COMMANDS = by_name(_SKILL)
