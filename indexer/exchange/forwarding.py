"""Whose line a record is on its way out: ours by its number, another store's by its origin, and what was removed."""

from collections.abc import Iterator

import apsw

from ctxrank.indexer.declarations import Kind
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.merge import Counts
from ctxrank.indexer.exchange.register import COUNTED, Entry, read_entry, source_of
from ctxrank.indexer.light_typing import is_list
from ctxrank.indexer.store.ids import origin_and_number, origins_of

Fields = dict[str, object]


def last_number(connection: apsw.Connection) -> int:
    """The number of the last change in the record log: what the next `--since` begins behind."""
    query = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'record_log'), 0)"
    return int(connection.execute(query).get)


def number_there(row_id: object) -> int | None:
    """The number that a record has where it was made."""
    return origin_and_number(row_id)[1] if isinstance(row_id, int) else None


class Forwarding:
    """The origins of one snapshot, and whether lines of others than this store are wanted."""

    def __init__(self, primary: apsw.Connection, *, all_origins: bool) -> None:
        self._primary = primary
        self._all_origins = all_origins
        self._uuids = origins_of(primary)
        self._makers = {kind: merge.foreign_makers(primary, kind) for kind in ("session", "group")}

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
            elif self._all_origins and maker != merge.UNKNOWN:
                uuid = maker.partition(" ")[2]
                there = self._known(uuid, kind.name, row_id)
                if there is not None:
                    yield {"id": int(there[0]), "origin": uuid, "seq": there[1].seq}, {}
        elif kind.name in COUNTED:
            yield from self._counted(kind.name, row_id, seq)
        elif row_id > 0:
            yield {"id": row_id, "seq": seq}, {}
        else:
            named = self.named(row_id)
            known = read_entry(self._primary, source_of(str(named["origin"])), kind.name, named["id"])
            if known is not None:
                yield {**named, "seq": known.seq}, {}

    def references(self, row_ids: object, identity: Fields) -> list[object]:
        """Packages that a group may see: numbers of the line's origin, or number@uuid."""
        own = identity.get("origin", self._uuids[0])
        found: list[object] = []
        for row_id in row_ids if is_list(row_ids) else []:
            code, number = origin_and_number(int(str(row_id)))
            found.append(number if self._uuids[code] == own else f"{number}@{self._uuids[code]}")
        return found

    def _known(self, uuid: str, kind: str, row_id: int) -> tuple[str, Entry] | None:
        """The number or key there of a row here, and what the register has of it."""
        query = (
            "SELECT source_key, digest, target_id FROM imported_rows WHERE source = ? AND kind = ? AND target_id = ?"
        )
        found = self._primary.execute(query, (source_of(uuid), kind, row_id)).fetchone()
        return None if found is None else (str(found[0]), Entry(*found[1:]))

    def _counted(self, kind: str, row_id: int, seq: int) -> Iterator[tuple[Fields, Fields]]:
        own = merge.own_of(self._primary, kind, row_id)
        code, number = origin_and_number(row_id)
        if code == 0 or any(own):
            of: Fields = {"of": self._uuids[code]} if code else {}
            yield {"id": number, **of, "seq": seq}, merge.named_counts(kind, own)
        if not self._all_origins:
            return
        query = """
            SELECT origin, occurrences, confirmations, refutations FROM origin_counts
             WHERE kind = ? AND number = ? ORDER BY origin
        """
        for store, *counted in list(self._primary.execute(query, (kind, row_id))):
            uuid = self._uuids[store]
            known, there = self._known(uuid, kind, row_id), self._known(uuid, f"{kind} number", row_id)
            if known is None:
                continue
            identity: Fields = {"id": number, "of": self._uuids[code]} if there is None else {"id": int(there[0])}
            counts = merge.named_counts(kind, Counts(*counted))
            yield {**identity, "origin": uuid, "seq": known[1].seq}, counts

    def removals(self, since: int) -> Iterator[tuple[str, Fields]]:
        """What was removed, and what every store has to forget: by key, or by a digest that says nothing of it."""
        query = """
            SELECT kind, number, seq, gone FROM record_log
             WHERE gone > 0 AND seq > ? AND kind NOT IN ('session', 'group', 'usage', 'forget') ORDER BY seq
        """
        for kind, row_id, seq, gone in list(self._primary.execute(query, (since,))):
            line: Fields = {"kind": kind, **self.named(row_id)}
            if row_id > 0:
                yield "removed", {**line, "seq": seq}
            elif gone == 2:
                of = line.pop("origin")
                yield "removed", {**line, "of": of, "seq": seq}
            elif gone == 3 and self._all_origins:
                known = read_entry(self._primary, source_of(str(line["origin"])), kind, line["id"])
                if known is not None:
                    yield "removed", {**line, "seq": known.seq}
        query = """
            SELECT b.kind, b.digest, b.prefilter, iif(b.origin = '', ?, b.origin), l.seq
              FROM record_log AS l JOIN blocklist AS b ON b.id = l.number
             WHERE l.kind = 'forget' AND l.gone = 0 AND l.seq > ? AND (b.origin = '' OR ?) ORDER BY l.seq
        """
        values = (self._uuids[0], since, self._all_origins)
        for order in list(self._primary.execute(query, values)):
            yield "forget", dict(zip(("kind", "digest", "prefilter", "key", "seq"), order, strict=True))
