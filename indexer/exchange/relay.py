"""Whose line a record is on its way out: ours by its number, another store's by its origin, and what was removed."""

from collections.abc import Iterator

import apsw

from ctxrank.indexer.declarations import Kind
from ctxrank.indexer.exchange import joined
from ctxrank.indexer.exchange.joined import COUNTED, Counts
from ctxrank.indexer.light_typing import NamedTuple, is_list
from ctxrank.indexer.store.connection import read_row, read_rows, read_value
from ctxrank.indexer.store.ids import origin_and_number, origins_of

Fields = dict[str, object]


def last_number(connection: apsw.Connection) -> int:
    """The number of the last change in the record log: what the next `--since` begins behind."""
    query = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'record_log'), 0)"
    return int(connection.execute(query).get)


def number_there(row_id: object) -> int | None:
    """The number that a record has where it was made."""
    return origin_and_number(row_id)[1] if isinstance(row_id, int) else None


class _Known(NamedTuple):
    """What the ledger has of a record of another store: its number or key there, and its last change."""

    key: str
    seq: str


class _Counted(NamedTuple):
    origin: int
    occurrences: int
    confirmations: int
    refutations: int


class _Gone(NamedTuple):
    kind: str
    number: int
    seq: int
    gone: int


class _Order(NamedTuple):
    kind: str
    digest: str
    prefilter: str
    origin: str
    seq: int


class Relay:
    """The origins of one snapshot, and whether lines of others than this store are wanted."""

    def __init__(self, primary: apsw.Connection, *, all_origins: bool) -> None:
        self._primary = primary
        self._all_origins = all_origins
        self._uuids = origins_of(primary)
        self._makers = {kind: joined.foreign_makers(primary, kind) for kind in ("session", "group")}

    def named(self, row_id: int) -> Fields:
        """How a line names a record: its number, and the origin that is not the header's."""
        code, number = origin_and_number(row_id)
        return {"id": number, "origin": self._uuids[code]} if code else {"id": number}

    def lines(self, kind: Kind, row_id: int, seq: int) -> Iterator[tuple[Fields, Fields]]:
        """What each line of a record begins with, and what its counts are: one for each store that has a say."""
        if kind.is_container:
            maker = self._makers[kind.name].get(row_id)
            if maker is None:
                yield {"id": row_id, "seq": seq}, {}
            elif self._all_origins and maker != joined.UNKNOWN:
                yield from self._of(maker.partition(" ")[2], kind.name, row_id)
        elif kind.name in COUNTED:
            yield from self._counted(kind.name, row_id, seq)
        elif row_id > 0:
            yield {"id": row_id, "seq": seq}, {}
        else:
            code, number = origin_and_number(row_id)
            query = "SELECT digest FROM imported_rows WHERE source = ? AND kind = ? AND source_key = ?"
            source = f"jsonl:{self._uuids[code]}"
            known = read_value(self._primary, query, (source, kind.name, str(number)), str)
            if known is not None:
                yield {"id": number, "origin": self._uuids[code], "seq": int(known)}, {}

    def references(self, row_ids: object, identity: Fields) -> list[object]:
        """Packages that a group may see: numbers of the line's origin, or number@uuid."""
        own = identity.get("origin", self._uuids[0])
        found: list[object] = []
        for row_id in row_ids if is_list(row_ids) else []:
            code, number = origin_and_number(int(str(row_id)))
            found.append(number if self._uuids[code] == own else f"{number}@{self._uuids[code]}")
        return found

    def _of(self, uuid: str, kind: str, row_id: int) -> Iterator[tuple[Fields, Fields]]:
        query = "SELECT source_key, digest FROM imported_rows WHERE source = ? AND kind = ? AND target_id = ?"
        known = read_row(self._primary, query, (f"jsonl:{uuid}", kind, row_id), _Known)
        if known is not None:
            yield {"id": int(known.key), "origin": uuid, "seq": int(known.seq)}, {}

    def _counted(self, kind: str, row_id: int, seq: int) -> Iterator[tuple[Fields, Fields]]:
        own = joined.own_of(self._primary, kind, row_id)
        code, number = origin_and_number(row_id)
        if code == 0 or any(own):
            of: Fields = {"of": self._uuids[code]} if code else {}
            yield {"id": number, **of, "seq": seq}, joined.named_counts(kind, own)
        if not self._all_origins:
            return
        query = """
            SELECT origin, occurrences, confirmations, refutations FROM origin_counts
             WHERE kind = ? AND number = ? ORDER BY origin
        """
        for counted in list(read_rows(self._primary, query, (kind, row_id), _Counted)):
            uuid = self._uuids[counted.origin]
            query = "SELECT source_key, digest FROM imported_rows WHERE source = ? AND kind = ? AND target_id = ?"
            known = read_row(self._primary, query, (f"jsonl:{uuid}", kind, row_id), _Known)
            there = read_row(self._primary, query, (f"jsonl:{uuid}", f"{kind} number", row_id), _Known)
            if known is None:
                continue
            identity: Fields = {"id": number, "of": self._uuids[code]} if there is None else {"id": int(there.key)}
            counts = joined.named_counts(kind, Counts(*counted[1:]))
            yield {**identity, "origin": uuid, "seq": int(known.seq)}, counts

    def removals(self, since: int) -> Iterator[tuple[str, Fields]]:
        """What was removed, and what every store has to forget: by key, or by a digest that says nothing of it."""
        query = """
            SELECT kind, number, seq, gone FROM record_log
             WHERE gone > 0 AND seq > ? AND kind NOT IN ('session', 'group', 'usage', 'forget') ORDER BY seq
        """
        for gone in list(read_rows(self._primary, query, (since,), _Gone)):
            line: Fields = {"kind": gone.kind, **self.named(gone.number)}
            if gone.number > 0:
                yield "removed", {**line, "seq": gone.seq}
            elif gone.gone == 2:
                of = line.pop("origin")
                yield "removed", {**line, "of": of, "seq": gone.seq}
            elif gone.gone == 3 and self._all_origins:
                code, number = origin_and_number(gone.number)
                known = read_value(
                    self._primary,
                    "SELECT digest FROM imported_rows WHERE source = ? AND kind = ? AND source_key = ?",
                    (f"jsonl:{self._uuids[code]}", gone.kind, str(number)), str,
                )  # fmt: skip
                if known is not None:
                    yield "removed", {**line, "seq": int(known)}
        query = """
            SELECT b.kind, b.digest, b.prefilter, b.origin, l.seq
              FROM record_log AS l JOIN blocklist AS b ON b.id = l.number
             WHERE l.kind = 'forget' AND l.gone = 0 AND l.seq > ? ORDER BY l.seq
        """
        for order in list(read_rows(self._primary, query, (since,), _Order)):
            if not order.origin or self._all_origins:
                yield "forget", {
                    "kind": order.kind, "digest": order.digest, "prefilter": order.prefilter,
                    "key": order.origin or self._uuids[0], "seq": order.seq,
                }  # fmt: skip
