"""`ctxrank assemble`: the context block for one spawn, whatever happens."""

import sys
from typing import TYPE_CHECKING

import click

from ctxrank.cli.call import Call
from ctxrank.cli.command import StoreCommand

if TYPE_CHECKING:  # the query path imports only what it runs
    from ctxrank.ranking.request import AssembleRequest, Assembly, IncludedPackage

_MAX_TASK_BYTES = 1_000_000


@click.command(cls=StoreCommand)
@click.option("--session", required=True, help="The session.")
@click.option("--agent", required=True, help="Who is spawned: developer, qa_expert, tech_lead …")
@click.option("--group", help="The task group; none, '' or - means the whole session.")
@click.option("--task", help="What the agent is to do, in words: ranks by relevance. '-' reads stdin.")
@click.option("--task-file", metavar="F", help="The same from a file; '-' is stdin.")
@click.option("--model", help="haiku, sonnet, opus or a full model id [default: sonnet].")
@click.option("--current-tokens", metavar="N", help="Tokens the conversation has used [default: 0].")
@click.option("--spawns", metavar="N", help="Instead: spawns so far, 15,000 tokens each.")
@click.option("--iteration", metavar="N", default="0", show_default=True, help="Which try this is, from 0.")
@click.option("--limit", type=click.IntRange(0, 1000), help="How many packages [default: the agent's].")
@click.option("--budget", type=click.IntRange(0), help="Tokens for the whole block [default: the agent's share].")
@click.option(
    "--reach",
    type=click.Choice(["group", "session", "project"]),
    default="group",
    show_default=True,
    help="Also other groups, or earlier sessions of the project, labelled.",
)
@click.option("--detail", type=click.Choice(["summary", "passage", "full"]), help="How much of each package.")
@click.option("--reasoning/--no-reasoning", default=None, help="Prior reasoning [default: by agent and iteration].")
@click.option("--reasoning-level", default="medium", show_default=True, help="minimal, medium or full.")
@click.option("--project", help="Whose errors and strategies [default: the session's project].")
@click.option("--lang", help="Language of the errors and strategies.")
@click.option("--framework", help="Framework of the strategies.")
@click.option("--as-of", metavar="TIME", help="The day that recency is measured from [default: today].")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["markdown", "json", "compact"]),
    default="markdown",
    show_default=True,
    help="json: with scores and reasons; compact: a line an item.",
)
@click.option("--no-mark", is_flag=True, help="Do not record the delivery.")
@click.option("--strict", is_flag=True, help="Fail instead of a minimal, degraded or stale block.")
@click.pass_obj
def command(call: Call, /, session: str, agent: str, format_: str, strict: bool, **options: object) -> int:
    """Print what an agent should read: ranked packages, prior reasoning, known errors, within a budget.

    Never blocks a spawn: whatever breaks, a minimal block is printed, with a note on stderr, and the exit
    code is 0 unless --strict.

    Example: ctxrank assemble --session S --agent developer --group AUTH --task "fix the token refresh"
    """
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
    from ctxrank.indexer.config import load_config
    from ctxrank.ranking.assembly import LOCK_WAIT_MS, assemble

    request = _request(call, session, agent, options, is_json=is_json)
    from ctxrank.indexer.store import open_store

    with open_store(call.db, root=call.root, busy_ms=LOCK_WAIT_MS) as store:
        result = assemble(store, request, load_config(store))
    for note in result.notes:
        call.note(note)
    return result


