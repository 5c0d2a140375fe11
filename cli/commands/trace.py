"""`ctxrank trace`: which artifacts govern a file."""

import os

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


@declare.command()
@declare.argument("path", metavar="PATH")
def command(call: Call, path: str) -> int:
    """Say which artifacts of .contextia/ govern a file: by a spec's paths, a norm's scope, an annotation.

    The file need not exist yet. Exit code 1 where nothing governs it.

    Example: ctxrank trace src/billing/invoice.py
    """
    from ctxrank.cli.commands.linked_store_option import open_for_links
    from ctxrank.indexer.beneath import contained_path
    from ctxrank.indexer.files.read import FileText, read_text_file
    from ctxrank.indexer.links.annotations import trace_path
    from ctxrank.indexer.links.graph import load_graph
    from ctxrank.indexer.links.sync import sync_tree
    from ctxrank.indexer.links.tree import require_tree
    from ctxrank.indexer.store.config import load_config

    with open_for_links(call) as store:
        tree = require_tree(store.location)
        wanted = os.path.relpath(os.path.join(os.path.realpath(os.getcwd()), path), tree.folder)
        wanted = contained_path(tree.folder, wanted)
        sync_tree(store, tree, load_config(store).redaction_mode)
        graph = load_graph(store.truth, tree)
    text = read_text_file(tree.folder, wanted)
    governors, unknown = trace_path(graph, wanted, text.text if isinstance(text, FileText) else "")
    for id_ in unknown:
        call.note(f"{wanted} names {id_}, which does not exist.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        found: list[dict[str, object]] = [
            {
                "id": one.node.id, "type": one.node.type, "title": one.node.title, "status": one.node.status or None,
                "path": one.node.path, "reasons": list(one.reasons), "line": one.line or None,
            }
            for one in governors
        ]  # fmt: skip
        emit_json({"path": wanted, "artifacts": found}, outcome="matched" if found else "no_match")
        return 0 if found else 1
    for one in governors:
        state = f" ({one.node.status})" if one.node.is_retired else ""
        print(f"{one.node.id}{state}  {shown(one.node.title)}  {shown('; '.join(one.reasons))}")
    if not governors:
        call.note(f"nothing governs {wanted}.")
    return 0 if governors else 1
