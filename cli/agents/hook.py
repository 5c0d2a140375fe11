"""`ctxrank hook`: one event of an agent runner on stdin, its answer on stdout.

    {"hook_event_name": "UserPromptSubmit", "session_id": "…", "cwd": "…", "prompt": "…"}
    {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "…"}}

The exit code is always 0 and nothing but the answer is printed: for a runner any other code is an error, and 2 blocks.
What goes wrong is a line in the log (log.py). So the command has a parser of its own, which knows no mistakes, and its
outermost function catches everything.
"""

import os
import sys
from collections.abc import Callable, Mapping

from ctxrank.cli.agents.event import KINDS, RUNNERS, SPAWNING_TOOLS, Event, read_event
from ctxrank.cli.agents.injected_text import MAX_CHARACTERS
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.session import HookCall, branch_of
from ctxrank.cli.agents.watchdog import MAX_MEMORY_BYTES, Watchdog
from ctxrank.cli.call import Call, Reply, given_options
from ctxrank.indexer.bounds import MAX_EVENT_BYTES
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.extensions import provided
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.hook_settings import hook_settings
from ctxrank.indexer.store.location import SERVE_LOCK, find_store
from ctxrank.indexer.systems import unbound_memory
from ctxrank.indexer.text.light_json import dumps

_CHUNK_BYTES = 256 * 1024


def main() -> None:
    """Answer one event and end the process with 0, whatever happens."""
    try:
        given = given_options(sys.argv[2:], ("--runner", "--db", "--root"))
        call = Call(db=given.get("--db"), root=given.get("--root"))
        with Watchdog() as watchdog:
            answer = answer_of(_read_stdin(), given.get("--runner"), call, watchdog.knows)
            _write(answer)
    except BaseException as error:  # the runner is to go on: see above
        _note(error)
    finally:
        os._exit(0)


def hook(call: Call, runner: str | None) -> Reply:
    """The same where global options come before the command's name."""
    with Watchdog() as watchdog:
        answer = answer_of(_read_stdin(), runner, call, watchdog.knows)
    return Reply(text=f"{answer}\n" if answer else "")


def answer_of(data: bytes | None, runner: str | None, call: Call, began: Callable[[Event], None] | None = None) -> str:
    """The answer to an event, '' for nothing to say; None is an event that was too large to read.

    `began` is told which event it is.
    """
    event = None
    try:
        if data is None:
            raise UsageError(f"The event is larger than {MAX_EVENT_BYTES // (1024 * 1024)} MB.")
        event = read_event(data, runner)
        if event is None:
            return ""
        if began is not None:
            began(event)
        answer = _answer_of_server(event, data, runner, call)
        return _answer(event, call) if answer is None else answer
    except Exception as error:  # as in `main`
        _note(error, "" if event is None else event.cwd)
        return ""


def _answer_of_server(event: Event, data: bytes, runner: str | None, call: Call) -> str | None:
    """The answer of the process that serves the store at a Unix socket; None where there is none, or this is it."""
    # What is named here the process need not know: it finds the store of the event's folder.
    if call.opened is not None or call.db or call.root or {"CTXRANK_DB", "CTXRANK_ROOT"} & os.environ.keys():
        return None
    location = find_store(start=event.cwd)
    lock = os.path.join(location.folder, SERVE_LOCK)
    if location.must_prove or not os.path.exists(lock):
        return None
    from ctxrank.cli.agents.forwarding import answer_of_server  # noqa: PLC0415  only where a process serves

    return answer_of_server(lock, data, runner)


def _answer(event: Event, call: Call) -> str:
    with call.open(event.cwd, KINDS[event.name].wait_ms) as store:
        config = load_config(store)
        settings = hook_settings(config.hooks)
        if not settings.enabled:
            return ""
        if store.wide is not None:
            from ctxrank.indexer.deadline import EVENT_S, Deadline  # noqa: PLC0415  only where others are asked

            store.deadline = Deadline(EVENT_S)
        said = _said(HookCall(store, event, config, settings, branch_of(store.location.root)))
    if not said:
        return ""
    output = {"updatedInput": said} if isinstance(said, Mapping) else {"additionalContext": said}
    whole: Mapping[str, object] = {"hookSpecificOutput": {"hookEventName": event.name, **output}}
    if event.runner not in RUNNERS:
        from ctxrank.cli.agents.dialects import theirs  # noqa: PLC0415  only other runners have other words

        whole = theirs(event.runner, output, event.name)
    answer = dumps(whole, ensure_ascii=False)
    if len(answer) > MAX_CHARACTERS:
        raise CtxrankError(f"The answer to {event.name} would have {len(answer)} characters and is not given.")
    return answer


def _said(call: HookCall) -> str | Mapping[str, object] | None:
    """What goes before the model, or the tool's new input; nothing for most events."""
    kind = KINDS[call.event.name]
    is_spawn = bool(kind.answer_to_spawn) and call.event.text("tool_name") in SPAWNING_TOOLS
    answer = kind.answer_to_spawn if is_spawn else kind.answer
    if not answer:
        return None
    said: str | Mapping[str, object] | None = provided(f"ctxrank.cli.agents.{answer}", "hook")(call)
    return said


def _read_stdin() -> bytes | None:
    """What comes in, to its end; None where that is more than an event may have."""
    data = sys.stdin.buffer.read(MAX_EVENT_BYTES + 1)
    while sys.stdin.buffer.read(_CHUNK_BYTES):  # who writes it is not to be left with a broken pipe
        pass
    return data if len(data) <= MAX_EVENT_BYTES else None


def _write(answer: str) -> None:
    """Print an answer; a runner that has gone needs none."""
    if not answer:
        return
    data = memoryview(f"{answer}\n".encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]


def _note(error: BaseException, place: str = "") -> None:
    """Say in the log what went wrong, and in which folder ('': this process's).

    Of what only a mistake of ours raises, that is its type and line alone.
    """
    if isinstance(error, MemoryError):
        unbound_memory()  # the line needs some, too
        note_failure(f"out of memory: an event gets {MAX_MEMORY_BYTES // (1024 * 1024)} MB.", place)
        return
    if isinstance(error, CtxrankError):
        note_failure(f"{error.kind}: {error.message}", place)
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    line = "" if trace is None else f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    note_failure(f"{type(error).__name__}{line}", place)
