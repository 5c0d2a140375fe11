"""Redacting again: what was stored before a rule was there goes through today's rules, the user's own among them.

    redact_again(store, load_config(store).redaction_mode)      .redacted == {"package": 2, "passage": 31}, .is_erased

    rows changed, a few hundred at a time, unfinished noted ── all seen: erasing noted ── files rewritten

Every text of the store is looked at; only rows that change are written. One that has become the text of a record that
was purged goes, too. An artifact whose name holds a secret is taken out. Names (of sessions, groups, agents,
strategies) and the paths of packages stay: things are known by them.
"""

from collections.abc import Callable, Iterator, Mapping

import apsw

from ctxrank.indexer.catalogue import KINDS, kinds_of, tables_of
from ctxrank.indexer.declarations import Meaning, Table
from ctxrank.indexer.errors import lookup
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import holds_secret
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.privacy.erase import erase, is_erasing_due, note_erasing, note_redacted, note_redacting
from ctxrank.indexer.privacy.purge import forget_blocked
from ctxrank.indexer.records.receipts import redacted_inputs
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_column, read_rows, read_value
from ctxrank.indexer.store.ids import FIRST_ID
from ctxrank.indexer.store.rules_since import note_all_redacted
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.passages import content_digest
from ctxrank.indexer.text.tokens import ESTIMATE

# Rows of one transaction: a writer that waits for it waits for milliseconds.
_BATCH = 300

_Clean = Callable[[str, IncomingTexts], str]


class RedactedAgain(NamedTuple):
    """How many things of each kind changed, or would; `looked_at` counts them all, changed or not.

    What is not `is_erased` is redacted, but another process reads the store: bytes of it may still be in its files.
    """

    redacted: Mapping[str, int]
    looked_at: int
    is_erased: bool
    is_dry_run: bool


class _Texts(NamedTuple):
    """A table whose texts are redacted, and how each of its columns is."""

    table: Table
    columns: Mapping[str, _Clean]
    texts: IncomingTexts


def redact_again(
    store: Store, mode: RedactionMode, *, is_dry_run: bool = False, is_only_for_these: bool = False
) -> RedactedAgain:
    """Redact everything that is stored, and erase what went from the files. Raises UsageError, LockedError.

    What is done for some secrets alone is no reason to say that all was stored under today's rules, and the caller
    erases.
    """
    if mode.is_off:
        raise UsageError("Redaction is off: nothing would be redacted.", "Set redaction_mode, or leave it out.")
    require_owners(store.primary, "purge --redact")
    texts, known = IncomingTexts(mode), kinds_of(store.primary)
    changed: dict[str, set[int]] = {}
    looked_at = 0
    note_begun = note_erasing if is_only_for_these else note_redacting
    for rows in _tables(store.primary, texts):
        of_kind = known.get(rows.table.counted_as)
        for numbers, count in _passes(store, rows, note_begun, is_dry_run=is_dry_run):
            changed.setdefault(rows.table.counted_as, set()).update(numbers)
            # A row of a kind that has documents is looked at as one of them; an error that expired has none.
            looked_at += 0 if of_kind is not None and of_kind.is_found else count
    for kinds, count in _document_passes(store, texts, note_begun, is_dry_run=is_dry_run):
        looked_at += count
        for kind, number in kinds:
            changed.setdefault(kind, set()).add(number)
    misnamed = _misnamed(store, mode)
    looked_at += len(misnamed)
    if misnamed:
        changed.setdefault("artifact", set()).update(misnamed)
        if not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for number in misnamed:
                    artifacts.remove(change, number)
    counts = {kind: len(numbers) for kind, numbers in sorted(changed.items()) if numbers}
    if counts and not is_dry_run:
        forget_blocked(store)
    if is_dry_run or is_only_for_these:
        return RedactedAgain(counts, looked_at, is_erased=False, is_dry_run=is_dry_run)
    _note_ruleset(store)
    note_all_redacted(store, mode.rules)
    # Also where this call changed nothing: a process that was killed before it may have left copies.
    is_due = is_erasing_due(store.primary)
    if is_due:
        with store.write() as change:
            note_redacted(change)
    return RedactedAgain(counts, looked_at, is_erased=not is_due or erase(store), is_dry_run=False)


class _Named(NamedTuple):
    """An artifact and its path."""

    number: int
    path: str


def _misnamed(store: Store, mode: RedactionMode) -> list[int]:
    """The artifacts whose names hold a secret, by a rule that is newer than they are: none is taken in any more."""
    query = "SELECT id, path FROM artifacts WHERE state <> 'missing' ORDER BY id"
    rows = read_rows(store.primary, query, (), _Named)
    return [row.number for row in rows if holds_secret(row.path, mode)]


