"""The catalogue: what each table holds and what each kind of record is, said once.

    KINDS["reasoning"].table.redacted          the columns that go through the redaction rules: content, refs
    KINDS["reasoning"].document.body           the column that a search finds it by: content
    for table in tables(): …                   every table of the schema, the parts of the kinds among them
    kinds_of(primary), tables_of(primary)      the same of one store, with what its extensions declare

Export, import, redaction, purge, removal, retention, repair and the doctor iterate over it. A new kind of record is an
entry in catalogue.tsv, its table in the schema, and a module of its own that writes it. The words of an entry are those
of `declarations`; a test compares what they say of a column with `store/schema.sql`.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.declarations import Column, Kind, LostRecord, Row, Table, Value, declared
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any, cast
from ctxrank.indexer.owners import owners
from ctxrank.indexer.text.lines import error_title
from ctxrank.indexer.text.tables import rows


def _package_title(row: Row) -> str:
    return str(row.get("title") or os.path.basename(str(row["path"])))


def _lost_package(lost: LostRecord) -> Row:
    return {"scope": "group" if lost.group_id else "global"}


def _reasoning_title(row: Row) -> str:
    named = f" ({row['agent_name']})" if row["agent_name"] else ""
    return f"{row['agent']} {row['phase']}{named}"


def _is_unconfirmed(row: Row) -> bool:
    return str(row["agent_name"]).startswith(UNCONFIRMED)


def _references(row: Row) -> str:
    """What an entry refers to: a file is looked for by its path."""
    if row["refs"] in ("", "[]"):
        return ""
    references: list[object] = json.loads(str(row["refs"]))
    return f"\n\nRefers to: {', '.join(map(str, references))}"


def _error_title(row: Row) -> str:
    return error_title(str(row["error_type"]), str(row["message"]))


def _lost_error(lost: LostRecord) -> Row:
    error_type, colon, message = lost.title.partition(": ")
    return {
        "project": "default",
        "pattern_hash": f"rebuilt-{lost.number}",
        "error_type": error_type if colon else "Unknown",
        "message": message or lost.title,
        "lang": lost.type or None,
        "last_seen": lost.created_at,
    }


def _lost_strategy(lost: LostRecord) -> Row:
    return {"name": f"rebuilt_{lost.number}", "project": "default", "last_seen": lost.created_at}


def _lost_skill(lost: LostRecord) -> Row:
    return {"iteration": 0}


_MADE: dict[str, dict[str, Any]] = {
    "package": {"title": _package_title, "fill": _lost_package},
    "reasoning": {"title": _reasoning_title, "appendix": _references, "is_low": _is_unconfirmed},
    "error": {"title": _error_title, "fill": _lost_error},
    "strategy": {"title": "{topic} strategy".format_map, "fill": _lost_strategy},
    "skill": {"title": "{skill}".format_map, "fill": _lost_skill},
}

# Kinds by name, in the order in which an export has them; the other tables are the store itself, what documents are
# made of, and what was read from files.
KINDS, _OTHER_TABLES = declared(rows(__file__, "catalogue"), _MADE)


def kinds_of(primary: apsw.Connection) -> dict[str, Kind]:
    """The kinds of a store: the core's, and those of the extensions that own tables in it and are installed."""
    return KINDS | {kind.name: kind for owner in owners(primary) for kind in owner.kinds}


def tables() -> Iterator[Table]:
    """Every table of the core's schema, each before the parts of its records."""
    for kind in KINDS.values():
        yield kind.table
        yield from kind.parts
    yield from _OTHER_TABLES


def tables_of(primary: apsw.Connection) -> Iterator[Table]:
    """The same of a store, with those of the extensions that own tables in it."""
    yield from tables()
    for owner in owners(primary):
        yield from owner.all_tables


def folder_tables(primary: apsw.Connection) -> list[Table]:
    """The tables of a store that name folders which paths of files start at."""
    found = [(table, table.column("path")) for table in tables_of(primary) if table.key and not table.is_derived]
    return [table for table, column in found if column is not None and column.is_absolute]


def file_tables(primary: apsw.Connection) -> Iterator[tuple[Table, Column]]:
    """The tables of a store that have a row for each file, with the reference to its folder."""
    folders = {table.name for table in folder_tables(primary)}
    for table in tables_of(primary):
        column = next((column for column in table.stored if column.refers_to in folders), None)
        if column is not None and table.column("path") is not None:
            yield table, column


def forget_memories(primary: apsw.Connection) -> None:
    """Empty what is kept only to save a run time: it may hold what goes, and prove what is not so any more."""
    for table in tables_of(primary):
        for column in table.stored:
            if column.is_memory:
                primary.execute(f"UPDATE {table.name} SET {column.name} = ''")


def exported_kinds(kinds: Mapping[str, Kind] = KINDS) -> tuple[str, ...]:
    """The kinds that an export can be asked for."""
    return tuple(kind.name for kind in kinds.values() if kind.is_exported and not kind.is_container)


def aging_kinds(kinds: Mapping[str, Kind] = KINDS) -> tuple[str, ...]:
    """The kinds that have an age of their own: what is purged by number and pruned by age."""
    return tuple(kind.name for kind in kinds.values() if kind.ages_by and not kind.is_container)


def chosen_kinds(
    known: Mapping[str, Kind], kinds: Sequence[str], allowed: Sequence[str], what: str, *, has_session: bool
) -> tuple[str, ...]:
    """Those of the allowed kinds that are asked for (none: all), in their order; of a session what belongs to one.

    Raises UsageError for one that is not `what` is wanted.
    """
    within = [kind for kind in allowed if not has_session or kind == "session" or known[kind].is_of_a_session]
    for kind in kinds:
        if kind not in allowed:
            raise UsageError(f"'{kind}' is not {what}.", f"Kinds are {', '.join(allowed)}.")
        if kind not in within:
            raise UsageError(f"'{kind}' belongs to no session.", f"With --session, kinds are {', '.join(within)}.")
    return tuple(kind for kind in within if kind in kinds or not kinds)


def kinds_with_documents(kinds: Mapping[str, Kind] = KINDS) -> tuple[Kind, ...]:
    """The kinds whose records have a document each, which is made from nothing but the record."""
    return tuple(kind for kind in kinds.values() if kind.document is not None)


def document_kinds(kinds: Mapping[str, Kind] = KINDS) -> tuple[str, ...]:
    """What a document's kind can be."""
    return (*(kind.name for kind in kinds.values() if kind.is_found), "passage")


def as_row(kind: Kind, values: Iterable[object]) -> Row:
    """What a query for the stored columns of a kind's table gave, by column."""
    return cast("Row", dict(zip((column.name for column in kind.table.stored), values, strict=True)))


_SAID = ("agent", "type", "priority", "path", "superseded_by")  # columns by DocumentShape, values by LostRecord


def record_of(kind: Kind, lost: LostRecord) -> dict[str, Value]:
    """The columns of a record as far as its document says them."""
    shape = kind.document
    assert shape is not None, "only kinds with a document are asked"
    row: dict[str, Value] = {"id": lost.number, "created_at": lost.created_at, shape.body: lost.body}
    for name, number in (("session_id", lost.session_id), ("group_id", lost.group_id)):
        if (reference := kind.table.column(name)) is not None:
            row[name] = number or reference.none
    said = {getattr(shape, name): getattr(lost, name) for name in _SAID}
    return {**row, **{name: value for name, value in said.items() if name}, **shape.fill(lost)}
