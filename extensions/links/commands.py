"""`ctxrank context` and `check`: the linked artifacts of `.contextia/`."""

from ctxrank.cli.declare import ENGINE, AnyOf, Command, OneOf, Path, Whole, argument, by_name, option, page

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
    "id": "string", "list": "string", "into": "string", "path": "string",
    "sightings": [{"id": "string", "task": "string", "rank": "integer", "receipt": "integer"}],
}  # fmt: skip

_CONTEXT = Command(
    "context",
    "ctxrank.extensions.links.context_action:context",
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
    "ctxrank.extensions.links.actions:check",
    """Check the artifacts of .contextia/ and the annotations in code: references, fields, paths, statuses.

    Severities can be set in .contextia/config.yaml (error, warning, info, off). Exit code 1 for errors, with
    --strict also for warnings; with --trace and --suggest where there is nothing to name.

    Example: ctxrank check --strict
    """,
    (
        option("--strict", is_flag=True, help="Warnings fail too."),
        option(
            "--trace",
            "path",
            type=Path(),
            metavar="PATH",
            help="Instead, say which artifacts govern this file: by a spec's paths, a norm's scope, an annotation.",
        ),
        option(
            "--suggest",
            "is_suggesting",
            is_flag=True,
            help="Instead, name the links that are missing, by what receipts say that search keeps finding.",
        ),
        option(
            "--min",
            "least",
            type=Whole(1),
            default=2,
            metavar="N",
            show_default=True,
            help="With --suggest: how many contexts must have had it among the best that search found.",
        ),
    ),
    answer=AnyOf(
        {
            "ok": "boolean",
            "counts": {"*": "integer"},
            "errors": "integer",
            "warnings": "integer",
            **page("findings", _FINDING_FIELDS),
        },
        {"path": "string", **page("artifacts", _GOVERNOR_FIELDS)},
        {"folder": "string", **page("suggestions", _SUGGESTION_FIELDS)},
    ),
    exits={0: "sound; something to name", 1: "errors; with --strict also warnings; nothing to name"},
)

COMMANDS = by_name(_CONTEXT, _CHECK)
