"""Redacting again: what was stored before a rule was there goes through today's rules, the user's own among them.

    redact_again(store, load_config(store).redaction_mode)      .redacted == {"package": 2, "passage": 31}, .is_erased

    rows changed, a few hundred at a time, unfinished noted ── all seen: erasing noted ── files written anew

Every text of the store is looked at; only rows that change are written. Names (of sessions, groups, agents,
strategies) and paths stay: things are known by them.
"""

from collections.abc import Callable, Iterator, Mapping

import apsw

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.privacy.erase import erase, is_erasing_due, note_erasing, note_redacted, note_redacting
from ctxrank.indexer.records.receipts import redacted_inputs
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.rules_since import note_all_redacted
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.passages import content_digest

# Rows of one transaction: a writer that waits for it waits for milliseconds.
_BATCH = 300

_Row = tuple[object, ...]
_Clean = Callable[[str], str]


class RedactedAgain(NamedTuple):
    """How many things of each kind changed, or would; `looked_at` counts them all, changed or not.

    What is not `is_erased` is redacted, but another process reads the store: bytes of it may still be in its files.
    """

    redacted: Mapping[str, int]
    looked_at: int
    is_erased: bool
    is_dry_run: bool


class _Table(NamedTuple):
    """A table's texts, and how each is redacted. `kind` is what its rows are called, by the value of `key`."""

    kind: str
    name: str
    key: str
    columns: Mapping[str, _Clean]


def redact_again(
    store: Store, mode: RedactionMode, *, is_dry_run: bool = False, is_only_for_these: bool = False
) -> RedactedAgain:
    """Redact everything that is stored, and erase what went from the files. Raises UsageError, LockedError.

    What is done for some secrets alone is no reason to say that all was stored under today's rules, and whoever has it
    done erases.
    """
    if mode.is_off:
        raise UsageError("Redaction is off: nothing would be redacted.", "Set redaction_mode, or leave it out.")
    texts = IncomingTexts(mode)
    changed: dict[str, set[int]] = {}
    looked_at = 0
    note_begun = note_erasing if is_only_for_these else note_redacting
    for table in _tables(texts):
        for numbers, count in _passes(store, table, note_begun, is_dry_run=is_dry_run):
            changed.setdefault(table.kind, set()).update(numbers)
            looked_at += 0 if table.kind in _KINDS_OF_DOCUMENTS else count
    for kinds, count in _document_passes(store, texts, note_begun, is_dry_run=is_dry_run):
        looked_at += count
        for kind, number in kinds:
            changed.setdefault(kind, set()).add(number)
    counts = {kind: len(numbers) for kind, numbers in sorted(changed.items()) if numbers}
    if is_dry_run or is_only_for_these:
        return RedactedAgain(counts, looked_at, is_erased=False, is_dry_run=is_dry_run)
    _note_ruleset(store)
    note_all_redacted(store, mode.rules)
    # Also where this call changed nothing: whoever was killed before it may have left copies.
    is_due = is_erasing_due(store.truth)
    if is_due:
        with store.write() as change:
            note_redacted(change)
    return RedactedAgain(counts, looked_at, is_erased=not is_due or erase(store), is_dry_run=False)


# Their rows are counted as documents, of which each has one. An error that expired has none, and counts all the same.
_KINDS_OF_DOCUMENTS = ("package", "reasoning", "error", "strategy", "skill", "linked")


def _tables(texts: IncomingTexts) -> tuple[_Table, ...]:
    text = texts.text

    def json(value: str) -> str:
        return _cleaned_json(value, texts)

    def line(value: str) -> str:
        clean = text(value)
        return value if clean == value else one_line(clean)

    def inputs(value: str) -> str:
        return redacted_inputs(value, text)

    return (
        _Table("session", "sessions", "id", {"requirements": text, "initial_branch": text, "metadata": json}),
        _Table("group", "groups", "id", {"title": line, "metadata": json}),
        _Table("package", "packages", "id", {"summary": line}),
        _Table("reasoning", "reasoning", "id", {"content": text, "refs": json}),
        _Table(
            "error", "error_patterns", "id",
            {"error_type": text, "message": text, "context_hints": json, "stack_pattern": json, "solution": text},
        ),
        _Table("error", "error_signatures", "pattern_id", {"error_text": text}),
        _Table("failure", "error_sightings", "id", {"error_text": text}),
        _Table("command", "failed_commands", "id", {"command": line, "error_text": text}),
        _Table("strategy", "strategies", "id", {"insight": text}),
        _Table("skill", "skill_outputs", "id", {"output": json}),
        _Table("event", "events", "id", {"payload": json}),
        _Table("receipt", "receipts", "id", {"inputs": inputs}),
        _Table("linked", "linked_artifacts", "id", {"title": line, "problems": json}),
        _Table("linked", "linked_texts", "linked_id", {"meta": text, "summary": text, "full": text}),
    )  # fmt: skip


def _cleaned_json(value: str, texts: IncomingTexts) -> str:
    """The value redacted; one without a secret stays as it is written, down to its spaces."""
    clean = texts.json(value, empty=value)
    return value if clean == IncomingTexts(RedactionMode.OFF).json(value, empty=value) else clean


