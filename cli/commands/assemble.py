"""`ctxrank assemble`: the context block for one spawn, whatever happens."""

import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:  # the query path imports only what it runs
    from ctxrank.ranking.context.assembly.request import Assembly, IncludedPackage


@declare.command()
@declare.option("--session", required=True, help="The session.")
@declare.option("--agent", required=True, help="Who is spawned: developer, qa_expert, tech_lead …")
@declare.option("--group", help="The task group; none, '' or - means the whole session.")
@declare.option("--task", help="What the agent is to do, in words: ranks by relevance. '-' reads stdin.")
@declare.option("--task-file", metavar="F", help="The same from a file; '-' is stdin.")
@declare.option("--task-id", metavar="TASK", help="A task of .contextia/: what its links reach comes first.")
@declare.option("--model", help="haiku, sonnet, opus or a full model id [default: sonnet].")
@declare.option("--current-tokens", metavar="N", help="Tokens the conversation has used [default: 0].")
@declare.option("--spawns", metavar="N", help="Instead: spawns so far, 15,000 tokens each.")
@declare.option("--iteration", metavar="N", default="0", show_default=True, help="Which try this is, from 0.")
@declare.option("--limit", metavar="N", help="How many packages [default: the agent's].")
@declare.option("--budget", metavar="N", help="Tokens for the whole block [default: the agent's share].")
@declare.option(
    "--reach",
    metavar="R",
    default="group",
    show_default=True,
    help="group; session: also other groups; project: also its earlier sessions.",
)
@declare.option("--detail", metavar="D", help="summary, passage or full [default: passage].")
@declare.option("--reasoning/--no-reasoning", default=None, help="Prior reasoning [default: by agent and iteration].")
@declare.option("--reasoning-level", default="medium", show_default=True, help="minimal, medium or full.")
@declare.option(
    "--error-file", metavar="F", help="Output of what just failed; '-' is stdin [default: the last failure]."
)
@declare.option("--project", help="Whose errors and strategies [default: the session's project].")
@declare.option("--lang", help="Language of the errors and strategies.")
@declare.option("--framework", help="Framework of the strategies.")
@declare.option("--skills", is_flag=True, help="Also the skills checklist; the first to go in a tight budget.")
@declare.option(
    "--testing-mode",
    metavar="M",
    default="full",
    show_default=True,
    help="full, minimal or disabled: without full, test skills are not mandatory.",
)
@declare.option("--as-of", metavar="TIME", help="The day that recency is measured from [default: today].")
@declare.option(
    "--format",
    "format_",
    metavar="F",
    default="markdown",
    show_default=True,
    help="markdown; json: with scores and reasons; compact: a line an item.",
)
@declare.option("--no-mark", is_flag=True, help="Do not record the delivery.")
@declare.option("--strict", is_flag=True, help="Fail instead of a minimal, degraded or stale block.")
def command(call: Call, /, session: str, agent: str, format_: str, strict: bool, **options: object) -> int:
    """Print what an agent should read: ranked packages, prior reasoning, known errors, within a budget.

    Never blocks a spawn: whatever breaks, a minimal block is printed, with a note on stderr, and the exit
    code is 0 unless --strict.

    Example: ctxrank assemble --session S --agent developer --group AUTH --task "fix the token refresh"
    """
    from ctxrank.cli.commands.spawn_options import one_of

    format_ = one_of(call, "--format", format_, ("markdown", "json", "compact"))
    is_json = call.is_json or format_ == "json"
    try:
        result = _assembled(call, session, agent, options, is_json=is_json)
    except Exception as error:  # a spawn depends on it: anything that breaks becomes the fallback text
        if strict:
            raise
        return _print_fallback(call, agent, error, is_json=is_json)
    if is_json:
        _print_json(result)
    elif format_ == "compact":
        print(_compact(result))
    else:
        sys.stdout.write(result.text)
    if result.outcome == "degraded":
        call.note(f"degraded: {result.reason}; packages are ranked by heuristics.")
    if result.stale:
        call.note(f"stale: the index still lacks {result.stale} changes.")
    return 4 if strict and result.outcome in ("degraded", "stale") else 0


