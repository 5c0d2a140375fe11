"""`context-block`: the context block of the predecessor's prompt builder, under that program's flags.

An orchestrator that called it for the context alone changes the call's beginning and nothing else.
"""

import os
from math import ceil

from ctxrank.extensions.bazinga.arguments import Arguments, leading_options, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Json
from ctxrank.extensions.bazinga.place import open_store_of, project_folder
from ctxrank.extensions.bazinga.records.context_block import (
    DEFAULT_MODEL,
    MAX_PACKAGES,
    MODELS,
    OPENING,
    ContextBlock,
    context_budget,
    render,
)
from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, is_dict
from ctxrank.indexer.records.sessions import find_group, find_session, is_session_wide
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.tokens import cautious_tokens
from ctxrank.ranking.context.assembly.assemble import LOCK_WAIT_MS, assemble
from ctxrank.ranking.context.assembly.receipt import BlockDelivery, record_delivery
from ctxrank.ranking.context.assembly.shapes import AssembleRequest

if TYPE_CHECKING:
    from ctxrank.indexer.store.store import Store

_AGENTS = "developer senior_software_engineer qa_expert tech_lead project_manager investigator requirements_engineer"
AGENTS = tuple(_AGENTS.split())
_READ = (
    "--agent-type --session-id --group-id --task-title --task-requirements --model --iteration --db --project-root"
    " --params-file --output-file"
)
# The rest of a prompt, which this block is not.
_IGNORED = (
    "--branch --mode --testing-mode --qa-feedback --tl-feedback --investigation-findings --prior-handoff-file"
    " --pm-state --resume-context --feature-dir --speckit-context"
)
SWITCHES = ("--allow-no-db", "--speckit-mode", "--json-output", "--debug")
_HELP = f"""\
ctxrank bazinga context-block

Read: {_READ.replace(" ", ", ")}, --json-output
Taken and ignored: {_IGNORED.replace(" ", ", ")}
"""
_VALUED = frozenset(f"{_READ} {_IGNORED}".split())
_LACKING = "argument {}: expected one argument."
_NOTHING = ContextBlock("", (), ())


def context_block(call: BazingaCall, _: Arguments) -> Json | None:
    """Print what an agent should know from before, or why nothing is; 0 whatever breaks."""
    if call.arguments[:1] in (("--help",), ("-h",)):
        call.write(_HELP)
        return None
    values: dict[str, str] = {}
    shown, root, reason = _NOTHING, "", ""
    try:
        values = _values(call)
        shown, root = _block(call, values)
    except NoStoreError as error:
        reason = f"Database not found: {error.message} {error.hint}".rstrip()
        call.warn(f"{'WARNING' if '--allow-no-db' in values else 'ERROR'}: {reason}")
    except Exception as error:  # a spawn depends on it: it goes on without the block
        named = f"{type(error).__name__}: {error}"
        reason = f"{error.message} {error.hint}".rstrip() if isinstance(error, CtxrankError) else named
        call.warn(f"WARNING: no context: {reason}")
    text = shown.text or f"{OPENING}\nThere is no context from before: {one_line(reason)}\n"
    path: str | None = None
    if values.get("--output-file"):
        path = os.path.abspath(os.path.join(root or _root_of(call, values), values["--output-file"]))
        try:
            _write(path, text)
            call.warn(f"PROMPT_FILE={one_line(path)}")
        except (OSError, ValueError) as problem:
            reason = f"{path} cannot be written: {problem}"
            call.warn(f"WARNING: {one_line(reason)}")
            path = None
    if "--json-output" not in values:
        call.write(text)
        return None
    packages = [{"id": one.id, "file_path": one.path, "priority": one.priority} for one in shown.packages]
    return {
        "success": not reason,
        "context": text,
        "prompt_file": path,
        "tokens_estimate": ceil(cautious_tokens(text)),
        "lines": len(text.splitlines()),
        "packages": packages,
        "reasoning": [entry.id for entry in shown.reasoning],
        "errors": [entry.id for entry in shown.errors],
        "error": reason or None,
    }


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _root_of(call: BazingaCall, values: dict[str, str]) -> str:
    return values.get("--project-root") or call.place.project_root or project_folder() or os.getcwd()


def _values(call: BazingaCall) -> dict[str, str]:
    """The flags by name; those of a params file where the call itself does not give them."""
    given: dict[str, str] = {}
    arguments = [argument for argument in call.arguments if argument]  # empty ones go, as there
    while arguments:
        options, arguments = leading_options(arguments, _VALUED, SWITCHES, lacking=_LACKING)
        given |= options
        if arguments:
            call.warn(f"WARNING: the unknown argument {one_line(arguments.pop(0))} is ignored.")
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


def _block(call: BazingaCall, values: dict[str, str]) -> tuple[ContextBlock, str]:
    """(the block of one agent, the root of its project); it is recorded as delivered. Raises CtxrankError."""
    missing = [name for name in ("--agent-type", "--session-id") if not values.get(name)]
    if missing:
        raise UsageError(f"the following arguments are required: {', '.join(missing)}.")
    agent, session = values["--agent-type"], values["--session-id"]
    if agent not in AGENTS:
        raise UsageError(f"argument --agent-type: invalid choice: {agent!a}.", f"Choose from {', '.join(AGENTS)}.")
    if agent == "project_manager":
        return _NOTHING._replace(text=f"{OPENING}\nA project manager is given no context.\n"), ""
    db, root = values.get("--db") or call.place.db, values.get("--project-root") or call.place.project_root
    with open_store_of(call.place._replace(db=db, project_root=root)) as store:
        store.primary.set_busy_timeout(LOCK_WAIT_MS)
        model = values.get("--model") or DEFAULT_MODEL
        if model not in MODELS:
            call.warn(f"WARNING: the model {model!a} is not {', '.join(MODELS)}: {DEFAULT_MODEL}.")
            model = DEFAULT_MODEL
        task = "\n".join(filter(None, (values.get("--task-title"), values.get("--task-requirements"))))
        request = AssembleRequest(
            session, agent, group=values.get("--group-id"), task=task, model=model, iteration=_iteration(call, values),
            limit=MAX_PACKAGES, detail="summary", is_marking=False, is_explained=False, with_files=False,
        )  # fmt: skip
        assembly = assemble(store, request)
        shown = render(assembly, context_budget(agent, model))
        recorded = _record(store, request, shown) if shown.packages or shown.reasoning else ""
        for note in (*assembly.notes, *filter(None, (recorded,))):
            call.warn(f"WARNING: {note}")
        unknown = f"Nothing is known from before for {one_line(agent)} in the session {one_line(session)}."
        return shown._replace(text=shown.text or f"{OPENING}\n{unknown}\n"), store.location.root


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
    packages = tuple(one.id for one in shown.packages)
    delivery = BlockDelivery(session.id, group_id, request.agent, request.iteration, packages, shown.reasoning)
    return record_delivery(store, delivery)
