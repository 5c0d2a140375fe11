"""The words in which the catalogue declares tables, columns and kinds of record.

    Table("reasoning", (*numbers("id"), session_reference(), text("content"), *times("created_at")))

What a column holds is said in the words of `store/schema.sql`.
"""

import enum
from collections.abc import Callable, Mapping
from functools import partial

from ctxrank.indexer.light_typing import NamedTuple

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
    def is_list(self) -> bool:
        """Whether it holds a JSON list: a broken one becomes an empty one."""
        return self.replacement == "'[]'"

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


def text(name: str, *, key: str = "", ours: bool = False) -> Column:
    """A text of any number of lines."""
    return Column(name, Meaning.TEXT, key=key, is_ours=ours)


def line(name: str, *, ours: bool = False) -> Column:
    """A text of one line."""
    return Column(name, Meaning.LINE, is_ours=ours)


def json_value(name: str, *, key: str = "", ours: bool = False, replacement: str = "") -> Column:
    """A JSON value."""
    return Column(name, Meaning.JSON, key=key, is_ours=ours, replacement=replacement)


def path(name: str, *, absolute: bool = False) -> Column:
    """A path from a root, or an absolute one."""
    return Column(name, Meaning.PATH, is_absolute=absolute)


def columns(meaning: Meaning, *names: str, least: int = 0, may_be_blank: bool = False) -> tuple[Column, ...]:
    """Columns that hold the same sort of thing."""
    return tuple(Column(name, meaning, least=least, may_be_blank=may_be_blank) for name in names)


names = partial(columns, Meaning.NAME)
words = partial(columns, Meaning.WORD)  # those of which it is not said what they can be
digests = partial(columns, Meaning.DIGEST)
lists = partial(columns, Meaning.LIST)
times = partial(columns, Meaning.TIME)
numbers = partial(columns, Meaning.NUMBER)


def agent(name: str) -> Column:
    """The name of an agent, spelt in one way."""
    return Column(name, Meaning.NAME, is_agent=True)


def word(name: str, *allowed: str, ours: bool = False) -> Column:
    """One of a fixed list of words."""
    return Column(name, Meaning.WORD, words=allowed, is_ours=ours)


def elsewhere(key: str, meaning: Meaning, source: str, *, replacement: str = "") -> Column:
    """An exported value that another table has; `source` is table.column."""
    return Column(key, meaning, source=source, replacement=replacement)


def reference(name: str, table: str, *, is_owner: bool = False) -> Column:
    """The row id of a row of a table."""
    return Column(name, Meaning.REFERENCE, refers_to=table, is_owner=is_owner)


def session_reference() -> Column:
    """The session that a record belongs to and is deleted with."""
    return Column(
        "session_id", Meaning.REFERENCE, refers_to="sessions", is_owner=True, natural_keys=(("session", "name"),)
    )


def group_reference(none: int | None = None) -> Column:
    """The group that a record belongs to; `none` says that it is session-wide."""
    return Column("group_id", Meaning.REFERENCE, refers_to="groups", none=none, natural_keys=(("group", "name"),))
