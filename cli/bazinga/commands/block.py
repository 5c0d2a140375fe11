"""`context-block`: the context block of the predecessor's prompt builder, under that program's flags.

An orchestrator that called it for the context alone changes the call's beginning and nothing else.
"""

import sys

from ctxrank.cli.bazinga.arguments import whole_number
from ctxrank.cli.bazinga.call import BazingaCall
from ctxrank.cli.bazinga.place import open_existing
from ctxrank.cli.bazinga.records.context_block import (
    DEFAULT_MODEL,
    MAX_PACKAGES,
    MODELS,
    context_budget,
    render,
)
from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, is_dict
from ctxrank.indexer.records.sessions import find_group, find_session, is_session_wide
from ctxrank.ranking.context.assembly.assemble import LOCK_WAIT_MS, assemble
from ctxrank.ranking.context.assembly.receipt import Delivery, record_delivery
from ctxrank.ranking.context.assembly.request import AssembleRequest

if TYPE_CHECKING:
    from ctxrank.cli.bazinga.records.context_block import ContextBlock
    from ctxrank.indexer.store.store import Store

AGENTS = (
    "developer", "senior_software_engineer", "qa_expert", "tech_lead", "project_manager", "investigator",
    "requirements_engineer",
)  # fmt: skip
READ = (
    "--agent-type", "--session-id", "--group-id", "--task-title", "--task-requirements", "--model", "--iteration",
    "--db", "--project-root", "--params-file",
)  # fmt: skip
# The rest of a prompt, which this block is not.
IGNORED = (
    "--branch", "--mode", "--testing-mode", "--qa-feedback", "--tl-feedback", "--investigation-findings",
    "--prior-handoff-file", "--pm-state", "--resume-context", "--feature-dir", "--speckit-context", "--output-file",
)  # fmt: skip
SWITCHES = ("--allow-no-db", "--speckit-mode", "--json-output", "--debug")


def context_block(call: BazingaCall) -> int:
    """Print what an agent should know from before; nothing where there is nothing, and whatever breaks."""
    if call.arguments[:1] in (("--help",), ("-h",)):
        print(f"ctxrank bazinga context-block\n\nRead: {', '.join(READ)}\nTaken and ignored: {', '.join(IGNORED)}")
        return 0
    try:
        values = _values(call)
        agent, session = _needed(values)
    except UsageError as error:
        print(f"context-block: error: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2
    if agent == "project_manager":
        return 0
    try:
        with _open(call, values) as store:
            sys.stdout.write(_block(store, agent, session, values))
        return 0
    except NoStoreError as error:
        if "--allow-no-db" in values:
            print(f"WARNING: Database not found: {error.message}", file=sys.stderr)
            return 0
        print(f"ERROR: Database not found: {error.message} {error.hint}", file=sys.stderr)
        return 1
    except Exception as error:  # a spawn depends on it: it goes on without the block
        reason = error.message if isinstance(error, CtxrankError) else f"{type(error).__name__}: {error}"
        print(f"WARNING: no context: {reason}", file=sys.stderr)
        return 0


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
            raise UsageError(f"unrecognized argument {arguments[at - 1]!a}.", f"Flags are {', '.join(READ)}.")
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


def _block(store: "Store", agent: str, session: str, values: dict[str, str]) -> str:
    store.primary.set_busy_timeout(LOCK_WAIT_MS)
    model = values.get("--model") or DEFAULT_MODEL
    if model not in MODELS:
        print(f"WARNING: the model {model!a} is not {', '.join(MODELS)}: {DEFAULT_MODEL}.", file=sys.stderr)
        model = DEFAULT_MODEL
    request = AssembleRequest(
        session, agent, group=values.get("--group-id"), task=_task(values), model=model,
        iteration=_iteration(values), limit=MAX_PACKAGES, detail="summary", is_marking=False, is_explained=False,
    )  # fmt: skip
    assembly = assemble(store, request)
    for note in assembly.notes:
        print(f"WARNING: {note}", file=sys.stderr)
    shown = render(assembly, context_budget(agent, model))
    if shown.packages or shown.reasoning:
        note = _record(store, request, shown)
        if note:
            print(f"WARNING: {note}", file=sys.stderr)
    return shown.text


def _task(values: dict[str, str]) -> str:
    return "\n".join(filter(None, (values.get("--task-title"), values.get("--task-requirements"))))


def _iteration(values: dict[str, str]) -> int:
    try:
        return max(whole_number(values.get("--iteration") or "0", "--iteration"), 0)
    except UsageError as error:
        print(f"WARNING: {error.message} It is taken to be 0.", file=sys.stderr)
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
