"""`ctxrank assemble`: the context block for one spawn."""

from ctxrank.cli.declare import ENGINE, EXPLANATION, Command, Nullable, Path, by_name, option

_PACKAGE_FIELDS = {
    "id": "row", "file_path": "string", "priority": "string", "type": "string", "producer": "string",
    "summary": "string",
    "passages": [
        {"id": "row", "heading": "string", "start_line": "integer", "end_line": "integer", "text": "string"}
    ],
    "detail": ("title", "summary", "passage", "full"), "tokens": "integer", "score": "number",
    "label": "string?", "reason": "string", "file_state": ("changed", "missing", "current", "elsewhere", None),
    "created_at": "time",
    "explanation": Nullable(EXPLANATION),
}  # fmt: skip
_FILE_FIELDS = {
    "id": "row", "path": "string", "passages": _PACKAGE_FIELDS["passages"], "detail": ("path", "passage"),
    "tokens": "integer", "score": "number", "label": "string?", "reason": "string",
    "file_state": ("changed", "missing", "current", "elsewhere", None),
}  # fmt: skip
_LINKED_FIELDS = {
    "id": "string", "type": "string", "title": "string", "status": "string", "level": "string", "tokens": "integer",
    "tier": "string", "chain": ["string"], "reason": "string",
}  # fmt: skip
_REASONING_FIELDS = {
    "id": "row", "agent": "string", "phase": "string", "content": "string", "confidence": "string?",
    "tokens": "integer",
}  # fmt: skip
_ERROR_FIELDS = {
    "id": "row", "signature": "string", "solution": "string", "confidence": "number", "occurrences": "integer",
    "tokens": "integer", "grade": "string", "recognition": "number?", "state": "string", "why": "string",
}  # fmt: skip
_STRATEGY_FIELDS = {"id": "row", "topic": "string", "insight": "string", "tokens": "integer"}
_FAILURE_FIELDS = {"source": ("given", "last"), "outcome": "string", "reason": "string", "unit": "string"}

_ASSEMBLE = Command(
    "assemble",
    "ctxrank.cli.actions.assemble:assemble",
    """Print what an agent should read: ranked packages, prior reasoning, known errors, within a budget.

    Never blocks a spawn: if anything fails, a minimal block is printed, with a note on stderr, and the exit
    code is 0 unless --strict.

    Example: ctxrank assemble --session S --agent developer --group AUTH --task "fix the token refresh"
    """,
    (
        option("--session", help="The session."),
        option("--agent", help="Who is spawned: developer, qa_expert, tech_lead …"),
        option("--group", help="The task group; none, '' or - means the whole session."),
        option("--task", help="What the agent is to do, in words: ranks by relevance. '-' reads stdin."),
        option("--task-file", type=Path(), metavar="F", help="The same from a file; '-' is stdin."),
        option("--task-id", metavar="TASK", help="A task of .contextia/: what its links reach comes first."),
        option("--model", help="haiku, sonnet, opus or a full model id [default: sonnet]."),
        option("--current-tokens", metavar="N", help="Tokens the conversation has used [default: 0]."),
        option("--spawns", metavar="N", help="Instead of --current-tokens: spawns so far, 15,000 tokens each."),
        option("--iteration", default="0", metavar="N", show_default=True, help="Number of the attempt, from 0."),
        option("--limit", metavar="N", help="How many packages [default: the agent's]."),
        option("--budget", metavar="N", help="Tokens for the whole block [default: the agent's share]."),
        option(
            "--reach",
            default="group",
            metavar="R",
            show_default=True,
            help="group; session: also other groups; project: also its earlier sessions.",
        ),
        option("--detail", metavar="D", help="summary, passage or full [default: passage]."),
        option("--reasoning/--no-reasoning", help="Prior reasoning [default: by agent and iteration]."),
        option(
            "--reasoning-level",
            default="medium",
            show_default=True,
            help="minimal: key decisions; medium: also the approach; full: the whole chain.",
        ),
        option(
            "--error-file",
            type=Path(),
            metavar="F",
            help="Output of what just failed; '-' is stdin [default: the last failure].",
        ),
        option("--project", help="Project of the errors and strategies [default: the session's, else the store's]."),
        option("--lang", help="Language of the errors and strategies [default: any]."),
        option("--framework", help="Framework of the strategies [default: any]."),
        option("--skills", is_flag=True, help="Also its skills: checklist, suggestions; the first to go."),
        option(
            "--testing-mode",
            default="full",
            metavar="M",
            show_default=True,
            help="full, minimal or disabled: without full, test skills are not mandatory.",
        ),
        option("--as-of", metavar="TIME", help="The day that recency is measured from [default: today]."),
        option(
            "--format",
            "format_",
            default="markdown",
            metavar="F",
            show_default=True,
            help="markdown; json: with scores and reasons; compact: a line an item.",
        ),
        option("--no-files", is_flag=True, help="Without indexed files that are no package's."),
        option("--no-mark", is_flag=True, help="Do not record the delivery."),
        option("--no-receipt", is_flag=True, help="Record nothing: no delivery and no receipt."),
        option("--strict", is_flag=True, help="Fail instead of a minimal, degraded or stale block."),
    ),
    answer={
        "engine?": ENGINE,
        "receipt": "integer?",
        "shared_prefix_tokens": "integer?",
        "agent": "string",
        "state": "string?",
        "zone": ("Normal", "Soft_Warning", "Conservative", "Wrap-up", "Emergency"),
        "usage_pct": "number",
        "model": "string",
        "budget": {"limit": "integer", "used": "integer", "counter": "string", "by_class": {"*": "integer"}},
        "linked": [_LINKED_FIELDS],
        "packages": [_PACKAGE_FIELDS],
        "files": [_FILE_FIELDS],
        "reasoning": [_REASONING_FIELDS],
        "errors": [_ERROR_FIELDS],
        "failure": Nullable(_FAILURE_FIELDS),
        "strategies": [_STRATEGY_FIELDS],
        "skills": "string?",
        "omitted": [{"id": "string", "reason": "string", "tokens": "integer"}],
        "available": "integer",
        "overflow": "integer",
        "text": "string",
        "reason?": "string",
        "stale?": "integer",
    },
    exits={0: "a block was printed, even a minimal one", 4: "a minimal, degraded or stale block under --strict"},
)

COMMANDS = by_name(_ASSEMBLE)
