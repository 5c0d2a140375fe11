"""`ctxrank assemble`: the context block for one spawn, whatever happens.

What a spawn depends on is forgiven: a bad value becomes its default, with a note on stderr.
"""

import os
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.parse import whole_number
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.receipts import LOCK_WAIT_MS
from ctxrank.indexer.records.sessions import session_of_today
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.context.assembly.assemble import assemble as assemble_block
from ctxrank.ranking.context.assembly.assemble import assemble_without_session, make_assembly, unread_assembly
from ctxrank.ranking.context.assembly.block import fallback, nothing_known
from ctxrank.ranking.context.assembly.shapes import (
    SECTIONS,
    TOKENS_PER_SPAWN,
    WORDS,
    AssembleRequest,
    Assembly,
)

_FORMS = ("markdown", "json", "compact")
_SERVED_AS = "developer"  # whose limits an agent gets that is not named or not known
_MAX_TASK_BYTES = 1_000_000


def assemble(call: Call, /, format_: str, strict: bool, **options: Any) -> Reply:
    """Assemble the block; where anything breaks, the reply is a minimal one unless `strict`.

    A byte that is not UTF-8 becomes a question mark: a spawn waits for a block, not for a lesson.
    """
    for name, value in options.items():
        options[name] = value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    session, agent = options["session"], options["agent"]
    form = call.form(_one_of(call, "--format", format_, _FORMS, "markdown"))
    request = AssembleRequest(session or "", agent or _SERVED_AS)
    try:
        request = _read_request(call, request, options, is_explained=form == "json")
        if strict and not (session and agent):
            name = "--agent" if session else "--session"
            raise UsageError(f"{name} is missing.", "Give the session that the spawn belongs to, and who is spawned.")
        if not agent:
            call.note(f"--agent is missing: the block is one for {_SERVED_AS}.")
        result = _assembled(call, request, is_strict=strict, is_recorded=not options["no_receipt"])
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
        lambda: _answer(result),
        lines=map(one_line, _items(result)) if form == "compact" else (),
        text=result.text if form == "markdown" else "",
        outcome=result.outcome,
        engine=result.engine,
        exit_code=4 if strict and result.outcome in ("degraded", "stale") else 0,
        notes=tuple(notes),
        form=form,
    )


def _assembled(call: Call, request: AssembleRequest, *, is_strict: bool, is_recorded: bool) -> "Assembly":
    with call.open(busy_ms=LOCK_WAIT_MS) as store:
        try:
            config = load_config(store)
        except UsageError as error:
            config = store.last_config = Config(notes=(f"{error.message} The defaults are used.",))
        if not request.session:
            request = request._replace(session=session_of_today(store.primary), reach="project")
            call.note(f"--session is missing: the block is one for {request.session}, of all that the project found.")
        try:
            made = assemble_block(store, request, config) if is_recorded else make_assembly(store, request, config)[0]
        except NotFoundError as error:
            known = None if is_strict else assemble_without_session(store, request, config)
            if known is None:
                raise
            wider = "" if request.reach == "project" else "; --reach project adds what earlier sessions found"
            call.note(f"{error.message} The block is made without it{wider}.")
            made = known
    for note in made.notes:
        call.note(note)
    if made.failure is not None and made.failure.outcome == "no_match" and made.failure.source == "given":
        call.note(f"the failure is not known. {made.failure.reason}")
    if request.budget is not None and not made.packages and made.available:
        call.note(f"a budget of {request.budget} tokens has no room for a package.")
    return made


def _fallback(call: Call, request: AssembleRequest, error: Exception, form: str) -> Reply:
    if not isinstance(error, CtxrankError):
        from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

        error = explained(error, call.db, call.root)
    reason = error.message
    outcome, text_of = ("no_match", nothing_known) if isinstance(error, NotFoundError) else ("degraded", fallback)
    text = text_of(request.agent)

    def block() -> Assembly:
        return unread_assembly(request, text, outcome=outcome, reason=reason)

    return Reply(
        lambda: _answer(block()),
        text=text if request.budget is None else block().text,
        outcome=outcome,
        notes=(f"no context: {reason} {error.hint}".rstrip(),),
        form=form,
    )


def _answer(result: "Assembly") -> Extended:
    budget = {"limit": result.budget.limit, "used": result.used, "counter": result.counter, "by_class": result.by_class}
    usage = {"zone": result.usage.zone.value, "usage_pct": result.usage.shown_percent}
    return Extended(result, {**usage, "budget": budget, "state": result.state.strip()})


