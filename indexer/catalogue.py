"""The catalogue: what each table holds and what each kind of record is, said once.

    KINDS["reasoning"].table.redacted          the columns that go through the redaction rules: content, refs
    KINDS["reasoning"].document.body           the column that a search finds it by: content
    for table in tables(): …                   every table of the schema, the parts of the kinds among them

Export, import, redaction, purge, removal, retention, repair and the doctor iterate over it. A new kind of record is an
entry here, its table in the schema, and a module of its own that writes it. The words for what a column holds are those
of `store/schema.sql`; a test compares the two column by column.
"""

import enum
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.text.lines import error_title

Value = int | float | str | None
Row = Mapping[str, Value]  # a record by its columns


class Meaning(enum.Enum):
    """What a column holds, in the words of schema.sql."""

    TEXT = "text"
    LINE = "line"
    JSON = "JSON"
    PAIRS = "pairs"  # a text, a line each of name, tab, value
    NAME = "name"
    WORD = "word"
    PATH = "path"
    DIGEST = "digest"
    LIST = "list"
    TIME = "time"
    NUMBER = "number"
    FLAG = "flag"
    REFERENCE = "reference"


_REDACTED = (Meaning.TEXT, Meaning.LINE, Meaning.JSON, Meaning.PAIRS)


class Column(NamedTuple):
    """A column of a table, or of another table that an export joins (`source` says where it is)."""

    name: str
    meaning: Meaning
    key: str = ""  # its name in an export where that is another
    is_ours: bool = False  # made by this program, or from other columns: no redaction rule is asked
    is_absolute: bool = False  # a path that starts at no root
    replacement: str = ""  # of JSON that a repair finds broken: the SQL of what takes its place
    source: str = ""  # table.column of an exported value that is stored elsewhere
    refers_to: str = ""  # the table, of a reference
    is_owner: bool = False  # of a reference: the row is deleted together with what it refers to
    none: int | None = None  # of a reference: what says that there is none
    natural_keys: tuple[tuple[str, str], ...] = ()  # of a reference: (name in an export, column of the table)

    @property
    def is_redacted(self) -> bool:
        """Whether what it holds goes through the redaction rules."""
        return self.meaning in _REDACTED and not (self.is_ours or self.source)


class Table(NamedTuple):
    """A table, its columns in the order of an export; `key` is the column that numbers its rows."""

    name: str
    columns: tuple[Column, ...]
    key: str = "id"
    counted_as: str = ""  # what a redaction counts its rows as
    is_derived: bool = False  # follows from the rest, or is read again when it is wanted: losing it is no loss

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns that are the table's own."""
        return tuple(column for column in self.columns if not column.source)

    @property
    def redacted(self) -> tuple[Column, ...]:
        """The columns that go through the redaction rules."""
        return tuple(column for column in self.columns if column.is_redacted)

    def column(self, name: str) -> Column | None:
        """The column of this name."""
        return next((column for column in self.stored if column.name == name), None)

    def reference_to(self, table: str) -> Column | None:
        """The first column that refers to a table."""
        return next((column for column in self.stored if column.refers_to == table), None)


class LostRecord(NamedTuple):
    """What the document of a lost record still says of it."""

    number: int
    session_id: int
    group_id: int
    agent: str
    type: str
    priority: str
    title: str
    body: str
    path: str
    superseded_by: int | None
    created_at: int


class DocumentShape(NamedTuple):
    """Which columns of a record make its document, so that each can be made again from the other."""

    title: Callable[[Row], str]
    body: str
    appendix: Callable[[Row], str] = lambda row: ""  # what the document says behind the body
    agent: str = ""
    type: str = ""
    priority: str = ""
    path: str = ""
    superseded_by: str = ""
    # What no column above gives and the table requires, of a record that only its document is left of.
    fill: Callable[[LostRecord], Row] = lambda lost: {}