def _tables(primary: apsw.Connection, texts: IncomingTexts) -> Iterator[_Texts]:
    """Every table with texts, but for the documents: these are counted and split again when they change."""

    def text(value: str, texts: IncomingTexts) -> str:
        return texts.text(value)

    def line(value: str, texts: IncomingTexts) -> str:
        clean = texts.text(value)
        return value if clean == value else one_line(clean)

    def pairs(value: str, texts: IncomingTexts) -> str:
        return redacted_inputs(value, texts.text)

    cleaned_by = {Meaning.TEXT: text, Meaning.LINE: line, Meaning.JSON: _cleaned_json, Meaning.PAIRS: pairs}
    for table in tables_of(primary):
        if table.redacted and table.counted_as:
            columns = {column.name: cleaned_by[column.meaning] for column in table.redacted}
            yield _Texts(table, columns, texts)


def _cleaned_json(value: str, texts: IncomingTexts) -> str:
    """The value redacted; one without a secret stays as it is written, down to its spaces."""
    clean = texts.json(value, empty=value)
    return value if clean == IncomingTexts(RedactionMode.OFF).json(value, empty=value) else clean


def _passes(
    store: Store, texts: _Texts, note_begun: Callable[[Change], None], *, is_dry_run: bool
) -> Iterator[tuple[list[int], int]]:
    """Redact a table's rows; for each batch, the keys of those that changed, and how many were looked at."""
    table, key = texts.table.name, texts.table.key
    query = f"SELECT {', '.join((key, *texts.columns))} FROM {table}"
    last = FIRST_ID  # what another store made has an id below zero
    while rows := _read(store.primary, f"{query} WHERE {key} > ? ORDER BY {key} LIMIT {_BATCH}", last):
        last = rows[-1].key
        found = [(row, clean) for row in rows if (clean := _cleaned(texts, row)) != row]
        if found and not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for row, clean in found:
                    # It may have been removed, or changed, since it was read.
                    for now in _read(change.connection, f"{query} WHERE {key} = ?", row.key):
                        _write(change, texts, clean if now == row else _cleaned(texts, now))
        yield [row.key for row, _ in found], len(rows)


class _Row(NamedTuple):
    """A row's number and its texts, NULL as None."""

    key: int
    texts: tuple[str | None, ...]


def _read(primary: apsw.Connection, query: str, value: int) -> list[_Row]:
    return [_Row(key, tuple(texts)) for key, *texts in primary.execute(query, (value,))]


def _cleaned(texts: _Texts, row: _Row) -> _Row:
    pairs = zip(texts.columns.values(), row.texts, strict=True)
    of_row = texts.texts.of_record(row.texts) if len(row.texts) > 1 else texts.texts
    return _Row(row.key, tuple(text if text is None else clean(text, of_row) for clean, text in pairs))


def _write(change: Change, texts: _Texts, row: _Row) -> None:
    table, key = texts.table.name, texts.table.key
    columns = ", ".join(f"{column} = ?" for column in texts.columns)
    change.connection.execute(f"UPDATE {table} SET {columns} WHERE {key} = ?", (*row.texts, row.key))
    if table in ("error_signatures", "error_sightings"):
        (error_text,) = row.texts
        _sign(change, table, row.key, str(error_text))
    if texts.table.column("token_counter") is not None:  # what counts is counted again when it is read
        query = f"UPDATE {table} SET tokens = '', token_counter = ? WHERE {key} = ?"
        change.connection.execute(query, (ESTIMATE, row.key))
    if texts.table.column("redacted") is not None:
        change.connection.execute(f"UPDATE {table} SET redacted = 1 WHERE {key} = ?", (row.key,))


def _sign(change: Change, table: str, number: int, unit_text: str) -> None:
    """Sign an error again: what it was recognised by holds words of what went."""
    units = error_units(unit_text)
    if not units:
        return
    signature = sign(units[0])
    if table == "error_sightings":
        change.connection.execute(
            "UPDATE error_sightings SET normaliser_version = ?, template = ?, instance = ? WHERE id = ?",
            (signature.normaliser, signature.template, signature.instance, number),
        )
        return
    project = read_value(change.connection, "SELECT project FROM error_patterns WHERE id = ?", (number,), str)
    if project is not None:
        lookup.put(change, number, project, signature, unit_text)


