"""`ctxrank context`: what a task's links reach, within a budget."""

from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.ranking.context.links.context import ContextRequest
from ctxrank.ranking.context.links.receipt import keep_receipt, make_context

if TYPE_CHECKING:
    from ctxrank.ranking.context.links.receipt import Kept, MadeContext


def context(
    call: Call,
    task: str,
    depth: str,
    budget: int | None,
    hops: int | None,
    no_identity: bool,
    no_search: bool,
    format_: str,
) -> Reply:
    """Pack what the task reaches, and keep a receipt of it."""
    form = "markdown" if format_ == "markdown" else "compact"
    request = ContextRequest(task, budget, depth, hops, form, with_identity=not no_identity, with_search=not no_search)
    with call.open_for_links() as store:
        made = make_context(store, request)
        kept = keep_receipt(store, made)
    notes = [kept.note] if kept.note else []
    notes += [*made.material.notes, *made.part.warnings]
    notes += [f"{missing.source} links to {missing.id}, which does not exist." for missing in made.part.missing]
    return Reply(
        lambda: _as_json(made, budget, kept),
        text=made.part.text,
        engine="" if no_search else "fts5",
        notes=tuple(notes),
        form=call.form(format_),
    )


def _as_json(made: "MadeContext", budget: int | None, kept: "Kept") -> dict[str, object]:
    part = made.part
    artifacts: list[dict[str, object]] = []
    for shown in part.shown:
        one = shown.reached
        artifacts.append(
            {
                "id": one.node.id, "type": one.node.type, "title": one.node.title, "status": one.node.status or None,
                "superseded_by": one.node.superseded_by or None, "path": one.node.path, "level": shown.level,
                "lowered": shown.is_lowered, "tokens": shown.tokens, "whole": shown.whole, "tier": f"T{one.tier}",
                "chain": list(one.chain), "reason": one.reason,
            }
        )  # fmt: skip
    omitted: list[dict[str, object]] = [
        {
            "id": left.reached.node.id, "type": left.reached.node.type, "title": left.reached.node.title,
            "tokens": left.tokens, "tier": f"T{left.reached.tier}", "chain": list(left.reached.chain),
            "reason": "budget",
        }
        for left in part.omitted
    ]  # fmt: skip
    return {
        "receipt": kept.receipt,
        "shared_prefix_tokens": kept.shared_prefix_tokens,
        "budget": {"limit": budget, "used": part.used, "counter": part.counter},
        "artifacts": artifacts,
        "omitted": omitted,
        "missing": [missing._asdict() for missing in part.missing],
        "warnings": [*made.material.notes, *part.warnings],
        "text": part.text,
    }
