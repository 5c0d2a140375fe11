"""Redacting again: what was stored before a rule was there goes through today's rules, the user's own among them.

    redact_again(store, load_config(store).redaction_mode)      .redacted == {"package": 2, "passage": 31}, .is_erased

    rows changed, a few hundred at a time, unfinished noted ── all seen: erasing noted ── files rewritten

Every text of the store is looked at; only rows that change are written. One that has become the text of a record that
was purged goes, too. An artifact whose name holds a secret is taken out. Names (of sessions, groups, agents,
strategies) and the paths of packages stay: things are known by them.
"""

from collections.abc import Callable, Iterator, Mapping

import apsw

from ctxrank.indexer.catalogue import kinds_of, kinds_with_documents, tables_of
from ctxrank.indexer.declarations import Meaning, Table
from ctxrank.indexer.errors import failures, lookup
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.privacy.erase import erase, is_erasing_due, note_erasing, note_redacting
from ctxrank.indexer.privacy.purge import forget_blocked
from ctxrank.indexer.privacy.removal import HERE, Remover, note_removals
from ctxrank.indexer.records.anchor_passes import fingerprints_without_secrets
from ctxrank.indexer.records.receipts import redacted_inputs
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.ids import FIRST_ID
from ctxrank.indexer.store.rows import Value, update
from ctxrank.indexer.store.rules_since import note_all_redacted
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.passages import content_digest
from ctxrank.indexer.text.tokens import ESTIMATE

_DOCUMENTS = "documents"
# Rows of one transaction: a writer that waits for it waits for milliseconds.
_BATCH = 300


class RedactedAgain(NamedTuple):
    """How many things of each kind changed, or would; `looked_at` counts them all, changed or not.

    What is not `is_erased` is redacted, but another process reads the store: bytes of it may still be in its files.
    """

    redacted: Mapping[str, int]
    looked_at: int
    is_erased: bool = False
    is_dry_run: bool = False


class _RedactedRow(NamedTuple):
    """A row of a table with texts: its number, what it is counted as, and its texts, NULL as None."""

    id: int
    kind: str
    number: int
    texts: tuple[str | None, ...]


def redact_again(
    store: Store,
    mode: RedactionMode,
    by: Remover = HERE,
    *,
    is_dry_run: bool = False,
    is_only_for_these: bool = False,
) -> RedactedAgain:
    """Redact everything that is stored, and erase what went from the files. Raises UsageError, LockedError.

    What is done for some secrets alone is no reason to say that all was stored under today's rules, and the caller
    erases.
    """
    if mode.is_off:
        raise UsageError("Redaction is off: nothing would be redacted.", "Set redaction_mode, or leave it out.")
    require_owners(store.primary, "purge --redact")
    changed: dict[str, set[int]] = {}
    looked_at = 0
    note_begun = note_erasing if is_only_for_these else note_redacting
    known, texts = kinds_of(store.primary), IncomingTexts(mode)
    tables = [table for table in tables_of(store.primary) if table.redacted]
    for table in sorted(tables, key=lambda table: table.name == _DOCUMENTS):  # counted and split when they change
        for rows, count in _passes(store, table, texts, note_begun, is_dry_run=is_dry_run):
            for row in rows:
                changed.setdefault(row.kind, set()).add(row.number)
            # A row of a kind that has documents is looked at as one of them; an error that expired has none.
            kind = known.get(table.counted_as)
            looked_at += count if kind is None or not kind.is_found else 0
    query = "SELECT id, path FROM artifacts WHERE state <> 'missing' ORDER BY id"
    # By a rule that is newer than they are: no file with such a name is taken in any more.
    misnamed = [number for number, path in list(store.primary.execute(query)) if without_secret(path, mode) != path]
    if misnamed:
        changed.setdefault("artifact", set()).update(misnamed)
    checksums = {} if is_dry_run else fingerprints_without_secrets(store, mode)
    if checksums or (misnamed and not is_dry_run):
        with store.write() as change:
            note_begun(change)
            for number in misnamed:
                artifacts.remove(change, number)
            for number, fingerprint in checksums.items():
                update(change.connection, "anchors", number, {"fingerprint": fingerprint})
    counts = {kind: len(numbers) for kind, numbers in sorted(changed.items())}
    if counts and not is_dry_run:
        forget_blocked(store)
    if is_dry_run or is_only_for_these:
        return RedactedAgain(counts, looked_at, is_dry_run=is_dry_run)
    _note_ruleset(store)
    note_all_redacted(store, mode.rules)
    # Also where this call changed nothing: a process that was killed before it may have left copies.
    is_due = is_erasing_due(store.primary)
    if is_due:
        with store.write() as change:
            note_removals(change.connection, {"redaction": sum(counts.values())}, by)
            note_redacting(change, is_done=True)
    return RedactedAgain(counts, looked_at, is_erased=not is_due or erase(store))


def _cleaned(texts: IncomingTexts, table: Table, row: _RedactedRow) -> _RedactedRow:
    """A row as it should be."""
    columns, clean = table.redacted, list[str | None]()
    of_row = texts.of_record(row.texts) if len(columns) > 1 else texts
    for column, text in zip(columns, row.texts, strict=True):
        is_json = table.name == _DOCUMENTS and column.name == "body" and row.kind in _WITH_JSON
        clean_by = _cleaned_json if is_json else _CLEANED_BY[column.meaning]
        clean.append(text if text is None else clean_by(of_row, text))
    return row._replace(texts=tuple(clean))


