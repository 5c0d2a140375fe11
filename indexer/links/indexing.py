"""What `index` does for linked artifacts: the tree, the annotations in code, and exact token counts."""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.annotations import sync_annotations
from ctxrank.indexer.links.config import load_linked_config
from ctxrank.indexer.links.sync import sync_tree
from ctxrank.indexer.links.tree import find_tree, known_trees
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import ENCODING, local_counter

_BATCH = 500


class LinkedReport(NamedTuple):
    """How many files a tree has, how many artifacts were written and removed, how many code files were read."""

    files: int
    written: int
    removed: int
    code_files_read: int


def index_linked(store: Store, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> LinkedReport | None:
    """Bring every tree in step with the disk, and report on the one that the store's root lies in, or holds.

    Its annotations are looked for, too. None where there is no such tree.
    """
    tree = find_tree(store.location, store.location.root)
    for other in known_trees(store):
        if other != tree:
            sync_tree(store, other, mode)
    if tree is None:
        return None
    report = sync_tree(store, tree, mode)
    store.catch_up()
    scan = sync_annotations(store, tree, load_linked_config(tree).starts)
    count_tokens(store)
    return LinkedReport(report.files, len(report.written), len(report.removed), scan.read)


def count_tokens(store: Store) -> int:
    """Count exactly what was only estimated when it was read; returns how many artifacts.

    Without a local vocabulary it does nothing. An artifact that changes meanwhile keeps its estimate.
    """
    query = "SELECT linked_id, meta, summary, full FROM linked_texts WHERE token_counter <> ? LIMIT ?"
    rows = store.truth.execute(query, (ENCODING, _BATCH)).fetchall()
    counter = local_counter() if rows else None  # loads the vocabulary, hence not before there is something to count
    counted = 0
    while counter is not None and rows:
        counts = [
            (" ".join(str(counter.count(str(text))) for text in texts), counter.name, id_, texts[-1])
            for id_, *texts in rows
        ]
        with store.write() as change:
            for values in counts:
                change.connection.execute(
                    "UPDATE linked_texts SET tokens = ?, token_counter = ? WHERE linked_id = ? AND full = ?", values
                )
        counted += len(counts)
        rows = store.truth.execute(query, (ENCODING, _BATCH)).fetchall()
    return counted
