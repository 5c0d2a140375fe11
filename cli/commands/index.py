"""`ctxrank index`: artifacts in step with the disk."""

from ctxrank.cli.declare import Command, Nullable, Path, argument, by_name, option

INDEX = Command(
    "index",
    "ctxrank.cli.actions.upkeep.index:index",
    """Update the stored artifacts from the disk: added, changed, moved, removed (default: the whole root).

    .gitignore and .ctxrankignore are honoured; links are never followed out of the root. --watch needs
    watchfiles (pip install 'ctxrank[watch]'); SIGTERM ends it with 0, Ctrl-C with 130.

    Example: ctxrank index docs/
    """,
    (
        argument("paths", type=Path(), metavar="[PATH]...", nargs=-1),
        option("--dry-run", is_flag=True, help="Say what would happen; change nothing."),
        option("--watch", is_flag=True, help="Then follow the disk until Ctrl-C: one line for each batch of changes."),
    ),
    answer={
        "dry_run": "boolean",
        "added": ["string"],
        "changed": ["string"],
        "moved": [{"from": "string", "to": "string"}],
        "removed": ["string"],
        "unchanged": "integer",
        "skipped": [{"path": "string", "reason": "string"}],
        "stale_roots": ["string"],
        "refused_roots": ["string"],
        "linked": Nullable(
            {"files": "integer", "written": "integer", "removed": "integer", "code_files_read": "integer"}
        ),
        "dates": Nullable({"committed": "integer", "reason": "string?"}),
    },
    exits={0: "done", 2: "a path is not there, and nothing was known of it"},
)
COMMANDS = by_name(INDEX)
