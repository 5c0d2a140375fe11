"""`ctxrank error`: is this failure known, and what fixed it?"""

from ctxrank.cli.commands.options import DURABLE
from ctxrank.cli.declare import FOUND, Command, Group, NoJson, Nullable, Path, Whole, argument, by_name, option, page

_STATE = ("sighted", "confirmed", "refuted")
_MATCH_FIELDS = {
    "id": "id", "grade": "string", "confidence": "number", "state": _STATE, "why": ["string"],
    "recognition": "number", "confirmations": "integer", "refutations": "integer", "masked": ["string"],
    "differences": ["string"],
}  # fmt: skip
_FIX_FIELDS = {
    **_MATCH_FIELDS,
    "solution": "string",
    "occurrences": "integer",
    "error": "string",
    "lang": "string?",
    "last_seen": "time",
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
_ERROR_FIELDS = {
    "id": "id", "project": "string", "lang": "string?", "error_type": "string", "message": "string",
    "solution": "string", "state": _STATE, "confirmations": "integer", "refutations": "integer",
    "occurrences": "integer", "hints": ["string"], "last_seen": "time", "created_at": "time", "expires_at": "time",
    "confidence": "number", "expired": "boolean",
}  # fmt: skip
_RECOGNITION_FIELDS = {
    "masked": "string", "codes": ["string"], "values": ["string"], "places": ["string"], "unit": "string",
    "sightings": "integer",
}  # fmt: skip
_OUTCOME_FIELDS = {
    "id": "id", "before": _STATE, "state": _STATE, "confirmations": "integer", "refutations": "integer",
    "confidence": "number",
}  # fmt: skip

_FAILURE_GROUP = option("--group", help="And for this task group; none, - or 'global' means the whole session.")
_CREATE_SESSION = option("--create-session", is_flag=True, help="Make the session if it is not there.")
_WHOSE = option("--project", help="Project of the known errors [default: the session's, else the store's].")
_LANG = option("--lang", help="Leave out the known errors of other languages.")
_TYPE = option("--type", "error_type", help="The error's type, with --message.")
_MESSAGE = option("--message", help="The error's message, instead of its output.")
_PROJECT = option("--project", help="Only of this project.")

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
        **page("matches", _FIX_FIELDS),
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
        "id": "id",
        "new": "boolean",
        "occurrences": "integer",
        "state": _STATE,
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
_LIST = Command(
    "list",
    "ctxrank.cli.actions.errors.known:list_",
    """List known errors, the last seen first.

    Example: ctxrank error list --project shop --state confirmed
    """,
    (
        _PROJECT,
        option("--lang", help="Leave out those of other languages."),
        option("--state", help="Only sighted, confirmed or refuted ones."),
        option("--expired", "with_expired", is_flag=True, help="Also expired ones."),
        option("-n", "--limit", type=Whole(1), default=20, show_default=True, help="How many."),
    ),
    answer=page("errors", _ERROR_FIELDS),
    exits=FOUND,
)
_SHOW = Command(
    "show",
    "ctxrank.cli.actions.errors.known:show",
    """Show one known error: its solution, its record, and what it is recognised by.

    Example: ctxrank error show error:3
    """,
    (argument("error", metavar="ID"),),
    answer={"error": _ERROR_FIELDS, "recognised_by": Nullable(_RECOGNITION_FIELDS)},
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
_PRUNE = Command(
    "prune",
    "ctxrank.cli.actions.errors.known:prune",
    """Remove expired known errors, and count them.

    Example: ctxrank error prune --project shop --dry-run
    """,
    (
        _PROJECT,
        option("--dry-run", is_flag=True, help="Count; remove nothing."),
    ),
    answer={"deleted": "integer", "dry_run": "boolean"},
)
_ERROR = Group(
    "error",
    "Known errors: recognise a failure, say what fixed it, save it, and learn whether the fix holds.",
    (_MATCH, _SAVE, _RUN, _LIST, _SHOW, _CONFIRM, _REFUTE, _PRUNE),
)

COMMANDS = by_name(_ERROR)