class Kind(NamedTuple):
    """A kind of record.

    `document` is None for a kind without a document, and for one whose documents a scan of the files makes (`is_file`).
    """

    name: str
    table: Table
    parts: tuple[Table, ...] = ()  # tables whose rows belong to one record
    document: DocumentShape | None = None
    identity: tuple[str, ...] = ()  # the keys of an exported line by which an import knows it again
    ages_by: str = ""  # the column that says how old it is; '': it goes with what it belongs to
    ttl_days: str = ""  # the column with a time to live of its own
    blocked: tuple[str, ...] = ()  # the columns whose text is kept from coming back once it is purged
    left_out: tuple[str, ...] = ()  # the columns that an export leaves out
    is_container: bool = False  # a session or a group: it is exported with what belongs to it
    is_file: bool = False
    is_exported: bool = True

    @property
    def is_of_a_session(self) -> bool:
        """Whether each record belongs to a session."""
        return not self.is_container and self.table.reference_to("sessions") is not None

    @property
    def is_found(self) -> bool:
        """Whether a search finds it: documents are of this kind."""
        return self.document is not None or self.is_file


def _text(name: str, *, key: str = "", ours: bool = False) -> Column:
    return Column(name, Meaning.TEXT, key=key, is_ours=ours)


def _line(name: str, *, ours: bool = False) -> Column:
    return Column(name, Meaning.LINE, is_ours=ours)


def _json(name: str, *, key: str = "", ours: bool = False, replacement: str = "") -> Column:
    return Column(name, Meaning.JSON, key=key, is_ours=ours, replacement=replacement)


def _path(name: str, *, absolute: bool = False) -> Column:
    return Column(name, Meaning.PATH, is_absolute=absolute)


def _names(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.NAME) for name in names)


def _words(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.WORD) for name in names)


def _digests(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.DIGEST) for name in names)


def _lists(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.LIST) for name in names)


def _times(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.TIME) for name in names)


def _numbers(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, Meaning.NUMBER) for name in names)


def _elsewhere(key: str, meaning: Meaning, source: str) -> Column:
    return Column(key, meaning, source=source)


def _reference(name: str, table: str, *, is_owner: bool = False) -> Column:
    return Column(name, Meaning.REFERENCE, refers_to=table, is_owner=is_owner)


def session_reference() -> Column:
    """The session that a record belongs to and is deleted with."""
    return Column(
        "session_id", Meaning.REFERENCE, refers_to="sessions", is_owner=True, natural_keys=(("session", "name"),)
    )


def group_reference(none: int | None = None) -> Column:
    """The group that a record belongs to; `none` says that it is session-wide."""
    return Column("group_id", Meaning.REFERENCE, refers_to="groups", none=none, natural_keys=(("group", "name"),))


_ID = _numbers("id")
_FILE = _numbers("size_bytes", "mtime_ns", "inode")


def _package_title(row: Row) -> str:
    return os.path.basename(str(row["path"]))


def _lost_package(lost: LostRecord) -> Row:
    return {"scope": "group" if lost.group_id else "global"}


