"""What the catalogue says of tables, columns and kinds of record, and how a table of declarations is read.

    kind    note    ages_by created_at          a Kind: its name, and what is to be said of it, a field a cell
    document    body    type mood               the column that a search finds it by, and its DocumentShape
    table   notes   counted_as note             its Table, and below it the columns, each behind a tab:
            id      number                      name, Meaning, and what else is to be said of it
            mood    word    words calm cross
    part    note_marks  key                     a table whose rows belong to one record
    apart   settings    key                     a table of no kind

What a column holds is said in the words of `store/schema.sql`.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from ctxrank.indexer.light_typing import Any, NamedTuple

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
    SHARE = "share"  # a number from 0 to 1
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
    holds: str = "null true false integer real text array object"  # of JSON: the types, as SQLite calls them, inside it
    source: str = ""  # table.column of an exported value that is stored elsewhere
    refers_to: str = ""  # the table, of a reference
    is_owner: bool = False  # of a reference: the row is deleted together with what it refers to
    none: int | None = None  # of a reference: what says that there is none
    natural_keys: tuple[tuple[str, str], ...] = ()  # of a reference: (name in an export, column of the table)
    words: tuple[str, ...] = ()  # of a word: what it can be
    least: int = 0  # of a number
    is_agent: bool = False  # of a name: an agent's, which is spelt in one way
    may_be_blank: bool = False  # of a name that a record must have
    is_memory: bool = False  # it only saves the next run time, and goes whenever rows of a store are removed or changed

    @property
    def exported_as(self) -> str:
        """Its name in an export."""
        return self.key or self.name

    @property
    def is_broken(self) -> str:
        """SQL: whether a value is no JSON, lacks what the replacement has, or holds another type."""
        type_ = f"json_type({self.name}, wanted.fullkey)"
        missing = f"SELECT 1 FROM json_tree({self.replacement}) AS wanted WHERE {type_} IS NOT wanted.type"
        other = f"SELECT 1 FROM json_tree({self.name}) WHERE key IS NOT NULL AND instr('{self.holds}', type) = 0"
        differs = f"EXISTS ({missing} UNION ALL {other})" if self.replacement[0] == "'" else "0"
        return f"CASE json_valid({self.name}) WHEN 0 THEN 1 WHEN 1 THEN {differs} END"

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
    is_low: Callable[[Row], bool] = lambda row: False  # whether it ranks below its like, of a kind without priorities
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
    identity: tuple[str, ...] = ()  # the columns by which it is the same record everywhere
    unique: tuple[str, ...] = ()  # the columns of which, where all have a value, a second one is the first again
    revised: tuple[str, ...] = ()  # what a later import writes over; (): all but the identity and when it was created
    ages_by: str = ""  # the column that says how old it is; '': it goes with what it belongs to
    ttl_days: str = ""  # the column with a time to live of its own
    blocked: tuple[str, ...] = ()  # the columns whose text is kept from coming back once it is purged
    counts: tuple[str, ...] = ()  # of one row for all stores: the columns that each counts for itself
    texts: tuple[str, ...] = ()  # and those of which the younger text stays
    left_out: tuple[str, ...] = ()  # the columns that an export leaves out
    is_container: bool = False  # a session or a group: it is exported with what belongs to it
    is_file: bool = False
    named_by: str = ""  # the column with an id of its own, by which receipts call it (its table has a type and a title)
    links: str = ""  # the column with a JSON list of [kind of link, name of another record, line]
    is_exported: bool = True

    @property
    def is_of_a_session(self) -> bool:
        """Whether each record belongs to a session."""
        return not self.is_container and self.table.reference_to("sessions") is not None

    @property
    def is_found(self) -> bool:
        """Whether a search finds it: documents are of this kind."""
        return self.document is not None or self.is_file


_LISTS = frozenset(("words", "identity", "unique", "revised", "blocked", "counts", "texts", "left_out"))


def declared(
    rows: Iterable[Sequence[str]], made: Mapping[str, dict[str, Any]] = MappingProxyType({})
) -> tuple[dict[str, Kind], tuple[Table, ...]]:
    """The kinds that a table of declarations has, by name, and its tables that are of no kind.

    `made` has, by kind, those parts of its DocumentShape that are functions.
    """
    kinds: list[dict[str, Any]] = []
    apart: list[Table] = []
    for (rank, name, *cells), columns in _blocks(rows):
        facts = _facts(cells)
        if rank == "kind":
            kinds.append({"name": name, "parts": (), **facts})
        elif rank == "document":
            kinds[-1]["document"] = DocumentShape(body=name, **facts, **made.get(kinds[-1]["name"], {}))
        elif rank == "table":
            kinds[-1]["table"] = Table(name, tuple(columns), **facts)
        elif rank == "part":
            kinds[-1]["parts"] += (Table(name, tuple(columns), **facts),)
        else:
            apart.append(Table(name, tuple(columns), **facts))
    return {kind["name"]: Kind(**kind) for kind in kinds}, tuple(apart)


def _blocks(rows: Iterable[Sequence[str]]) -> list[tuple[Sequence[str], list[Column]]]:
    """Each row that begins something, with the columns below it."""
    blocks: list[tuple[Sequence[str], list[Column]]] = []
    for row in rows:
        if row[0]:
            blocks.append((row, []))
        else:
            _, name, meaning, *cells = row
            blocks[-1][1].append(Column(name, Meaning(meaning), **_facts(cells)))
    return blocks


def _facts(cells: Iterable[str]) -> dict[str, Any]:
    """What cells say, by the fields of the classes above: "least 1", "words low high", "is_owner"."""
    facts: dict[str, Any] = {}
    for cell in cells:
        name, _, said = cell.partition(" ")
        if name.startswith(("is_", "may_")):
            facts[name] = said != "no"
        elif name in _LISTS:
            facts[name] = tuple(said.split(" "))
        elif name == "natural_keys":
            facts[name] = tuple(tuple(pair.split("=")) for pair in said.split(" "))
        else:
            facts[name] = int(said) if said.isdecimal() else said
    return facts
