"""Orders to forget that other stores gave: each is carried out at once, within a bound, or waits for a person here.

    bound = Bound(store.primary, "log", uuid)
    bound.allows(touched)                         within what this store's orders may touch in seven days
    enter(change, order, "log", touched, is_obeyed=True)      12, its number

An order waits where, with all that its origin had forgotten here in seven days, it touches more records than `bounds`
has, or is one of too many; so does each order of a store that is not accepted, and each that came in a file. What an
origin made itself does not count: it is its own to take back. A person here carries it out, or declines it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import apsw

from ctxrank.indexer.bounds import FEW_RECORDS, LEAST_CHARS, MAX_ORDERS, MOST_CHARS, ORDER_DAYS, SHARE_OF_RECORDS
from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.light_typing import Literal, NamedTuple
from ctxrank.indexer.privacy.purge import orderable_texts
from ctxrank.indexer.redaction.encoded import contains_in_any_encoding
from ctxrank.indexer.redaction.purged_secrets import find_purged_secrets
from ctxrank.indexer.store import blocklist, origins
from ctxrank.indexer.store.blocklist import PATH, SECRET, SESSION
from ctxrank.indexer.store.connection import read_column, read_rows, read_value, require_value
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.digests import BLOCKED_BYTES
from ctxrank.indexer.text.lines import is_uuid

REMOVED, FORGET = "removed", "forget"
_SAID = ("key", "record", "kind", "digest", "prefilter")  # how a line calls what an order to forget has
_ORDERS = """
    SELECT w.id, coalesce(o.who, ''), w.came_by, w.came_at, w.touched, w.origin, w.record, w.kind, w.key, w.prefilter
      FROM orders AS w LEFT JOIN origins AS o ON o.uuid = w.origin WHERE {} ORDER BY w.id
"""
_NOTHING, _ANYTHING = -1, 1 << 60

OrderDoor = Literal["log", "file", "person"]  # by which an order came; a person here agreed to it


class Order(NamedTuple):
    """An order: whose it is, `forget` by a digest or `removed` by a record's `number@uuid`, and what of.

    A digest is keyed with the uuid of the store whose order it is. `prefilter` is that of a secret's digest, or the
    number of the removal's last change.
    """

    origin: str
    record: str
    kind: str
    key: str
    prefilter: str

    def means(self, text: str) -> bool:
        """Whether one by a digest is about a path, the name of a session, or the text of a record."""
        return any(blocklist.digest(self.origin, self.kind, part) == self.key for part in _parts(self.kind, text))


class WaitingOrder(NamedTuple):
    """An order that waits: its number, what its store is called, by which door and when it came, how many records it
    touches here, and the order.
    """

    number: int
    name: str
    came_by: str
    came_at: int
    touched: int
    origin: str
    record: str
    kind: str
    key: str
    prefilter: str

    @property
    def line(self) -> Line:
        """The line that it came in."""
        values: dict[str, object] = {"origin": self.origin, "kind": self.kind}
        if self.record == FORGET:
            values |= {"digest": self.key, "prefilter": self.prefilter, "key": self.origin}
        else:
            number, _, of = self.key.partition("@")
            values |= {"id": int(number), "of": of, "seq": int(self.prefilter)}
        return Line(0, self.record, values, name=f"order {self.number}")


class Bound:
    """What the orders of a store may still touch here; in seven days, without a person."""

    def __init__(self, primary: apsw.Connection, door: OrderDoor, uuid: str) -> None:
        self._left = self._orders_left = _ANYTHING if door == "person" else _NOTHING
        if door == "log" and origins.state_of(primary, uuid) == "accepted":
            records = require_value(primary, "SELECT count(*) FROM documents WHERE record_id IS NOT NULL", (), int)
            query = "SELECT touched FROM orders WHERE origin = ? AND state = 'done' AND came_at > ?"
            done = read_column(primary, query, (uuid, now_us() - ORDER_DAYS * DAY_US), int)
            self._left = max(FEW_RECORDS, int(SHARE_OF_RECORDS * records)) - sum(done)
            self._orders_left = MAX_ORDERS - len(done)

    def allows(self, touched: int, orders: int = 1) -> bool:
        """Whether so many records more, touched by so many orders, are within it; they count if so."""
        if touched > self._left or orders > self._orders_left:
            return False
        self._left -= touched
        self._orders_left -= orders
        return True


def digest_order(line: Line) -> Order:
    """The order of a line to forget something. Raises UsageError."""
    order = Order(*(FORGET if name == "record" else str(line.values.get(name)) for name in _SAID))
    kinds = (PATH, SESSION, SECRET, *(kind.name for kind in KINDS.values() if kind.blocked))
    is_filter = re.fullmatch("[0-9]{1,9} [0-9]{1,9}" if order.kind == SECRET else "", order.prefilter)
    is_digest = re.fullmatch(f"[0-9a-f]{{{2 * BLOCKED_BYTES}}}", order.key)
    if order.kind not in kinds or not is_digest or not is_filter or not is_uuid(order.origin):
        raise UsageError("it is no order")
    if order.kind == SECRET and not LEAST_CHARS <= int(order.prefilter.split()[0]) <= MOST_CHARS:
        raise UsageError(f"it orders to forget what has not {LEAST_CHARS} to {MOST_CHARS} characters")
    return order


def digests_here(primary: apsw.Connection, key: str, kind: str) -> frozenset[str]:
    """The digests of all that an order of a store, with its key, could mean here."""
    parts = {part for text in orderable_texts(primary, kind) for part in _parts(kind, text)}
    return frozenset(blocklist.digest(key, kind, part) for part in parts)


def _parts(kind: str, text: str) -> Iterable[str]:
    return blocklist.and_above(text) if kind == PATH else (text,)


def records_with(primary: apsw.Connection, orders: Iterable[Order], code: int) -> int:
    """How many records hold one of these secrets, without those that the origin of the code made."""
    secrets = tuple(blocklist.secret_of(one.key, one.prefilter, one.origin, is_order=True) for one in orders)
    query = """
        SELECT coalesce(o.id, d.id), coalesce(o.record_id, d.record_id, 0), d.title || char(10) || d.body
          FROM documents AS d LEFT JOIN documents AS o ON o.id = d.owner_id
    """
    found: set[int] = set()
    for document, number, text in primary.execute(query):
        if document in found or origin_and_number(number)[0] == code:
            continue
        if contains_in_any_encoding(text, lambda part: find_purged_secrets(part, secrets)):
            found.add(document)
    return len(found)


def records_in(primary: apsw.Connection, rows: Mapping[str, Sequence[int]], code: int) -> int:
    """How many records these rows are, without those that the origin of the code made; a package's file is none."""
    query = "SELECT record_id FROM documents WHERE kind = 'artifact' AND record_id IN (SELECT value FROM json_each(?))"
    files = read_column(primary, query, (id_list(rows.get("artifact", ())),), int)
    touched = [number for numbers in {**rows, "artifact": files}.values() for number in set(numbers)]
    return sum(origin_and_number(number)[0] != code for number in touched)


