"""Forgetting: a record, a session or a path goes from the store, from its index and from the bytes of its files.

    forget_path(store, "docs/plan.md")        .removed == {"package": 2, "artifact": 1}, .is_erased, .kept_out == (1,)

    plan ── what goes, counted ── one transaction: removed, kept out, erasing noted ── files rewritten

Versions of a package go together, and so does what repeats their texts: the file of a package that nothing else names,
failures that were recognised as a purged error, strategies that were taken word for word from purged reasoning.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import apsw

from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.catalogue import file_tables, forget_memories, kinds_of
from ctxrank.indexer.declarations import Column, Kind, Table
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.privacy.erase import erase, is_erasing_due, note_erasing
from ctxrank.indexer.privacy.removal import (
    AMONG,
    HERE,
    Remover,
    note_removals,
    removable,
    remove_records,
    sealing,
    unchecked_references,
)
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.blocklist import PATH, SESSION, and_above, block, block_here, same_text
from ctxrank.indexer.store.connection import read_column, read_map, read_row, require_value, snapshot
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, own_uuid, public_id
from ctxrank.indexer.store.imported_rows import forget_lines
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.store.team_log import ask_again

BY_ORDER = 2  # what the record log says of a record that every store has to forget
SAID_AGAIN = (
    "Other stores have an error or a strategy that went, too: what they say of it comes with their next whole export;"
    " a team's log is read again by itself."
)
# The path of a row below its root or its tree, as a person names it.
_SHOWN = "CASE WHEN r.path = '.' OR r.path LIKE '@%' THEN f.path ELSE r.path || '/' || f.path END"
# A path that is one, or lies below it.
_BELOW = "({0} = ?1 OR substr({0}, 1, length(?1) + 1) = ?1 || '/')"
_WITH_ROOTS = "artifacts AS f JOIN roots AS r ON r.id = f.root_id"


class PurgeReport(NamedTuple):
    """What went, or would go, by kind. `kept_out` are the numbers under which it may be allowed to come back.

    What is not `is_erased` is deleted, but another process reads the store: bytes of it may still be in its files.
    """

    removed: Mapping[str, int]
    kept_out: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    is_erased: bool = False
    is_dry_run: bool = False


class Plan(NamedTuple):
    """What goes: row ids by kind, and the paths, session names and texts that may not come back."""

    rows: dict[str, list[int]]  # by what `removable` calls them
    failures: list[str]  # texts of failures, which are remembered wherever they were seen
    kept_out: dict[str, list[str]]
    notes: list[str]


Planner = Callable[[apsw.Connection, Plan], None]  # adds to a plan what is to go


def forget_document(store: Store, ref: DocumentRef, *, is_dry_run: bool = False) -> PurgeReport:
    """Forget one document. Raises NotFoundError, UsageError for a part of one, LockedError."""
    return _carry_out(store, partial(_plan_document, ref=ref), is_dry_run=is_dry_run)


def _plan_document(primary: apsw.Connection, plan: Plan, ref: DocumentRef) -> None:
    document_id(primary, ref)
    if ref.kind == "passage":
        query = """
            SELECT o.kind, o.record_id FROM documents AS d JOIN documents AS o ON o.id = d.owner_id WHERE d.id = ?
        """
        owner = read_row(primary, query, (ref.number,), DocumentRef)
        raise UsageError(f"{ref} is a part of {owner}.", f"'ctxrank purge {owner}' purges all of it.")
    if ref.kind == "package":
        versions = """
            SELECT o.id FROM packages AS p JOIN packages AS o ON o.session_id = p.session_id AND o.path = p.path
             WHERE p.id = ? AND (p.id < 0) = (o.id < 0) AND (p.id > 0 OR (-p.id >> 31) = (-o.id >> 31))
        """
        _plan_packages(primary, plan, _ids(primary, versions, ref.number))
    elif kinds_of(primary)[ref.kind].is_file:
        table = removable(primary)[ref.kind]
        column = next(column for other, column in file_tables(primary) if other == table)
        query = f"SELECT {_SHOWN} FROM {_with_folders(table, column)} WHERE f.id = ?"
        _plan_path(primary, plan, require_value(primary, query, (ref.number,), str))
    else:
        plan.rows[ref.kind] = [ref.number]


def forget_session(store: Store, name: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Purge a session and all that belongs to it. Raises NotFoundError, LockedError."""
    return _carry_out(store, partial(_plan_session, name=name), is_dry_run=is_dry_run)


