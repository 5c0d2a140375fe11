"""Forgetting: a record, a session or a path goes from the store, from its index and from the bytes of its files.

    forget_path(store, "docs/plan.md")        .removed == {"package": 2, "artifact": 1}, .is_erased, .kept_out == (1,)

    plan ── what goes, counted ── one transaction: removed, kept out, erasing noted ── files rewritten

Versions of a package go together, and so does what repeats their texts: the file of a package that nothing else names,
failures that were recognised as a purged error, strategies that were taken word for word from purged reasoning.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import apsw

from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.catalogue import aging_kinds, file_tables, forget_memories, kinds_of
from ctxrank.indexer.declarations import Column, Table
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.privacy.erase import erase, is_erasing_due, note_erasing
from ctxrank.indexer.privacy.removal import remove_records, remove_sessions, settle_references, unchecked_references
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.blocklist import PATH, SESSION, Blocklist, block, same_text
from ctxrank.indexer.store.connection import read_column, read_row, read_rows, require_value
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Change, Store

# The path of a row below its root or its tree, as a person names it.
_SHOWN = "CASE WHEN r.path = '.' OR r.path LIKE '@%' THEN f.path ELSE r.path || '/' || f.path END"


class PurgeReport(NamedTuple):
    """What went, or would go, by kind. `kept_out` are the numbers under which it may be allowed to come back.

    What is not `is_erased` is deleted, but another process reads the store: bytes of it may still be in its files.
    """

    removed: Mapping[str, int]
    kept_out: tuple[int, ...]
    notes: tuple[str, ...]
    is_erased: bool
    is_dry_run: bool


class _Plan(NamedTuple):
    """What goes: row ids by kind, and the paths, session names and texts that may not come back."""

    records: dict[str, list[int]]
    sessions: list[int]
    files: dict[str, list[int]]  # by table
    failures: list[str]  # texts of failures, which are remembered wherever they were seen
    kept_out: dict[str, list[str]]
    notes: list[str]


def forget_document(store: Store, ref: DocumentRef, *, is_dry_run: bool = False) -> PurgeReport:
    """Forget one document. Raises NotFoundError, UsageError for a part of one, LockedError."""
    document_id(store.primary, ref)
    if ref.kind == "passage":
        query = """
            SELECT o.kind, o.record_id FROM documents AS d JOIN documents AS o ON o.id = d.owner_id WHERE d.id = ?
        """
        owner = read_row(store.primary, query, (ref.number,), DocumentRef)
        raise UsageError(f"{ref} is a part of {owner}.", f"'ctxrank purge {owner}' purges all of it.")
    plan = _new_plan(store.primary)
    kind = kinds_of(store.primary).get(ref.kind)
    if ref.kind == "package":
        _plan_packages(store.primary, plan, _versions(store.primary, ref.number))
    elif kind is not None and kind.is_file:
        column = next(column for table, column in file_tables(store.primary) if table == kind.table)
        query = f"SELECT {_SHOWN} FROM {_with_folders(kind.table, column)} WHERE f.id = ?"
        _plan_path(store.primary, plan, require_value(store.primary, query, (ref.number,), str))
    else:
        plan.records[ref.kind] = [ref.number]
    return _carry_out(store, plan, is_dry_run=is_dry_run)


def forget_session(store: Store, name: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Purge a session and all that belongs to it. Raises NotFoundError, LockedError."""
    return _carry_out(store, _session_plan(store.primary, name), is_dry_run=is_dry_run)


def _session_plan(primary: apsw.Connection, name: str) -> _Plan:
    session_id = find_session(primary, name).id
    plan, kinds = _new_plan(primary), kinds_of(primary)
    _plan_packages(primary, plan, _ids(primary, "SELECT id FROM packages WHERE session_id = ?", session_id))
    for kind in (kinds[kind] for kind in plan.records if kind != "package"):
        if kind.is_of_a_session:
            query = f"SELECT id FROM {kind.table.name} WHERE session_id = ?"
            plan.records[kind.name] = _ids(primary, query, session_id)
    plan.failures.extend(_texts(primary, "SELECT error_text FROM error_sightings WHERE session_id = ?", session_id))
    plan.sessions.append(session_id)
    plan.kept_out[SESSION] = [name]
    return plan