def enter(change: Change, order: Order, door: OrderDoor, touched: int, *, is_obeyed: bool) -> int | None:
    """Enter an order and what becomes of it, inside a transaction; its number, None where it was declined."""
    connection = change.connection
    state = ("agreed" if door == "person" else "done") if is_obeyed else "waiting"
    query = """
        INSERT INTO orders (origin, record, kind, key, prefilter, came_by, came_at, touched, state)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (origin, record, kind, key) DO UPDATE SET touched = excluded.touched, state = excluded.state
         WHERE state <> 'declined' OR excluded.state = 'agreed'
        RETURNING id
    """
    return read_value(connection, query, (*order, door, now_us(), touched, state), int)


def waiting_orders(primary: apsw.Connection) -> list[WaitingOrder]:
    """The orders that wait for a person, the oldest first."""
    return list(read_rows(primary, _ORDERS.format("w.state = 'waiting'"), (), WaitingOrder))


def returnable_orders(primary: apsw.Connection) -> list[WaitingOrder]:
    """The orders of the log that were carried out here and may be taken back, the oldest first."""
    condition = "w.state = 'done' AND w.came_by = 'log' AND w.kind <> ? AND w.came_at > ?"
    return list(read_rows(primary, _ORDERS.format(condition), (SECRET, now_us() - ORDER_DAYS * DAY_US), WaitingOrder))


def settle(change: Change, numbers: Iterable[int], state: Literal["agreed", "declined"]) -> None:
    """These wait no longer: what is declined is not asked about again; what is agreed had nothing left to remove."""
    query = "UPDATE orders SET state = ? WHERE id = ? AND state = 'waiting'"
    change.connection.executemany(query, [(state, number) for number in numbers])


def has_unfulfilled(primary: apsw.Connection) -> bool:
    """Whether an order of the log was not carried out here: the machine cannot say that all is forgotten."""
    query = "SELECT 1 FROM orders WHERE came_by = 'log' AND state IN ('waiting', 'declined') LIMIT 1"
    return read_value(primary, query, (), int) is not None
