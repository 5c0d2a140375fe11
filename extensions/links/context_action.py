"""`ctxrank context`: what a task's links reach, within a budget."""

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.extensions.links.context import ContextRequest, make_context, record_context
from ctxrank.extensions.links.pack import PackedArtifact
from ctxrank.indexer.records.receipts import Recording
from ctxrank.indexer.store.store import Store


def context(
    call: Call,
    store: Store,
    task: str,
    depth: str,
    budget: int | None,
    hops: int | None,
    no_identity: bool,
    no_search: bool,
    no_receipt: bool,
    format_: str,
) -> Reply:
    """Pack what the task reaches, and keep a receipt of it."""
    form = "markdown" if format_ == "markdown" else "compact"
    request = ContextRequest(task, budget, depth, hops, form, with_identity=not no_identity, with_search=not no_search)
    draft = make_context(store, request)
    engine = "fts5" if store.wide is None else "opensearch"
    recording = Recording(None, None, "") if no_receipt else record_context(store, draft)
    part, closure = draft.part, draft.material.closure
    warnings = [*draft.material.notes, *closure.warnings]
    return Reply(
        lambda: {
            "receipt": recording.receipt,
            "shared_prefix_tokens": recording.shared_prefix_tokens,
            "budget": {"limit": budget, "used": part.used, "counter": part.counter},
            "artifacts": [_with_node(one, lowered=one.is_lowered) for one in part.shown],
            "omitted": [_with_node(one, reason="budget") for one in part.omitted],
            "missing": closure.missing,
            "warnings": warnings,
            "text": part.text,
        },
        text=part.text,
        engine="" if no_search else engine,
        notes=(*filter(None, (recording.note,)), *warnings, *(one.sentence for one in closure.missing)),
        form=call.form(format_),
    )


def _with_node(one: PackedArtifact, **more: object) -> Extended:
    artifact = one.artifact
    return Extended(artifact.node, {**artifact._asdict(), **one._asdict(), "tier": f"T{artifact.tier}", **more})