def _assembled(call: Call, session: str, agent: str, options: dict[str, object], *, is_json: bool) -> "Assembly":
    from ctxrank.cli.commands.spawn_options import read_request
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.opening import open_store
    from ctxrank.indexer.store.config import Config, load_config
    from ctxrank.ranking.context.assembly.assemble import LOCK_WAIT_MS, assemble

    request = read_request(call, session, agent, options, is_explained=is_json)
    with open_store(call.db, root=call.root, busy_ms=LOCK_WAIT_MS) as store:
        try:
            config = load_config(store)
        except UsageError as error:
            config = Config(notes=(f"{error.message} The defaults are used.",))
        result = assemble(store, request, config)
    for note in result.notes:
        call.note(note)
    if result.failure is not None and result.failure.outcome == "no_match" and result.failure.source == "given":
        call.note(f"the failure is not known. {result.failure.reason}")
    if request.budget is not None and not result.packages and result.available:
        call.note(f"a budget of {request.budget} tokens has no room for a package.")
    return result


def _print_fallback(call: Call, agent: str, error: Exception, *, is_json: bool) -> int:
    from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
    from ctxrank.ranking.context.assembly.block import fallback, nothing_known

    if not isinstance(error, CtxrankError):
        from ctxrank.cli.unexpected import explained

        error = explained(error, call.db, call.root)
    reason, hint = error.message, error.hint
    is_unknown = isinstance(error, NotFoundError)
    text = nothing_known(agent) if is_unknown else fallback(agent)
    if is_json:
        from ctxrank.cli.output.envelope import emit_json

        outcome, engine = ("no_match", "fts5") if is_unknown else ("degraded", "heuristic")
        emit_json({"reason": reason, "packages": [], "text": text}, outcome=outcome, engine=engine)
    else:
        sys.stdout.write(text)
    call.note(f"no context: {reason}{f' {hint}' if hint else ''}")
    return 0


def _print_json(result: "Assembly") -> None:
    from ctxrank.cli.output.envelope import emit_json

    payload: dict[str, object] = {
        "receipt": result.receipt,
        "shared_prefix_tokens": result.shared_prefix_tokens,
        "agent": result.agent,
        "zone": result.usage.zone.value,
        "usage_pct": round(result.usage.percent, 1),
        "model": result.model,
        "budget": {
            "limit": result.budget.limit,
            "used": result.used,
            "counter": result.counter,
            "by_class": result.by_class,
        },
        "linked": [entry._asdict() for entry in result.linked],
        "packages": [_package_json(package) for package in result.packages],
        "reasoning": [entry._asdict() for entry in result.reasoning],
        "errors": [entry._asdict() for entry in result.errors],
        "failure": None if result.failure is None else result.failure._asdict(),
        "strategies": [entry._asdict() for entry in result.strategies],
        "skills": result.skills or None,
        "omitted": [entry._asdict() for entry in result.omitted],
        "available": result.available,
        "overflow": result.overflow,
        "text": result.text,
    }
    if result.reason:
        payload["reason"] = result.reason
    if result.stale:
        payload["stale"] = result.stale
    emit_json(payload, outcome=result.outcome, engine=result.engine)


def _package_json(package: "IncludedPackage") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    return {
        "id": package.id, "file_path": package.path, "priority": package.priority, "type": package.type,
        "producer": package.producer, "summary": package.summary,
        "passages": [passage._asdict() for passage in package.passages], "detail": package.detail,
        "tokens": package.tokens, "score": package.score, "label": package.label or None, "reason": package.reason,
        "file_state": package.file_state or None,
        "created_at": format_us(package.created_at),
        "explanation": package.explanation.as_json() if package.explanation else None,
    }  # fmt: skip


def _compact(result: "Assembly") -> str:
    """The block in a line an item: for a look, or a log."""
    lines = [
        f"{result.agent} · {result.usage.zone.value} · {result.used}/{result.budget.limit} tokens ({result.counter})"
    ]
    lines += [f"{entry.id} [{entry.type}] {entry.title} · {entry.tier} · {entry.level}" for entry in result.linked]
    lines += [
        f"package:{package.id} [{package.priority}] {package.path} · {package.detail} · {package.score:.3f}"
        f" · {package.reason}"
        for package in result.packages
    ]
    lines += [f"reasoning:{entry.id} [{entry.agent}] {entry.phase}" for entry in result.reasoning]
    lines += [f"error:{entry.id} {entry.signature}" for entry in result.errors]
    lines += [f"strategy:{entry.id} {entry.topic}" for entry in result.strategies]
    if result.skills:
        lines.append("skills checklist")
    if result.overflow:
        lines.append(f"+{result.overflow} more")
    return "\n".join(map(shown, lines))