def _reasoning_title(row: Row) -> str:
    named = f" ({row['agent_name']})" if row["agent_name"] else ""
    return f"{row['agent']} {row['phase']}{named}"


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
                *_ID, *_names("name", "project"), *_words("mode", "status"), _text("requirements"),
                _text("initial_branch"), _json("metadata"), _json("skills_config"), *_times("created_at", "ended_at"),
            ),
            counted_as="session",
        ),
        identity=("name",), ages_by="created_at", left_out=("id",), is_container=True,
    ),
    Kind(
        "group",
        Table(
            "groups",
            (
                *_ID, session_reference(), *_names("name"), _line("title"), *_words("status"),
                _json("context_references", ours=True, replacement="'[]'"), _json("metadata"), *_times("created_at"),
            ),
            counted_as="group",
        ),
        identity=("session", "name"), left_out=("id",), is_container=True,
    ),
    Kind(
        "package",
        Table(
            "packages",
            (
                *_ID, session_reference(), group_reference(), _reference("artifact_id", "artifacts"), *_words("type"),
                _path("path"), *_names("producer"), *_words("priority", "scope"), _line("summary"),
                _elsewhere("title", Meaning.TEXT, "documents.title"), *_numbers("size_bytes", "version"),
                _reference("supersedes", "packages"), _reference("superseded_by", "packages"), *_times("created_at"),
            ),
            counted_as="package",
        ),
        parts=(
            Table(
                "package_consumers",
                (
                    *_ID, _reference("package_id", "packages", is_owner=True), *_names("agent"),
                    *_numbers("iteration"), *_times("consumed_at"),
                ),
            ),
            Table(
                "deliveries",
                (
                    _reference("package_id", "packages", is_owner=True), group_reference(none=0), *_names("agent"),
                    *_numbers("iteration"), *_times("delivered_at"),
                ),
                key="",
            ),
        ),
        document=DocumentShape(
            title=_package_title, body="summary", agent="producer", type="type",
            priority="priority", path="path", superseded_by="superseded_by",
            fill=_lost_package,
        ),
        identity=("id", "session", "created_at"), ages_by="created_at", left_out=("artifact_id",),
    ),
    Kind(
        "reasoning",
        Table(
            "reasoning",
            (
                *_ID, session_reference(), group_reference(), *_names("agent", "agent_name"), *_numbers("iteration"),
                *_words("phase", "confidence"), _text("content"),
                _json("refs", key="references", replacement="'[]'"), Column("redacted", Meaning.FLAG),
                *_times("created_at"),
            ),
            counted_as="reasoning",
        ),
        document=DocumentShape(
            title=_reasoning_title, body="content", appendix=_references, agent="agent", type="phase"
        ),
        identity=("id", "session", "created_at"), ages_by="created_at", blocked=("content",),
    ),
    Kind(
        "error",
        Table(
            "error_patterns",
            (
                *_ID, *_names("project"), *_digests("pattern_hash"), _text("error_type"), _text("message"),
                _json("context_hints", replacement="'[]'"), _json("stack_pattern", replacement="'[]'"),
                _text("solution"), Column("confidence", Meaning.NUMBER, key="bazinga_confidence"), *_words("state"),
                *_numbers("confirmations", "refutations"),
                _elsewhere("unit", Meaning.TEXT, "error_signatures.error_text"), *_numbers("occurrences"),
                *_names("lang"), *_numbers("ttl_days"), *_times("last_seen", "created_at"),
            ),
            counted_as="error",
        ),
        parts=(
            Table(
                "error_signatures",
                (
                    _reference("pattern_id", "error_patterns", is_owner=True), *_numbers("normaliser_version"),
                    *_digests("template", "instance"), *_words("family", "lang"), _text("headline", ours=True),
                    _json("features", ours=True), _json("terms", ours=True), _text("error_text"),
                ),
                key="pattern_id", counted_as="error",
            ),
        ),
        document=DocumentShape(
            title=_error_title, body="solution", type="lang",
            fill=_lost_error,
        ),
        identity=("pattern_hash", "project"), ages_by="last_seen", ttl_days="ttl_days", blocked=("message", "solution"),
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
                *_numbers("normaliser_version"), *_digests("template", "instance"), _text("error_text", key="unit"),
                *_times("seen_at", "resolved_at"),
            ),
            counted_as="failure",
        ),
        identity=("id", "session", "seen_at"), left_out=("normaliser_version", "template", "instance"),
    ),
    Kind(
        "strategy",
        Table(
            "strategies",
            (
                *_ID, *_names("name", "project"), *_words("topic"), _text("insight"), *_numbers("helpfulness"),
                *_names("lang", "framework"), *_times("last_seen", "created_at"),
            ),
            counted_as="strategy",
        ),
        document=DocumentShape(
            title=_strategy_title, body="insight", type="topic", fill=_lost_strategy
        ),
        identity=("name",), ages_by="last_seen", blocked=("insight",),
    ),
    Kind(
        "skill",
        Table(
            "skill_outputs",
            (
                *_ID, session_reference(), group_reference(), *_names("agent", "skill"), *_numbers("iteration"),
                _json("output", replacement="json_quote(output)"), *_times("created_at"),
            ),
            counted_as="skill",
        ),
        document=DocumentShape(
            title=_skill_title, body="output", agent="agent", type="skill",
            fill=_lost_skill,
        ),
        identity=("id", "session", "created_at"), ages_by="created_at", blocked=("output",),
    ),
    Kind(
        "event",
        Table(
            "events",
            (
                *_ID, session_reference(), group_reference(none=0), *_names("subtype"),
                _json("payload", replacement="json_quote(payload)"), *_names("idempotency_key"), *_times("created_at"),
            ),
            counted_as="event",
        ),
        identity=("id", "session", "created_at"), ages_by="created_at",
    ),
    Kind(
        "artifact",
        Table(
            "artifacts",
            (
                *_ID, _reference("root_id", "roots"), _path("path"),
                _elsewhere("title", Meaning.TEXT, "documents.title"), *_words("state"), _line("reason", ours=True),
                *_FILE, *_digests("sha256"), *_names("encoding"), *_numbers("ruleset"), *_times("indexed_at"),
                _elsewhere("created_at", Meaning.TIME, "documents.created_at"),
            ),
        ),
        identity=("path",), is_file=True,
        left_out=(
            "id", "root_id", "state", "reason", "mtime_ns", "inode", "sha256", "encoding", "ruleset", "indexed_at",
        ),
    ),
    Kind(
        "linked",
        Table(
            "linked_artifacts",
            (
                *_ID, _reference("tree_id", "linked_trees"), _path("path"), *_FILE, *_digests("sha256"),
                *_numbers("ruleset"), *_times("read_at"), *_names("name"), *_words("type"), _line("title"),
                *_names("status", "superseded_by"), _json("links", ours=True), _json("globs", ours=True),
                _json("problems"),
            ),
            counted_as="linked",
        ),
        parts=(
            Table(
                "linked_texts",
                (
                    _reference("linked_id", "linked_artifacts", is_owner=True), _text("meta"), _text("summary"),
                    _text("full"), *_lists("tokens"), *_names("token_counter"),
                ),
                key="linked_id", counted_as="linked",
            ),
        ),
        is_file=True, is_exported=False,
    ),
)  # fmt: skip