def _plan_session(primary: apsw.Connection, plan: Plan, name: str) -> None:
    session_id = find_session(primary, name).id
    for kind in kinds_of(primary).values():
        if kind.is_of_a_session:
            numbers = _ids(primary, f"SELECT id FROM {kind.table.name} WHERE session_id = ?", session_id)
            plan.rows[kind.name].extend(numbers)
    _plan_packages(primary, plan, plan.rows["package"])
    query = "SELECT error_text FROM error_sightings WHERE session_id = ?"
    plan.failures.extend(read_column(primary, query, (session_id,), str))
    plan.rows[SESSION].append(session_id)
    plan.kept_out[SESSION] = [name]


def forget_path(store: Store, path: str, *, is_dry_run: bool = False) -> PurgeReport:
    """Forget a file or a folder, and every package of it. Raises NotFoundError where nothing is known of it."""
    wanted, top = os.path.realpath(path), os.path.realpath(store.location.root)
    below = os.path.relpath(wanted, top).replace(os.sep, "/") if is_inside(top, wanted) else wanted

    def planned(primary: apsw.Connection, plan: Plan) -> None:
        for shown in (below, path.rstrip("/") or path):  # as given from here, and as the store has it
            plan.kept_out.clear()
            _plan_path(primary, plan, shown)
            if any(plan.rows.values()):
                return
        hint = f"Give a path as 'ctxrank show' has it, below {store.location.root}."
        raise NotFoundError(f"Nothing is stored of {path}.", hint)

    return _carry_out(store, planned, is_dry_run=is_dry_run)


def finish_forgetting(store: Store) -> bool:
    """End what an earlier call began; whether nothing is left to do."""
    return not is_erasing_due(store.primary) or erase(store)


def plan_ordered(primary: apsw.Connection, kind: str, is_meant: Callable[[str], bool]) -> Plan:
    """What an order of another store means: paths, names of sessions, or texts of a kind of record.

    Nothing is put on the blocklist: the order itself is on it.
    """
    require_owners(primary, "purge")
    plan = _new_plan(primary)
    if kind in (PATH, SESSION):
        for text in filter(is_meant, orderable_texts(primary, kind)):
            (_plan_path if kind == PATH else _plan_session)(primary, plan, text)
    else:
        texts = _blocked_texts(primary, kinds_of(primary)[kind])
        plan.rows[kind] = [number for number, text in texts.items() if is_meant(text)]
    return plan


def orderable_texts(primary: apsw.Connection, kind: str) -> Collection[str]:
    """All that orders of a kind may mean here: paths, names of sessions, or texts of a kind of record."""
    if kind == PATH:
        return read_column(primary, "SELECT path FROM packages UNION SELECT path FROM artifacts", (), str)
    if kind == SESSION:
        return read_column(primary, "SELECT name FROM sessions", (), str)
    return set(_blocked_texts(primary, kinds_of(primary)[kind]).values())


def forget_blocked(store: Store) -> None:
    """Remove the records that the blocklist holds: a redaction may have made a text the same as one that was purged."""
    with unchecked_references(store.primary), store.write() as change:
        for kind in [kind.name for kind in kinds_of(change.connection).values() if kind.blocked]:
            plan = plan_ordered(change.connection, kind, partial(change.blocklist.holds, kind))
            forget_planned(change, plan)


def plan_numbers(primary: apsw.Connection, numbers: Mapping[str, Sequence[int]]) -> Plan:
    """Records by kind and row id, with the documents of files among them; what may come again is not decided."""
    plan = _new_plan(primary)
    plan.rows.update({kind: list(ids) for kind, ids in numbers.items() if kind in plan.rows})
    return plan


def _new_plan(primary: apsw.Connection) -> Plan:
    return Plan({what: [] for what in removable(primary)}, [], {}, [])


def _counts(plan: Plan) -> dict[str, int]:
    """What goes, by kind, and how many of each."""
    for what, numbers in plan.rows.items():
        plan.rows[what] = list(dict.fromkeys(numbers))
    return {what: len(numbers) for what, numbers in plan.rows.items() if numbers}


def _with_folders(table: Table, column: Column) -> str:
    """A table of files (f) and their folders (r), for a query."""
    return f"{table.name} AS f JOIN {column.refers_to} AS r ON r.id = f.{column.name}"


