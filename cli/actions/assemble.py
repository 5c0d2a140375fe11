"""`ctxrank assemble`: the context block for one spawn, whatever happens.

What a spawn depends on is forgiven: a bad value becomes its default, with a note on stderr.
"""

import os
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.clock import format_us, now_us, parse_time
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.ranking.context.assembly.assemble import (
    LOCK_WAIT_MS,
    assemble_without_session,
    make_assembly,
    unread_assembly,
)
from ctxrank.ranking.context.assembly.assemble import assemble as assemble_block
from ctxrank.ranking.context.assembly.block import fallback, nothing_known
from ctxrank.ranking.context.assembly.limits import REASONING_TOKENS
from ctxrank.ranking.context.assembly.shapes import DETAILS, REACHES, TESTING_MODES, TOKENS_PER_SPAWN, AssembleRequest

if TYPE_CHECKING:
    from ctxrank.ranking.context.assembly.shapes import Assembly, IncludedPackage

_FORMS = ("markdown", "json", "compact")
_SERVED_AS = "developer"  # whose limits an agent gets that is not named or not known
_MAX_TASK_BYTES = 1_000_000


def assemble(
    call: Call, /, session: str | None, agent: str | None, format_: str, strict: bool, **options: object
) -> Reply:
    """Assemble the block; where anything breaks, the reply is a minimal one unless `strict`."""
    form = call.form(_one_of(call, "--format", format_, _FORMS))
    request = AssembleRequest(_storable(session or ""), _storable(agent or _SERVED_AS))
    try:
        request = _read_request(call, request, options, is_explained=form == "json")
        _require(session, "--session", "Give the session that the spawn belongs to.")
        _require(agent, "--agent", "Give who is spawned: developer, qa_expert, tech_lead …")
        is_recorded = not options["no_receipt"]
        result = _assembled(call, request, is_strict=strict, is_recorded=is_recorded)
    except Exception as error:  # a spawn depends on it: anything that breaks becomes the fallback text
        if strict:
            raise
        return _fallback(call, request, error, form)
    notes: list[str] = []
    if result.outcome == "degraded":
        by = "heuristics" if result.engine == "heuristic" else "the index that is here"
        notes.append(f"degraded: {result.reason}; packages are ranked by {by}.")
    if result.stale:
        notes.append(f"stale: {result.stale} changes are not in the index yet.")
    return Reply(
        lambda: _as_json(result),
        lines=_compact(result) if form == "compact" else (),
        text=result.text if form == "markdown" else "",
        outcome=result.outcome,
        engine=result.engine,
        exit_code=4 if strict and result.outcome in ("degraded", "stale") else 0,
        notes=tuple(notes),
        form=form,
    )


def _require(value: str | None, name: str, hint: str) -> None:
    if value is None:
        raise UsageError(f"{name} is missing.", hint)


def _assembled(call: Call, request: AssembleRequest, *, is_strict: bool, is_recorded: bool) -> "Assembly":
    with call.open(busy_ms=LOCK_WAIT_MS) as store:
        try:
            config = load_config(store)
        except UsageError as error:
            config = Config(notes=(f"{error.message} The defaults are used.",))
        try:
            if is_recorded:
                result = assemble_block(store, request, config)
            else:
                result, _ = make_assembly(store, request, config)
        except NotFoundError as error:
            known = None if is_strict else assemble_without_session(store, request, config)
            if known is None:
                raise
            call.note(f"{error.message} The block has what is no session's.")
            result = known
    for note in result.notes:
        call.note(note)
    if result.failure is not None and result.failure.outcome == "no_match" and result.failure.source == "given":
        call.note(f"the failure is not known. {result.failure.reason}")
    if request.budget is not None and not result.packages and result.available:
        call.note(f"a budget of {request.budget} tokens has no room for a package.")
    return result


