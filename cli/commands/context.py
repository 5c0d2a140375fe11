"""`ctxrank context`: what a task's links reach, within a budget."""

import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:  # the query path imports only what it runs
    from ctxrank.indexer.records.receipts import Recording
    from ctxrank.ranking.context.links.receipt import ContextDraft


@declare.command()
@declare.argument("task", metavar="TASK")
@declare.option(
    "--depth",
    type=declare.OneOf(("meta", "summary", "full")),
    default="full",
    show_default=True,
    help="meta: fields; summary: and the first section; full: everything. A budget may lower it.",
)
@declare.option("--budget", metavar="N", type=declare.Whole(1), help="Tokens for the whole text [default: no limit].")
@declare.option("--hops", metavar="N", type=declare.Whole(0), help="How many links one after the other [default: all].")
@declare.option("--no-identity", is_flag=True, help="Leave the identity out.")
@declare.option("--no-search", is_flag=True, help="Only what links, patterns and annotations reach.")
@declare.option(
    "--format",
    "format_",
    type=declare.OneOf(("compact", "markdown", "json")),
    default="compact",
    show_default=True,
    help="compact: for a model; markdown: for a person; json: with tiers, chains and tokens.",
)
def command(
    call: Call,
    task: str,
    depth: str,
    budget: int | None,
    hops: int | None,
    no_identity: bool,
    no_search: bool,
    format_: str,
) -> int:
    """Print what a task of .contextia/ reaches: its specs, norms and decisions, and what search adds.

    Everything reached is shown, lowered to what the budget holds, or named in the footer. Annotations in
    code are as 'ctxrank index' last saw them.

    Example: ctxrank context TASK-042 --budget 4000
    """
    from ctxrank.cli.commands.linked_store_option import open_for_links
    from ctxrank.ranking.context.links.context import ContextRequest
    from ctxrank.ranking.context.links.receipt import make_context, record_context

    is_json = call.is_json or format_ == "json"
    form = "markdown" if format_ == "markdown" else "compact"
    request = ContextRequest(task, budget, depth, hops, form, with_identity=not no_identity, with_search=not no_search)
    with open_for_links(call) as store:
        draft = make_context(store, request)
        recording = record_context(store, draft)
    part = draft.part
    if recording.note:
        call.note(recording.note)
    for note in (*draft.material.notes, *part.warnings):
        call.note(note)
    for missing in part.missing:
        call.note(f"{missing.source} links to {missing.id}, which does not exist.")
    if is_json:
        _print_json(draft, budget, recording)
    else:
        sys.stdout.write(part.text)
    return 0


def _print_json(draft: "ContextDraft", budget: int | None, recording: "Recording") -> None:
    from ctxrank.cli.output.envelope import emit_json

    part = draft.part
    artifacts: list[dict[str, object]] = []
    for shown in part.shown:
        one = shown.artifact
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
            "id": left.artifact.node.id, "type": left.artifact.node.type, "title": left.artifact.node.title,
            "tokens": left.tokens, "tier": f"T{left.artifact.tier}", "chain": list(left.artifact.chain),
            "reason": "budget",
        }
        for left in part.omitted
    ]  # fmt: skip
    emit_json(
        {
            "receipt": recording.receipt,
            "shared_prefix_tokens": recording.shared_prefix_tokens,
            "budget": {"limit": budget, "used": part.used, "counter": part.counter},
            "artifacts": artifacts,
            "omitted": omitted,
            "missing": [missing._asdict() for missing in part.missing],
            "warnings": [*draft.material.notes, *part.warnings],
            "text": part.text,
        }
    )