def _plan_packages(primary: apsw.Connection, plan: Plan, numbers: Sequence[int]) -> None:
    """Packages, with those of their files that nothing else names."""
    going = id_list(set(numbers))
    plan.rows["package"] = sorted(set(numbers))
    query = f"SELECT id, path, artifact_id FROM packages WHERE id NOT {AMONG} ORDER BY id DESC"
    staying = {key: number for number, *named in primary.execute(query, (going,)) for key in named if key}
    query = f"SELECT DISTINCT path, artifact_id FROM packages WHERE id {AMONG}"
    paths, files = list[str](), list[int]()
    for path, artifact_id in primary.execute(query, (going,)):
        if others := [staying[key] for key in (path, artifact_id) if key in staying]:
            other = public_id(PACKAGE, min(others))
            plan.notes.append(f"{path} stays: {other} has it, too; 'ctxrank purge --path' purges it for all.")
            continue
        paths.append(path)
        files += [] if artifact_id is None else [artifact_id]
    # An order elsewhere takes all of a path, too.
    query = f"SELECT f.id FROM {_WITH_ROOTS} WHERE {_SHOWN} {AMONG} OR f.id {AMONG}"
    plan.rows["artifact"].extend(_ids(primary, query, json.dumps(paths), id_list(files)))
    plan.kept_out.setdefault(PATH, []).extend(paths)


def _plan_path(primary: apsw.Connection, plan: Plan, path: str) -> None:
    """A file or all below a folder, in every table that has it."""
    for table, column in file_tables(primary):
        query = f"SELECT f.id FROM {_with_folders(table, column)} WHERE {_BELOW.format(_SHOWN)}"
        plan.rows[table.counted_as or table.name].extend(_ids(primary, query, path))
    query = f"SELECT id FROM packages WHERE {_BELOW.format('path')} OR artifact_id IN (SELECT value FROM json_each(?2))"
    plan.rows["package"].extend(_ids(primary, query, path, id_list(plan.rows["artifact"])))
    plan.kept_out.setdefault(PATH, []).append(path)


def _carry_out(store: Store, planned: Planner, *, is_dry_run: bool) -> PurgeReport:
    """Plan and remove in one transaction: what another process saves is in the plan, or finds the blocklist."""
    require_owners(store.primary, "purge")
    plan = _new_plan(store.primary)
    if is_dry_run:
        with snapshot(store.primary):
            planned(store.primary, plan)
            _plan_the_same(store.primary, plan)
        return PurgeReport(_counts(plan), (), tuple(plan.notes), is_dry_run=True)
    with unchecked_references(store.primary), store.write() as change:
        planned(change.connection, plan)
        failures = _plan_the_same(change.connection, plan)
        counts = forget_planned(change, plan)
        numbers = [number for kind, texts in plan.kept_out.items() for number in block(change.connection, kind, texts)]
        numbers += block_here(change.connection, "error", failures)
        for kind, ids in plan.rows.items():
            # Not again from an export of this store; what others made every store has to forget.
            if kind != SESSION:
                query = f"UPDATE record_log SET gone = ? WHERE kind = ? AND number {AMONG}"
                change.connection.execute(query, (BY_ORDER, kind, id_list(ids)))
    return PurgeReport(counts, tuple(numbers), tuple(plan.notes), is_erased=erase(store))


def _plan_the_same(primary: apsw.Connection, plan: Plan) -> list[str]:
    """Add the rows that repeat a text of what goes, and the texts that go on the blocklist; returns the failures that
    were a purged error. That they are not seen again is for this store alone: others may have met the same.
    """
    query = f"""
        SELECT DISTINCT s.id FROM strategies AS s JOIN reasoning AS r ON instr(r.content, s.insight) > 0
         WHERE s.insight <> '' AND r.id {AMONG}
    """
    plan.rows["strategy"] = sorted({*plan.rows["strategy"], *_ids(primary, query, id_list(plan.rows["reasoning"]))})
    for kind in kinds_of(primary).values():
        if kind.blocked and plan.rows[kind.name]:
            texts = _blocked_texts(primary, kind)
            plan.kept_out[kind.name] = [texts[number] for number in plan.rows[kind.name] if number in texts]
            # No other record may hold what no new one may.
            gone = {same_text(text) for text in plan.kept_out[kind.name]}
            same = [number for number, text in texts.items() if same_text(text) in gone] if gone else []
            plan.rows[kind.name] = list(dict.fromkeys([*plan.rows[kind.name], *same]))
    query = """
        SELECT error_text FROM error_signatures WHERE pattern_id IN (SELECT value FROM json_each(?1)) UNION
        SELECT error_text FROM error_sightings WHERE pattern_id IN (SELECT value FROM json_each(?1))
    """
    reports = read_column(primary, query, (id_list(plan.rows["error"]),), str)
    # A failure that was seen is kept as its error alone.
    purged = [*reports, *(unit.text for report in reports for unit in error_units(report))]
    plan.failures.extend(purged)
    return purged


