"""Receipts: the request of a block or context, its inputs and its result, in a few hundred bytes.

Lists are kept as lines with tabs, not as JSON, because every spawn writes one and loads no JSON library for it.
The newest of each group stay, and of contexts the newest of each task; older ones make room.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile

import apsw

from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.light_typing import Any, NamedTuple, cast
from ctxrank.indexer.store.connection import Page, read_column, read_value, wait_for_locks
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.lines import one_line

ASSEMBLY = "assemble"  # the kinds of receipts, as the commands are called
CONTEXT = "context"
# Inputs that say what a text had to find, and follow from it.
NEWEST = "newest artifact"
DELIVERED_TO = "delivered to run"
REASONING_HANDOFF = "reasoning_handoff"  # the event beside it: whose reasoning was handed to whom
LOCK_WAIT_MS = 250  # a spawn does not wait longer to be recorded
MAX_OMITTED_ENTRIES = 400  # a session-wide request may leave thousands out: the first of them are enough
KEPT_PER_GROUP = 50  # or task
KEPT_CONTEXTS = 1000  # of all tasks together
_PART_DIGEST_BYTES = 5
_STORED_AS_THEY_ARE = ("kind", "agent", "iteration", "seq", "digest", "tokens", "created_at")


class ReceiptEntry(NamedTuple):
    """One document of an assembly: in the block at a detail, or left out ('' as detail) and why; tokens it cost."""

    id: str
    is_included: bool
    detail: str
    tokens: int
    reason: str


class Receipt(NamedTuple):
    """A receipt, its id 0 until it is stored; names instead of row ids, `inputs` by name.

    A context belongs to no session. `created_at` is the moment before anything was read for it.
    """

    id: int
    kind: str
    session: str | None
    group: str | None
    agent: str
    iteration: int
    seq: int
    inputs: Mapping[str, str]
    entries: tuple[ReceiptEntry, ...]
    parts: tuple[tuple[str, int], ...]  # as `part_digests` gives them
    digest: str  # of the whole text
    tokens: int
    created_at: int

    @property
    def task_id(self) -> str:
        """The task of `.contextia/` whose linked artifacts the text holds; '' where it was made without one."""
        return self.inputs.get("task" if self.kind == CONTEXT else "task_id", "")

    def entry(self, id_: str) -> ReceiptEntry | None:
        """What became of a document; included counts before lowered."""
        return max((one for one in self.entries if one.id == id_), key=lambda one: one.is_included, default=None)


class Recording(NamedTuple):
    """The id of a receipt, or None and a note where the store could not be written.

    `shared_prefix` is the text's beginning that the same group or task was given last time, too; None where it was
    given nothing.
    """

    receipt: int | None
    shared_prefix: str | None
    note: str

    @property
    def shared_prefix_tokens(self) -> int | None:
        """How many tokens the shared beginning has."""
        from ctxrank.indexer.text.tokens import estimate_tokens  # noqa: PLC0415  listing receipts counts no tokens

        return None if self.shared_prefix is None else estimate_tokens(self.shared_prefix)


def task_group(number: int) -> int:
    """The `group_id` of the contexts of one task, by the number of its artifact: below those that groups can have."""
    return -1 - number


class ReceiptOwner(NamedTuple):
    """Whose receipt it is: a session's and a group's, by row id, 0 for session-wide, -1 for a group that was not there.

    A context has no session, and a group from `task_group`.
    """

    session_id: int | None
    group_id: int


def record(
    store: Store, owner: ReceiptOwner, new: Receipt, text: str, deliver: Callable[[Change], None] | None = None
) -> Recording:
    """Write a receipt, and with it what was delivered; never fails the text that it is of."""
    query = "SELECT parts FROM receipts WHERE session_id IS ? AND group_id = ? ORDER BY id DESC LIMIT 1"
    before = read_value(store.primary, query, owner, str)
    shared: str | None = None
    if before:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(new.parts, _parts(before), strict=False))
        shared = text[: sum(length for (_, length), _ in same)]
    receipt_id = 0

    def write(change: Change) -> None:
        nonlocal receipt_id
        if deliver is not None:
            deliver(change)
        receipt_id = insert(change, owner, new)

    note = record_quickly(store, write, "receipt" if deliver is None else "delivery")
    return Recording(None if note else receipt_id, shared, note)


def record_quickly(store: Store, write: Callable[[Change], None], what: str) -> str:
    """Run `write` in a transaction that waits neither for the disk nor long for a lock; returns a note where it failed.

    What a power cut takes of it is delivered once more: not worth waiting for the disk before each spawn.
    """
    wait_for_locks(store.primary, min(store.busy_ms, LOCK_WAIT_MS))
    store.primary.pragma("synchronous", 1)
    try:
        with store.write() as change:
            write(change)
    except CtxrankError as error:
        return f"The {what} is not recorded: {error.message}"
    finally:
        store.primary.pragma("synchronous", 2)
        wait_for_locks(store.primary, store.busy_ms)
    return ""


def insert(change: Change, owner: ReceiptOwner, new: Receipt) -> int:
    """Write a receipt inside the caller's transaction, and let go of the oldest of its group; returns its id."""
    connection = change.connection
    values: dict[str, str | int | None] = {name: getattr(new, name) for name in _STORED_AS_THEY_ARE}
    reasons = {reason: one_line(reason) for reason in {entry.reason for entry in new.entries}}  # many have the same
    values |= {
        **owner._asdict(),
        "inputs": "\n".join(f"{name}\t{_escaped(value)}" for name, value in new.inputs.items()),
        "entries": "\n".join(_entry_line(entry, reasons[entry.reason]) for entry in new.entries),
        "parts": " ".join(f"{digest}:{length}" for digest, length in new.parts),
    }
    # In SQL of its own: every spawn writes one, and nothing else of a spawn needs the module that inserts rows.
    query = f"INSERT INTO receipts ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    connection.execute(query, tuple(values.values()))
    receipt_id = connection.last_insert_rowid()
    kept = [("session_id IS :session_id AND group_id = :group_id", KEPT_PER_GROUP)]
    kept += [("session_id IS NULL", KEPT_CONTEXTS)] if owner.session_id is None else []
    for alike, most in kept:
        older = f"id <= (SELECT id FROM receipts WHERE {alike} ORDER BY id DESC LIMIT 1 OFFSET {most})"
        connection.execute(f"DELETE FROM receipts WHERE {alike} AND {older}", owner._asdict())
    return receipt_id