def _fallback(call: Call, request: AssembleRequest, error: Exception, form: str) -> Reply:
    if not isinstance(error, CtxrankError):
        from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

        error = explained(error, call.db, call.root)
    reason, hint = error.message, error.hint
    is_unknown = isinstance(error, NotFoundError)
    text = nothing_known(request.agent) if is_unknown else fallback(request.agent)
    outcome = "no_match" if is_unknown else "degraded"
    return Reply(
        lambda: _as_json(unread_assembly(request, text, outcome=outcome, reason=reason)),
        text=text,
        outcome=outcome,
        notes=(f"no context: {reason}{f' {hint}' if hint else ''}",),
        form=form,
    )


def _as_json(result: "Assembly") -> dict[str, object]:
    payload: dict[str, object] = {
        "receipt": result.receipt,
        "shared_prefix_tokens": result.shared_prefix_tokens,
        "agent": result.agent,
        "state": result.state.strip() or None,
        "zone": result.usage.zone.value,
        "usage_pct": result.usage.shown_percent,
        "model": result.model,
        "budget": {
            "limit": result.budget.limit,
            "used": result.used,
            "counter": result.counter,
            "by_class": result.by_class,
        },
        "linked": [entry._asdict() for entry in result.linked],
        "packages": [_package_json(package) for package in result.packages],
        "files": [
            {
                **file._asdict(),
                "passages": [passage._asdict() for passage in file.passages],
                "label": file.label or None,
                "file_state": file.file_state or None,
            }
            for file in result.files
        ],
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
    return payload


def _package_json(package: "IncludedPackage") -> dict[str, object]:
    return {
        "id": package.id, "file_path": package.path, "priority": package.priority, "type": package.type,
        "producer": package.producer, "summary": package.summary,
        "passages": [passage._asdict() for passage in package.passages], "detail": package.detail,
        "tokens": package.tokens, "score": package.score, "label": package.label or None, "reason": package.reason,
        "file_state": package.file_state or None,
        "created_at": format_us(package.created_at),
        "explanation": package.explanation.as_json() if package.explanation else None,
    }  # fmt: skip


def _compact(result: "Assembly") -> Iterator[str]:
    """The block in a line an item: for a look, or a log."""
    return map(shown, _items(result))


def _items(result: "Assembly") -> Iterator[str]:
    yield f"{result.agent} · {result.usage.zone.value} · {result.used}/{result.budget.limit} tokens ({result.counter})"
    for linked in result.linked:
        yield f"{linked.id} [{linked.type}] {linked.title} · {linked.tier} · {linked.level}"
    for package in result.packages:
        yield (
            f"{public_id('package', package.id)} [{package.priority}] {package.path} · {package.detail}"
            f" · {package.score:.3f} · {package.reason}"
        )
    for file in result.files:
        yield f"{public_id('artifact', file.id)} {file.path} · {file.detail} · {file.score:.3f} · {file.reason}"
    for entry in result.reasoning:
        yield f"{public_id('reasoning', entry.id)} [{entry.agent}] {entry.phase}"
    for error in result.errors:
        yield f"{public_id('error', error.id)} {error.signature}"
    for strategy in result.strategies:
        yield f"{public_id('strategy', strategy.id)} {strategy.topic}"
    if result.skills:
        yield "skills checklist"
    if result.overflow:
        yield f"+{result.overflow} more"


def _read_request(
    call: Call, request: AssembleRequest, options: dict[str, object], *, is_explained: bool
) -> AssembleRequest:
    """The request that the options mean; a bad value becomes its default."""
    detail = _text(options["detail"])
    return request._replace(
        group=_text(options["group"]),
        task=_task(call, options),
        model=_text(options["model"]),
        current_tokens=_current_tokens(call, options),
        iteration=_number(call, "--iteration", options["iteration"], "0 is used") or 0,
        limit=_number(call, "--limit", options["limit"], "the agent's own is used"),
        budget=_number(call, "--budget", options["budget"], "the agent's share is used"),
        reach=_one_of(call, "--reach", str(options["reach"]), REACHES),
        detail=None if detail is None else _one_of(call, "--detail", detail, DETAILS, default="passage"),
        include_reasoning=_flag(options["reasoning"]),
        reasoning_level=_one_of(
            call, "--reasoning-level", str(options["reasoning_level"]), tuple(REASONING_TOKENS), default="medium"
        ),
        project=_text(options["project"]),
        lang=_text(options["lang"]),
        framework=_text(options["framework"]),
        as_of=_as_of(call, options),
        is_marking=not options["no_mark"],
        is_explained=is_explained,
        task_id=_text(options["task_id"]),
        with_skills=bool(options["skills"]),
        with_files=not options["no_files"],
        testing_mode=_one_of(call, "--testing-mode", str(options["testing_mode"]), TESTING_MODES),
        error_output=_error(call, options),
    )


def _one_of(call: Call, name: str, value: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
    """The value if it is allowed, else the default (the first one), with a note that names them."""
    chosen = value.strip().lower()
    if chosen in allowed:
        return chosen
    fallback = default or allowed[0]
    call.note(f"{name} '{value}' is none of {', '.join(allowed)}; {fallback} is used.")
    return fallback


def _current_tokens(call: Call, options: dict[str, object]) -> int:
    if options["current_tokens"] is not None:
        if options["spawns"] is not None:
            call.note("--current-tokens and --spawns are both given; --current-tokens is used.")
        return _number(call, "--current-tokens", options["current_tokens"], "0 is used") or 0
    return (_number(call, "--spawns", options["spawns"], "0 is used") or 0) * TOKENS_PER_SPAWN


def _number(call: Call, name: str, value: object, otherwise: str) -> int | None:
    """A whole number from 0; None for none, and for anything else, with a note."""
    if value is None:
        return None
    text = str(value).strip().replace(",", "").replace("_", "")
    if text.isdecimal() and len(text) < 16:
        return int(text)
    call.note(f"{name} '{value}' is not a whole number from 0; {otherwise}.")
    return None


def _as_of(call: Call, options: dict[str, object]) -> int | None:
    text = str(options["as_of"] or os.environ.get("CTXRANK_NOW") or "")
    if not text:
        return None
    try:
        return parse_time(text, now=now_us())
    except UsageError as error:
        call.note(f"{error.message} Recency is measured from today. {error.hint}")
        return None


def _task(call: Call, options: dict[str, object]) -> str:
    if options["task"] is not None and options["task_file"] is not None:
        call.note("--task and --task-file are both given; --task is used.")
    name = "-" if options["task"] == "-" else None if options["task"] is not None else options["task_file"]
    if name is None:
        return _storable(str(options["task"] or ""))
    from ctxrank.cli.actions.given import read_given_start  # noqa: PLC0415  start-up: most tasks are arguments

    try:
        return read_given_start(str(name), _MAX_TASK_BYTES).decode("utf-8", "replace")
    except OSError as error:
        call.note(f"The task file {name} cannot be read ({error.strerror}); packages are ranked without a task.")
        return ""


def _error(call: Call, options: dict[str, object]) -> bytes | None:
    """What failed, bounded; None where nothing was given or it cannot be read."""
    name = _text(options["error_file"])
    if name is None:
        return None
    if name == "-" and "-" in (options["task"], options["task_file"]):
        call.note("stdin holds the task; --error-file - is ignored.")
        return None
    from ctxrank.cli.actions.errors.failure_input import GivenFailure, capture_given  # noqa: PLC0415  only after a failure

    try:
        return capture_given(GivenFailure(name))
    except UsageError as error:
        call.note(f"The error file is ignored: {error.message}")
        return None


def _text(value: object) -> str | None:
    return None if value is None else _storable(str(value))


def _storable(text: str) -> str:
    """The text with a question mark for each byte that was not UTF-8: a spawn waits for a block, not for a lesson."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
