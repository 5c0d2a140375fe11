"""`context-block`: the context block of the predecessor's prompt builder, under that program's flags.

An orchestrator that called it for the context alone changes the call's beginning and nothing else.
"""

import os
from math import ceil

from ctxrank.cli.bazinga.arguments import whole_number
from ctxrank.cli.bazinga.call import BazingaCall
from ctxrank.cli.bazinga.place import open_existing, project_folder
from ctxrank.cli.bazinga.records.context_block import (
    DEFAULT_MODEL,
    MAX_PACKAGES,
    MODELS,
    OPENING,
    context_budget,
    render,
)
from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, is_dict
from ctxrank.indexer.records.sessions import find_group, find_session, is_session_wide
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.tokens import cautious_tokens
from ctxrank.ranking.context.assembly.assemble import LOCK_WAIT_MS, assemble
from ctxrank.ranking.context.assembly.receipt import Delivery, record_delivery
from ctxrank.ranking.context.assembly.request import AssembleRequest

if TYPE_CHECKING:
    from ctxrank.cli.bazinga.records.context_block import ContextBlock
    from ctxrank.indexer.store.store import Store
    from ctxrank.ranking.context.assembly.request import IncludedError, IncludedPackage, IncludedReasoning

AGENTS = (
    "developer", "senior_software_engineer", "qa_expert", "tech_lead", "project_manager", "investigator",
    "requirements_engineer",
)  # fmt: skip
READ = (
    "--agent-type", "--session-id", "--group-id", "--task-title", "--task-requirements", "--model", "--iteration",
    "--db", "--project-root", "--params-file", "--output-file",
)  # fmt: skip
# The rest of a prompt, which this block is not.
IGNORED = (
    "--branch", "--mode", "--testing-mode", "--qa-feedback", "--tl-feedback", "--investigation-findings",
    "--prior-handoff-file", "--pm-state", "--resume-context", "--feature-dir", "--speckit-context",
)  # fmt: skip
SWITCHES = ("--allow-no-db", "--speckit-mode", "--json-output", "--debug")


class Answer(NamedTuple):
    """What a call answers: the block, why there is none, what it shows."""

    text: str = ""
    error: str = ""
    packages: "tuple[IncludedPackage, ...]" = ()
    reasoning: "tuple[IncludedReasoning, ...]" = ()
    errors: "tuple[IncludedError, ...]" = ()
    root: str = ""


def context_block(call: BazingaCall) -> int:
    """Print what an agent should know from before, or why nothing is; 0 whatever breaks."""
    if call.arguments[:1] in (("--help",), ("-h",)):
        call.write(
            f"ctxrank bazinga context-block\n\nRead: {', '.join(READ)}, --json-output\n"
            f"Taken and ignored: {', '.join(IGNORED)}\n"
        )
        return 0
    values: dict[str, str] = {}
    try:
        values = _values(call)
        answer = _answer(call, values)
    except NoStoreError as error:
        level = "WARNING" if "--allow-no-db" in values else "ERROR"
        call.warn(f"{level}: Database not found: {error.message} {error.hint}".rstrip())
        answer = Answer(error=f"Database not found: {error.message} {error.hint}".rstrip())
    except Exception as error:  # a spawn depends on it: it goes on without the block
        reason = f"{error.message} {error.hint}".rstrip() if isinstance(error, CtxrankError) else _named(error)
        call.warn(f"WARNING: no context: {reason}")
        answer = Answer(error=reason)
    _leave(call, values, answer)
    return 0


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _answer(call: BazingaCall, values: dict[str, str]) -> Answer:
    """The block of one agent. Raises CtxrankError."""
    agent, session = _needed(values)
    if agent == "project_manager":
        return Answer(f"{OPENING}\nA project manager is given no context.\n")
    with _open(call, values) as store:
        shown = _block(call, store, agent, session, values)
        text = shown.text or (
            f"{OPENING}\nNothing is known from before for {one_line(agent)} in the session {one_line(session)}.\n"
        )
        return Answer(text, "", shown.packages, shown.reasoning, shown.errors, store.location.root)


def _leave(call: BazingaCall, values: dict[str, str], answer: Answer) -> None:
    """Write the file that is asked for, then the block, or what is to be said of it as JSON."""
    text = answer.text or f"{OPENING}\nThere is no context from before: {one_line(answer.error)}\n"
    path: str | None = None
    error = answer.error
    if values.get("--output-file"):
        path = os.path.abspath(os.path.join(_root_of(call, values, answer), values["--output-file"]))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            call.warn(f"PROMPT_FILE={one_line(path)}")
        except (OSError, ValueError) as problem:
            error = f"{path} cannot be written: {problem}"
            call.warn(f"WARNING: {one_line(error)}")
            path = None
    if "--json-output" not in values:
        call.write(text)
        return
    call.answer(
        {
            "success": not error,
            "context": text,
            "prompt_file": path,
            "tokens_estimate": ceil(cautious_tokens(text)),
            "lines": len(text.splitlines()),
            "packages": [
                {"id": package.id, "file_path": package.path, "priority": package.priority}
                for package in answer.packages
            ],
            "reasoning": [entry.id for entry in answer.reasoning],
            "errors": [entry.id for entry in answer.errors],
            "error": error or None,
        }
    )