def _blocked_texts(primary: apsw.Connection, kind: Kind) -> dict[int, str]:
    """The texts by which the records of a kind are kept from coming back, by row id."""
    return read_map(primary, f"SELECT id, {' || char(10) || '.join(kind.blocked)} FROM {kind.table.name}", (), int, str)


def forget_planned(change: Change, plan: Plan, by: Remover = HERE) -> Mapping[str, int]:
    """Remove what a plan says, inside the caller's transaction; the log of removals has whose order it was."""
    connection, counts = change.connection, _counts(plan)
    if not counts:
        return counts
    note_removals(connection, counts, by)
    note_erasing(change)
    with sealing(connection, by.seal):
        _remove_receipts(connection, plan)
        _remove_anchors(connection, plan)
        for what, numbers in plan.rows.items():
            remove_records(change, what, numbers)
        for unit in dict.fromkeys(plan.failures):
            for table in ("error_sightings", "failed_commands"):
                connection.execute(f"DELETE FROM {table} WHERE error_text = ?", (unit,))
        forget_memories(connection)
        # The names of agents and types that only this had.
        connection.execute(
            "DELETE FROM labels WHERE text NOT IN"
            " (SELECT agent FROM documents UNION SELECT type FROM documents UNION SELECT priority FROM documents)"
        )
    # Of what all stores have one of, the younger text stood here for others, too: theirs comes in its place.
    joined = [kind.name for kind in kinds_of(connection).values() if kind.counts]
    of = by.origin or own_uuid(connection)
    if sum(forget_lines(connection, kind, plan.rows[kind], of) for kind in joined):
        plan.notes.append(SAID_AGAIN)
        ask_again(connection)
    return counts


def _remove_receipts(connection: apsw.Connection, plan: Plan) -> None:
    """Receipts that name what goes, a passage of it or its name: their reasons and their tasks say words of it."""
    ids, names = set[str](), list[str]()
    query = f"""
        SELECT p.id FROM documents AS d JOIN documents AS p ON p.owner_id = d.id
         WHERE d.kind = ? AND d.record_id {AMONG}
    """
    for kind, numbers in plan.rows.items():
        ids.update(public_id(kind, number) for number in numbers)
        passages = read_column(connection, query, (kind, id_list(numbers)), int)
        ids.update(public_id("passage", number) for number in passages)
    for named in kinds_of(connection).values():
        if named.is_file and named.named_by:
            query = f"SELECT {named.named_by} FROM {named.table.name} WHERE id {AMONG}"
            names += filter(None, read_column(connection, query, (id_list(plan.rows[named.name]),), str))
    for number, entries, inputs in list(connection.execute("SELECT id, entries, inputs FROM receipts")):
        shown, text = (line.split("\t")[1] for line in entries.split("\n") if line), f"{entries}\n{inputs}"
        # T-1 is not in T-12.
        is_named = any(name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)
        if is_named or not ids.isdisjoint(shown):
            connection.execute("DELETE FROM receipts WHERE id = ?", (number,))


def _remove_anchors(connection: apsw.Connection, plan: Plan) -> None:
    """What other findings name of the files that go: their anchors have checksums of lines."""
    query = f"SELECT {_SHOWN} FROM {_WITH_ROOTS} WHERE f.id {AMONG}"
    gone = {*plan.kept_out.get(PATH, ()), *read_column(connection, query, (id_list(plan.rows["artifact"]),), str)}
    numbers = [
        number
        for number, *paths in connection.execute("SELECT id, path, now_path FROM anchors")
        if any(part in gone for path in paths for part in and_above(path))
    ]
    connection.execute(f"DELETE FROM anchors WHERE id {AMONG}", (id_list(numbers),))


def _ids(primary: apsw.Connection, query: str, *values: str | int | None) -> list[int]:
    return read_column(primary, query, values, int)
