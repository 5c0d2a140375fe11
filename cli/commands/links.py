"""`ctxrank context`, `check`, `trace` and `suggest-links`: the linked artifacts of `.contextia/`."""

from ctxrank.cli.declare import ENGINE, FOUND, Command, OneOf, Path, Whole, argument, by_name, option, page

_ARTIFACT_FIELDS = {
    "id": "string", "type": "string", "title": "string", "status": "string?", "superseded_by": "string?",
    "path": "string", "level": ("meta", "summary", "full"), "lowered": "boolean", "tokens": "integer",
    "whole": "integer", "tier": ("T0", "T1", "T2", "T3"), "chain": ["string"], "reason": "string",
}  # fmt: skip
_OMITTED_FIELDS = {
    "id": "string", "type": "string", "title": "string", "tokens": "integer", "tier": ("T0", "T1", "T2", "T3"),
    "chain": ["string"], "reason": "string",
}  # fmt: skip
_FINDING_FIELDS = {
    "severity": ("error", "warning", "info"), "rule": "string", "path": "string", "line": "integer",
    "message": "string",
}  # fmt: skip
_GOVERNOR_FIELDS = {
    "id": "string", "type": "string", "title": "string", "status": "string?", "path": "string",
    "reasons": ["string"], "line": "integer?",
}  # fmt: skip
_SUGGESTION_FIELDS = {
    "id": "string", "list": "string", "into": "string", "path": "string", "in_patch": "boolean",
    "sightings": [{"id": "string", "task": "string", "rank": "integer", "receipt": "integer"}],
}  # fmt: skip

_CONTEXT = Command(
    "context",
    "ctxrank.cli.actions.context:context",
    """Print what a task of .contextia/ reaches: its specs, norms and decisions, and what search adds.

    Everything reached is shown, shortened to fit the budget, or named in the footer. Annotations in
    code are as 'ctxrank index' last saw them.

    Example: ctxrank context TASK-042 --budget 4000
    """,
    (
        argument("task", metavar="TASK"),
        option(
            "--depth",
            type=OneOf(("meta", "summary", "full")),
            default="full",
            show_default=True,
            help="meta: fields; summary: and the first section; full: everything. A budget may lower it.",
        ),
        option("--budget", type=Whole(1), metavar="N", help="Tokens for the whole text [default: no limit]."),
        option("--hops", type=Whole(0), metavar="N", help="How many links to follow in a row [default: all]."),
        option("--no-identity", is_flag=True, help="Leave the identity out."),
        option("--no-search", is_flag=True, help="Only what links, patterns and annotations reach."),
        option("--no-receipt", is_flag=True, help="Record no receipt of it."),
        option(
            "--format",
            "format_",
            type=OneOf(("compact", "markdown", "json")),
            default="compact",
            show_default=True,
            help="compact: for a model; markdown: for a person; json: with tiers, chains and tokens.",
        ),
    ),
    answer={
        "engine?": ENGINE,
        "receipt": "integer?",
        "shared_prefix_tokens": "integer?",
        "budget": {"limit": "integer?", "used": "integer", "counter": "string"},
        "artifacts": [_ARTIFACT_FIELDS],
        "omitted": [_OMITTED_FIELDS],
        "missing": [{"id": "string", "source": "string"}],
        "warnings": ["string"],
        "text": "string",
    },
)
_CHECK = Command(
    "check",
    "ctxrank.cli.actions.links:check",
    """Check the artifacts of .contextia/ and the annotations in code: references, fields, paths, statuses.

    Severities can be set in .contextia/config.yaml (error, warning, info, off). Exit code 1 for errors, with
    --strict also for warnings.

    Example: ctxrank check --strict
    """,
    (option("--strict", is_flag=True, help="Warnings fail too."),),
    answer={
        "ok": "boolean",
        "counts": {"*": "integer"},
        "errors": "integer",
        "warnings": "integer",
        **page("findings", _FINDING_FIELDS),
    },
    exits={0: "sound", 1: "errors; with --strict also warnings"},
)
_TRACE = Command(
    "trace",
    "ctxrank.cli.actions.links:trace",
    """Say which artifacts of .contextia/ govern a file: by a spec's paths, a norm's scope, an annotation.

    The file need not exist yet. Exit code 1 if no artifact governs it.

    Example: ctxrank trace src/billing/invoice.py
    """,
    (argument("path", type=Path(), metavar="PATH"),),
    answer={"path": "string", **page("artifacts", _GOVERNOR_FIELDS)},
    exits=FOUND,
)
_SUGGEST_LINKS = Command(
    "suggest-links",
    "ctxrank.cli.actions.links:suggest_links",
    """Print a patch that links what search keeps finding; nothing is written.

    Receipts of 'ctxrank context' and 'ctxrank assemble --task-id' tell what was found. Review the patch, then apply
    it where .contextia is, with 'git apply' or 'patch -p1'.

    Example: ctxrank suggest-links > links.patch
    """,
    (
        option("--task", metavar="TASK", help="Only what was found for this task."),
        option(
            "--min",
            "least",
            type=Whole(1),
            default=2,
            metavar="N",
            show_default=True,
            help="How many different contexts must have had it among the best that search found.",
        ),
    ),
    answer={"folder": "string", **page("suggestions", _SUGGESTION_FIELDS), "patch": "string"},
    exits=FOUND,
)

COMMANDS = by_name(_CONTEXT, _CHECK, _TRACE, _SUGGEST_LINKS)