def _root_of(call: BazingaCall, values: dict[str, str], answer: Answer) -> str:
    named = values.get("--project-root") or call.place.project_root
    return answer.root or named or project_folder() or os.getcwd()


def _values(call: BazingaCall) -> dict[str, str]:
    """The flags by name; those of a params file where the call itself does not give them."""
    given: dict[str, str] = {}
    arguments = [argument for argument in call.arguments if argument]  # empty ones go, as there
    at = 0
    while at < len(arguments):
        name, has_value, value = arguments[at].partition("=")
        at += 1
        if name in SWITCHES:
            given[name] = ""
        elif name in READ or name in IGNORED:
            if not has_value:
                if at == len(arguments):
                    raise UsageError(f"argument {name}: expected one argument.")
                value = arguments[at]
                at += 1
            given[name] = value
        else:
            call.warn(f"WARNING: the unknown argument {one_line(arguments[at - 1])} is ignored.")
    path = given.get("--params-file")
    return given if path is None else {**_params(path), **given}


def _params(path: str) -> dict[str, str]:
    import json  # noqa: PLC0415  only a parameter file needs it

    from ctxrank.cli.actions.given import read_given  # noqa: PLC0415  as above

    try:
        value: object = json.loads(read_given(path).decode())
    except OSError as error:
        raise UsageError(f"the params file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the params file {path} is not JSON: {error}.") from error
    if not is_dict(value):
        raise UsageError(f"the params file {path} is not a JSON object.")
    values: dict[str, str] = {}
    for key, item in value.items():
        name = f"--{str(key).replace('_', '-')}"
        if name in SWITCHES and item is True:
            values[name] = ""
        elif isinstance(item, str | int) and not isinstance(item, bool) and item != "":
            values[name] = str(item)
    return values


def _needed(values: dict[str, str]) -> tuple[str, str]:
    """(agent, session), checked as there."""
    missing = [name for name in ("--agent-type", "--session-id") if not values.get(name)]
    if missing:
        raise UsageError(f"the following arguments are required: {', '.join(missing)}.")
    if values["--agent-type"] not in AGENTS:
        raise UsageError(
            f"argument --agent-type: invalid choice: {values['--agent-type']!a}.", f"Choose from {', '.join(AGENTS)}."
        )
    return values["--agent-type"], values["--session-id"]


def _open(call: BazingaCall, values: dict[str, str]) -> "Store":
    place = call.place._replace(
        db=values.get("--db") or call.place.db,
        project_root=values.get("--project-root") or call.place.project_root,
    )
    return open_existing(place)


def _block(call: BazingaCall, store: "Store", agent: str, session: str, values: dict[str, str]) -> "ContextBlock":
    store.primary.set_busy_timeout(LOCK_WAIT_MS)
    model = values.get("--model") or DEFAULT_MODEL
    if model not in MODELS:
        call.warn(f"WARNING: the model {model!a} is not {', '.join(MODELS)}: {DEFAULT_MODEL}.")
        model = DEFAULT_MODEL
    request = AssembleRequest(
        session, agent, group=values.get("--group-id"), task=_task(values), model=model,
        iteration=_iteration(call, values), limit=MAX_PACKAGES, detail="summary", is_marking=False, is_explained=False,
        with_files=False,
    )  # fmt: skip
    assembly = assemble(store, request)
    for note in assembly.notes:
        call.warn(f"WARNING: {note}")
    shown = render(assembly, context_budget(agent, model))
    if shown.packages or shown.reasoning:
        note = _record(store, request, shown)
        if note:
            call.warn(f"WARNING: {note}")
    return shown


def _task(values: dict[str, str]) -> str:
    return "\n".join(filter(None, (values.get("--task-title"), values.get("--task-requirements"))))


def _iteration(call: BazingaCall, values: dict[str, str]) -> int:
    try:
        return max(whole_number(values.get("--iteration") or "0", "--iteration"), 0)
    except UsageError as error:
        call.warn(f"WARNING: {error.message} It is taken to be 0.")
        return 0


def _record(store: "Store", request: AssembleRequest, shown: "ContextBlock") -> str:
    """Record what was delivered: what the block shows, not what it could have."""
    session = find_session(store.primary, request.session)
    group_id: int | None = None
    if request.group is not None and not is_session_wide(request.group):
        group = find_group(store.primary, session.id, request.group)
        group_id = -1 if group is None else group.id
    delivery = Delivery(
        session.id, group_id, request.agent, request.iteration,
        tuple(package.id for package in shown.packages),
        tuple(entry.id for entry in shown.reasoning),
        sum(len(entry.content) for entry in shown.reasoning),
    )  # fmt: skip
    return record_delivery(store, delivery)
