"""The index file: opened, recognised, and asked whether it is sound.

It is `main` on a connection of its own. The primary database is attached read-only (PRIMARY) for the first query that
sees both: SQLite reads its schema then, once more. Whatever is wrong with the index is a value (`health`), never an
exception: search and assembly answer without it.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping

import apsw

from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, TEXT, IndexHealth, Row, RowText
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple, cast
from ctxrank.indexer.store.connection import file_uri, immediate, open_database
from ctxrank.indexer.store.facets import SENTINEL, document_id_of, id_list
from ctxrank.indexer.text.identifiers import FoundWords, find_words

if TYPE_CHECKING:
    from typing import Protocol

    from ctxrank.indexer.store.parents import FeatureBounds, ParentDocument, RankingSignals, StoredPassage
    from ctxrank.indexer.store.store import Store
    from ctxrank.indexer.text.word_finder import WordFinder
else:
    Protocol = object

PRIMARY = "primary_db"  # the name under which the primary database is attached
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
# A word finder is loaded for a text of so many bytes, or once the small ones came to so many: for less it takes longer
# to load than to do without, and one search of a whole process hardly comes to more.
_FINDER_FROM_BYTES = 16_000
_FINDER_FROM_ALL_BYTES = 48_000
# Grows with the index's layout: an older file is rebuilt; a program older than the file leaves it alone.
FORMAT = 10
# Everything except the change log that the index is a function of. A difference rebuilds it. Receipts name it.
FINGERPRINT = (
    "1 porter-unicode61-rd2 columns=body,title,path,identifiers,scope forward=3 terms=4 state=3 splitter=2 text=2"
)

# A term is a word of a title, a body or a part of a compound word (`lock`); or, with a mark before it, a word of a path
# (`/lock`), or a whole name that code or a heading defines, as it is and in lower case (`#open_store`, `%open_store`).
# Each has a document frequency of its own: where all notes lie in `context/`, that folder says nothing, and a note that
# speaks of context is as rare as it is. Marks are no part of any token and come before the digits, so that
# `term >= "0"` leaves the words of texts.
MARKS = {TEXT: "", PATH: "/", DEFINITION: "#", HEADING: "%"}
# What the ranking takes for the frequency of a term that some document holds.
DF = "max(df - titles, 1)"
_HAS_SENTINEL = f"(SELECT count(*) FROM main.fts WHERE fts MATCH 'scope:{SENTINEL}') = 1"


# What a new index may help against. An I/O error is also what a file gives that was cut off or replaced.
REBUILDABLE = (IndexHealth.DAMAGED, IndexHealth.IO_ERROR, IndexHealth.REBUILDING)
# What may be over by the next call, in one process too.
_PASSING = (IndexHealth.NO_FTS5, IndexHealth.NEWER, IndexHealth.LOCKED, IndexHealth.UNREADABLE)


class IndexState(NamedTuple):
    """The state of the index: the last change it holds, and its statistics."""

    applied_seq: int
    history_id: int
    documents: int
    texts: int  # of the documents: those that are more than the title of a file; one with one passage counts once
    total_length: int
    generation: int

    @property
    def average_length(self) -> float:
        """Tokens of the average text; 1 for an empty index, so that nothing divides by zero."""
        return max(self.total_length / self.texts, 1.0) if self.texts else 1.0


def is_title(kind: str, body: str) -> bool:
    """Whether a document is the title of a file alone.

    Its passages have the text. Counted as well, a file with one passage would be two documents and half as long.
    """
    return kind == "artifact" and not body


class Index:
    """An open index; `connection` is only to be used while `health` is OK."""

    def __init__(self, connection: apsw.Connection | None, health: str, path: str, primary_path: str = "") -> None:
        self._connection = connection
        self.health = health
        self.path = path
        self.generation: int | None = None  # as it was when it was opened
        self._unattached = primary_path  # '' once it is attached
        self._identity = _identity(path)
        self._made_tokenizer: Callable[..., list[Any]] | None = None
        self._finder: WordFinder | None = None
        self._searched_bytes = 0  # without it

    @property
    def with_primary(self) -> apsw.Connection:
        """The connection, with the primary database attached."""
        if self._unattached:
            _attach(self.connection, self._unattached)
            self._unattached = ""
        return self.connection

    @property
    def connection(self) -> apsw.Connection:
        """The connection with the index as main."""
        if self._connection is None:
            raise AssertionError(f"asked for an index that cannot be used: {self.health}")
        return self._connection

    @property
    def is_usable(self) -> bool:
        """True while nothing is known to be wrong with it."""
        return self.health == IndexHealth.OK

    @property
    def is_replaced(self) -> bool:
        """Whether its path names another file by now: the open one is an orphan then."""
        return self._connection is not None and _identity(self.path) != self._identity

    def state(self) -> IndexState:
        """The state of the index, as of the current snapshot."""
        query = (
            "SELECT applied_seq, history_id, documents, texts, total_length, generation FROM main.state WHERE id = 1"
        )
        row = self.connection.execute(query).fetchone()
        if row is None:
            raise apsw.CorruptError("the index has lost its state row")
        return IndexState._make(map(int, row))  # a value that a damaged page made no number raises here

    def is_sound(self) -> bool:
        """Whether a term that must be there is: a zeroed structure record answers 0 rows to everything,
        and SQLite's and FTS5's own checks call it ok."""
        return self.connection.execute(f"SELECT {_HAS_SENTINEL}").fetchone() == (1,)

    def is_current(self, primary: apsw.Connection) -> bool:
        """Whether it is sound and every committed change is in it: each search asks it."""
        held = f"SELECT applied_seq, history_id FROM main.state WHERE {_HAS_SENTINEL}"
        committed = """
            SELECT seq, coalesce((SELECT history_id FROM history_checkpoints WHERE seq >= s.seq LIMIT 1), 0)
              FROM store AS s
        """
        return self.connection.execute(held).fetchone() == primary.execute(committed).fetchone()

    def is_file_sound(self) -> bool:
        """Whether SQLite finds every page where it belongs: what is rebuilt in a file of lost pages loses more."""
        return self.connection.execute("PRAGMA main.quick_check(1)").fetchone() == ("ok",)

    def is_whole(self) -> bool:
        """Whether it is sound and every table and column is there: preparing a statement asks for them."""
        self.connection.execute(
            """
            SELECT s.generation, f.owner_id, f.length, f.terms, t.term, t.df, t.titles, t.min_length_tf_more, g.term
              FROM main.state AS s, main.forward AS f, main.terms AS t, main.term_trigrams AS g
             LIMIT 0
            """
        ).fetchall()
        self.state()
        return self.is_sound()

    def tokens(self, text: str) -> list[str]:
        """The terms that the index's own tokenizer makes of a text, in order."""
        encoded, reason = text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT
        return self._tokenizer(encoded, reason, None, include_offsets=False, include_colocated=False)

    def tokens_at(self, text: bytes) -> list[tuple[int, int, str]]:
        """Terms with the offsets (start, end) that they cut from a text in UTF-8."""
        return self._tokenizer(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)

    def find_words(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
        """The tokens of a text in UTF-8, and which of them are wanted, by their terms."""
        if self._finder is None:
            self._searched_bytes += len(text)
            if len(text) < _FINDER_FROM_BYTES and self._searched_bytes < _FINDER_FROM_ALL_BYTES:
                return find_words(self.tokens_at, text, wanted, with_parts=with_parts)
            from ctxrank.indexer.text.word_finder import WordFinder  # noqa: PLC0415  only where texts are read

            self._finder = WordFinder(self.tokens_at)
        return self._finder.find(text, wanted, with_parts=with_parts)

    def unstemmed(self, surface: str) -> str:
        """A word as the tokenizer makes it before it is stemmed."""
        name, *arguments = TOKENIZER[1]
        tokenizer: Any = self.connection.fts5_tokenizer(name, arguments)
        options = {"include_offsets": False, "include_colocated": False}
        return " ".join(tokenizer(surface.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, **options))

    @property
    def _tokenizer(self) -> Callable[..., list[Any]]:
        """FTS5's own, as the index uses it."""
        if self._made_tokenizer is None:
            made = self.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
            self._made_tokenizer = cast("Callable[..., list[Any]]", made)
        return self._made_tokenizer

    def close(self) -> None:
        """Close the connection; the object is of no further use."""
        if self._connection is not None:
            if self.is_replaced:
                # The last one to close removes the -wal, by its name, which is another file's by now.
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close()
            self._connection = None
            self._finder = None  # which refers back to this index


def _identity(path: str) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino


class PrimaryReader:
    """What the rows of an engine lead to in the primary database, which its snapshot pins."""

    _primary: apsw.Connection
    _applied_seq: int  # of the snapshot

    def rows_of(self, rowids: Iterable[int]) -> list[Row]:
        """These rows, as far as they are there."""
        raise NotImplementedError

    def texts(self, rowids: Iterable[int], most_chars: int) -> dict[int, RowText]:
        """The texts of rows by their numbers, of each body the beginning."""
        held = {document_id_of(row[0]): row for row in self.rows_of(rowids)}
        sql = f"""
            SELECT d.id, d.title, substr(d.body, 1, {most_chars}), d.path, d.identifiers
              FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.id = wanted.value
        """
        found = cast("Iterable[tuple[int, str, str, str, str]]", self._primary.execute(sql, (id_list(held),)))
        return {held[id_][0]: cast("RowText", (held[id_][2], *texts)) for id_, *texts in found}

    def signals(self, document_ids: Iterable[int]) -> "list[RankingSignals]":
        """Of these documents those that are still there and not newer than the index, in no particular order."""
        from ctxrank.indexer.store.parents import read_signals  # noqa: PLC0415  an assembly shows no hits

        return read_signals(self._primary, document_ids, self._applied_seq)

    def parents(self, document_ids: Iterable[int]) -> "dict[int, ParentDocument]":
        """Documents as hits show them. Raises TypeError for a corrupt one."""
        from ctxrank.indexer.store.parents import read_parents  # noqa: PLC0415  an assembly shows no hits

        return read_parents(self._primary, document_ids)

    def passages(self, document_ids: Iterable[int]) -> "dict[int, StoredPassage]":
        """Passages as hits show them. Raises TypeError for a corrupt one."""
        from ctxrank.indexer.store.parents import read_passages  # noqa: PLC0415  an assembly shows no hits

        return read_passages(self._primary, document_ids)

    def feature_bounds(self, priorities: Collection[str]) -> "FeatureBounds":
        """Which of these priorities were ever stored, and whether there are passages."""
        from ctxrank.indexer.store.parents import read_feature_bounds  # noqa: PLC0415  an assembly shows no hits

        return read_feature_bounds(self._primary, priorities)


class IndexHolder(Protocol):
    """What catching up and healing need: the engine that has the index open, which imports both."""

    @property
    def store(self) -> "Store": ...

    def index(self) -> Index: ...

    def reopen_index(self) -> Index: ...


def open_index(store: "Store", *, busy_ms: int) -> Index:
    """Open, and if it is not there make, the index of a store. Never raises: its health is a value."""
    path = store.location.index_file
    index = Index(None, IndexHealth.OK, path)
    try:
        for name in (path, path + "-wal", path + "-shm"):
            if os.path.islink(name):
                os.unlink(name)  # what it leads to is not ours to write; the index is rebuilt in its place
        index = Index(open_database(path, busy_ms=busy_ms, create=True), IndexHealth.OK, path, store.location.primary)
        # The index is derived: losing its last second to a power cut costs a catch-up, not a record.
        index.connection.pragma("synchronous", 1)
        index.health, index.generation = _recognise(index, store.primary)
    except apsw.Error as error:
        index.health = health_of(error)
    except OSError:
        index.health = IndexHealth.UNREADABLE
    except LockedError:
        index.health = IndexHealth.LOCKED
    except CtxrankError as error:
        cause = error.__cause__
        index.health = health_of(cause) if isinstance(cause, apsw.Error) else IndexHealth.UNREADABLE
    if index.health not in (IndexHealth.OK, *REBUILDABLE):
        index.close()
    return index


def quoted(text: str) -> str:
    """An FTS5 string: the only way that text from outside enters an expression."""
    return '"' + text.replace('"', '""') + '"'


def current_index(holder: IndexHolder) -> Index:
    """The index; on a fresh connection where its file was replaced or what was wrong may be over."""
    index = holder.index()
    return holder.reopen_index() if index.is_replaced or index.health in _PASSING else index


def _attach(connection: apsw.Connection, primary_path: str) -> None:
    try:
        connection.execute(f"ATTACH ? AS {PRIMARY}", (file_uri(primary_path, "mode=ro"),))
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        if os.access(os.path.dirname(primary_path), os.W_OK) and os.access(primary_path, os.W_OK):
            raise
        # On a read-only file system no process can make the -shm; the primary database was opened the same way.
        connection.execute(f"ATTACH ? AS {PRIMARY}", (file_uri(primary_path, "immutable=1"),))


def _recognise(index: Index, primary: apsw.Connection) -> tuple[str, int | None]:
    """Whether it is an index of this store, and of which generation; one without tables is given them."""
    connection = index.connection
    has_tables = "SELECT 1 FROM main.sqlite_schema WHERE name = 'state'"
    if not connection.execute(has_tables).fetchone():
        with open(os.path.join(os.path.dirname(__file__), "schema.sql"), encoding="utf-8") as file:
            schema = file.read()
        with immediate(index.with_primary):
            if not connection.execute(has_tables).fetchone():  # no other process came first
                connection.execute(schema)
                start_empty(connection)
    query = "SELECT format, fingerprint, store_uuid, generation FROM main.state WHERE id = 1"
    row = connection.execute(query).fetchone()
    if row is None:
        return IndexHealth.DAMAGED, None
    if row[0] > FORMAT:
        return IndexHealth.NEWER, None
    if row[:3] != (FORMAT, FINGERPRINT, primary.execute("SELECT uuid FROM store WHERE id = 1").get):
        return IndexHealth.REBUILDING, None
    # The prepared MATCH is what finds out that FTS5 is missing.
    connection.execute("SELECT 1 FROM main.fts WHERE fts MATCH ? LIMIT 1", (f"scope:{SENTINEL}",)).fetchall()
    return IndexHealth.OK, int(row[3])


def start_empty(connection: apsw.Connection) -> None:
    """Write the state of an index that has applied nothing, and its sentinel row."""
    connection.execute(
        "INSERT OR REPLACE INTO main.state (id, store_uuid, fingerprint, format, applied_seq, history_id, documents,"
        " texts, total_length, generation)"
        f" SELECT 1, uuid, ?, ?, 0, 0, 0, 0, 0, random() FROM {PRIMARY}.store",
        (FINGERPRINT, FORMAT),
    )
    connection.execute("INSERT OR REPLACE INTO main.fts (rowid, scope) VALUES (0, ?)", (SENTINEL,))


def health_of(error: BaseException | None) -> str:
    """What an error of SQLite says about the index."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return IndexHealth.LOCKED
    if isinstance(error, apsw.SQLError) and "no such module" in str(error):
        return IndexHealth.NO_FTS5
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.FullError | apsw.PermissionsError):
        return IndexHealth.UNREADABLE
    return IndexHealth.IO_ERROR if isinstance(error, apsw.IOError) else IndexHealth.DAMAGED


def health_with_store(primary: apsw.Connection, error: BaseException) -> str:
    """The same where the store was read with the index: STORE if its history cannot be, which no new index helps."""
    health = health_of(error)
    if health == IndexHealth.DAMAGED:
        query = "SELECT count(history_id) FROM history_checkpoints WHERE seq >= (SELECT seq FROM store)"
        try:
            primary.execute(query).fetchone()
        except apsw.CorruptError:
            return IndexHealth.STORE
    return health