def _request(call: Call, session: str, agent: str, options: dict[str, object], *, is_json: bool) -> "AssembleRequest":
    """The request, with values forgiven where a spawn depends on it."""
    import os

    from ctxrank.indexer.clock import now_us, parse_time
    from ctxrank.indexer.errors import UsageError
    from ctxrank.ranking.budget import REASONING_TOKENS
    from ctxrank.ranking.request import TOKENS_PER_SPAWN, AssembleRequest

    level = str(options["reasoning_level"]).strip().lower()
    if level not in REASONING_TOKENS:
        call.note(f"'{level}' is not a reasoning level; medium is used. Levels are {', '.join(REASONING_TOKENS)}.")
        level = "medium"
    tokens = _number(call, "--current-tokens", options["current_tokens"])
    if options["current_tokens"] is None and options["spawns"] is not None:
        tokens = _number(call, "--spawns", options["spawns"]) * TOKENS_PER_SPAWN
    as_of = str(options["as_of"] or os.environ.get("CTXRANK_NOW") or "")
    if options["task"] is not None and options["task_file"] is not None:
        raise UsageError("--task and --task-file are both given.", "Give one of them.")
    return AssembleRequest(
        session=session, agent=agent, group=_text(options["group"]), task=_task(options), model=_text(options["model"]),
        current_tokens=tokens, iteration=_number(call, "--iteration", options["iteration"]),
        limit=_integer(options["limit"]), budget=_integer(options["budget"]), reach=str(options["reach"]),
        detail=_text(options["detail"]), include_reasoning=_flag(options["reasoning"]), reasoning_level=level,
        project=_text(options["project"]), lang=_text(options["lang"]), framework=_text(options["framework"]),
        as_of=parse_time(as_of, now=now_us()) if as_of else None, is_marking=not options["no_mark"],
        is_explained=is_json,
    )  # fmt: skip


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(call: Call, name: str, value: object) -> int:
    """A whole number from 0; anything else is 0, with a note."""
    if value is None:
        return 0
    text = str(value).strip().replace(",", "").replace("_", "")
    if text.isdecimal() and len(text) < 16:
        return int(text)
    call.note(f"{name} '{value}' is not a whole number from 0; 0 is used.")
    return 0


def _task(options: dict[str, object]) -> str:
    from ctxrank.indexer.errors import UsageError

    name = "-" if options["task"] == "-" else options["task_file"]
    if name is None:
        return str(options["task"] or "")
    if name == "-":
        return sys.stdin.buffer.read(_MAX_TASK_BYTES).decode("utf-8", "replace")
    try:
        with open(str(name), "rb") as file:
            return file.read(_MAX_TASK_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"The task file {name} cannot be read: {error.strerror}.", "Check its path.") from error


def _print_fallback(call: Call, agent: str, error: Exception, *, is_json: bool) -> int:
    from ctxrank.indexer.errors import CtxrankError
    from ctxrank.ranking.block import fallback

    if isinstance(error, CtxrankError):
        reason, hint = error.message, error.hint
    else:
        reason, hint = f"{type(error).__name__}: {error}", ""
    text = fallback(agent)
    if is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json({"reason": reason, "packages": [], "text": text}, outcome="degraded", engine="heuristic")
    else:
        sys.stdout.write(text)
    call.note(f"no context: {reason}{f' {hint}' if hint else ''}")
    return 0


def _print_json(result: "Assembly") -> None:
    from ctxrank.cli.envelope import emit_json

    payload: dict[str, object] = {
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
        "packages": [_package_json(package) for package in result.packages],
        "reasoning": [entry._asdict() for entry in result.reasoning],
        "errors": [entry._asdict() for entry in result.errors],
        "strategies": [entry._asdict() for entry in result.strategies],
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
        "created_at": format_us(package.created_at),
        "explanation": package.explanation.as_json() if package.explanation else None,
    }  # fmt: skip


def _compact(result: "Assembly") -> str:
    """The block in a line an item: for a look, or a log."""
    lines = [
        f"{result.agent} · {result.usage.zone.value} · {result.used}/{result.budget.limit} tokens ({result.counter})"
    ]
    lines += [
        f"package:{package.id} [{package.priority}] {package.path} · {package.detail} · {package.score:.3f}"
        f" · {package.reason}"
        for package in result.packages
    ]
    lines += [f"reasoning:{entry.id} [{entry.agent}] {entry.phase}" for entry in result.reasoning]
    lines += [f"error:{entry.id} {entry.signature}" for entry in result.errors]
    lines += [f"strategy:{entry.id} {entry.topic}" for entry in result.strategies]
    if result.overflow:
        lines.append(f"+{result.overflow} more")
    return "\n".join(lines)
