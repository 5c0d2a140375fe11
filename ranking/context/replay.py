"""Replay: a block or a context made again from its receipt, and what has changed since where the bytes differ.

replay_receipt(store, get_receipt(store.primary, 12)).is_same
"""

from collections.abc import Iterator, Mapping, Sequence

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.receipts import CONTEXT, NEWEST, Entry, Receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.assembly import receipt as assembly_receipt
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.material import FILE_STATES
from ctxrank.ranking.context.section import RemadeText, named, section_of

if TYPE_CHECKING:
    from ctxrank.ranking.context.section import Section

# Inputs that follow from others, or from what there is to find.
_DERIVED = ("budget in force", "engine")
_NOT_COMPARED = (NEWEST, assembly_receipt.ESTIMATED)
_SKILLS_OF = "skills of "


class Replay(NamedTuple):
    """The text as it would be now, and why it is another one; `changes` is empty where `is_same`."""

    is_same: bool
    text: str
    changes: tuple[str, ...]


class Difference(NamedTuple):
    """How two receipts differ: inputs as (name, one, other), entries that were added, removed, or changed."""

    inputs: tuple[tuple[str, str, str], ...]
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]


def replay_receipt(store: Store, receipt: Receipt, config: Config | None = None) -> Replay:
    """Make the text of a receipt again; nothing is marked and no receipt is left.

    Raises NotFoundError for a session that is gone, DamagedError for a receipt of an assembly that cannot be read,
    UsageError for a part whose extension is absent.
    """
    section = section_of(receipt, "receipt replay")
    if receipt.kind == CONTEXT and section is not None:
        try:
            now = section.remade(store, receipt, config)
        except CtxrankError as error:  # the task is gone, or it has outgrown the budget
            return Replay(is_same=False, text="", changes=(f"it cannot be made again: {error.message}",))
    else:
        now = _remade_assembly(store, receipt, config)
    if digest_of(now.text) == receipt.digest:
        return Replay(is_same=True, text=now.text, changes=())
    return Replay(is_same=False, text=now.text, changes=tuple(_changes(store, receipt, now, section)))


def _remade_assembly(store: Store, receipt: Receipt, config: Config | None) -> RemadeText:
    result, made_from = make_assembly(store, assembly_receipt.request_of(receipt), config)
    assert made_from is not None, "the session of a receipt is there: receipts go with it"
    inputs, entries = assembly_receipt.inputs_of(made_from, result), assembly_receipt.entries_of(result)
    return RemadeText(result.text, dict(inputs), tuple(entries))


def difference(one: Receipt, other: Receipt) -> Difference:
    """How a second receipt differs from a first."""
    mine, theirs = ({entry.id: entry for entry in receipt.entries} for receipt in (one, other))
    return Difference(
        inputs=tuple(row for row in _changed_inputs(one.inputs, other.inputs) if row[0] not in _NOT_COMPARED),
        added=tuple(entry for id_, entry in theirs.items() if id_ not in mine),
        removed=tuple(entry for id_, entry in mine.items() if id_ not in theirs),
        changed=tuple((entry, theirs[id_]) for id_, entry in mine.items() if id_ in theirs and theirs[id_] != entry),
    )


def _changed_inputs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name, ""), after.get(name, "")
        if one != other:
            yield name, one, other


