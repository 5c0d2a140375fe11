"""`ctxrank error`: is this failure known, and what fixed it?"""

from ctxrank.cli.commands.kinds import ERROR_SHOW, ERROR_STATE, ERRORS
from ctxrank.cli.commands.options import DURABLE
from ctxrank.cli.declare import Command, Group, NoJson, Nullable, Path, Whole, argument, by_name, option

_JUDGEMENT = {"id": "id:error", "grade": "string", "confidence": "number:4", "state": ERROR_STATE}
_EVIDENCE = {
    "why": ["string"], "recognition": "number:4", "confirmations": "integer", "refutations": "integer",
    "masked": ["string"], "differences": ["string"],
}  # fmt: skip
_MATCH_FIELDS = {**_JUDGEMENT, **_EVIDENCE}
_FIX_FIELDS = {
    **_JUDGEMENT,
    "solution": "string",
    "occurrences": "integer",
    "error": "string",
    "lang": "string?",
    "last_seen": "time",
    **_EVIDENCE,
}
_UNIT_FIELDS = {
    "line": "integer", "text": "string", "message": "string", "type": "string?", "codes": ["string"],
    "family": "string", "tool": "string?", "why": "string", "masked": "string", "values": ["string"],
    "place": "string?",
}  # fmt: skip
_SIGNATURE_FIELDS = {
    "text": "string", "type": "string?", "codes": ["string"], "masked": "string", "values": ["string"],
    "family": "string", "language": "string?", "place": "string?", "template": "string", "instance": "string",
}  # fmt: skip
_OUTCOME_FIELDS = {
    "id": "id:error", "before": ERROR_STATE, "state": ERROR_STATE, "confirmations": "integer", "refutations": "integer",
    "confidence": "number:4",
}  # fmt: skip

_FAILURE_GROUP = option("--group", help="And for this task group; none, - or 'global' means the whole session.")
_CREATE_SESSION = option("--create-session", is_flag=True, help="Make the session if it is not there.")
_WHOSE = option("--project", help="Project of the known errors [default: the session's, else the store's].")
_LANG = option("--lang", help="Leave out the known errors of other languages.")
_TYPE = option("--type", "error_type", help="The error's type, with --message.")
_MESSAGE = option("--message", help="The error's message, instead of its output.")

_MATCH = Command(
    "match",
    "ctxrank.cli.actions.errors.match:match",
    """Say whether a failure is known and what fixed it; silent, with exit code 1, if it is not.

    Reads a command's output from FILE or stdin. With --session the failure is recorded, as the last one of its
    group and as one more sighting of what it is.

    Example: ctxrank error match output.log --session S --group AUTH
    """,
    (
        argument("file", type=Path(), metavar="[FILE]", required=False),
        _TYPE,
        _MESSAGE,
        option("--session", help="Record the failure for this session."),
        _FAILURE_GROUP,
        _CREATE_SESSION,
        _WHOSE,
        _LANG,
        option("-n", "--limit", type=Whole(1, 12), default=3, show_default=True, help="How many."),
        option(
            "--units", "with_units", is_flag=True, help="With --json: also the errors that the output was cut into."
        ),
    ),
    answer={
        "signature": Nullable(_SIGNATURE_FIELDS),
        "total": "integer",
        "has_more": "boolean",
        "matches": [_FIX_FIELDS],
        "reason": "string",
        "errors": "integer",
        "unsure": [_MATCH_FIELDS],
        "elsewhere": [{"project": "string", **_MATCH_FIELDS}],
        "seen_before": Nullable({"times": "integer", "last_seen": "time", "unsolved": "integer"}),
        "output?": "string",
        "units?": [_UNIT_FIELDS],
    },
    exits={0: "the failure is known", 1: "it is not known"},
)
_SAVE = Command(
    "save",
    "ctxrank.cli.actions.errors.known:save",
    """Save what fixed a failure, whose output is read from FILE or stdin; a known one is counted.

    Of two solutions the longer stays, a confirmed one stays, and a refuted one goes.

    Example: ctxrank error save output.log --solution "pip install pyyaml" --lang python
    """,
    (
        argument("file", type=Path(), metavar="[FILE]", required=False),
        option("--solution", required=True, help="What fixed it."),
        _TYPE,
        _MESSAGE,
        option("--hint", "hints", multiple=True, help="Where it happens: a tool, a folder, a version."),
        option("--session", help="The session whose project it belongs to."),
        option("--project", help="The project [default: the session's, else the store's]."),
        option("--lang", help="The language [default: the one that the output shows]."),
        option("--replace", "is_final", is_flag=True, help="Replace the known solution in any case."),
        DURABLE,
    ),
    answer={
        "id": "id:error",
        "new": "boolean",
        "occurrences": "integer",
        "state": ERROR_STATE,
        "solution": "string",
        "reason": "string?",
        "project": "string",
        "error": "string",
        "redacted": "boolean",
    },
)
_RUN = Command(
    "run",
    "ctxrank.cli.actions.errors.run:run",
    """Run a command and learn from it; output and exit code are those of the command.

    A failure is recorded, and what is known about it is printed to stderr. When the same command later succeeds in the
    same folder, the files that changed in between are saved as a sighted fix.

    Example: ctxrank error run --session S -- python -m pytest -q
    """,
    (
        argument("arguments", metavar="-- CMD [ARG]...", nargs=-1, required=True),
        option("--session", help="Record a failure for this session."),
        _FAILURE_GROUP,
        _CREATE_SESSION,
        _WHOSE,
        _LANG,
    ),
    answer=NoJson(
        "what the command prints",
        ("'error run' has no JSON: stdout is the command's.", "'ctxrank error match --json' has."),
    ),
    exits={
        0: "the command succeeded; every other code is its own, too",
        126: "it cannot be run",
        127: "there is no such command",
    },
    is_interspersed=False,
)
_CONFIRM = Command(
    "confirm",
    "ctxrank.cli.actions.errors.known:confirm",
    """Say that an error's solution helped.

    Example: ctxrank error confirm error:3 --session S
    """,
    (
        argument("error", metavar="ID"),
        option("--session", help="The session that it helped: its failure is resolved."),
    ),
    answer=_OUTCOME_FIELDS,
)
_REFUTE = Command(
    "refute",
    "ctxrank.cli.actions.errors.known:refute",
    """Say that an error's solution did not help.

    Example: ctxrank error refute error:3
    """,
    (argument("error", metavar="ID"),),
    answer=_OUTCOME_FIELDS,
)
_ERROR = Group(
    "error",
    "Known errors: recognise a failure, say what fixed it, save it, and learn whether the fix holds.",
    (_MATCH, _SAVE, _RUN, ERRORS, ERROR_SHOW, _CONFIRM, _REFUTE),
)

COMMANDS = by_name(_ERROR)