# What is no record of a kind: the store itself, what documents are made of, what was read from files.
_OTHER_TABLES = (
    Table("store", (*_ID, *_names("uuid"), *_numbers("seq"), *_times("created_at"))),
    Table("settings", (*_names("key"), _json("value", ours=True)), key=""),
    Table(
        "config_cache",
        (
            _path("path", absolute=True), *_numbers("size_bytes", "mtime_ns"), *_digests("sha256"),
            _json("value", ours=True),
        ),
        key="", is_derived=True,
    ),
    Table(
        "documents",
        (
            *_ID, *_numbers("seq"), *_words("kind"), *_numbers("record_id"), _reference("owner_id", "documents"),
            *_numbers("session_id", "group_id"), *_names("agent", "type"), *_words("priority"), _text("title"),
            _text("body"), _path("path"), _text("identifiers", ours=True), *_digests("passage_key"),
            *_numbers("start_line", "end_line", "superseded_by", "tokens"), *_names("token_counter"),
            *_numbers("ruleset"), *_times("created_at"),
        ),
    ),
    Table("tombstones", _numbers("document_id", "seq", "session_id"), key="document_id"),
    Table("history_checkpoints", _numbers("seq", "history_id"), key="seq", is_derived=True),
    Table("labels", (*_ID, *_names("text")), is_derived=True),
    Table("roots", (*_ID, _path("path", absolute=True))),
    Table("error_terms", _numbers("term", "pattern_id"), key="", is_derived=True),
    Table(
        "failed_commands",
        (
            *_ID, *_digests("command_key"), _line("command"), _path("folder"), _text("error_text"),
            _json("git_state", ours=True), *_times("failed_at"),
        ),
        counted_as="command",
    ),
    Table(
        "receipts",
        (
            *_ID, *_words("kind"), session_reference(), *_numbers("group_id"), *_names("agent"),
            *_numbers("iteration", "seq"), Column("inputs", Meaning.PAIRS), *_lists("entries", "parts"),
            *_digests("digest"), *_numbers("tokens"), *_times("created_at"),
        ),
        counted_as="receipt",
    ),
    Table("linked_trees", (*_ID, _path("path", absolute=True), *_lists("scan_state"))),
    Table(
        "annotated_files", (*_ID, _reference("tree_id", "linked_trees"), _path("path"), *_FILE, *_times("read_at"))
    ),
    Table(
        "annotations",
        (
            _reference("file_id", "annotated_files", is_owner=True), *_numbers("line"), *_words("tag"),
            *_names("name", "part"),
        ),
        key="",
    ),
    Table(
        "imported_rows",
        (*_words("source", "kind"), *_names("source_key"), *_digests("digest"), *_numbers("target_id")), key="",
    ),
    Table("blocklist", (*_ID, *_words("kind"), *_digests("digest"), *_lists("prefilter"), *_times("blocked_at"))),
)  # fmt: skip

