"""`ctxrank purge`: remove what is stored to the last byte, or take secrets out of it."""

from ctxrank.cli.declare import AnyOf, Command, Path, Whole, argument, by_name, option, page

_PURGE = Command(
    "purge",
    "ctxrank.cli.actions.upkeep.purge:purge",
    """Purge a document, a session, a path or a secret: no byte of it stays in a file of the store.

    What is purged cannot come back by an index run, an import or a save. Where another process reads the
    store, bytes may still be in a log: the answer is 'not yet purged' and the exit code 7, and the next purge,
    even one without options, finishes it. --redact is for secrets in general: names and paths stay.
    A store that shares a team's log answers 7 until every machine has confirmed.

    Example: ctxrank purge --path docs/plan.md --dry-run
    """,
    (
        argument("document", metavar="[ID]", required=False),
        option("--session", help="Purge a session and all that belongs to it."),
        option("--path", type=Path(), help="Purge a file or a folder from every session that stored it."),
        option(
            "--secret",
            type=Path(),
            metavar="FILE",
            help="Purge secrets, one per line of FILE or of stdin ('-'), wherever they are.",
        ),
        option("--origin", metavar="ORIGIN", help="Take out what another machine made: 9f3c27ab, as its ids end."),
        option("--redact", is_flag=True, help="Redact all stored text by today's rules, to the last byte."),
        option("--list", "is_list", is_flag=True, help="List what is blocked from being stored again."),
        option("--allow", type=Whole(1), multiple=True, metavar="N", help="Unblock entry N of --list."),
        option("--backups", is_flag=True, help="Also delete the copies of the store that 'doctor' made."),
        option("--dry-run", is_flag=True, help="Count; change nothing."),
    ),
    answer=AnyOf(
        {
            "removed": {"*": "integer"},
            "kept_out": ["integer"],
            "forgotten": "boolean",
            "dry_run": "boolean",
            "team?": {"machines": "integer?", "unconfirmed": "integer?"},
        },
        {"redacted": {"*": "integer"}, "looked_at": "integer", "forgotten": "boolean", "dry_run": "boolean"},
        {**page("kept_out", {"number": "integer", "kind": "string", "forgotten_at": "time"}), "allowed": ["integer"]},
    ),
    exits={0: "done", 7: "not yet purged"},
)

COMMANDS = by_name(_PURGE)