def redacted_inputs(lines: str, clean: Callable[[str], str]) -> str:
    """A receipt's stored inputs with each value as `clean` leaves it."""
    pairs = (line.partition("\t") for line in lines.split("\n"))
    return "\n".join(f"{name}{tab}{_escaped(clean(_unescaped(value)))}" for name, tab, value in pairs)


def part_digests(parts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Digest and length of each part, by which two texts are compared from their beginning."""
    return tuple((digest_of(part, _PART_DIGEST_BYTES), len(part)) for part in parts)


def get_receipt(primary: apsw.Connection, receipt_id: int) -> Receipt:
    """One receipt. Raises NotFoundError."""
    from ctxrank.indexer.store.rows import read_where  # noqa: PLC0415  start-up: a spawn reads no receipt

    receipt = read_where(primary, "receipts", Receipt, {"id": receipt_id})
    if receipt is None:
        raise NotFoundError(
            f"There is no receipt {receipt_id}.",
            f"'ctxrank list receipts' shows what there is; the newest {KEPT_PER_GROUP} of a group or task are kept.",
        )
    return _read(receipt)


def list_receipts(
    primary: apsw.Connection, *, naming: str | None = None, limit: int = -1, **wanted: str | None
) -> Page[Receipt]:
    """Receipts of a session, group, agent and kind, the newest first; `naming` only those with an entry of this id."""
    from ctxrank.indexer.store.rows import list_where  # noqa: PLC0415  as above

    named = ":naming IS NULL OR instr(t.entries, char(9) || :naming || char(9))"
    values = {**wanted, "naming": naming}
    found = list_where(primary, "receipts", Receipt, values, f"({named})", order="t.id DESC", limit=limit)
    return Page(map(_read, found), found.total)


def delivered_to_run(primary: apsw.Connection, session_id: int, run: str, before: int) -> list[str]:
    """Ids of what the blocks of a run have shown before a moment with more than a line."""
    query = """
        SELECT entries FROM receipts
         WHERE session_id = ? AND created_at < ? AND instr(char(10) || inputs || char(10), ?)
    """
    said = f"\n{DELIVERED_TO}\t{_escaped(run)}\n"
    kept = read_column(primary, query, (session_id, before, said), str)
    entries = (_entry(line) for lines in kept for line in lines.split("\n") if line)
    return [entry.id for entry in entries if entry.is_included and entry.detail != "line"]


def _read(stored: Any) -> Receipt:
    """A receipt whose lists are still the lines that are stored."""
    pairs = (line.partition("\t") for line in stored.inputs.split("\n") if line)
    inputs = {name: _unescaped(value) for name, _, value in pairs}
    entries = tuple(_entry(line) for line in stored.entries.split("\n") if line)
    return cast("Receipt", stored._replace(inputs=inputs, entries=entries, parts=tuple(_parts(stored.parts))))


def _parts(text: str) -> list[tuple[str, int]]:
    pairs = (part.partition(":") for part in text.split())
    return [(digest, int(length)) for digest, _, length in pairs]


def _entry_line(entry: ReceiptEntry, reason: str) -> str:
    return f"{'+' if entry.is_included else '-'}\t{entry.id}\t{entry.detail}\t{entry.tokens}\t{reason}"


def _entry(line: str) -> ReceiptEntry:
    sign, id_, detail, tokens, reason = line.split("\t", 4)
    return ReceiptEntry(id_, sign == "+", detail, int(tokens), reason)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _unescaped(text: str) -> str:
    return "\\".join(piece.replace("\\n", "\n").replace("\\r", "\r") for piece in text.split("\\\\"))
