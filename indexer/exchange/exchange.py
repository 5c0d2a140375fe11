"""An exchange: lines that say whose they are, each store's in a run of its own, and what is to be forgotten.

    with open("shop.jsonl", "rb") as file:
        import_jsonl(store, file)                           what `ctxrank export` wrote

    exchange = Exchange(store, "9f3c27ab-…")                lines from anywhere
    exchange.bring(lines, done)
    report = exchange.finish()

A file may have been edited by hand: every text is redacted again, and a line that cannot be used is reported with its
number.
Lines of one origin are registers (see `register`), so neither order nor repetition changes what comes of them.
"""

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import BinaryIO

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import merge, orders
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.import_lines import LineImport, Progress, bring_batches
from ctxrank.indexer.exchange.lines import BadLine, Line, LineReader, batches
from ctxrank.indexer.exchange.orders import FORGET, REMOVED, Order, OrderDoor, digest_order
from ctxrank.indexer.exchange.origin_removal import is_blocked
from ctxrank.indexer.exchange.register import COUNTED, GONE, Origin, number_of, row_key, seq_of
from ctxrank.indexer.exchange.run import Account, ImportReport, ImportRun, KindCount
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.erase import backups_of, is_redaction_unfinished, note_redacting
from ctxrank.indexer.privacy.purge import (
    BY_ORDER,
    SAID_AGAIN,
    Plan,
    finish_forgetting,
    forget_planned,
    plan_numbers,
    plan_ordered,
)
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.removal import HERE, Remover, Seal, unchecked_references
from ctxrank.indexer.store import blocklist, origins
from ctxrank.indexer.store.blocklist import SECRET
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.ids import ORIGIN_DIGITS, digits_of, origin_code, own_uuid
from ctxrank.indexer.store.imported_rows import read_entry, source_of, write_entry
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import is_uuid, one_line

_SHOWN_CHARS = 40
_BATCH_LINES = 5000


def import_jsonl(
    store: Store,
    file: BinaryIO,
    *,
    progress: Progress | None = None,
    from_origins: Sequence[str] = (),
    is_accepted: bool = False,
) -> ImportReport:
    """Bring in an export from a binary file, which is read once from its current position.

    `from_origins` are the first digits of the uuids of the stores whose records are wanted, without any all. With
    `is_accepted` the store that wrote the file is accepted first; those whose records it relays are not. An export of
    this very store gives back what was lost only so.
    `progress` is called after each batch with how many bytes of how many are read, where that is known. Raises
    UsageError for a file that is no export or of another version (nothing is written then), LockedError.
    """
    lines = LineReader(file)
    sender = lines.header()
    size = 0
    with contextlib.suppress(OSError):  # a file in memory has no descriptor
        info = os.fstat(file.fileno())
        size = info.st_size if stat.S_ISREG(info.st_mode) else 0

    def tell(batch: list[Line]) -> None:
        if progress is not None and size:
            progress(lines.read_bytes, size)

    if is_accepted:
        with store.write() as change:
            origin_code(change.connection, sender, is_wanted=True)
            decide(change, sender, "accepted", "import")
    takes_back = is_accepted and sender == own_uuid(store.primary)
    exchange = Exchange(store, sender, from_origins, takes_back=takes_back)
    exchange.bring(lines.records(), tell)
    if lines.end_counts is None:
        return exchange.finish(["The file has no end line: it is cut off, and what was behind the cut is missing."])
    return exchange.finish(
        f"The end line counts {one_line(f'{count} {record}')[:_SHOWN_CHARS]}, and {exchange.read[record]} were there:"
        " the file was edited."
        for record, count in lines.end_counts.items()
        if count != exchange.read[record]
    )


class _Removal(NamedTuple):
    """A record that goes: its key in the register of its origin, its row here (0: none), and what the log notes."""

    of: str
    kind: str
    key: str
    row_id: int
    seq: int
    gone: int


