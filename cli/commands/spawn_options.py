"""The options of `assemble` as a request: what a spawn depends on is forgiven, with a note on stderr."""

import os
import sys

from ctxrank.cli.call import Call
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.ranking.context.assembly.request import DETAILS, REACHES, TESTING_MODES, TOKENS_PER_SPAWN, AssembleRequest
from ctxrank.ranking.context.assembly.shares import REASONING_TOKENS

_MAX_TASK_BYTES = 1_000_000


def read_request(
    call: Call, session: str, agent: str, options: dict[str, object], *, is_explained: bool
) -> AssembleRequest:
    """The request that the options mean; a bad value becomes its default."""
    detail = _text(options["detail"])
    return AssembleRequest(
        session=_storable(session),
        agent=_storable(agent),
        group=_text(options["group"]),
        task=_task(call, options),
        model=_text(options["model"]),
        current_tokens=_current_tokens(call, options),
        iteration=_number(call, "--iteration", options["iteration"], "0 is used") or 0,
        limit=_number(call, "--limit", options["limit"], "the agent's own is used"),
        budget=_number(call, "--budget", options["budget"], "the agent's share is used"),
        reach=one_of(call, "--reach", str(options["reach"]), REACHES),
        detail=None if detail is None else one_of(call, "--detail", detail, DETAILS, default="passage"),
        include_reasoning=_flag(options["reasoning"]),
        reasoning_level=one_of(
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
        testing_mode=one_of(call, "--testing-mode", str(options["testing_mode"]), TESTING_MODES),
        error_output=_error(call, options),
    )


def one_of(call: Call, name: str, value: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
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
    if name == "-":
        return sys.stdin.buffer.read(_MAX_TASK_BYTES).decode("utf-8", "replace")
    try:
        with open(str(name), "rb") as file:
            return file.read(_MAX_TASK_BYTES).decode("utf-8", "replace")
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
    from ctxrank.cli.commands.failure_input import GivenFailure, capture_given  # only where something failed

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