_DOCUMENT_QUERY = """
    SELECT d.id, d.seq, d.kind, d.record_id, d.title, d.body, d.created_at, d.path, d.owner_id, d.session_id,
           d.group_id, d.agent, d.type, d.priority, d.passage_key, d.start_line, d.end_line, d.superseded_by,
           o.title
      FROM documents AS d
      LEFT JOIN documents AS o ON o.id = d.owner_id
"""


class _StoredDocument(NamedTuple):
    """A row of documents as it is, and the title of its owner: a passage's key may have been made with that."""

    id: int
    seq: int
    kind: str
    number: int | None
    title: str
    body: str
    created_at: int
    path: str
    owner_id: int | None
    session_id: int
    group_id: int
    agent: str
    type: str
    priority: str
    passage_key: str
    start_line: int
    end_line: int
    superseded_by: int | None
    owner_title: str | None


def _document_passes(
    store: Store, texts: IncomingTexts, note_begun: Callable[[Change], None], *, is_dry_run: bool
) -> Iterator[tuple[list[tuple[str, int]], int]]:
    """Redact the documents; for each batch, kind and number of those that changed, and how many were looked at."""
    last = 0
    while rows := _documents(store.primary, f"WHERE d.id > ? ORDER BY d.id LIMIT {_BATCH}", last):
        last = rows[-1].id
        found = [(row, clean) for row in rows if (clean := _cleaned_document(row, texts)) != row]
        if found and not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for row, clean in found:
                    for now in _documents(change.connection, "WHERE d.id = ?", row.id):
                        _replace(change, now, clean if now.seq == row.seq else _cleaned_document(now, texts))
        yield [(row.kind, row.id if row.number is None else row.number) for row, _ in found], len(rows)


def _documents(primary: apsw.Connection, where: str, value: int) -> list[_StoredDocument]:
    return list(read_rows(primary, f"{_DOCUMENT_QUERY} {where}", (value,), _StoredDocument))


def _cleaned_document(row: _StoredDocument, texts: IncomingTexts) -> _StoredDocument:
    texts = texts.of_record((row.title, row.body))
    body = _cleaned_json(row.body, texts) if _has_json_body(row.kind) else texts.text(row.body)
    return row._replace(title=texts.text(row.title), body=body)


def _has_json_body(kind: str) -> bool:
    """Whether the documents of a kind have JSON for a body, which stays JSON."""
    known = KINDS.get(kind)
    if known is None or known.document is None:
        return False
    body = known.table.column(known.document.body)
    return body is not None and body.meaning is Meaning.JSON


def _replace(change: Change, before: _StoredDocument, row: _StoredDocument) -> None:
    documents.replace(
        change,
        row.id,
        documents.Document(
            kind=row.kind, number=row.number, title=row.title, body=row.body, created_at=row.created_at,
            ruleset=RULESET_VERSION, path=row.path, owner_id=row.owner_id, session_id=row.session_id,
            group_id=row.group_id, agent=row.agent, type=row.type, priority=row.priority,
            passage_key=_passage_key(change, before, row), start_line=row.start_line, end_line=row.end_line,
            superseded_by=row.superseded_by,
        ),
    )  # fmt: skip


def _passage_key(change: Change, before: _StoredDocument, row: _StoredDocument) -> str:
    """The key of the new text, or one that no text has: under its old one, a scan would take it for what it was."""
    if row.owner_id is None:
        return row.passage_key
    is_nested = content_digest(before.title, before.body) != before.passage_key.partition(".")[0]
    digest = content_digest(f"{row.owner_title} > {row.title}" if is_nested else row.title, row.body)
    query = "SELECT passage_key FROM documents WHERE owner_id = ? AND id <> ?"
    taken = set(read_column(change.connection, query, (row.owner_id, row.id), str))
    count = next(count for count in range(1, len(taken) + 2) if _numbered(digest, count) not in taken)
    return _numbered(digest, count)


def _numbered(digest: str, count: int) -> str:
    return digest if count == 1 else f"{digest}.{count}"


def _note_ruleset(store: Store) -> None:
    """Say that all was stored under today's rules; no text changes, so nothing enters the change log."""
    for table in [table.name for table in tables_of(store.primary) if table.column("ruleset") is not None]:
        last = FIRST_ID
        while True:
            query = f"SELECT id FROM {table} WHERE id > ? AND ruleset < ? ORDER BY id LIMIT {_BATCH}"
            numbers = read_column(store.primary, query, (last, RULESET_VERSION), int)
            if not numbers:
                break
            first, last = numbers[0], numbers[-1]
            with store.write() as change:
                change.connection.execute(
                    f"UPDATE {table} SET ruleset = ?1 WHERE id BETWEEN ?2 AND ?3 AND ruleset < ?1",
                    (RULESET_VERSION, first, last),
                )
