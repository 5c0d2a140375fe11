"""The catalogue: what each table holds and what each kind of record is, said once.

    KINDS["reasoning"].table.redacted          the columns that go through the redaction rules: content, refs
    KINDS["reasoning"].document.body           the column that a search finds it by: content
    for table in tables(): …                   every table of the schema, the parts of the kinds among them
    kinds_of(primary), tables_of(primary)      the same of one store, with what its extensions declare

Export, import, redaction, purge, removal, retention, repair and the doctor iterate over it. A new kind of record is an
entry here, its table in the schema, and a module of its own that writes it. The words of an entry are those of
`declarations`; a test compares what they say of a column with `store/schema.sql`.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.declarations import (
    Column,
    DocumentShape,
    Kind,
    LostRecord,
    Meaning,
    Row,
    Table,
    Value,
    agent,
    digests,
    elsewhere,
    group_reference,
    json_value,
    line,
    lists,
    names,
    numbers,
    path,
    reference,
    session_reference,
    text,
    times,
    word,
    words,
)
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.owners import owners
from ctxrank.indexer.text.lines import error_title

_ID = numbers("id")
_FILE = numbers("size_bytes", "mtime_ns", "inode")


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


def _strategy_title(row: Row) -> str:
    return f"{row['topic']} strategy"


def _lost_strategy(lost: LostRecord) -> Row:
    return {"name": f"rebuilt_{lost.number}", "project": "default", "last_seen": lost.created_at}


def _skill_title(row: Row) -> str:
    return str(row["skill"])


def _lost_skill(lost: LostRecord) -> Row:
    return {"iteration": 0}


_KINDS = (
    Kind(
        "session",
        Table(
            "sessions",
            (
                *_ID, *names("name", "project"), word("mode", "simple", "parallel"),
                word("status", "active", "completed", "failed"), text("requirements"),
                text("initial_branch"), json_value("metadata"), json_value("skills_config"),
                *times("created_at", "ended_at"),
            ),
            counted_as="session",
        ),
        identity=("project", "name"), ages_by="created_at", left_out=("id",), is_container=True,
    ),
    Kind(
        "group",
        Table(
            "groups",
            (
                *_ID, session_reference(), *names("name"), line("title"),
                word("status", "pending", "in_progress", "completed", "failed", "approved_pending_merge", "merging"),
                json_value("context_references", ours=True, replacement="'[]'"), json_value("metadata"),
                *times("created_at"),
            ),
            counted_as="group",
        ),
        identity=("name",), left_out=("id",), is_container=True,
    ),
    Kind(
        "package",
        Table(
            "packages",
            (
                *_ID, session_reference(), group_reference(), reference("artifact_id", "artifacts"), *names("type"),
                path("path"), agent("producer"), word("priority", "low", "medium", "high", "critical"),
                word("scope", "group", "global"), line("summary"),
                elsewhere("title", Meaning.TEXT, "documents.title"), *numbers("size_bytes"),
                *numbers("version", least=1),
                reference("supersedes", "packages"), reference("superseded_by", "packages"), *times("created_at"),
            ),
            counted_as="package",
        ),
        parts=(
            Table(
                "package_consumers",
                (
                    *_ID, reference("package_id", "packages", is_owner=True), *names("agent"),
                    *numbers("iteration"), *times("consumed_at"), *numbers("origin"),
                ),
            ),
            Table(
                "deliveries",
                (
                    reference("package_id", "packages", is_owner=True), group_reference(none=0), *names("agent"),
                    *numbers("iteration"), *times("delivered_at"), *numbers("origin"),
                ),
                key="",
            ),
        ),
        document=DocumentShape(
            title=_package_title, body="summary", agent="producer", type="type",
            priority="priority", path="path", superseded_by="superseded_by",
            fill=_lost_package,
        ),
        revised=(
            "group_id", "type", "producer", "priority", "scope", "summary", "title", "size_bytes", "version",
        ),
        ages_by="created_at", left_out=("artifact_id",),
    ),
    Kind(
        "reasoning",
        Table(
            "reasoning",
            (
                *_ID, session_reference(), group_reference(), agent("agent"), *names("agent_name"),
                *numbers("iteration"),
                word("phase", "understanding", "approach", "decisions", "risks", "blockers", "pivot", "completion"),
                word("confidence", "high", "medium", "low"), text("content"),
                json_value("refs", key="references", replacement="'[]'"), Column("redacted", Meaning.FLAG),
                *times("created_at"),
            ),
            counted_as="reasoning",
        ),
        document=DocumentShape(
            title=_reasoning_title, body="content", appendix=_references, agent="agent", type="phase",
            is_low=_is_unconfirmed,
        ),
        ages_by="created_at", blocked=("content",),
    ),
    Kind(
        "error",
        Table(
            "error_patterns",
            (
                *_ID, *names("project"), *digests("pattern_hash"), line("error_type"), text("message"),
                json_value("context_hints", replacement="'[]'"), json_value("stack_pattern", replacement="'[]'"),
                text("solution"), Column("confidence", Meaning.SHARE, key="bazinga_confidence"),
                word("state", ours=True), *numbers("confirmations", "refutations"),
                elsewhere("unit", Meaning.TEXT, "error_signatures.error_text"),
                elsewhere("varying", Meaning.JSON, "error_signatures.features -> '$.varying'", replacement="'[]'"),
                *numbers("occurrences", least=1),
                *names("lang"), *numbers("ttl_days", least=1), *times("last_seen", "created_at"),
            ),
            counted_as="error",
        ),
        parts=(
            Table(
                "error_signatures",
                (
                    reference("pattern_id", "error_patterns", is_owner=True), *numbers("normaliser_version"),
                    *digests("template", "instance"), *words("family", "lang"), text("headline", ours=True),
                    json_value("features", ours=True), json_value("terms", ours=True), text("error_text"),
                ),
                key="pattern_id", counted_as="error",
            ),
        ),
        document=DocumentShape(
            title=_error_title, body="solution", type="lang",
            fill=_lost_error,
        ),
        identity=("pattern_hash", "project"), ages_by="last_seen", ttl_days="ttl_days", blocked=("message", "solution"),
        counts=("occurrences", "confirmations", "refutations"),
        texts=("error_type", "message", "context_hints", "stack_pattern", "solution", "lang", "ttl_days"),
    ),
    Kind(
        "failure",
        Table(
            "error_sightings",
            (
                *_ID, session_reference(), group_reference(none=0),
                Column(
                    "pattern_id", Meaning.REFERENCE, refers_to="error_patterns",
                    natural_keys=(("error_project", "project"), ("error_hash", "pattern_hash")),
                ),
                *numbers("normaliser_version"), *digests("template", "instance"), text("error_text", key="unit"),
                *times("seen_at", "resolved_at"),
            ),
            counted_as="failure",
        ),
        revised=("resolved_at",), left_out=("normaliser_version", "template", "instance"),
    ),
    Kind(
        "strategy",
        Table(
            "strategies",
            (
                *_ID, *names("name", "project"),
                word("topic", "implementation", "architecture", "methodology", "general"), text("insight"),
                *numbers("helpfulness"), *names("lang", "framework"), *times("last_seen", "created_at"),
            ),
            counted_as="strategy",
        ),
        document=DocumentShape(
            title=_strategy_title, body="insight", type="topic", fill=_lost_strategy
        ),
        identity=("name",), ages_by="last_seen", blocked=("insight",),
        counts=("helpfulness",), texts=("insight", "lang", "framework"),
    ),
    Kind(
        "skill",
        Table(
            "skill_outputs",
            (
                *_ID, session_reference(), group_reference(), agent("agent"),
                *names("skill", may_be_blank=True), *numbers("iteration"),
                json_value("output", replacement="json_quote(output)"), *times("created_at"),
            ),
            counted_as="skill",
        ),
        document=DocumentShape(
            title=_skill_title, body="output", agent="agent", type="skill",
            fill=_lost_skill,
        ),
        ages_by="created_at", blocked=("output",),
    ),
    Kind(
        "event",
        Table(
            "events",
            (
                *_ID, session_reference(), group_reference(none=0), *names("subtype", may_be_blank=True),
                json_value("payload", replacement="json_quote(payload)"), *names("idempotency_key"),
                *times("created_at"),
            ),
            counted_as="event",
        ),
        unique=("session_id", "group_id", "subtype", "idempotency_key"), revised=("payload",), ages_by="created_at",
    ),
    Kind(
        "artifact",
        Table(
            "artifacts",
            (
                *_ID, reference("root_id", "roots"), path("path"),
                elsewhere("title", Meaning.TEXT, "documents.title"), *words("state"), line("reason", ours=True),
                *_FILE, *digests("sha256"), *names("encoding"), *numbers("ruleset"), *times("indexed_at"),
                elsewhere("created_at", Meaning.TIME, "documents.created_at"),
            ),
            counted_as="artifact",
        ),
        is_file=True,
        left_out=(
            "id", "root_id", "state", "reason", "mtime_ns", "inode", "sha256", "encoding", "ruleset", "indexed_at",
        ),
    ),
)  # fmt: skip

# What is no record of a kind: the store itself, what documents are made of, what was read from files.
_OTHER_TABLES = (
    Table("store", (*_ID, *names("uuid"), *numbers("seq"), *times("created_at"), *names("token"))),
    Table("settings", (*names("key"), json_value("value", ours=True)), key=""),
    Table(
        "config_cache",
        (
            path("path", absolute=True), *numbers("size_bytes", "mtime_ns"), *digests("sha256"),
            json_value("value", ours=True),
        ),
        key="", is_derived=True,
    ),
    Table(
        "documents",
        (
            *_ID, *numbers("seq"), *words("kind"), *numbers("record_id"), reference("owner_id", "documents"),
            *numbers("session_id", "group_id"), *names("agent", "type"), *words("priority"), text("title"),
            text("body"), path("path"), text("identifiers", ours=True), *digests("passage_key"),
            *numbers("start_line", "end_line", "superseded_by", "tokens"), *names("token_counter"),
            *numbers("ruleset"), *times("created_at"),
        ),
    ),
    Table(
        "anchors",
        (
            *_ID, reference("document_id", "documents", is_owner=True),
            word("kind", "line", "name", "quote", "command", "setting", "path"), line("name"), path("path"),
            *numbers("start_line", "end_line"), *lists("fingerprint"), *digests("commit_id"),
            *times("made_at"),
            word("state", "same", "moved", "changed", "gone"), path("now_path"),
            *numbers("now_start", "now_end", "differing"), *digests("changed_by"), *times("changed_at", "held_at"),
            *numbers("size_bytes", "mtime_ns"),
        ),
        counted_as="anchor",
    ),
    Table("tombstones", numbers("document_id", "seq", "session_id"), key="document_id"),
    Table("history_checkpoints", numbers("seq", "history_id"), key="seq", is_derived=True),
    Table("extensions", (*_ID, *names("name"), *numbers("version"))),
    Table("labels", (*_ID, *names("text")), is_derived=True),
    Table("roots", (*_ID, path("path", absolute=True))),
    Table("error_terms", numbers("term", "pattern_id"), key="", is_derived=True),
    Table(
        "failed_commands",
        (
            *_ID, *digests("command_key"), line("command"), path("folder"), text("error_text"),
            json_value("git_state", ours=True), *times("failed_at"),
        ),
        counted_as="command",
    ),
    Table(
        "receipts",
        (
            *_ID, *words("kind"), session_reference(), *numbers("group_id"), *names("agent"),
            *numbers("iteration", "seq"), Column("inputs", Meaning.PAIRS), *lists("entries", "parts"),
            *digests("digest"), *numbers("tokens"), *times("created_at"),
        ),
        counted_as="receipt",
    ),
    Table(
        "imported_rows",
        (*words("source", "kind"), *names("source_key"), *digests("digest"), *numbers("target_id")), key="",
    ),
    Table(
        "blocklist",
        (
            *_ID, *words("kind"), *digests("digest"), *lists("prefilter"), *times("blocked_at"), *names("origin"),
        ),
    ),
    Table(
        "origins",
        (
            *numbers("code"), *names("uuid", "who"), *words("state", "decided_by"), *times("decided_at"),
            *numbers("is_told"),
        ),
        key="code",
    ),
    Table(
        "orders",
        (
            *_ID, *names("origin"), *words("record", "kind"), *digests("key"), *lists("prefilter"), *words("came_by"),
            *times("came_at"), *numbers("touched"), *words("state"),
        ),
    ),
    Table(
        "removals",
        (*_ID, *times("removed_at"), *names("origin"), *numbers("order_id"), *words("kind"), *numbers("removed")),
    ),
    Table("record_log", (*numbers("seq"), *words("kind"), *numbers("number", "gone")), key="seq"),
    Table(
        "origin_counts",
        (*words("kind"), *numbers("number", "origin", "occurrences", "confirmations", "refutations")), key="",
    ),
)  # fmt: skip

# By name, in the order in which an export has them: what a record refers to comes before it.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}


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


class NamedRecord(NamedTuple):
    """A record with an id of its own."""

    kind: str
    number: int
    name: str
    type: str
    title: str


def named_records(primary: apsw.Connection, name: str = "", limit: int = -1) -> list[NamedRecord]:
    """The records of a store with an id of their own, or with this one, each kind's in their order."""
    found: list[NamedRecord] = []
    for kind in kinds_of(primary).values():
        if kind.named_by:
            query = f"""
                SELECT '{kind.name}', id, {kind.named_by}, type, title
                  FROM {kind.table.name}
                 WHERE {kind.named_by} <> '' AND ?1 IN ('', {kind.named_by})
                 ORDER BY {kind.named_by}, path LIMIT ?2
            """
            found += [NamedRecord(*row) for row in primary.execute(query, (name, limit))]
    return found


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
