"""`ctxrank suggest-links`: what search finds again and again, as a patch that links it."""

import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call


@declare.command()
@declare.option("--task", metavar="TASK", help="Only what was found for this task.")
@declare.option(
    "--min",
    "least",
    metavar="N",
    type=declare.Whole(1),
    default=2,
    show_default=True,
    help="How many different contexts must have had it among the best that search found.",
)
def command(call: Call, task: str | None, least: int) -> int:
    """Print a patch that links what search keeps finding; nothing is written.

    Receipts of 'ctxrank context' and 'ctxrank assemble --task-id' tell what was found. Review the patch, then apply
    it where .contextia is, with 'git apply' or 'patch -p1'.

    Example: ctxrank suggest-links > links.patch
    """
    from ctxrank.cli.commands.linked_store_option import open_for_links
    from ctxrank.indexer.links.graph import load_graph
    from ctxrank.indexer.links.tree import require_tree
    from ctxrank.indexer.store.config import load_config
    from ctxrank.ranking.context.links.closure import find_task
    from ctxrank.ranking.context.links.suggestions import make_patch, suggest

    with open_for_links(call) as store:
        tree = require_tree(store.location)
        mode = load_config(store).redaction_mode
        suggestions = suggest(store, tree, mode, task=task, least=least)
        if task is not None:
            find_task(load_graph(store.truth, tree), task)  # says what is near a typing error
        patch = make_patch(tree, suggestions, mode)
    for one in suggestions:
        tasks = ", ".join(dict.fromkeys(seen.task for seen in one.sightings))
        where = ", ".join(f"{seen.receipt} (rank {seen.rank})" for seen in one.sightings[:8])
        verb = "add it by hand to" if one in patch.by_hand else "into"
        call.note(
            f"{one.id} {verb} {one.list} of {one.into}: found {len(one.sightings)} times for {tasks}; receipts {where}"
        )
    if not suggestions:
        call.note(f"nothing was found {least} times by search and is not linked.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "folder": tree.folder,
                "suggestions": [
                    {
                        "id": one.id, "list": one.list, "into": one.into, "path": one.path,
                        "in_patch": one in patch.held, "sightings": [seen._asdict() for seen in one.sightings],
                    }
                    for one in suggestions
                ],
                "patch": patch.text,
            },
            outcome="matched" if suggestions else "no_match",
        )  # fmt: skip
    else:
        sys.stdout.write(patch.text)
    return 0 if suggestions else 1