def _passes(
    store: Store, table: _Table, note_begun: Callable[[Change], None], *, is_dry_run: bool
) -> Iterator[tuple[list[int], int]]:
    """Redact a table's rows; for each batch, the keys of those that changed, and how many were looked at."""
    query = f"SELECT {', '.join((table.key, *table.columns))} FROM {table.name}"
    last = -1
    while rows := store.truth.execute(
        f"{query} WHERE {table.key} > ? ORDER BY {table.key} LIMIT {_BATCH}", (last,)
    ).fetchall():
        last = int(str(rows[-1][0]))
        found = [(row, clean) for row in rows if (clean := _cleaned(table, row)) != row]
        if found and not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for row, clean in found:
                    now = change.connection.execute(f"{query} WHERE {table.key} = ?", (row[0],)).fetchone()
                    if now is not None:  # it may have gone, or changed, since it was read
                        _write(change, table, clean if now == row else _cleaned(table, now))
        yield [int(str(row[0])) for row, _ in found], len(rows)


def _cleaned(table: _Table, row: _Row) -> _Row:
    texts = zip(table.columns.values(), row[1:], strict=True)
    return (row[0], *(clean(str(text)) for clean, text in texts))


def _write(change: Change, table: _Table, row: _Row) -> None:
    columns = ", ".join(f"{column} = ?" for column in table.columns)
    change.connection.execute(
        f"UPDATE {table.name} SET {columns} WHERE {table.key} = ?", cast("apsw.Bindings", (*row[1:], row[0]))
    )
    number = int(str(row[0]))
    if table.name in ("error_signatures", "error_sightings"):
        _sign(change, table.name, number, str(row[1]))
    elif table.name == "reasoning":
        change.connection.execute("UPDATE reasoning SET redacted = 1 WHERE id = ?", (number,))
    elif table.name == "linked_texts":
        from ctxrank.indexer.links.store import estimated_counts
        from ctxrank.indexer.text.tokens import ESTIMATE

        tokens = estimated_counts(map(str, row[1:]))
        query = "UPDATE linked_texts SET tokens = ?, token_counter = ? WHERE linked_id = ?"
        change.connection.execute(query, (tokens, ESTIMATE, number))


def _sign(change: Change, table: str, number: int, unit_text: str) -> None:
    """Sign an error again: what it was recognised by holds words of what went."""
    from ctxrank.indexer.errors import lookup
    from ctxrank.indexer.errors.parse.units import error_units
    from ctxrank.indexer.errors.signature import sign

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
    row = change.connection.execute("SELECT project FROM error_patterns WHERE id = ?", (number,)).fetchone()
    if row is not None:
        lookup.put(change, number, str(row[0]), signature, unit_text)


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
    while rows := _documents(store.truth, f"WHERE d.id > ? ORDER BY d.id LIMIT {_BATCH}", last):
        last = rows[-1].id
        found = [(row, clean) for row in rows if (clean := _cleaned_document(row, texts)) != row]
        if found and not is_dry_run:
            with store.write() as change:
                note_begun(change)
                for row, clean in found:
                    for now in _documents(change.connection, "WHERE d.id = ?", row.id):
                        _replace(change, now, clean if now.seq == row.seq else _cleaned_document(now, texts))
        yield [(row.kind, row.id if row.number is None else row.number) for row, _ in found], len(rows)


def _documents(truth: apsw.Connection, where: str, value: int) -> list[_StoredDocument]:
    return [_StoredDocument(*row) for row in truth.execute(f"{_DOCUMENT_QUERY} {where}", (value,))]


def _cleaned_document(row: _StoredDocument, texts: IncomingTexts) -> _StoredDocument:
    body = _cleaned_json(row.body, texts) if row.kind == "skill" else texts.text(row.body)
    return row._replace(title=texts.text(row.title), body=body)


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
    taken = {str(key) for (key,) in change.connection.execute(query, (row.owner_id, row.id))}
    count = next(count for count in range(1, len(taken) + 2) if _numbered(digest, count) not in taken)
    return _numbered(digest, count)


def _numbered(digest: str, count: int) -> str:
    return digest if count == 1 else f"{digest}.{count}"


def _note_ruleset(store: Store) -> None:
    """Say that all was stored under today's rules; no text changes, so nothing enters the feed."""
    for table in ("documents", "artifacts", "linked_artifacts"):
        last = 0
        while True:
            rows = store.truth.execute(
                f"SELECT id FROM {table} WHERE id > ? AND ruleset < ? ORDER BY id LIMIT {_BATCH}",
                (last, RULESET_VERSION),
            ).fetchall()
            if not rows:
                break
            first, last = int(str(rows[0][0])), int(str(rows[-1][0]))
            with store.write() as change:
                change.connection.execute(
                    f"UPDATE {table} SET ruleset = ?1 WHERE id BETWEEN ?2 AND ?3 AND ruleset < ?1",
                    (RULESET_VERSION, first, last),
                )
