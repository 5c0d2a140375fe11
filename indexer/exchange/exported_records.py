"""The records of an export, one object each: names for row ids, ISO times, JSON as the value it is.

What a line says of a record, and under which names, is what the catalogue says of its kind's columns. Only packages and
files say more: who a package is for and who was shown it, and the passages that are found of both.
"""

import json
from collections.abc import Iterator
from functools import cache

import apsw

from ctxrank.indexer.catalogue import kinds_of
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.declarations import Column, Kind, Meaning
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.register import COUNTED
from ctxrank.indexer.light_typing import NamedTuple, is_list
from ctxrank.indexer.privacy.purge import BY_ORDER
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.ids import origin_and_number, origins_of
from ctxrank.indexer.store.imported_rows import Entry, read_entry, source_of

Fields = dict[str, object]


class Choice(NamedTuple):
    """Which records are wanted: kinds, and sessions by row id (empty for all)."""

    kinds: tuple[str, ...]
    session_ids: tuple[int, ...]
    since: int = 0  # only what changed after this number of the record log
    all_origins: bool = False  # what other stores made, too
    is_selection: bool = False  # of kinds or sessions: what was removed is not said


class RecordReader:
    """Reads records out of one snapshot, as what a line says of them."""

    def __init__(self, primary: apsw.Connection, choice: Choice, texts: IncomingTexts) -> None:
        self._primary = primary
        self._choice = choice
        self._texts = texts
        self._sessions = json.dumps(choice.session_ids)
        self._uuids = origins_of(primary)
        self._known = cache(self._rows_of)  # of what all stores have one of
        self._makers = {kind: merge.foreign_makers(primary, kind) for kind in ("session", "group")}

    def records(self) -> Iterator[tuple[str, Fields]]:
        """All records that were asked for, each with the name of its kind."""
        kinds = kinds_of(self._primary)
        wanted = [kinds[name] for name in self._choice.kinds]
        containers = [kind for kind in kinds.values() if kind.is_container]
        if any(kind.is_of_a_session for kind in wanted):
            wanted = [*containers, *wanted]
        for kind in wanted:
            yield from ((kind.name, fields) for fields in self._fields(kind))
        if "package" in self._choice.kinds:
            yield from self._usages()
        if not self._choice.is_selection:
            yield from self._removals(self._choice.since)

    def _fields(self, kind: Kind) -> Iterator[Fields]:
        """The rows of a kind by id, of the wanted sessions alone where it belongs to one."""
        session_column = "id" if kind.name == "session" else "session_id"
        is_limited = self._choice.session_ids and (kind.is_container or kind.is_of_a_session)
        document = "d.id, coalesce(d.ruleset, 0)" if kind.is_found else "NULL, 0"
        # Driven by the log; of own records, the positive ids.
        source = f"record_log AS l CROSS JOIN {kind.table.name} AS t ON t.id = l.number"
        # A package's line has who took it, too.
        used = "SELECT seq FROM record_log WHERE kind = 'usage' AND number = t.id"
        seq = f"max(l.seq, coalesce(({used}), 0))" if kind.name == "package" else "l.seq"
        is_own = kind.is_container or kind.name in COUNTED or self._choice.all_origins
        values = _values(kind)
        query = f"""
            SELECT t.id, {document}, {seq}, {", ".join(sql for _, sql in values)}
              FROM {source} {" ".join(_joins(kind))}
             WHERE {f"t.{session_column} IN (SELECT value FROM json_each(:sessions))" if is_limited else "1"}
               AND l.kind = '{kind.name}' AND l.seq > :since AND {"1" if is_own else "t.id > 0"}
             ORDER BY t.id < 0, abs(t.id)
        """
        names = {"sessions": self._sessions, "since": self._choice.since}
        for number, document_id, ruleset, seq, *stored in self._primary.execute(query, names):
            fields: Fields = {
                column.exported_as: self._shown(column, value, ruleset)
                for (column, _), value in zip(values, stored, strict=True)
                if value is not None or not (column.source and column.meaning is Meaning.JSON)
            }
            name = "name" if kind.name == "session" else "session"
            if name in fields:
                fields[name] = merge.exported_name(self._primary, str(fields[name]), str(fields["project"]))
            if kind.name == "package":
                fields |= self._usage(number)
                for key in ("supersedes", "superseded_by"):
                    row_id = fields[key]
                    fields[key] = origin_and_number(row_id)[1] if isinstance(row_id, int) else None
            if kind.name in ("package", "artifact"):
                fields["passages"] = self._passages(document_id)
            for identity, counts in self._lines(kind, number, seq):
                if kind.name == "group":
                    fields["context_references"] = self._references(fields["context_references"], identity)
                yield {**identity, **fields, **counts}

    def _shown(self, column: Column, value: object, ruleset: int) -> object:
        """A value as a line has it. A text that was stored under today's rules is clean already."""
        if value is None:
            return None
        if column.meaning is Meaning.TIME:
            return _iso_time(value)
        if column.meaning is Meaning.FLAG:
            return bool(value)
        is_clean = column.is_ours or ruleset >= RULESET_VERSION
        if column.meaning is Meaning.JSON:
            return json_value(str(value) if is_clean else self._texts.json(str(value), empty="null"))
        if column.meaning in (Meaning.TEXT, Meaning.LINE) and not is_clean:
            return self._texts.text(str(value))
        return value

    def _usages(self) -> Iterator[tuple[str, Fields]]:
        """Who took and was shown packages of other stores, and of our own where their lines do not say it again."""
        query = """
            SELECT p.id, l.seq FROM record_log AS l JOIN packages AS p ON p.id = l.number
              LEFT JOIN record_log AS of ON of.kind = 'package' AND of.number = l.number
             WHERE l.kind = 'usage' AND l.seq > ?1 AND (p.id < 0 OR of.seq <= ?1)
               AND (?2 = '[]' OR p.session_id IN (SELECT value FROM json_each(?2)))
             ORDER BY l.seq
        """
        values = (self._choice.since, self._sessions)
        for number, seq in read_map(self._primary, query, values, int, int).items():
            said = self._usage(number)
            if any(said.values()):
                yield "usage", {**self._named(number, "of"), "seq": seq, **said}

    def _usage(self, package_id: int) -> Fields:
        """Who a package is for, who took it and who was shown it: as this store saw it, or as all did."""
        values = (package_id, self._choice.all_origins)
        return {name: list(self._objects(query, values)) for name, query in _USAGE.items()}

    def _passages(self, owner_id: int | None) -> list[Fields]:
        query = """
            SELECT ruleset, passage_key AS "key", title AS title, body AS text, start_line AS start_line,
                   end_line AS end_line
              FROM documents WHERE owner_id = ? ORDER BY start_line, id
        """
        passages = list(self._objects(query, (owner_id,)))
        for passage in passages:
            ruleset = int(str(passage.pop("ruleset")))
            passage |= {name: self._shown(_TEXT, passage[name], ruleset) for name in ("title", "text")}
        return passages

    def _objects(self, query: str, values: tuple[int | str | None, ...]) -> Iterator[Fields]:
        """The rows of a query as objects, times in ISO."""
        cursor = self._primary.execute(query, values)
        for row in cursor:
            named = zip((name for name, _ in cursor.get_description()), row, strict=True)
            yield {name: _iso_time(value) if name.endswith("_at") else value for name, value in named}

    def _named(self, row_id: int, origin: str = "origin") -> Fields:
        """How a line names a record: its number, and the origin that is not the header's, under this name."""
        code, number = origin_and_number(row_id)
        return {"id": number, origin: self._uuids[code]} if code else {"id": number}

    def _lines(self, kind: Kind, row_id: int, seq: int) -> Iterator[tuple[Fields, Fields]]:
        """What each line of a record begins with, and what its counts are: one for each store that has a say."""
        if kind.is_container:
            maker = self._makers[kind.name].get(row_id)
            if maker is None:
                yield {"id": row_id, "seq": seq}, {}
            elif self._choice.all_origins and maker != merge.UNKNOWN:
                uuid = maker.partition(" ")[2]
                there = self._known(uuid, kind.name).get(row_id)
                if there is not None:
                    yield {"id": int(there[0]), "origin": uuid, "seq": there[1]}, {}
        elif kind.counts:
            yield from self._counted(kind, row_id, seq)
        elif row_id > 0:
            yield {"id": row_id, "seq": seq}, {}
        else:
            named = self._named(row_id)
            known = read_entry(self._primary, source_of(str(named["origin"])), kind.name, named["id"])
            if known is not None:
                yield {**named, "seq": known.seq}, {}

    def _references(self, row_ids: object, identity: Fields) -> list[object]:
        """Packages that a group may see: numbers of the line's origin, or number@uuid."""
        own = identity.get("origin", self._uuids[0])
        named = [origin_and_number(int(str(row_id))) for row_id in (row_ids if is_list(row_ids) else [])]
        return [number if (uuid := self._uuids[code]) == own else f"{number}@{uuid}" for code, number in named]

    def _rows_of(self, uuid: str, kind: str) -> dict[int, tuple[str, int]]:
        """By row here the number or key there, and the number of the last change that came."""
        # Of two numbers the last is one that was not removed.
        query = "SELECT target_id, source_key, digest FROM imported_rows WHERE source = ? AND kind = ? ORDER BY 3 DESC"
        found = self._primary.execute(query, (source_of(uuid), kind))
        return {row_id: (key, Entry(digest, row_id).seq) for row_id, key, digest in found}

    def _counted(self, kind: Kind, row_id: int, seq: int) -> Iterator[tuple[Fields, Fields]]:
        own = merge.own_of(self._primary, kind, row_id)
        if row_id > 0 or any(own):
            yield {**self._named(row_id, "of"), "seq": seq}, merge.named_counts(kind, own)
        if not self._choice.all_origins:
            return
        code, number = origin_and_number(row_id)
        query = """
            SELECT origin, occurrences, confirmations, refutations FROM origin_counts
             WHERE kind = ? AND number = ? ORDER BY origin
        """
        for store, *counted in list(self._primary.execute(query, (kind.name, row_id))):
            uuid = self._uuids[store]
            known = self._known(uuid, kind.name).get(row_id)
            there = self._known(uuid, f"{kind.name} number").get(row_id)
            if known is not None:
                identity: Fields = {"id": number, "of": self._uuids[code]} if there is None else {"id": int(there[0])}
                yield {**identity, "origin": uuid, "seq": known[1]}, merge.named_counts(kind, counted)

    def _removals(self, since: int) -> Iterator[tuple[str, Fields]]:
        """What was removed, and what every store has to forget: by key, or by a digest that says nothing of it."""
        query = """
            SELECT kind, number, seq, gone FROM record_log
             WHERE gone > 0 AND seq > ? AND kind NOT IN ('session', 'group', 'usage', 'forget') ORDER BY seq
        """
        for kind, row_id, seq, gone in list(self._primary.execute(query, (since,))):
            line: Fields = {"kind": kind, **self._named(row_id, "of" if gone == BY_ORDER else "origin")}
            if row_id > 0 or gone == BY_ORDER:
                yield "removed", {**line, "seq": seq}
            elif gone == 3 and self._choice.all_origins:
                known = read_entry(self._primary, source_of(str(line["origin"])), kind, line["id"])
                if known is not None:
                    yield "removed", {**line, "seq": known.seq}
        query = """
            SELECT l.kind AS kind, i.source_key + 0 AS id, substr(i.source, 7) AS origin, i.digest + 0 AS seq
              FROM record_log AS l JOIN imported_rows AS i ON i.kind = l.kind || ' number' AND i.target_id = l.number
             WHERE i.digest <> '' AND l.seq > ? AND ?
        """  # of what is counted, also where others have a say in it
        for line in self._objects(query, (since, self._choice.all_origins)):
            yield "removed", line
        query = """
            SELECT b.kind AS kind, b.digest AS digest, b.prefilter AS prefilter,
                   iif(b.origin = '', ?, b.origin) AS "key", l.seq AS seq
              FROM record_log AS l JOIN blocklist AS b ON b.id = l.number
             WHERE l.kind = 'forget' AND l.gone = 0 AND l.seq > ? AND (b.origin = '' OR ?) ORDER BY l.seq
        """
        for line in self._objects(query, (self._uuids[0], since, self._choice.all_origins)):
            yield "forget", line


