"""`ctxrank init`, `trust`, `status`, `doctor`, `optimize` and `prune`: a store, how it is, and what is old."""

from ctxrank.cli.declare import ENGINE, TEAM, WIDE, Command, OneOf, Path, Real, Whole, argument, by_name, option

_FINDING_FIELDS = {
    "id": "string", "result": ("ok", "warn", "fail"), "evidence": "string", "next_step": "string?",
    "repair": "string?", "locked": "boolean",
}  # fmt: skip
_STRESS_FIELDS = {
    "processes": "integer", "seconds": "number", "saves": "integer", "searches": "integer", "failed": "integer",
    "lost": "integer", "save_p95_ms": "number", "search_p95_ms": "number", "problems": ["string"],
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
    locked and was not looked at.

    Example: ctxrank doctor --deep
    """,
    (
        option("--deep", is_flag=True, help="Also prove the index against the store, and both against the disk."),
        option(
            "--stress",
            type=Whole(1, 64),
            metavar="N",
            help="Also let N processes save and search on this file system, in a folder that is removed afterwards.",
        ),
        option("--seconds", type=Real(0.5, 600), default=5.0, show_default=True, help="How long --stress runs."),
        option(
            "--repair",
            type=OneOf(("plan", "dry-run", "apply", "--plan", "--dry-run", "--apply")),
            metavar="HOW",
            help="plan: say what would be done; dry-run: try it on a copy; apply: do it, with a copy kept. With or"
            " without two dashes.",
        ),
    ),
    answer={
        "counts": {"ok": "integer", "warn": "integer", "fail": "integer"},
        "findings": [_FINDING_FIELDS],
        "stress?": _STRESS_FIELDS,
        "repair?": _REPAIR_FIELDS,
    },
    exits={0: "sound, perhaps with warnings", 5: "something failed, or records were lost", 7: "a file was locked"},
)
_OPTIMIZE = Command(
    "optimize",
    "ctxrank.cli.actions.upkeep.stores:optimize",
    """Make the store's files as small and as fast as they can be; what is found stays the same.

    The index takes in what it is missing and its lists are merged; both files are rewritten without free pages, and
    their logs are cut. Worth it after a large import or prune; never needed. It takes as much free space as the larger
    file, and writers wait for it.

    Example: ctxrank optimize
    """,
    answer={
        "engine": ENGINE,
        "files": [{"file": "string", "bytes_before": "integer", "bytes": "integer"}],
        "complete": "boolean",
        "stale": "integer",
        "reason": "string?",
    },
    exits={0: "done", 6: "the index cannot be used, or there is no room"},
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

COMMANDS = by_name(_INIT, _TRUST, _STATUS, _DOCTOR, _OPTIMIZE, _PRUNE)
