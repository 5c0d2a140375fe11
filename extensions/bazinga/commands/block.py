"""`context-block`: the context block of the predecessor's prompt builder, under that program's flags.

    ## Context from Prior Work
    ### Relevant Context                **[CRITICAL]** path, and the summary quoted
    ### Prior Agent Reasoning           **[agent] phase:** what was thought
    ### Known Error Patterns            the error, and its solution quoted
    ### Strategies, ### Passages, ### Earlier Sessions       what it did not have, in the tokens that are left

An orchestrator that called it for the context alone changes the call's beginning and nothing else. The budgets are the
predecessor's. The classes take turns, so that long packages leave room for reasoning and errors; every text is on one
line. Counted cautiously, in tokens of o200k_base.
"""

import json
import os
from math import ceil

from ctxrank.extensions.bazinga.arguments import leading_options, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Json, json_file
from ctxrank.extensions.bazinga.place import open_store_of, project_folder
from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict
from ctxrank.indexer.records.receipts import LOCK_WAIT_MS
from ctxrank.indexer.records.sessions import find_group, find_session, is_session_wide
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.freshness import shown_path
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, printable, shorten
from ctxrank.indexer.text.tables import rows
from ctxrank.indexer.text.tokens import cautious_tokens
from ctxrank.ranking.context.assembly.assemble import assemble, make_assembly
from ctxrank.ranking.context.assembly.block import REFERENCE_LINE, passage, quoted_line
from ctxrank.ranking.context.assembly.receipt import BlockDelivery, record_delivery
from ctxrank.ranking.context.assembly.shapes import (
    AssembleRequest,
    Assembly,
    IncludedDocument,
    IncludedError,
    IncludedPassage,
    IncludedReasoning,
    IncludedStrategy,
)
from ctxrank.ranking.context.prices import Prices

DEFAULT_MODEL = "sonnet"
MAX_PACKAGES = MAX_REASONING = 5
MAX_LINE_CHARS = 200  # of a summary, a solution, an insight
MAX_REASONING_CHARS = 300
MAX_SIGNATURE_CHARS = 100
MAX_PASSAGE_CHARS = 600
# Who is shown the newest reasoning of any phase: risks, blockers and pivots, too.
_OF_ANY_PHASE = ("qa_expert", "tech_lead")

_ROWS = tuple(rows(__file__, "block"))
MODELS = {name: int(tokens) for sort, name, tokens in _ROWS if sort == "model"}
_SHARES = {name: float(share) for sort, name, share in _ROWS if sort == "share"}
# One of each class first, so that the smallest budget starves none; then two packages for one of the others.
_FIRST_ROUND = ("packages", "reasoning", "errors")
_LATER_ROUNDS = ("packages", "packages", "reasoning", "errors")
_EXTRAS = ("strategies", "passages", "earlier")

OPENING = "## Context from Prior Work\n"
_HEAD = f"{OPENING}\n{REFERENCE_LINE}"
_HEADINGS = {name: f"{heading}\n" for sort, name, heading in _ROWS if sort == "heading"}


class ContextBlock(NamedTuple):
    """The block's text, '' for an empty one, and what of it counts as delivered."""

    text: str
    packages: tuple[IncludedDocument, ...]
    reasoning: tuple[IncludedReasoning, ...]
    errors: tuple[IncludedError, ...] = ()


class Extras(NamedTuple):
    """What the predecessor's block did not have: strategies, the best passages of what it shows, earlier sessions."""

    strategies: tuple[IncludedStrategy, ...] = ()
    passages: tuple[IncludedPassage, ...] = ()
    earlier: tuple[IncludedDocument, ...] = ()


NO_EXTRAS = Extras()
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


def context_block(call: BazingaCall) -> Json | None:
    """Print what an agent should know from before, or why nothing is; 0 whatever breaks."""
    if call.positionals[:1] in (("--help",), ("-h",)):
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
        root = root or values.get("--project-root") or call.place.project_root or project_folder() or os.getcwd()
        path = os.path.abspath(os.path.join(root, values["--output-file"]))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
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


def _values(call: BazingaCall) -> dict[str, str]:
    """The flags by name; those of a params file where the call itself does not give them."""
    given: dict[str, str] = {}
    arguments = [argument for argument in call.positionals if argument]  # empty ones go, as there
    while arguments:
        options, arguments = leading_options(arguments, _VALUED, SWITCHES, lacking=_LACKING)
        given |= options
        if arguments:
            call.warn(f"WARNING: the unknown argument {one_line(arguments.pop(0))} is ignored.")
    path = given.get("--params-file")
    return given if path is None else {**_params(path), **given}


def _params(path: str) -> dict[str, str]:
    value: object = json.loads(json_file(path, "params"))
    if not is_dict(value):
        raise UsageError(f"The params file {path} is not a JSON object.")
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
    if agent not in _SHARES:
        raise UsageError(f"argument --agent-type: invalid choice: {agent!a}.", f"Choose from {', '.join(_SHARES)}.")
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
            session,
            agent,
            group=values.get("--group-id"),
            task=task,
            model=model,
            iteration=_iteration(call, values),
            limit=MAX_PACKAGES,
            detail="summary",
            reasoning_level="full" if agent in _OF_ANY_PHASE else "medium",
            is_marking=False,
            is_explained=False,
            with_files=False,
        )
        config = load_config(store)
        assembly = assemble(store, request, config)
        if agent in _OF_ANY_PHASE:
            newest = sorted(assembly.reasoning, key=lambda entry: -entry.id)
            assembly = assembly._replace(reasoning=tuple(newest))
        extras = _extras(store, request, assembly, config) if config.block_extras else NO_EXTRAS
        shown = render(assembly, context_budget(agent, model), extras)
        notes = list(assembly.notes)
        if shown.packages or shown.reasoning:
            notes.append(_record(store, request, shown))
        for note in filter(None, notes):
            call.warn(f"WARNING: {note}")
        unknown = f"Nothing is known from before for {one_line(agent)} in the session {one_line(session)}."
        return shown._replace(text=shown.text or f"{OPENING}\n{unknown}\n"), store.location.root