def _causes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The changed inputs but for those that follow from another one: limit and skills from the roles, and what an agent
    left out from what it was to invoke.
    """
    changed = {name: (one, other) for name, one, other in _changed_inputs(before, after)}
    for name in [name for name in changed if name.startswith(_SKILLS_OF)]:
        if name in before and name in after:
            changed.pop(assembly_receipt.MISSING_SKILLS, None)
        if name not in before or name not in after or "roles" in changed:
            del changed[name]  # it is of another agent, or the receipt is older than this input
    if "roles" in changed:
        changed.pop("limit in force", None)
    for name, (one, other) in changed.items():
        yield name, one, other


def _changes(store: Store, receipt: Receipt, now: RemadeText, section: "Section | None") -> Iterator[str]:
    """Everything that is not what it was: settings and program, documents, artifacts, files, and the index's state.

    What follows from something else is named only where nothing else is: the budget from the margin and the context of
    a model, the engine's outcome from what there is to find.
    """
    derived: list[str] = []
    causes: list[str] = []
    for name, before, after in _causes(receipt.inputs, now.inputs):
        if name not in _NOT_COMPARED:
            line = f"{name} was {before or 'not set'}, is {after or 'not set'}"
            (derived if name in _DERIVED else causes).append(line)
    if receipt.kind != CONTEXT:
        causes += named(_changed_documents(store, receipt), "documents")
        causes += named(_indexed_again(store, receipt), "files")
    if section is not None:
        causes += section.changes(store, receipt, now.entries)
    if receipt.kind != CONTEXT:
        causes += _changed_files(receipt, now.entries)
        causes += _changed_elsewhere(store, receipt)
    causes += named(_counted_again(store, receipt, causes), "counts")
    yield from causes or list(_read_again(store, receipt)) or derived or _changed_entries(receipt, now.entries)


def _read_again(store: Store, receipt: Receipt) -> Iterator[str]:
    """Packages in the block whose file was read since: one that only lost passages, or whose lines moved, leaves
    nothing newer in the store, but neither does one that was read again and is the same."""
    if receipt.kind == CONTEXT:
        return
    for entry in receipt.entries:
        kind, _, number = entry.id.partition(":")
        query = """
            SELECT 1 FROM packages AS p JOIN artifacts AS a ON a.id = p.artifact_id
             WHERE p.id = ? AND a.state = 'indexed' AND a.indexed_at > ?
        """
        is_read = kind == PACKAGE and store.primary.execute(query, (number, receipt.created_at)).fetchone()
        if entry.is_included and is_read:
            yield f"{entry.id}: its file was changed and indexed again"


def _changed_entries(receipt: Receipt, entries: Sequence[Entry]) -> Iterator[str]:
    """Where no input that is recorded has changed: what is shown otherwise, such as an error that was confirmed."""
    before = {entry.id: entry for entry in receipt.entries if entry.is_included}
    now = {entry.id: entry for entry in entries if entry.is_included}
    for id_ in sorted(before.keys() | now.keys()):
        one, other = before.get(id_), now.get(id_)
        if one is None or other is None:
            yield f"{id_} is {'no longer shown' if other is None else 'shown now'}"
        elif one != other:
            yield f"{id_} is changed"


def _indexed_again(store: Store, receipt: Receipt) -> Iterator[str]:
    """Files of the session's packages, and files of no package's, that were indexed since, or are gone."""
    rows = store.primary.execute(
        """
        SELECT DISTINCT o.record_id
          FROM documents AS d JOIN documents AS o ON o.id = d.owner_id
         WHERE d.seq > ? AND o.kind = 'package' AND o.seq <= ?
           AND o.session_id = (SELECT id FROM sessions WHERE name = ?)
         ORDER BY o.record_id
        """,
        (receipt.seq, receipt.seq, receipt.session),
    )
    for (number,) in rows:
        yield f"{public_id(PACKAGE, number)}: its file was changed and indexed again"
    if "task" not in receipt.inputs or not receipt.inputs["task"].strip():
        return
    gone: int = store.primary.execute(
        "SELECT count(*) FROM tombstones WHERE session_id = 0 AND seq > ?", (receipt.seq,)
    ).get
    for number, path in store.primary.execute(
        """
        SELECT d.record_id, d.path FROM documents AS d JOIN artifacts AS a ON a.id = d.record_id
         WHERE d.kind = 'artifact' AND d.seq > ? AND a.indexed_at > ? ORDER BY d.seq
        """,
        (receipt.seq, receipt.created_at),  # one that lost its package is no other file
    ):
        gone = 0  # the passages that it no longer has
        yield f"{public_id('artifact', number)}, {path}, is new or changed"
    named = {entry.id for entry in receipt.entries if entry.id.startswith("artifact:")}
    known = {public_id("artifact", int(id_)) for (id_,) in store.primary.execute("SELECT id FROM artifacts")}
    if gone and not named - known:
        yield "an indexed file is gone"


def _counted_again(store: Store, receipt: Receipt, causes: Sequence[str]) -> Iterator[str]:
    """Packages and files that were estimated when the block was made, and that the vocabulary has counted since.

    A text that is another one by now was counted with it, and is named as that.
    """
    query = """
        SELECT 1 FROM documents AS d JOIN documents AS o ON o.id = d.owner_id
         WHERE o.kind = ? AND o.record_id = ? AND d.token_counter = ? LIMIT 1
    """
    for id_ in receipt.inputs.get(assembly_receipt.ESTIMATED, "").split():
        kind, _, number = id_.partition(":")
        is_named = any(cause.split()[0].rstrip(":,") == id_ for cause in causes)
        if not is_named and store.primary.execute(query, (kind, number, ESTIMATE)).fetchone() is None:
            yield f"{id_}: its tokens were counted again"


def _changed_documents(store: Store, receipt: Receipt) -> Iterator[str]:
    """What the session, or the project's memory, has new or changed since the receipt."""
    rows = store.primary.execute(
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
        what = f"superseded by {public_id(PACKAGE, superseded_by)}" if superseded_by else "new" if is_new else "changed"
        yield f"{public_id(kind, number)} is {what}"
    for entry in receipt.entries:
        kind, _, number = entry.id.partition(":")
        known = store.primary.execute(
            "SELECT 1 FROM documents WHERE kind = ? AND record_id = ?", (kind, number)
        ).fetchone()
        if number and known is None:
            yield f"{entry.id} is gone"


def _changed_files(receipt: Receipt, entries: Sequence[Entry]) -> Iterator[str]:
    """Packages whose file is not what it was: the reason in the block says so."""
    before = {entry.id: entry.reason for entry in receipt.entries if entry.is_included}
    for entry in entries:
        if entry.is_included and entry.id in before:
            for word in FILE_STATES.values():
                if (word in entry.reason) != (word in before[entry.id]):
                    yield (
                        f"{entry.id}: {word}" if word in entry.reason else f"{entry.id}: its file is as it was indexed"
                    )


def _changed_elsewhere(store: Store, receipt: Receipt) -> Iterator[str]:
    """Documents that could not be in the text, but that count in how rare its words are."""
    if "task" not in receipt.inputs:
        return
    rows = store.primary.execute(
        """
        SELECT DISTINCT p.kind, p.record_id, s.name
          FROM documents AS d
          JOIN documents AS p ON p.id = coalesce(d.owner_id, d.id)
          JOIN sessions AS s ON s.id = p.session_id
         WHERE d.seq > :seq AND s.name <> :session AND p.record_id IS NOT NULL
         ORDER BY p.id
        """,
        {"seq": receipt.seq, "session": receipt.session},
    )
    changed = [f"{public_id(kind, number)} of session {name} has changed: the rarity of words has moved"
               for kind, number, name in rows]  # fmt: skip
    yield from named(changed, "documents of other sessions")
    gone: int = store.primary.execute(
        """
        SELECT count(*) FROM tombstones
         WHERE seq > :seq AND session_id NOT IN (0, (SELECT id FROM sessions WHERE name = :session))
        """,
        {"seq": receipt.seq, "session": receipt.session},
    ).get
    if gone and not changed:
        yield "a document of other sessions is gone: the rarity of words has moved"
