"""`ctxrank init`, `trust`, `status`, `doctor` and `prune`: a store, how it is, and what is old."""

from ctxrank.cli.declare import ENGINE, TEAM, WIDE, AnyOf, Command, OneOf, Path, argument, by_name, option

_FINDING_FIELDS = {
    "id": "string", "result": ("ok", "warn", "fail"), "evidence": "string", "next_step": "string?",
    "repair": "string?", "locked": "boolean",
}  # fmt: skip
_TABLE_FIELDS = {
    "name": "string", "saved": "integer", "rebuilt": "integer", "lost": "integer", "lost_ids": ["integer"],
    "is_count_known": "boolean", "problems": ["string"],
}  # fmt: skip
_REPAIR_FIELDS = {
    "mode": ("plan", "dry-run", "apply"), "steps": [{"id": "string", "what": "string"}], "done": ["string"],
    "backup": "string?", "tables": [_TABLE_FIELDS], "complete": "boolean?", "findings": [_FINDING_FIELDS],
}  # fmt: skip

_INIT = Command(
    "init",
    "ctxrank.cli.actions.upkeep.stores:init",
    """Make a store in DIR/.ctxrank (default: here), or at --db FILE; an existing one is left as it is.

    Example: ctxrank init
    """,
    (argument("folder", type=Path(is_folder=True), required=False, metavar="[DIR]"),),
    answer={"store": "string", "created": "boolean", "trusted": "boolean"},
)
_TRUST = Command(
    "trust",
    "ctxrank.cli.actions.upkeep.trust:trust",
    """Use a store that you did not make: one that came with a repository, an archive or another machine.

    PATH is a project's folder, its .ctxrank or its ctxrank.db. A store that is found without --db is used
    only if you made it or trust it. One that another user owns or can write to is refused. Folders outside the
    project that the store names are not read: 'ctxrank index --root DIR' allows one.

    Example: ctxrank trust ~/src/shop
    """,
    (argument("path", type=Path(), metavar="PATH"),),
    answer={"store": "string", "known_before": "boolean", "documents": "integer", "refused_roots": ["string"]},
)
_STATUS = Command(
    "status",
    "ctxrank.cli.actions.upkeep.stores:status",
    """Say where the store is, what it holds, and whether its index can answer.

    Example: ctxrank status
    """,
    answer={
        "engine": ENGINE,
        "store": "string",
        "root": "string",
        "documents": {"*": "integer"},
        "artifacts": {"*": "integer"},
        "counters": {"*": "integer"},
        "index_trouble": "string",
        "stale": "integer",
        "ruleset": "integer",
        "older_ruleset": "integer",
        "older_user_rules": "integer",
        "processes?": {"*": "string"},
        "origins": {"*": "integer"},
        "hook_failures?": ["string"],
        "team?": TEAM,
        "wide?": WIDE,
        "notes": ["string"],
    },
)
_DOCTOR = Command(
    "doctor",
    "ctxrank.cli.actions.upkeep.doctor:doctor",
    """Check the store, its index and the machine they run on; nothing changes without --repair apply.

    0: sound, perhaps with warnings; 5: something is broken, or records were lost in a repair; 7: a file is
    locked and was not looked at. rebuild and optimize are never needed: a missing or damaged index is made again by the
    next call. optimize is worth it after a large import or prune; it takes as much free space as the larger file, and
    writers wait for it.

    Example: ctxrank doctor --deep
    """,
    (
        option("--deep", is_flag=True, help="Also prove the index against the store, and both against the disk."),
        option(
            "--repair",
            type=OneOf(("plan", "dry-run", "apply", "rebuild", "optimize", "--plan", "--dry-run", "--apply")),
            metavar="HOW",
            help="plan: say what would be done; dry-run: try it on a copy; apply: do it, with a copy kept (with or"
            " without two dashes). rebuild: make the index again, and look at nothing else; optimize: make the files"
            " small and fast.",
        ),
    ),
    answer=AnyOf(
        {
            "counts": {"ok": "integer", "warn": "integer", "fail": "integer"},
            "findings": [_FINDING_FIELDS],
            "repair?": _REPAIR_FIELDS,
        },
        {"engine": ENGINE, "documents": "integer", "stale": "integer", "reason": "string?"},
        {
            "engine": ENGINE,
            "files": [{"file": "string", "bytes_before": "integer", "bytes": "integer"}],
            "complete": "boolean",
            "stale": "integer",
            "reason": "string?",
        },
    ),
    exits={
        0: "sound, perhaps with warnings",
        5: "something failed, or records were lost",
        6: "the index could not be rebuilt, or there is no room",
        7: "a file was locked",
    },
)
_PRUNE = Command(
    "prune",
    "ctxrank.cli.actions.upkeep.pruning:prune",
    """Remove what is older than an age, or past its time to live, and count it.

    Error patterns and strategies are as old as their last use. A session is removed with the last thing it held,
    unless it is active. A file that loses its last package stays indexed as a file.

    Example: ctxrank prune --older-than 90d --kind event --dry-run
    """,
    (
        option("--older-than", "older_than", metavar="AGE", help="What is older than an age (90d) or a date."),
        option("--expired", is_flag=True, help="What is past its time to live (ttl in the configuration)."),
        option(
            "--kind", "kinds", multiple=True, help="Only package, reasoning, error, strategy, skill, event or session."
        ),
        option("--session", help="Only what belongs to this session."),
        option("--dry-run", is_flag=True, help="Count; remove nothing."),
    ),
    answer={"deleted": {"*": "integer"}, "total": "integer", "dry_run": "boolean"},
)

COMMANDS = by_name(_INIT, _TRUST, _STATUS, _DOCTOR, _PRUNE)
