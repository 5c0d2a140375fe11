"""Replay of a context: the text made again from its receipt, and what has changed since where the bytes differ."""

from collections.abc import Iterator, Mapping

from ctxrank.indexer.exceptions import CtxrankError, DamagedError
from ctxrank.indexer.links.graph import load_graph
from ctxrank.indexer.links.store import KIND, tree_id
from ctxrank.indexer.links.tree import Tree, find_tree
from ctxrank.indexer.records.receipts import Entry, Receipt
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.receipt import Replay
from ctxrank.ranking.context.links.context import ContextRequest
from ctxrank.ranking.context.links.receipt import NEWEST, MadeContext, entries_of, inputs_of, make_context

_MAX_NAMED = 20


def replayed_context(store: Store, receipt: Receipt, config: Config | None = None) -> Replay:
    """Make the context of a receipt again; no receipt is left."""
    try:
        made = make_context(store, request_of(store, receipt), config or load_config(store))
    except CtxrankError as error:  # the task is gone, or it has outgrown the budget
        return Replay(is_same=False, text="", changes=(f"it cannot be made again: {error.message}",))
    text = made.part.text
    if digest_of(text) == receipt.digest:
        return Replay(is_same=True, text=text, changes=())
    return Replay(is_same=False, text=text, changes=tuple(_changes(store, receipt, made)))


def request_of(store: Store, receipt: Receipt) -> ContextRequest:
    """What was asked, as the receipt has it. Raises DamagedError where it cannot be read."""
    given = receipt.inputs
    tree = given.get("tree", ".")
    try:
        return _request(given, store.location.project if tree == "." else tree)
    except (KeyError, ValueError) as error:
        raise DamagedError(f"Receipt {receipt.id} is damaged: {error}.", "Another receipt may be whole.") from error


def _request(given: Mapping[str, str], start: str) -> ContextRequest:
    return ContextRequest(
        given["task"],
        int(given["budget"]) if "budget" in given else None,
        given["depth"],
        int(given["hops"]) if "hops" in given else None,
        given["form"],
        with_identity=given["with identity"] == "True",
        with_search=given["with search"] == "True",
        factor=float(given["token factor"]),
        start=start,
    )


def _changes(store: Store, receipt: Receipt, made: MadeContext) -> Iterator[str]:
    """Settings and program, artifacts, how they are counted, annotations, and the words of everything else."""
    now = dict(inputs_of(store, made))
    for name in sorted(receipt.inputs.keys() | now.keys()):
        before, after = receipt.inputs.get(name, ""), now.get(name, "")
        if name != NEWEST and before != after:
            yield f"{name} was {before or 'not set'}, is {after or 'not set'}"
    changed = dict(_changed_artifacts(store, receipt, made.material.tree))
    yield from _named(changed)
    yield from _otherwise_reached(receipt, made, set(changed))
    if receipt.inputs.get("with search") == "True":
        elsewhere = _changed_elsewhere(store, receipt) - sum(what == "gone" for what in changed.values())
        if elsewhere > 0:
            what = "another document" if elsewhere == 1 else f"{elsewhere} other documents"
            yield f"{what} changed since: how rare words are has moved"


def changed_linked(store: Store, receipt: Receipt) -> Iterator[str]:
    """The same of the artifacts in the block of an assembly, which named a task of the tree that is found from here."""
    tree = find_tree(store.location)
    return _named(dict(_changed_artifacts(store, receipt, tree)) if tree is not None else {})


def _named(changed: dict[str, str]) -> Iterator[str]:
    named = [f"{id_} is {what}" for id_, what in changed.items()]
    yield from named[:_MAX_NAMED]
    if len(named) > _MAX_NAMED:
        yield f"and {len(named) - _MAX_NAMED} more artifacts changed"


def _changed_artifacts(store: Store, receipt: Receipt, tree: Tree) -> Iterator[tuple[str, str]]:
    """Artifacts of the tree that were written since, and those that the receipt names and that are gone."""
    rows = store.truth.execute(
        """
        SELECT l.name, l.id > :newest
          FROM linked_artifacts AS l
          JOIN documents AS d ON d.kind = :kind AND d.record_id = l.id
         WHERE l.tree_id = :tree AND l.name <> '' AND d.seq > :seq
         ORDER BY d.seq
        """,
        {
            "newest": int(receipt.inputs[NEWEST]) if NEWEST in receipt.inputs else None, "kind": KIND,
            "seq": receipt.seq, "tree": tree_id(store.truth, tree),
        },
    )  # fmt: skip
    for name, is_new in rows:
        yield str(name), "new or changed" if is_new is None else "new" if is_new else "changed"
    nodes = load_graph(store.truth, tree).nodes
    for entry in receipt.entries:
        if entry.id not in nodes and ":" not in entry.id and "-" in entry.id and (entry.is_included or entry.tokens):
            yield entry.id, "gone"


def _otherwise_reached(receipt: Receipt, made: MadeContext, changed: set[str]) -> Iterator[str]:
    """Where the artifacts are the same: tokens were counted since, or annotations in code came or went."""
    before = {entry.id: entry for entry in receipt.entries}
    now = {entry.id: entry for entry in entries_of(made.part)}
    counted = [
        id_ for id_, entry in now.items()
        if id_ in before and id_ not in changed and _state(entry) == _state(before[id_]) and entry != before[id_]
    ]  # fmt: skip
    if counted and not changed:
        yield f"the tokens of {len(counted)} artifacts were counted anew, of {counted[0]} for one"
    for id_ in sorted(before.keys() | now.keys()):
        one, other = before.get(id_), now.get(id_)
        if id_ not in changed and "annotation" in _way(one) + _way(other) and _way(one) != _way(other):
            yield f"annotations in code: {id_} was {_way(one) or 'not reached'}, is {_way(other) or 'not reached'}"


def _state(entry: Entry) -> tuple[bool, str]:
    return entry.is_included, entry.detail


def _way(entry: Entry | None) -> str:
    return "" if entry is None else entry.reason.partition(";")[0]


def _changed_elsewhere(store: Store, receipt: Receipt) -> int:
    row = store.truth.execute(
        """
        SELECT (SELECT count(*) FROM documents WHERE seq > ?1 AND kind <> ?2)
             + (SELECT count(*) FROM tombstones WHERE seq > ?1)
        """,
        (receipt.seq, KIND),
    ).fetchone()
    return int(row[0]) if row else 0