_USAGE = {
    "consumers": """
        SELECT agent AS agent, iteration AS iteration, consumed_at AS consumed_at
          FROM package_consumers WHERE package_id = ?1 AND (?2 OR origin = 0) ORDER BY id
    """,
    "deliveries": """
        SELECT g.name AS "group", v.agent AS agent, v.iteration AS iteration, v.delivered_at AS delivered_at
          FROM deliveries AS v LEFT JOIN groups AS g ON g.id = v.group_id
         WHERE v.package_id = ?1 AND (?2 OR v.origin = 0) ORDER BY v.delivered_at, g.name, v.agent, v.iteration
    """,
}
_TEXT = Column("text", Meaning.TEXT)


def _values(kind: Kind) -> list[tuple[Column, str]]:
    """What a line of a kind says, in order, each with its SQL: a reference by the names of what it refers to."""
    values: list[tuple[Column, str]] = []
    for column in kind.table.columns:
        if column.name in ("id", *kind.left_out):
            continue
        if column.natural_keys:
            values += [(Column(key, Meaning.NAME), f"{column.refers_to}.{name}") for key, name in column.natural_keys]
        else:
            values.append((column, column.source.replace("documents.", "d.") or f"t.{column.name}"))
    if kind.table.reference_to("sessions"):
        values.append((Column("project", Meaning.NAME), "sessions.project"))
    return values


def _joins(kind: Kind) -> Iterator[str]:
    """The tables that a line of a kind takes values from."""
    for column in kind.table.stored:
        if column.natural_keys:
            join = "JOIN" if column.is_owner else "LEFT JOIN"
            yield f"{join} {column.refers_to} ON {column.refers_to}.id = t.{column.name}"
    for part in kind.parts:
        if any(column.source.startswith(f"{part.name}.") for column in kind.table.columns):
            yield f"LEFT JOIN {part.name} ON {part.name}.{part.key} = t.id"
    if kind.is_found:  # a file has a document of its own where no package has it
        yield f"{'' if kind.is_file else 'LEFT '}JOIN documents AS d ON d.kind = '{kind.name}' AND d.record_id = t.id"


def json_value(text: str) -> object:
    """Stored JSON as the value it is; what cannot be written as JSON again stays a text."""
    try:
        value: object = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def _iso_time(moment_us: object) -> str | None:
    return format_us(moment_us) if isinstance(moment_us, int) else None