class Exchange:
    """One import of lines of one or more stores, which came by a file or by a team's log; `read` counts the lines of
    each kind.

    A file `takes_back` what this store made and lost where a person agrees: that it is ours it says itself. `sealer`
    is what seals the removals of an order, by its number.
    """

    def __init__(
        self,
        store: Store,
        sender: str,
        wanted: Sequence[str] = (),
        door: OrderDoor = "file",
        *,
        takes_back: bool = False,
        sealer: Callable[[int], Seal | None] = lambda number: None,
    ) -> None:
        for digits in wanted:
            if len(digits_of(digits)) < ORIGIN_DIGITS:
                raise UsageError(f"'{digits}' is no origin.", f"Give its first {ORIGIN_DIGITS} digits or more.")
        self.read: Counter[str] = Counter()
        self._store = store
        self._mode = load_config(store).redaction_mode
        self._sender = sender
        self._wanted = tuple(map(digits_of, wanted))
        self._door: OrderDoor = door
        self._takes_back = takes_back or door != "file"
        self._sealer = sealer
        self._own = own_uuid(store.primary)
        self._account = Account()
        self._imports: dict[str, LineImport] = {}
        self._entered = cache(self._enter_origin)
        self._bound = cache(partial(orders.Bound, store.primary, door))
        self._forgotten = 0
        self._waiting = 0
        self._redacted_for = HERE
        self._kept_out = cache(self._is_kept_out)
        self._left_out = 0

    def bring(self, lines: Iterable[Line | BadLine], done: Callable[[list[Line]], None]) -> None:
        """Bring in what is later than what is here; `done` is called for each batch of neighbouring lines."""
        bring_batches(self._store, batches(self._wanted_lines(lines), _BATCH_LINES), self._bring, done)

    def _bring(self, of: tuple[str, str], batch: list[Line]) -> None:
        uuid, record = of
        if record == REMOVED:
            self._remove(uuid, batch)
        elif record == FORGET:
            self._forget(batch)
        else:
            if uuid not in self._imports:
                run = ImportRun(self._store, self._mode, self._account, self._entered(uuid))
                self._imports[uuid] = LineImport(run)
            self._imports[uuid].bring(record, batch)

    def _enter_origin(self, uuid: str) -> Origin:
        """The origin of lines, with what was decided of it: of a member of the team's log nobody is asked.

        Raises UsageError where it is one more than are asked about.
        """
        with self._store.write() as change:
            code = origin_code(change.connection, uuid, is_wanted=self._door != "file")
            state = origins.state_of(change.connection, uuid)
            if code and state == "asked" and self._door == "log":
                decide(change, uuid, state := "accepted", "log")
        is_accepted = state == "accepted" if code else self._takes_back
        return Origin(uuid, code, uuid == self._sender, is_accepted=is_accepted)

    def _is_kept_out(self, uuid: str) -> bool:
        """Whether an origin was purged or refused here, or is one too many; in a file also one of the log, which alone
        proves who wrote.
        """
        primary = self._store.primary
        is_unproved = self._door == "file" and origins.is_of_log(primary, uuid)
        is_closed = is_unproved or is_blocked(primary, uuid) or origins.state_of(primary, uuid) == "refused"
        if is_closed and self._door != "person":  # who agrees to an order has seen whose it is
            return True
        try:
            self._entered(uuid)
        except UsageError:
            return True
        return False

    def _wanted_lines(self, lines: Iterable[Line | BadLine]) -> Iterator[tuple[tuple[str, str], Line]]:
        """The lines of wanted origins, each with its origin and its kind."""
        for line in lines:
            if isinstance(line, BadLine):
                self._account.skip("unreadable", f"line {line.number}", line.reason)
                continue
            self.read[line.record] += 1
            uuid = line.values.get("origin", self._sender)
            if not isinstance(uuid, str) or not is_uuid(uuid):
                self._account.skip(line.record[:40], line.shown, "its 'origin' is not a store's uuid")
            elif not self._wanted or digits_of(uuid).startswith(self._wanted):
                if self._kept_out(uuid):
                    self._left_out += 1
                else:
                    yield (uuid, line.record), line

    def _remove(self, uuid: str, lines: list[Line]) -> None:
        """Apply that records were removed by their origin, or that every store has to forget them."""
        orders_of: dict[_Removal, int | None] = {}  # 0: it needs none; None: it waits, or was declined
        with unchecked_references(self._store.primary), self._store.write() as change:
            for line in lines:
                try:
                    one = self._removal(change, uuid, line)
                    if one is None or one in orders_of:  # a line may come twice
                        self._account.add(REMOVED, KindCount(unchanged=1))
                    else:
                        orders_of[one] = self._enter_removal(change, uuid, line, one) if one.gone == BY_ORDER else 0
                except UsageError as error:
                    self._account.skip(REMOVED, line.shown, error.message)
            removals = {one: order_id for one, order_id in orders_of.items() if order_id is not None}
            rows: dict[int, dict[str, list[int]]] = {}
            for one, order_id in removals.items():
                rows.setdefault(order_id, {}).setdefault(one.kind, []).extend([one.row_id] * bool(one.row_id))
            for order_id, numbers in rows.items():
                self._forget_planned(change, plan_numbers(change.connection, numbers), uuid, order_id)
            for one in removals:
                self._account.add(REMOVED, KindCount(new=not one.row_id))
                # Row 0: it may be made again, by its origin.
                write_entry(change.connection, source_of(one.of), one.kind, one.key, str(one.seq))
                if one.row_id < 0:
                    query = "UPDATE record_log SET gone = ? WHERE kind = ? AND number = ? AND gone > 0"
                    change.connection.execute(query, (one.gone, one.kind, one.row_id))

    def _forget_planned(self, change: Change, plan: Plan, uuid: str, order_id: int) -> None:
        """Remove what a store says has to go, by an order or (0) because it removed its own."""
        by = Remover(uuid, order_id, self._sealer(order_id)) if order_id else Remover(uuid)
        self._forgotten += sum(forget_planned(change, plan, by).values())
        if SAID_AGAIN in plan.notes and SAID_AGAIN not in self._account.notes:
            self._account.notes.append(SAID_AGAIN)

    def _enter_removal(self, change: Change, uuid: str, line: Line, one: _Removal) -> int | None:
        """The number of an order to remove a record; None where it waits, or was declined."""
        order = Order(uuid, REMOVED, one.kind, f"{number_of(line.values)}@{one.of}", str(seq_of(line.values)))
        return self._enter(change, order, int(one.row_id != 0 and one.of != uuid))

    def _enter(self, change: Change, order: Order, touched: int, is_within: bool | None = None) -> int | None:
        """The number of an order that is to be carried out: it is within its store's bound, as asked here or before."""
        is_obeyed = self._bound(order.origin).allows(touched) if is_within is None else is_within
        order_id = orders.enter(change, order, self._door, touched, is_obeyed=is_obeyed)
        self._waiting += order_id is not None and not is_obeyed
        return order_id if is_obeyed else None

    def _removal(self, change: Change, uuid: str, line: Line) -> _Removal | None:
        """What a line removes here, unless it is later here; errors and strategies lose what the origin counted."""
        connection, values = change.connection, line.values
        kind, number, seq = values.get("kind"), number_of(values), seq_of(values)
        if not isinstance(kind, str) or kind not in KINDS or KINDS[kind].is_container:
            raise UsageError("its 'kind' is not one of a record")
        of, is_order = values.get("of", uuid), "of" in values
        if not isinstance(of, str) or not is_uuid(of):
            raise UsageError("its 'of' is not the uuid of a store")
        origin, table = Origin(of, origin_code(connection, of)), KINDS[kind].table.name
        key, row_id, gone = str(number), origin.local(number), BY_ORDER if is_order else 3
        identity = None  # what it is counted by
        if kind in COUNTED:
            numbered = read_entry(connection, source_of(of), f"{kind} number", number)
            row_id = (numbered.target_id if numbered is not None else 0) or row_id
            names = ", ".join(KINDS[kind].identity)
            identity = connection.execute(f"SELECT {names} FROM {table} WHERE id = ?", (row_id,)).fetchone()
        if identity is None:
            known = read_entry(connection, source_of(of), kind, key)
            seq = GONE if is_order else seq
            if (known is None or known.seq < seq) and (origin.code or is_order):  # else our own log knows better
                here = read_value(connection, f"SELECT id FROM {table} WHERE id = ?", (row_id,), int)
                return _Removal(of, kind, key, here or 0, seq, gone)
            return None
        key = row_key(*identity)
        if not is_order:
            known = read_entry(connection, source_of(of), kind, key)
            if not origin.code or known is None or known.seq >= seq:
                return None
            write_entry(connection, source_of(of), f"{kind} number", number, str(seq), row_id)  # to be said to others
            row_id = 0 if merge.uncount(change, KINDS[kind], row_id, origin.code) else row_id  # others have a say
        return _Removal(of, kind, key, row_id, seq, gone)

    def _forget(self, lines: list[Line]) -> None:
        """Carry out orders and enter them, so that one that was interrupted is carried out again; or let them wait.

        Those of this store are on its list, or were taken off it.
        """
        fresh: dict[str, list[Order]] = {}  # by the store that gave them
        known = 0
        for line in lines:
            try:
                order = digest_order(line)
                self._entered(order.origin)
            except UsageError as error:
                self._account.skip(FORGET, line.shown, error.message)
                continue
            if order.origin == self._own or blocklist.is_entered(self._store.primary, order.kind, order.key):
                known += 1
            else:
                fresh.setdefault(order.origin, []).append(order)
        obeyed = sum(self._obey(key, given) for key, given in fresh.items())
        if obeyed or known:
            self._account.add(FORGET, KindCount(obeyed, 0, known))

    def _obey(self, key: str, given: list[Order]) -> int:
        """Carry out the orders of one store that are not to wait; returns how many.

        What they mean is gone, but for secrets, all of which are looked for at the end.
        """
        primary, code = self._store.primary, self._entered(key).code
        secrets, others = ([one for one in given if (one.kind == SECRET) is is_secret] for is_secret in (True, False))
        touched = orders.records_with(primary, secrets, code) if secrets else 0
        is_within = self._bound(key).allows(touched, len(secrets))
        here = cache(partial(orders.digests_here, primary, key))
        with self._store.write() as change:
            obeyed = [self._block(change, order, touched, is_within) for order in secrets[:1]]
            obeyed += [self._block(change, order, 0, is_within) for order in secrets[1:]]  # they were counted together
            obeyed += [self._block(change, order, 0) for order in others if order.key not in here(order.kind)]
        load_config(self._store)  # with the secrets
        for order in others:
            if order.key in here(order.kind):
                with unchecked_references(primary), self._store.write() as change:
                    plan = plan_ordered(primary, order.kind, order.means)
                    touched = orders.records_in(primary, plan.rows, code)
                    obeyed.append(self._block(change, order, touched, plan=plan))
        return sum(obeyed)

    def _block(
        self, change: Change, order: Order, touched: int, is_within: bool | None = None, plan: Plan | None = None
    ) -> bool:
        """Carry out an order: what it means goes, and does not come in again; False where it waits, or was declined."""
        order_id = self._enter(change, order, touched, is_within)
        if order_id is None:
            return False
        if plan is not None:
            self._forget_planned(change, plan, order.origin, order_id)
        if order.kind == SECRET:
            self._redacted_for = Remover(order.origin, order_id)
            note_redacting(change)
        blocklist.enter(change.connection, order.kind, order.key, order.prefilter, order.origin)
        return True

    def finish(self, losses: Iterable[str] = ()) -> ImportReport:
        """What was done; `losses` are what the file is missing."""
        account = self._account
        if is_redaction_unfinished(self._store.primary):  # the mode has the secrets of all orders
            redact_again(self._store, load_config(self._store).redaction_mode, self._redacted_for)
        # Copies that a repair left keep it from ever being done: then it is tried where something new is to be erased.
        if self._forgotten or account.counts.get(FORGET, KindCount()).new or not backups_of(self._store):
            finish_forgetting(self._store)
        account.recounted += backfill_counts(self._store)
        self._store.catch_up()
        if self._forgotten:
            account.add(REMOVED, KindCount(0, self._forgotten, 0))
        if self._left_out:
            why = "their origin was purged or refused here, comes through the log, or is one of too many undecided ones"
            account.notes.append(f"{self._left_out} lines are left out: {why}.")
        if self._waiting:
            account.notes.append(f"orders to forget wait for you: {self._waiting} ('ctxrank origins pending').")
        others = self._imports.keys() - {self._own}
        if "asked" in [origins.state_of(self._store.primary, uuid) for uuid in others]:
            account.notes.append(
                "other stores' records are found; they are said unasked once you accept them: 'ctxrank origins'."
            )
        for imported in self._imports.values():
            account.notes += imported.run.notes()
        if account.unusable:
            losses = [*losses, f"Lines that say what no store can take: {account.unusable}."]
        return account.report(losses)._replace(waiting=self._waiting)


def carry_out(store: Store, agreed: Sequence[orders.WaitingOrder]) -> ImportReport:
    """Carry out orders that a person here agrees to. Raises LockedError."""
    exchange = Exchange(store, own_uuid(store.primary), door="person")
    exchange.bring([one.line for one in agreed], lambda batch: None)
    report = exchange.finish()
    if not report.skipped:
        with store.write() as change:
            orders.settle(change, [one.number for one in agreed], "agreed")
    return report
