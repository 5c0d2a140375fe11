"""Orders of the log taken back: what one removed here by its path, session or number is sealed for seven days.

The key is that of the order's own row in the log, so the store alone cannot read what it has forgotten. An order by
secret, one from a file and what a person here purges are never sealed.
"""

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import apsw
from cryptography.exceptions import InvalidTag

from ctxrank.extensions.team.log import LogLine, TeamLog
from ctxrank.extensions.team.sealing import Register, decrypted, encrypted
from ctxrank.indexer.bounds import ORDER_DAYS
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.exchange.orders import FORGET, REMOVED
from ctxrank.indexer.exchange.register import COUNTED
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.erase import note_erasing
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.removal import unchecked_references
from ctxrank.indexer.store.blocklist import PATH, SESSION
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import put_setting, read_row, read_rows
from ctxrank.indexer.store.ids import foreign_id, origin_code
from ctxrank.indexer.store.imported_rows import source_of, write_entry
from ctxrank.indexer.store.store import Store

_SETTING: Final = "sealed_order_"
_SEALED = f"""
    SELECT o.id, s.value ->> 'until', o.record || ' ' || o.kind, o.key, o.origin, s.value ->> 'sealed'
      FROM settings AS s JOIN orders AS o ON s.key = '{_SETTING}' || o.id ORDER BY o.id DESC
"""


class SealedOrder(NamedTuple):
    """An order that may be taken back until a time: its number, its register in the log, and what it removed here."""

    order: int
    until: int
    kind: str
    key: str
    origin: str
    sealed: str

    @property
    def register(self) -> Register:
        """Its row in the log."""
        return Register(self.kind, self.key, self.origin)


class Sealer:
    """Says with what an order's removal is sealed, from the keys of the lines that it was shown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._secrets: dict[Register, bytes] = {}

    def note(self, lines: Iterable[LogLine]) -> None:
        """Keep the keys of orders among these, as long as this exchange lasts."""
        self._secrets |= {line.register: line.secret for line in lines if line.secret and _is_undone(line.register)}

    def __call__(self, number: int) -> Callable[[apsw.Connection, bytes], None] | None:
        """What seals the changes of an order, in the transaction that makes them; None for one that is final."""
        query = "SELECT record || ' ' || kind, key, origin FROM orders WHERE id = ?"
        register = read_row(self._store.primary, query, (number,), Register)
        if register is None or (secret := self._secrets.get(register)) is None:
            return None

        def seal(writer: apsw.Connection, changes: bytes) -> None:
            sealed = encrypted(_key_of(secret), changes, str(number).encode())
            value = {"until": now_us() + ORDER_DAYS * DAY_US, "sealed": base64.b64encode(sealed).decode()}
            put_setting(writer, f"{_SETTING}{number}", json.dumps(value))

        return seal


def sealed_orders(store: Store) -> list[SealedOrder]:
    """What may be taken back, the latest first."""
    return list(read_rows(store.primary, _SEALED, (), SealedOrder))


def drop_sealed(store: Store, before: int) -> None:
    """Erase what may be taken back until a time before this."""
    if any(one.until < before for one in sealed_orders(store)):
        with store.write() as change:
            query = f"DELETE FROM settings WHERE key LIKE '{_SETTING}%' AND value ->> 'until' < ?"
            change.connection.execute(query, (before,))
            note_erasing(change)


def take_back(store: Store, log: TeamLog, number: str) -> None:
    """Put back what an order removed here, and what its store ordered after it. Raises NotFoundError, CtxrankError.

    The order counts as declined, so this machine does not confirm it.
    """
    sealed = sealed_orders(store)
    origin = next((one.origin for one in sealed if str(one.order) == number), None)
    if origin is None:
        raise NotFoundError(f"What order {number} removed is not sealed.", "'ctxrank team status --unconfirmed'.")
    taken = [one for one in sealed if one.origin == origin and one.order >= int(number)]
    known = log.known(log.head().id, [one.register for one in taken])
    documents: set[int] = set()
    with unchecked_references(store.primary), store.write() as change:
        connection = change.connection
        for one in taken:
            try:
                key = _key_of(known[one.register][0])
                packed = decrypted(key, base64.b64decode(one.sealed), str(one.order).encode())
                documents.update(_put_back(connection, zlib.decompress(packed)))
            except (KeyError, InvalidTag) as error:
                raise CtxrankError(f"The log has no key of order {one.order}.", "It cannot be taken back.") from error
            kind = one.kind.partition(" ")[2]
            connection.execute("DELETE FROM blocklist WHERE kind = ? AND digest = ?", (kind, one.key))
            connection.execute("UPDATE orders SET state = 'declined' WHERE id = ?", (one.order,))
            if one.kind.startswith(REMOVED):  # what its own store says of it later is news again
                number, _, of = one.key.partition("@")
                if code := origin_code(connection, of):
                    write_entry(connection, source_of(of), kind, number, "0", foreign_id(code, int(number)))
            put_setting(connection, f"{_SETTING}{one.order}", "")
        for document in documents:  # those that are there again take new numbers, by which every index sees them
            query = "UPDATE documents SET seq = ? WHERE id = ? RETURNING id"
            if connection.execute(query, (change.next_seq(), document)).fetchone() is not None:
                connection.execute("DELETE FROM tombstones WHERE document_id = ?", (document,))
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            raise CtxrankError("What it belonged to is gone by now.", "Nothing was put back.")
    log.report(0, -1)
    if not (mode := load_config(store).redaction_mode).is_off:
        redact_again(store, mode)  # secrets that were purged since
    store.catch_up()


def _put_back(connection: apsw.Connection, changes: bytes) -> Iterator[int]:
    """Apply the inverse of changes; yields the documents that they had removed."""
    try:
        apsw.Changeset.apply(apsw.Changeset.invert(changes), connection, conflict=_on_conflict)
    except apsw.AbortError as error:
        raise CtxrankError("Something else has its place by now.", "Nothing was put back.") from error
    for one in apsw.Changeset.iter(changes):
        if one.name == "documents" and one.op == "DELETE" and one.old is not None:
            yield int(str(one.old[0]))


def _on_conflict(reason: int, change: apsw.TableChange) -> int:
    """What was changed since stays as it is; a row whose place is taken ends it."""
    is_taken = reason in (apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_CONSTRAINT)
    return apsw.SQLITE_CHANGESET_ABORT if is_taken else apsw.SQLITE_CHANGESET_OMIT


def _is_undone(register: Register) -> bool:
    record, _, kind = register.kind.partition(" ")
    return kind in (PATH, SESSION) if record == FORGET else record == REMOVED and kind not in COUNTED


def _key_of(secret: bytes) -> bytes:
    return hmac.new(secret, b"undo", hashlib.sha256).digest()