# By name, in the order in which an export has them: what a record refers to comes before it.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}


def tables() -> Iterator[Table]:
    """Every table of the schema, each before the parts of its records."""
    for kind in KINDS.values():
        yield kind.table
        yield from kind.parts
    yield from _OTHER_TABLES


def exported_kinds() -> tuple[str, ...]:
    """The kinds that an export can be asked for."""
    return tuple(kind.name for kind in KINDS.values() if kind.is_exported and not kind.is_container)


def aging_kinds() -> tuple[str, ...]:
    """The kinds that have an age of their own: what is purged by number and pruned by age."""
    return tuple(kind.name for kind in KINDS.values() if kind.ages_by and not kind.is_container)


def kinds_with_documents() -> tuple[Kind, ...]:
    """The kinds whose records have a document each, which is made from nothing but the record."""
    return tuple(kind for kind in KINDS.values() if kind.document is not None)


def document_kinds() -> tuple[str, ...]:
    """What a document's kind can be."""
    return (*(kind.name for kind in KINDS.values() if kind.is_found), "passage")


def as_row(kind: Kind, values: Iterable[object]) -> Row:
    """What a query for the stored columns of a kind's table gave, by column."""
    return cast("Row", dict(zip((column.name for column in kind.table.stored), values, strict=True)))


def document_of(kind: Kind, row: Row) -> documents.Document:
    """The document of a record, as saving the record makes it."""
    shape = kind.document
    assert shape is not None, "only kinds with a document are asked"
    superseded_by = row[shape.superseded_by] if shape.superseded_by else None
    return documents.Document(
        kind=kind.name,
        number=_integer(row["id"]),
        title=shape.title(row),
        body=f"{row[shape.body]}{shape.appendix(row)}",
        created_at=_integer(row["created_at"]),
        ruleset=RULESET_VERSION,
        path=_label(row, shape.path),
        session_id=_integer(row.get("session_id")),
        group_id=_integer(row.get("group_id")),
        agent=_label(row, shape.agent),
        type=_label(row, shape.type),
        priority=_label(row, shape.priority),
        superseded_by=superseded_by if isinstance(superseded_by, int) else None,
    )


def record_of(kind: Kind, lost: LostRecord) -> dict[str, Value]:
    """The columns of a record as far as its document says them."""
    shape = kind.document
    assert shape is not None, "only kinds with a document are asked"
    row: dict[str, Value] = {"id": lost.number, "created_at": lost.created_at, shape.body: lost.body}
    for name, number in (("session_id", lost.session_id), ("group_id", lost.group_id)):
        if (reference := kind.table.column(name)) is not None:
            row[name] = number or reference.none
    said: dict[str, Value] = {
        shape.agent: lost.agent, shape.type: lost.type, shape.priority: lost.priority, shape.path: lost.path,
        shape.superseded_by: lost.superseded_by,
    }  # fmt: skip
    said.pop("", None)
    return {**row, **said, **shape.fill(lost)}


def _integer(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _label(row: Row, column: str) -> str:
    return str(row[column] or "") if column else ""