def _write(change: Change, table: Table, row: _RedactedRow) -> None:
    """Write the texts of a row, and make what is derived from them."""
    if table.name == _DOCUMENTS:
        _write_document(change, row)
        return
    values: dict[str, Value] = dict(zip((column.name for column in table.redacted), row.texts, strict=True))
    if table.column("token_counter") is not None:  # what counts is counted again when it is read
        values |= {"tokens": "", "token_counter": ESTIMATE}
    if table.column("redacted") is not None:
        values["redacted"] = 1
    update(change.connection, table.name, row.id, values, table.key)
    if table.name in ("error_signatures", "error_sightings"):
        _sign(change, table.name, row.id, str(values["error_text"]))


def _line(texts: IncomingTexts, value: str) -> str:
    clean = texts.text(value)
    return value if clean == value else one_line(clean)


_EMPTY = ("[]", "{}", "null")


def _cleaned_json(texts: IncomingTexts, value: str) -> str:
    """The value redacted; one without a secret stays as it is written, down to its spaces."""
    if value in _EMPTY:  # most lists of most records
        return value
    clean = texts.json(value, empty=value)
    return value if clean == IncomingTexts(RedactionMode.OFF).json(value, empty=value) else clean


_CLEANED_BY: dict[Meaning, Callable[[IncomingTexts, str], str]] = {
    Meaning.TEXT: IncomingTexts.text,
    Meaning.LINE: _line,
    Meaning.JSON: _cleaned_json,
    Meaning.PAIRS: lambda texts, value: redacted_inputs(value, texts.text),
}
# The kinds whose documents have JSON for a body, which stays JSON.
_WITH_JSON = {
    kind.name
    for kind in kinds_with_documents()
    if kind.document and (body := kind.table.column(kind.document.body)) and body.meaning is Meaning.JSON
}


def _passes(
    store: Store, table: Table, texts: IncomingTexts, note_begun: Callable[[Change], None], *, is_dry_run: bool
) -> Iterator[tuple[list[_RedactedRow], int]]:
    """Redact the rows of a table; for each batch, those that changed, and how many were looked at."""
    counted = "kind, coalesce(record_id, id)" if table.name == _DOCUMENTS else f"'{table.counted_as}', {table.key}"
    names = ", ".join(column.name for column in table.redacted)

    def read(primary: apsw.Connection, condition: str, value: int) -> list[_RedactedRow]:
        query = f"SELECT {table.key}, {counted}, {names} FROM {table.name} WHERE {table.key} {condition}"
        rows = primary.execute(query, (value,))
        return [_RedactedRow(id_, kind, number, tuple(stored)) for id_, kind, number, *stored in rows]

    last = FIRST_ID  # what another store made has an id below zero
    while rows := read(store.primary, f"> ? ORDER BY {table.key} LIMIT {_BATCH}", last):
        last = rows[-1].id
        found = [(row, clean) for row in rows if (clean := _cleaned(texts, table, row)) != row]
        if found and not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for row, clean in found:
                    for now in read(change.connection, "= ?", row.id):  # it may have been removed, or changed, since
                        _write(change, table, clean if now == row else _cleaned(texts, table, now))
        yield [row for row, _ in found], len(rows)


def _sign(change: Change, table: str, number: int, unit_text: str) -> None:
    """Sign an error again: what it was recognised by holds words of what went."""
    if table == "error_signatures":
        query = "SELECT project FROM error_patterns WHERE id = ?"
        project = read_value(change.connection, query, (number,), str)
        if project is not None:
            lookup.put_signature(change, number, project, unit_text)
    elif sighting := failures.sighting_of(unit_text, 0, None):
        made = sighting.signature
        values: dict[str, Value] = {"normaliser_version": made.normaliser, "template": made.template}
        update(change.connection, table, number, {**values, "instance": made.instance})


def _write_document(change: Change, row: _RedactedRow) -> None:
    columns = ", ".join(f"d.{name}" for name in documents.COLUMNS_OF_DOCUMENT)
    query = (
        f"SELECT o.title, {columns} FROM documents AS d LEFT JOIN documents AS o ON o.id = d.owner_id WHERE d.id = ?"
    )
    ((owner_title, *found),) = change.connection.execute(query, (row.id,))
    before = documents.Document._make((*found, None))
    after = before._replace(title=str(row.texts[0]), body=str(row.texts[1]), ruleset=RULESET_VERSION)
    if after.owner_id is not None:
        # The key of the new text, or one that no text has: under its old one, a scan would take it for what it was.
        is_nested = content_digest(before.title, before.body) != before.passage_key.partition(".")[0]
        digest = content_digest(f"{owner_title} > {after.title}" if is_nested else after.title, after.body)
        query = "SELECT passage_key FROM documents WHERE owner_id = ? AND id <> ?"
        taken = set(read_column(change.connection, query, (after.owner_id, row.id), str))
        keys = (digest if count == 1 else f"{digest}.{count}" for count in range(1, len(taken) + 2))
        after = after._replace(passage_key=next(key for key in keys if key not in taken))
    documents.replace(change, row.id, after)


def _note_ruleset(store: Store) -> None:
    """Say that all was stored under today's rules; no text changes, so nothing enters the change log."""
    for table in [table.name for table in tables_of(store.primary) if table.column("ruleset") is not None]:
        last = FIRST_ID
        query = f"SELECT id FROM {table} WHERE id > ? AND ruleset < ? ORDER BY id LIMIT {_BATCH}"
        update_all = f"UPDATE {table} SET ruleset = ?1 WHERE id BETWEEN ?2 AND ?3 AND ruleset < ?1"
        while numbers := read_column(store.primary, query, (last, RULESET_VERSION), int):
            first, last = numbers[0], numbers[-1]
            with store.write() as change:
                change.connection.execute(update_all, (RULESET_VERSION, first, last))
