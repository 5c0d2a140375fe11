"""Replay: an assembly made again from its receipt, and what has changed since where the bytes differ.

replayed(store, get_receipt(store.truth, 12)).is_same
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Entry, Receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.assemble import Made, make_assembly
from ctxrank.ranking.context.assembly.material import FILE_STATES
from ctxrank.ranking.context.assembly.receipt import Replay, entries_of, inputs_of
from ctxrank.ranking.context.assembly.request import AssembleRequest, Assembly

_MAX_NAMED = 20  # changes of one kind that are named one by one


class Difference(NamedTuple):
    """What tells two receipts apart: inputs as (name, one, other), entries that came, went, or changed."""

    inputs: tuple[tuple[str, str, str], ...]
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]


def replayed(store: Store, receipt: Receipt, config: Config | None = None) -> Replay:
    """Make the text of a receipt again; nothing is marked and no receipt is left. Raises NotFoundError."""
    if receipt.kind == "context":
        from ctxrank.ranking.context.links.replay import replayed_context

        return replayed_context(store, receipt, config)
    made = make_assembly(store, request_of(receipt), config)
    text = made.assembly.text
    if digest_of(text) == receipt.digest:
        return Replay(is_same=True, text=text, changes=())
    return Replay(is_same=False, text=text, changes=tuple(_changes(store, receipt, made)))


def _optional_flag(text: str) -> bool:
    return text == "True"


# How an input of a receipt becomes a value of the request again.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "group": str, "task": str, "model": str, "current_tokens": int, "limit": int, "budget": int, "reach": str,
    "detail": str, "include_reasoning": _optional_flag, "reasoning_level": str, "project": str, "lang": str,
    "framework": str, "as_of": int, "task_id": str, "with_skills": _optional_flag, "testing_mode": str,
}  # fmt: skip


def request_of(receipt: Receipt) -> AssembleRequest:
    """What was asked, as the receipt has it. Raises DamagedError where it cannot be read."""
    failure = receipt.inputs.get("failure", "")
    try:
        given = {name: read(receipt.inputs[name]) for name, read in _READERS.items() if name in receipt.inputs}
    except ValueError as error:
        raise DamagedError(f"Receipt {receipt.id} is damaged: {error}.", "Another receipt may be whole.") from error
    return AssembleRequest(
        receipt.session or "", receipt.agent, iteration=receipt.iteration, is_marking=False, is_explained=False,
        delivered_before=receipt.created_at,
        # Nothing given would look for the group's last failure as it is now.
        error_output=failure.encode(), **given,
    )  # fmt: skip


def difference(one: Receipt, other: Receipt) -> Difference:
    """What a second receipt has otherwise than a first."""
    names = sorted(one.inputs.keys() | other.inputs.keys())
    inputs = [(name, one.inputs.get(name, ""), other.inputs.get(name, "")) for name in names]
    mine, theirs = ({entry.id: entry for entry in receipt.entries} for receipt in (one, other))
    return Difference(
        tuple(row for row in inputs if row[1] != row[2]),
        tuple(entry for id_, entry in theirs.items() if id_ not in mine),
        tuple(entry for id_, entry in mine.items() if id_ not in theirs),
        tuple((entry, theirs[id_]) for id_, entry in mine.items() if id_ in theirs and theirs[id_] != entry),
    )


def _changes(store: Store, receipt: Receipt, made: Made) -> Iterator[str]:
    """Every input that is not what it was: settings and program, documents, memory, files, and the index's state."""
    for name, before, now in _state_changes(receipt, made):
        yield f"{name} was {before or 'not set'}, is {now or 'not set'}"
    changed = list(_changed_documents(store, receipt))
    yield from changed[:_MAX_NAMED]
    if len(changed) > _MAX_NAMED:
        yield f"and {len(changed) - _MAX_NAMED} more documents changed"
    if "task_id" in receipt.inputs:
        from ctxrank.ranking.context.links.replay import changed_linked

        yield from changed_linked(store, receipt)
    yield from _changed_files(receipt, made.assembly)
    elsewhere = _changed_elsewhere(store, receipt)
    if elsewhere and "task" in receipt.inputs:
        what = "a document" if elsewhere == 1 else f"{elsewhere} documents"
        yield f"{what} of other sessions changed since: how rare words are has moved"


def _state_changes(receipt: Receipt, made: Made) -> Iterator[tuple[str, str, str]]:
    assert made.seen is not None, "the session of a receipt is there: receipts go with it"
    now = dict(inputs_of(made.seen, made.assembly))
    for name in sorted(receipt.inputs.keys() | now.keys()):
        if receipt.inputs.get(name, "") != now.get(name, ""):
            yield name, receipt.inputs.get(name, ""), now.get(name, "")


def _changed_documents(store: Store, receipt: Receipt) -> Iterator[str]:
    """What the session, or the project's memory, has new or otherwise since the receipt."""
    rows = store.truth.execute(
        """
        SELECT d.kind, d.record_id, d.created_at > :moment, d.superseded_by
          FROM documents AS d
         WHERE d.seq > :seq AND d.record_id IS NOT NULL AND d.kind <> 'artifact' AND d.kind <> 'skill'
           AND (d.session_id = (SELECT id FROM sessions WHERE name = :session) OR d.kind IN ('error', 'strategy'))
         ORDER BY d.seq
        """,
        {"seq": receipt.seq, "session": receipt.session, "moment": receipt.created_at},
    )
    for kind, number, is_new, superseded_by in rows:
        what = f"superseded by package:{superseded_by}" if superseded_by else "new" if is_new else "changed"
        yield f"{kind}:{number} is {what}"
    for entry in receipt.entries:
        kind, _, number = entry.id.partition(":")
        known = store.truth.execute(
            "SELECT 1 FROM documents WHERE kind = ? AND record_id = ?", (kind, number)
        ).fetchone()
        if number and known is None:
            yield f"{entry.id} is gone"


def _changed_files(receipt: Receipt, result: Assembly) -> Iterator[str]:
    """Packages whose file is not what it was: the reason in the block says so."""
    before = {entry.id: entry.reason for entry in receipt.entries if entry.is_included}
    for entry in entries_of(result):
        if entry.is_included and entry.id in before:
            for word in FILE_STATES.values():
                if (word in entry.reason) != (word in before[entry.id]):
                    yield (
                        f"{entry.id}: {word}" if word in entry.reason else f"{entry.id}: its file is as it was indexed"
                    )


def _changed_elsewhere(store: Store, receipt: Receipt) -> int:
    row = store.truth.execute(
        """
        SELECT (SELECT count(*) FROM documents
                 WHERE seq > ?1 AND session_id IS NOT (SELECT id FROM sessions WHERE name = ?2)
                   AND (kind <> 'linked' OR ?3))
             + (SELECT count(*) FROM tombstones WHERE seq > ?1)
        """,
        # Linked artifacts are named one by one where the assembly was of a task of theirs.
        (receipt.seq, receipt.session, "task_id" not in receipt.inputs),
    ).fetchone()
    return int(row[0]) if row else 0
