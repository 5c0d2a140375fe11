"""Forgetting secrets: words of which no text, name or path of the store may hold a letter more.

    forget_secrets(store, ["<the secret>"], mode)        .removed == {"package": 1, "path": 1}

Texts go through the redaction with one rule more, so that all that is derived from them (passages, signatures, counts)
is rebuilt. A column that still holds a secret after that, in any case, is overwritten: names and
settings too. Files whose path holds one are forgotten, and are not indexed under it again.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence

import apsw

from ctxrank.indexer.bounds import LEAST_CHARS, MOST_CHARS
from ctxrank.indexer.catalogue import forget_memories, kinds_of, kinds_with_documents, tables_of
from ctxrank.indexer.declarations import Meaning
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import owners, require_owners
from ctxrank.indexer.privacy.erase import erase, note_secrets
from ctxrank.indexer.privacy.purge import PurgeReport
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.removal import HERE, note_removals, unchecked_references
from ctxrank.indexer.redaction.encoded import contains_in_any_encoding, find_in_any_encoding
from ctxrank.indexer.redaction.purged_secrets import PURGED_LABEL, can_be_purged, is_between_keys
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.redaction.user_rules import UserRules
from ctxrank.indexer.store.blocklist import PATH, block, block_secrets
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import Change, Store

_MOST_SECRETS = 1000


def read_secrets(text: str) -> list[str]:
    """The secrets of a file, one a line. Raises UsageError where one is too short: it would be found everywhere."""
    lines = dict.fromkeys(map(str.strip, text.splitlines()))
    secrets = [line for line in lines if line and not is_between_keys(line)]
    if not secrets:
        raise UsageError("There is no secret.", "Give one a line, in a file or on stdin ('--secret -').")
    # Nothing of it is shown: this is the one place that must not say what it was given.
    if any(len(secret) < LEAST_CHARS for secret in secrets):
        raise UsageError(f"A secret has fewer than {LEAST_CHARS} characters.", "It would be found in many words.")
    if any(len(secret) > MOST_CHARS for secret in secrets) or len(secrets) > _MOST_SECRETS:
        raise UsageError(
            "That is too much at once.", f"At most {_MOST_SECRETS} secrets of {MOST_CHARS} characters are read."
        )
    if not all(map(can_be_purged, secrets)):
        raise UsageError("A secret is a part of what takes the place of secrets.", f"That is {PURGED_LABEL}.")
    return sorted(secrets, key=len, reverse=True)


def forget_secrets(
    store: Store, secrets: Sequence[str], mode: RedactionMode, *, is_dry_run: bool = False
) -> PurgeReport:
    """Forget these. Raises LockedError."""
    require_owners(store.primary, "purge")
    pattern = _pattern(secrets)
    sought: list[int] = []
    if not is_dry_run:
        # First of all they may not come in again, and a crash from here on is known to need another purge.
        with store.write() as change:
            sought = block_secrets(change.connection, secrets)
            note_secrets(change, sought=sought)
        load_config(store)  # with them
    # The mode sees these secrets, too; where redaction is off, these alone.
    rules = UserRules() if mode.rules is None or mode.value == "off" else mode.rules
    seeing = mode.with_rules(rules._replace(literals=pattern))
    counts = dict(redact_again(store, seeing, is_dry_run=is_dry_run, is_only_for_these=True).redacted)
    if is_dry_run:
        # What would be redacted is counted by what it is; here is what no redaction reaches.
        for place, rows in _holding(store.primary, pattern, is_dry_run=True):
            counts[place.name] = counts.get(place.name, 0) + len(rows)
        return PurgeReport(counts, is_dry_run=True)
    with unchecked_references(store.primary), store.write() as change:
        # What lies under a path that holds one is not stored again, because its path would be.
        columns = [(table.name, table.column("path")) for table in tables_of(store.primary)]
        query = " UNION ".join(f"SELECT path FROM {name}" for name, path in columns if path and not path.is_absolute)
        paths = [path for path in read_column(change.connection, query, (), str) if _is_in(path, pattern)]
        numbers = (*sought, *block(change.connection, PATH, paths))
        for place, rows in list(_holding(change.connection, pattern, is_dry_run=False)):
            counts[place.name] = counts.get(place.name, 0) + len(rows)
            _write_over(change, place, rows, pattern)
        forget_memories(change.connection)
        note_removals(change.connection, {"secret": sum(counts.values())}, HERE)
        note_secrets(change, found=sought)
    note = "The files, exports and backups that hold it are yours to clean: a purge touches none of them."
    return PurgeReport(counts, numbers, (note,), is_erased=erase(store))


def _pattern(secrets: Sequence[str]) -> "re.Pattern[str]":
    """Each as it is, and as JSON and a receipt write it."""
    spellings = {
        text
        for secret in secrets
        for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    }
    longest_first = sorted(sorted(spellings), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def _finder(pattern: "re.Pattern[str]") -> Callable[[str], Iterator[tuple[int, int]]]:
    return lambda part: (match.span() for match in pattern.finditer(part))


def _is_in(text: str, pattern: "re.Pattern[str]") -> bool:
    return contains_in_any_encoding(text, _finder(pattern))


def _without(text: str, pattern: "re.Pattern[str]") -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(find_in_any_encoding(text, _finder(pattern))):
        if start >= done:
            pieces += text[done:start], PURGED_LABEL
        done = max(done, end)  # of two that overlap, the rest of the second goes, too
    return "".join([*pieces, text[done:]])


class _Place(NamedTuple):
    """A column that holds texts; `name` is what a count calls it."""

    table: str
    column: str
    key: str
    name: str


def _places(primary: apsw.Connection) -> Iterator[_Place]:
    """Every column of every table that can hold a text, as the file itself says: none may be forgotten here.

    Not those with words of ours, each one of a fixed list: a secret that is such a word is no secret there.
    """
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    counted_as = {table.name: table.counted_as for owner in owners(primary) for table in owner.all_tables}
    columns = ((table.name, column) for table in tables_of(primary) for column in table.stored)
    words = {(table, column.name) for table, column in columns if column.meaning is Meaning.WORD}
    for table in read_column(primary, query, (), str):
        stored = list(primary.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)))
        key = ", ".join(name for name, _, pk in stored if pk) or "rowid"
        for name, kind, _ in stored:
            if kind == "TEXT" and (table, name) not in words:
                yield _Place(table, name, key, "path" if name == "path" else counted_as.get(table) or table)


_Rows = list[tuple[tuple[str | int | None, ...], str]]


def _holding(
    primary: apsw.Connection, pattern: "re.Pattern[str]", *, is_dry_run: bool
) -> Iterator[tuple[_Place, _Rows]]:
    """The places that hold a secret: the keys of their rows, and their texts."""
    # What a redaction has counted, a dry run does not count again under another name. An error can have
    # expired and lost its document; it is counted under both names.
    found = kinds_with_documents(kinds_of(primary))
    counted = {"documents", "receipts", *(kind.table.name for kind in found if kind.name != "error")}
    counted |= {table.name for owner in owners(primary) for kind in owner.kinds for table in kind.parts}
    for place in _places(primary):
        if is_dry_run and place.table in counted and place.column != "path":
            continue
        stored = primary.execute(f"SELECT {place.key}, {place.column} FROM {place.table}")
        rows = [(tuple(key), text) for *key, text in stored if isinstance(text, str) and _is_in(text, pattern)]
        if rows:
            yield place, rows


def _write_over(change: Change, place: _Place, rows: _Rows, pattern: "re.Pattern[str]") -> None:
    where = " AND ".join(f"{key} = ?" for key in place.key.split(", "))
    query = f"UPDATE {place.table} SET {place.column} = ? WHERE {where}"
    for key, text in rows:
        if place.table == "config_cache":  # read again from the file, which is not ours to change
            change.connection.execute(f"DELETE FROM {place.table} WHERE {where}", key)
            continue
        clean = _without(text, pattern)
        for count in range(1, 10_000):
            try:  # two names that held different secrets may be one name now
                change.connection.execute(query, (clean if count == 1 else f"{clean} {count}", *key))
                break
            except apsw.ConstraintError:
                continue