def _items(result: "Assembly") -> Iterator[str]:
    """The block in a line an item: for a look, or a log."""
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
    call: Call, request: AssembleRequest, options: dict[str, Any], *, is_explained: bool
) -> AssembleRequest:
    """The request that the options mean; a bad value becomes its default."""
    given = {name: options[name] for name in ("group", "model", "project", "lang", "framework", *SECTIONS, "run")}
    given["task"] = _task(call, options["task"], options["task_file"])
    tokens, spawns = options["current_tokens"], options["spawns"]
    if tokens is not None and spawns is not None:
        call.note("--current-tokens and --spawns are both given; --current-tokens is used.")
    used = _number(call, "current_tokens", tokens) if tokens is not None else _number(call, "spawns", spawns)
    given["current_tokens"] = (used or 0) * (1 if tokens is not None else TOKENS_PER_SPAWN)
    given["iteration"] = _number(call, "iteration", options["iteration"]) or 0
    given["limit"] = _number(call, "limit", options["limit"], "the agent's own is used")
    given["after"] = _receipt(options["after"])
    given["budget"] = _number(call, "budget", options["budget"], "the agent's share is used")
    for name, allowed in WORDS.items():
        word, default = options[name], AssembleRequest._field_defaults[name] or "passage"
        given[name] = word if word is None else _one_of(call, _option(name), word, allowed, default)
    return request._replace(
        **given, include_reasoning=options["reasoning"], as_of=_as_of(call, options["as_of"]),
        is_marking=not options["no_mark"], is_explained=is_explained, with_skills=options["skills"],
        with_files=not options["no_files"], error_output=_error(
            call, options["error_file"], is_stdin_taken="-" in (options["task"], options["task_file"])
        ),
    )  # fmt: skip


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _one_of(call: Call, name: str, value: str, allowed: tuple[str, ...], default: str) -> str:
    """The value if it is allowed, else the default, with a note that names them."""
    chosen = value.strip().lower()
    if chosen in allowed:
        return chosen
    call.note(f"{name} '{value}' is none of {', '.join(allowed)}; {default} is used.")
    return default


def _number(call: Call, name: str, value: str | None, otherwise: str = "0 is used") -> int | None:
    """A whole number from 0; None for none, and for anything else, with a note."""
    if value is None:
        return None
    number = whole_number(value.strip().replace(",", "").replace("_", ""))
    if number is None:
        call.note(f"{_option(name)} '{value}' is not a whole number from 0; {otherwise}.")
    return number


def _receipt(given: str | None) -> int | None:
    """The number of a receipt. Raises UsageError: a block of all would not be what was asked for."""
    if given is None:
        return None
    number = whole_number(given.strip().removeprefix("receipt:"))
    if number is None:
        raise UsageError(
            f"--after '{given}' is no receipt.", "Give the number that 'receipt' has in the JSON of a block."
        )
    return number


def _as_of(call: Call, given: str | None) -> int | None:
    text = given or os.environ.get("CTXRANK_NOW")
    try:
        return parse_time(text, now=now_us()) if text else None
    except UsageError as error:
        call.note(f"{error.message} Recency is measured from today. {error.hint}")
        return None


def _task(call: Call, task: str | None, file: str | None) -> str:
    if task is not None and file is not None:
        call.note("--task and --task-file are both given; --task is used.")
    name = "-" if task == "-" else file if task is None else None
    if name is None:
        return task or ""
    from ctxrank.cli.actions.given import read_given_start  # noqa: PLC0415  start-up: most tasks are arguments

    try:
        return read_given_start(name, _MAX_TASK_BYTES).decode("utf-8", "replace")
    except OSError as error:
        call.note(f"The task file {name} cannot be read ({error.strerror}); packages are ranked without a task.")
        return ""


def _error(call: Call, name: str | None, *, is_stdin_taken: bool) -> bytes | None:
    """What failed, bounded; None where nothing was given or it cannot be read."""
    if name is None:
        return None
    if name == "-" and is_stdin_taken:
        call.note("stdin holds the task; --error-file - is ignored.")
        return None
    from ctxrank.cli.actions.errors.lookup import capture_given  # noqa: PLC0415  only after a failure

    try:
        return capture_given(name)
    except UsageError as error:
        call.note(f"The error file is ignored: {error.message}")
        return None