def _extras(store: Store, request: AssembleRequest, assembly: Assembly, config: Config) -> Extras:
    """What goes behind a block: found by the same assembly with a wider reach, of which nothing is recorded."""
    wider = request._replace(reach="project", detail="passage", limit=4 * MAX_PACKAGES)
    further = make_assembly(store, wider, config)[0].packages
    query = "SELECT p.id FROM packages AS p JOIN sessions AS s ON s.id = p.session_id WHERE s.name = ?"
    own = frozenset(read_column(store.primary, query, (request.session,), int))
    best = {one.id: one.passages[0] for one in further if one.passages}
    best = {id_: one._replace(heading=f"of id {id_}: {one.heading}") for id_, one in best.items()}
    return Extras(
        assembly.strategies,
        tuple(best[one.id] for one in assembly.packages[:MAX_PACKAGES] if one.id in best),
        # With a task those that it is about: they come with a passage.
        tuple(one for one in further if one.id not in own and (one.passages or not request.task))[:MAX_PACKAGES],
    )


def _iteration(call: BazingaCall, values: dict[str, str]) -> int:
    try:
        return max(whole_number(values.get("--iteration") or "0", "--iteration"), 0)
    except UsageError as error:
        call.warn(f"WARNING: {error.message} It is taken to be 0.")
        return 0


def _record(store: Store, request: AssembleRequest, shown: ContextBlock) -> str:
    """Record what was delivered: what the block shows, not what it could have."""
    session = find_session(store.primary, request.session)
    group_id: int | None = None
    if request.group is not None and not is_session_wide(request.group):
        group = find_group(store.primary, session.id, request.group)
        group_id = -1 if group is None else group.id
    packages = tuple(one.id for one in shown.packages)
    delivery = BlockDelivery(session.id, group_id, request.agent, request.iteration, packages, shown.reasoning)
    return record_delivery(store, delivery)


def context_budget(agent: str, model: str) -> int:
    """How many tokens an agent's context block may have."""
    return int(MODELS[model] * _SHARES[agent])


def render(assembly: Assembly, limit: int, extras: Extras = NO_EXTRAS) -> ContextBlock:
    """As much of the assembly as `limit` tokens hold, each class in its order, and of the extras what they leave."""
    texts: dict[str, list[str]] = {kind: [] for kind in _HEADINGS}
    texts["packages"] += map(_package, assembly.packages[:MAX_PACKAGES])
    for entry in assembly.reasoning[:MAX_REASONING]:
        content = shorten(one_line(entry.content), MAX_REASONING_CHARS)
        texts["reasoning"].append(f"**[{one_line(entry.agent)}] {entry.phase}:** {content}\n")
    for error in assembly.errors:
        signature = _cut(one_line(error.signature), MAX_SIGNATURE_CHARS)
        solution = _cut(one_line(error.solution), MAX_LINE_CHARS)
        texts["errors"].append(f"**Known Issue**: {signature}\n> **Solution**: {solution}\n")
    for strategy in extras.strategies:
        insight = _cut(one_line(strategy.insight), MAX_LINE_CHARS)
        texts["strategies"].append(f"**[{one_line(strategy.topic)}]** {insight}\n")
    for one in extras.passages:
        texts["passages"].append(
            passage(one._replace(text=shorten(printable(one.text), MAX_PASSAGE_CHARS))).lstrip("\n")
        )
    texts["earlier"] += map(_package, extras.earlier)
    taken = _fitting(texts, limit)
    if not any(taken.values()):
        return _NOTHING
    parts = [_HEAD]
    for kind, items in texts.items():
        if taken[kind]:
            parts += [_HEADINGS[kind], *items[: taken[kind]]]
    packages = (*assembly.packages[: taken["packages"]], *extras.earlier[: taken["earlier"]])
    reasoning = assembly.reasoning[: taken["reasoning"]]
    return ContextBlock("\n".join(parts), packages, reasoning, assembly.errors[: taken["errors"]])


def _package(package: IncludedDocument) -> str:
    label = f" ({one_line(package.label)})" if package.label else ""
    name = one_line(shown_path(package.path) or package.title)
    title = f"**[{package.priority.upper()}]** {name} (id {package.id}){label}\n"
    return f"{title}> {_cut(quoted_line(package.summary), MAX_LINE_CHARS)}\n"


def _fitting(texts: dict[str, list[str]], limit: int) -> dict[str, int]:
    """How many of each class fit. What does not fit ends its class and leaves the room to the others."""
    price = Prices(1.0)
    used = price.of(_HEAD)
    taken = dict.fromkeys(texts, 0)
    turn: tuple[str, ...]
    for turn, later in ((_FIRST_ROUND, _LATER_ROUNDS), (_EXTRAS, _EXTRAS)):
        open_classes = {kind for kind in turn if texts[kind]}
        while open_classes:
            for kind in turn:
                if kind not in open_classes:
                    continue
                cost = price.of(texts[kind][taken[kind]]) + (0 if taken[kind] else price.of(_HEADINGS[kind]))
                fits = used + cost <= limit
                if fits:
                    used += cost
                    taken[kind] += 1
                if not fits or taken[kind] == len(texts[kind]):
                    open_classes.discard(kind)
            turn = later
    return taken


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