def forget_path(store: Store, path: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Forget a file or a folder, and every package of it. Raises NotFoundError where nothing is known of it."""
    require_owners(store.primary, "purge")
    plan = _new_plan(store.primary)
    for shown in dict.fromkeys((_below_root(store, path), path.rstrip("/") or path)):
        _plan_path(store.primary, plan, shown)
        if any(plan.records.values()) or any(plan.files.values()):
            return _carry_out(store, plan, is_dry_run=is_dry_run)
    raise NotFoundError(
        f"Nothing is stored of {path}.", f"Give a path as 'ctxrank show' has it, below {store.location.root}."
    )


def finish_forgetting(store: Store) -> bool:
    """End what an earlier call began; whether nothing is left to do."""
    return not is_erasing_due(store.primary) or erase(store)


def forget_ordered(store: Store, kind: str, is_meant: Callable[[str], bool]) -> Mapping[str, int]:
    """Remove what an order of another store means: paths, names of sessions, or texts of a kind of record.

    Nothing is put on the blocklist: the order itself is on it.
    """
    primary = store.primary
    require_owners(primary, "purge")
    plan, kinds = _new_plan(primary), kinds_of(primary)
    if kind == PATH:
        query = "SELECT path FROM packages UNION SELECT path FROM artifacts"
        for path in filter(is_meant, _texts(primary, query)):
            part = _new_plan(primary)
            _plan_path(primary, part, path)
            _add(plan, part)
    elif kind == SESSION:
        for name in filter(is_meant, _texts(primary, "SELECT name FROM sessions")):
            _add(plan, _session_plan(primary, name))
    else:
        columns, table = " || char(10) || ".join(kinds[kind].blocked), kinds[kind].table.name
        rows = list(primary.execute(f"SELECT id, {columns} FROM {table}"))
        plan.records[kind] = [int(number) for number, text in rows if is_meant(str(text))]
    plan.kept_out.clear()
    return _remove_planned(store, plan)


def forget_blocked(store: Store) -> Mapping[str, int]:
    """Remove the records that the blocklist holds: a redaction may have made a text the same as one that was purged."""
    blocked = Blocklist(store.primary)
    removed: dict[str, int] = {}
    for kind in (kind.name for kind in kinds_of(store.primary).values() if kind.blocked):
        removed.update(forget_ordered(store, kind, partial(blocked.holds, kind)))
    return removed


def forget_numbers(store: Store, numbers: Mapping[str, Sequence[int]]) -> Mapping[str, int]:
    """Remove records by kind and row id, with the documents of files among them; what may come again is not decided."""
    plan = _new_plan(store.primary)
    for kind, ids in numbers.items():
        if kind == "artifact":
            plan.files["artifacts"].extend(ids)
        elif kind in plan.records:
            plan.records[kind] = list(ids)
    return _remove_planned(store, plan)


def _remove_planned(store: Store, plan: _Plan) -> Mapping[str, int]:
    counts = _counts(store.primary, plan)
    if counts:
        with unchecked_references(store.primary), store.write() as change:
            _remove(change, plan)
            note_erasing(change)
    return counts


def _add(plan: _Plan, part: _Plan) -> None:
    for kind, numbers in part.records.items():
        plan.records[kind] = list(dict.fromkeys([*plan.records[kind], *numbers]))
    for into, more in (
        (plan.sessions, part.sessions),
        *((plan.files[table], numbers) for table, numbers in part.files.items()),
    ):
        into.extend(number for number in more if number not in into)
    plan.failures.extend(part.failures)


def _new_plan(primary: apsw.Connection) -> _Plan:
    files: dict[str, list[int]] = {table.name: [] for table, _ in file_tables(primary)}
    return _Plan({kind: [] for kind in aging_kinds(kinds_of(primary))}, [], files, [], {}, [])


def _counts(primary: apsw.Connection, plan: _Plan) -> dict[str, int]:
    """What goes, by kind, and how many of each."""
    counts = {kind: len(numbers) for kind, numbers in plan.records.items()}
    counts |= {table.counted_as or table.name: len(plan.files[table.name]) for table, _ in file_tables(primary)}
    return {kind: count for kind, count in (counts | {"session": len(plan.sessions)}).items() if count}


def _with_folders(table: Table, column: Column) -> str:
    """A table of files (f) and their folders (r), for a query."""
    return f"{table.name} AS f JOIN {column.refers_to} AS r ON r.id = f.{column.name}"


def _below_root(store: Store, path: str) -> str:
    """A path given from here, as the store has it."""
    wanted, top = os.path.realpath(path), os.path.realpath(store.location.root)
    return os.path.relpath(wanted, top).replace(os.sep, "/") if is_inside(top, wanted) else wanted


def _versions(primary: apsw.Connection, number: int) -> list[int]:
    """The package and its other versions: those of the same session and path."""
    query = """
        SELECT o.id FROM packages AS p JOIN packages AS o ON o.session_id = p.session_id AND o.path = p.path
         WHERE p.id = ? AND (p.id < 0) = (o.id < 0) AND (p.id > 0 OR (-p.id >> 31) = (-o.id >> 31))
    """
    return _ids(primary, query, number)


class _ReceiptEntries(NamedTuple):
    """A receipt's id and the lines of its entries."""

    id: int
    entries: str


class _PackageFile(NamedTuple):
    """The file of a package; no artifact where it was never indexed."""

    path: str
    artifact_id: int | None


def _plan_packages(primary: apsw.Connection, plan: _Plan, numbers: Sequence[int]) -> None:
    """Packages, with those of their files that nothing else names."""
    going = set(numbers)
    plan.records["package"] = sorted(going)
    query = "SELECT DISTINCT path, artifact_id FROM packages WHERE id IN (SELECT value FROM json_each(?))"
    paths: list[str] = []
    for path, artifact_id in list(read_rows(primary, query, (_list(going),), _PackageFile)):
        others = _ids(primary, "SELECT id FROM packages WHERE path = ?1 OR artifact_id = ?2", path, artifact_id)
        if staying := [number for number in others if number not in going]:
            other = public_id(PACKAGE, staying[0])
            plan.notes.append(f"{path} stays: {other} has it, too; 'ctxrank purge --path' purges it for all.")
            continue
        paths.append(path)
        query = f"SELECT f.id FROM artifacts AS f JOIN roots AS r ON r.id = f.root_id WHERE {_SHOWN} = ?1 OR f.id = ?2"
        # An order elsewhere takes all of a path, too.
        plan.files["artifacts"].extend(_ids(primary, query, path, artifact_id))
    plan.kept_out[PATH] = paths


def _plan_path(primary: apsw.Connection, plan: _Plan, path: str) -> None:
    """A file or all below a folder, in every table that has it."""
    below = "({0} = ?1 OR substr({0}, 1, length(?1) + 1) = ?1 || '/')"
    shown = below.format(_SHOWN)
    for table, column in file_tables(primary):
        query = f"SELECT f.id FROM {_with_folders(table, column)} WHERE {shown}"
        plan.files[table.name].extend(_ids(primary, query, path))
    query = f"SELECT id FROM packages WHERE {below.format('path')} OR artifact_id IN (SELECT value FROM json_each(?2))"
    plan.records["package"] = _ids(primary, query, path, _list(plan.files["artifacts"]))
    plan.kept_out[PATH] = [path]


def _carry_out(store: Store, plan: _Plan, *, is_dry_run: bool) -> PurgeReport:
    require_owners(store.primary, "purge")
    _plan_the_same(store.primary, plan)
    counts = _counts(store.primary, plan)
    if is_dry_run:
        return PurgeReport(counts, (), tuple(plan.notes), is_erased=False, is_dry_run=True)
    with unchecked_references(store.primary), store.write() as change:
        numbers = _remove(change, plan)
        _order(change, plan)
        note_erasing(change)
    return PurgeReport(counts, tuple(numbers), tuple(plan.notes), is_erased=erase(store), is_dry_run=False)


def _plan_the_same(primary: apsw.Connection, plan: _Plan) -> None:
    """Add the rows that repeat a text of what goes, and the texts that go on the blocklist."""
    reasoning, errors = _list(plan.records["reasoning"]), _list(plan.records["error"])
    query = """
        SELECT DISTINCT s.id FROM strategies AS s JOIN reasoning AS r ON instr(r.content, s.insight) > 0
         WHERE s.insight <> '' AND r.id IN (SELECT value FROM json_each(?))
    """
    plan.records["strategy"] = sorted({*plan.records["strategy"], *_ids(primary, query, reasoning)})
    units = "SELECT error_text FROM error_signatures WHERE pattern_id IN (SELECT value FROM json_each(?1))"
    plan.failures.extend(
        _texts(
            primary,
            f"{units} UNION"
            " SELECT error_text FROM error_sightings WHERE pattern_id IN (SELECT value FROM json_each(?1))",
            errors,
        )
    )
    for kind in kinds_of(primary).values():
        if kind.blocked:
            text = " || char(10) || ".join(kind.blocked)
            query = f"SELECT {text} FROM {kind.table.name} WHERE id IN (SELECT value FROM json_each(?))"
            plan.kept_out[kind.name] = _texts(primary, query, _list(plan.records[kind.name]))
            # No other record may hold what no new one may.
            if gone := {same_text(text) for text in plan.kept_out[kind.name]}:
                rows = list(primary.execute(f"SELECT id, {text} FROM {kind.table.name}"))
                same = [int(number) for number, held in rows if same_text(str(held)) in gone]
                plan.records[kind.name] = list(dict.fromkeys([*plan.records[kind.name], *same]))


def _remove(change: Change, plan: _Plan) -> list[int]:
    """Everything in one transaction; returns the numbers under which it is kept out."""
    connection = change.connection
    _remove_receipts(connection, _shown_ids(connection, plan))
    for kind, numbers in plan.records.items():
        remove_records(change, kind, numbers)
    for of_file in (kind for kind in kinds_of(connection).values() if kind.is_file):
        numbers = plan.files[of_file.table.name]
        for number in numbers:
            _remove_document(change, of_file.name, number)
        query = f"SELECT {of_file.named_by} FROM {of_file.table.name} WHERE id IN (SELECT value FROM json_each(?))"
        names = _texts(connection, query, _list(numbers)) if of_file.named_by else []
        for name in filter(None, names):
            connection.execute("DELETE FROM receipts WHERE instr(entries, ?) OR instr(inputs, ?)", (name, name))
    for table, numbers in plan.files.items():
        settle_references(change, table, numbers)
        connection.execute(f"DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(?))", (_list(numbers),))
    for unit in dict.fromkeys(plan.failures):
        for table in ("error_sightings", "failed_commands"):
            connection.execute(f"DELETE FROM {table} WHERE error_text = ?", (unit,))
    remove_sessions(change, plan.sessions)
    forget_memories(connection)
    # The names of agents and types that only this had.
    connection.execute(
        "DELETE FROM labels WHERE text NOT IN"
        " (SELECT agent FROM documents UNION SELECT type FROM documents UNION SELECT priority FROM documents)"
    )
    return [number for kind, texts in plan.kept_out.items() for number in block(change.connection, kind, texts)]


def _order(change: Change, plan: _Plan) -> None:
    """What was purged does not come back from an export of this store; what others made every store has to forget."""
    for kind, numbers in (*plan.records.items(), ("artifact", plan.files["artifacts"])):
        query = "UPDATE record_log SET gone = 2 WHERE kind = ? AND number IN (SELECT value FROM json_each(?))"
        change.connection.execute(query, (kind, _list(numbers)))


def _shown_ids(connection: apsw.Connection, plan: _Plan) -> set[str]:
    """What goes, by the ids that a receipt has: records, files, and the passages of both."""
    ids: set[str] = set()
    files = {kind.name: plan.files[kind.table.name] for kind in kinds_of(connection).values() if kind.is_file}
    for kind, numbers in (*plan.records.items(), *files.items()):
        ids.update(public_id(kind, number) for number in numbers)
        query = """
            SELECT p.id FROM documents AS d JOIN documents AS p ON p.owner_id = d.id
             WHERE d.kind = ? AND d.record_id IN (SELECT value FROM json_each(?))
        """
        ids.update(
            public_id("passage", number) for number in read_column(connection, query, (kind, _list(numbers)), int)
        )
    return ids


def _remove_receipts(connection: apsw.Connection, ids: set[str]) -> None:
    """Receipts that name what goes: their reasons and their tasks say words of it."""
    going = [
        number
        for number, entries in list(read_rows(connection, "SELECT id, entries FROM receipts", (), _ReceiptEntries))
        if not ids.isdisjoint(field for line in entries.splitlines() for field in line.split("\t")[1:2])
    ]
    connection.execute("DELETE FROM receipts WHERE id IN (SELECT value FROM json_each(?))", (_list(going),))


def _remove_document(change: Change, kind: str, number: int) -> None:
    query = "SELECT id FROM documents WHERE kind = ? AND record_id = ?"
    for found in _ids(change.connection, query, kind, number):
        documents.remove_owned(change, found)
        documents.remove(change, found)


def _ids(primary: apsw.Connection, query: str, *values: str | int | None) -> list[int]:
    return read_column(primary, query, values, int)


def _texts(primary: apsw.Connection, query: str, *values: str | int | None) -> list[str]:
    return read_column(primary, query, values, str)


def _list(numbers: Iterable[int]) -> str:
    """Row ids as a JSON list, for json_each."""
    return f"[{', '.join(map(str, numbers))}]"
