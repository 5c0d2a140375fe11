"""The engine interface: what a search asks of an index, whichever index it is.

An engine selects rows and counts terms; the score is ours (`ranking/formulas`), so that two engines which hold the same
documents give the same hits with the same scores. FTS5 is the first engine (`indexer/fulltext/fts5_engine.py`).

    with engine.snapshot() as statistics:
        lock = engine.look_up("lock")
        rows = engine.rows(RowQuery(TermClause(("lock",), ("locked",)), Scope(kinds=("error",))))
        for row, counted in zip(rows, engine.frequencies(rows, [lock.id], weights)): ...

Questions are values: a `RowQuery` is a small tree of clauses within a `Scope`. How an engine writes them down (FTS5's
MATCH, SQL, JSON of a cluster) is its own affair.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import apsw

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.facets import Scope

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    from ctxrank.indexer.store.parents import FeatureBounds, ParentDocument, RankingSignals, StoredPassage
    from ctxrank.indexer.store.store import Store
    from ctxrank.indexer.store.wide_settings import WideSettings
    from ctxrank.indexer.text.identifiers import FoundWords

TEXT_COLUMNS = ("title", "body", "path", "identifiers")
# Fields of terms, each with document frequencies of its own: words of titles, bodies and compound words; words of
# paths; names that code defines; names of headings and anchors.
TEXT, PATH, DEFINITION, HEADING = "", "path", "definition", "heading"


class EngineError(Exception):
    """What an engine raises that has no library's errors of its own."""


# What an engine raises when it cannot answer, and what reading a damaged index may raise as well: SQLite notices that a
# page is malformed, but the values on a page are used unchecked.
ENGINE_ERRORS = (apsw.Error, EngineError)
INDEX_READ_ERRORS = (*ENGINE_ERRORS, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class IndexHealth:
    """Whether an index can answer: the reason why not, as shown to a user; '' where it can."""

    OK = ""
    NO_FTS5 = "this SQLite has no FTS5"
    OFF = "FTS5 is switched off in the configuration"
    NEWER = "the index was made by a newer ctxrank"
    DAMAGED = "the index is damaged"
    IO_ERROR = "the system could not read or write the index"
    LOCKED = "the index is locked by another process"
    UNREADABLE = "the index cannot be opened"
    REBUILDING = "the index is being rebuilt"
    REFUSED = "the index refused the query"
    CORRUPT_ROWS = "rows of the store are damaged"  # not the index, but what it leads to
    STORE = "a page of the store cannot be read: see 'ctxrank doctor'"  # nothing that a new index helps against


class Readiness(NamedTuple):
    """The state of an index before a query: its health, and how many changes are missing."""

    health: str  # of IndexHealth, or what an engine elsewhere says
    stale: int
    stand_in: "Engine | None" = None  # what is to be asked in the engine's place
    reason: str = ""  # why

    @property
    def is_usable(self) -> bool:
        """Whether the index may be asked."""
        return not self.health


SWITCHED_OFF = Readiness(IndexHealth.OFF, 0)


class Statistics(NamedTuple):
    """The position of an index in the change log, in one snapshot."""

    applied_seq: int  # every change up to this number is in it
    documents: int  # those with a text: the titles of files are not counted, since their passages are
    average_length: float  # tokens of the average one; 1 for an empty index, so that nothing divides by zero


class FieldWeights(NamedTuple):
    """How much an occurrence counts in each text column."""

    title: float
    body: float
    path: float
    identifiers: float


class IndexTerm(NamedTuple):
    """A term of a field that some document holds."""

    id: int  # the engine's own number of it, within one snapshot
    term: str  # as the tokenizer makes it
    df: int  # documents with a text that hold it; 1 where titles of files alone do


def below_heading(title: str, body: str) -> str:
    """A text without the heading of a file that it begins with, where it is the title, too: it counts once."""
    heading, _, below = body.partition("\n") if body.startswith("# ") else ("", "", "")
    return below if heading and heading.strip("# \t\r") == title else body


class TermClause(NamedTuple):
    """Rows that hold any of these terms.

    Of an open word also rows with a term that begins with `prefix`, which may be more than the terms looked up.
    """

    terms: tuple[str, ...]  # as the index holds them
    surfaces: tuple[str, ...]  # the same as words: for an engine that tokenises what it is asked
    prefix: str = ""
    column: str = ""  # '' is any of TEXT_COLUMNS
    weight: float = 1.0  # how much the query wants them: for an engine that ranks what it selects


class PhraseClause(NamedTuple):
    """Rows that hold the tokens of a text one after another; of the last one, where it is open, the beginning."""

    text: str
    column: str = ""
    is_prefix: bool = False


class AnyClause(NamedTuple):
    """Rows that one of the parts finds."""

    parts: "tuple[Clause, ...]"


class AllOf(NamedTuple):
    """Rows that each of the parts finds."""

    parts: "tuple[Clause, ...]"


Clause = TermClause | PhraseClause | AnyClause | AllOf


class RowQuery(NamedTuple):
    """Rows of documents in scope that a clause finds.

    Where several are required, the parent document holds each somewhere; it holds nothing that is excluded anywhere.
    """

    clause: Clause
    scope: Scope = Scope()
    required: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    also: tuple[Clause, ...] = ()  # names, which add to the rank of rows that define them, for an engine that ranks


# One document or passage as the index holds it: its number (`store.facets.index_rowid`), the document that a hit is
# shown as, its length in tokens, and what `frequencies` reads, which is the engine's own. A bare tuple: a query makes
# thousands.
Row = tuple[int, int, int, object]
# The length of one row and its title, body, path and identifiers: bare for the same reason.
RowText = tuple[int, str, str, str, str]


class ListedWord(NamedTuple):
    """A word whose rows are wanted, and what it is worth in each of them."""

    term: str  # as the tokenizer makes it
    value: float  # what a saturated occurrence is worth
    id: int | None = None  # the word as a term of texts; None where it counts in none
    path_id: int | None = None  # the word as a term of paths
    path_scale: float = 0.0  # what an occurrence in a path counts over one in a text
    name_value: float = 0.0  # what a row gains at most that has it among its identifiers, for a name that it is part of


class ClusterStatus(NamedTuple):
    """How far an index that is elsewhere is with a store; `trouble` is why nothing is known of it."""

    nodes: str
    name: str  # of the index
    is_used: bool  # whether searches ask it
    documents: int = 0
    behind: int = 0  # changes
    set_aside: int = 0  # documents that the cluster refused
    size_bytes: int = 0  # of one copy
    trouble: str = ""


if TYPE_CHECKING:

    class ClusterIndex(Protocol):
        """The port of an index in a cluster: what makes its engine, and says how far it is."""

        def settings(self, value: object, name: str) -> "WideSettings":
            """What a section of the configuration says. Raises UsageError."""
            ...

        def engine_for(self, store: "Store", settings: "WideSettings") -> "Engine":
            """The engine that asks the cluster; a cluster that is away is the engine's to answer for."""
            ...

        def status(self, store: "Store", settings: "WideSettings", *, is_used: bool) -> ClusterStatus:
            """Ask the cluster for a moment; one that is away is said in the status."""
            ...

    class RowBounds(Protocol):
        """Rows, each with the most that it can score."""

        def __len__(self) -> int:
            """How many rows there are."""
            ...

        def threshold(self, most: int) -> float:
            """About the lowest bound that at most so many rows are above; the highest of all where more have that."""
            ...

        def between(self, low: float, high: float, most: int) -> list[int]:
            """The rows with low < bound ≤ high; of more than `most` the newest."""
            ...

        def among(self, rowids: "Iterable[int]") -> "RowBounds":
            """Those of the rows that are among these."""
            ...

    class Engine(Protocol):
        """One index of one store, used by one thread.

        `make_ready` comes first, and again after `recover`. All questions are asked inside `snapshot`, which pins what
        they see: the index first, then the primary database; documents that are gone or newer than the index are left
        out of signals, parents and passages. Questions raise INDEX_READ_ERRORS; the caller hands these to `recover`,
        which knows what they mean.
        """

        @property
        def name(self) -> str:
            """What an answer says gave it."""
            ...

        @property
        def row_limit(self) -> int | None:
            """How many rows it gives out for a query, the best by its own order; None: any number."""
            ...

        @property
        def fingerprint(self) -> str:
            """Everything except the change log that the index is a function of: for receipts."""
            ...

        # Life

        def make_ready(self, bound_ms: int) -> Readiness:
            """Catch up with the change log and heal, for about this long; never raises because of the index."""
            ...

        def recover(self, error: Exception, bound_ms: int) -> Readiness:
            """After a question failed: note why, then reopen or heal within the bound."""
            ...

        def snapshot(self) -> "AbstractContextManager[Statistics]":
            """Pin what all questions see until the block ends."""
            ...

        # The dictionary

        def tokens(self, text: str) -> list[str]:
            """The terms that the index makes of a text, in order."""
            ...

        def tokens_at(self, text: bytes) -> list[tuple[int, int, str]]:
            """Terms with the offsets (start, end) that they cut from a text in UTF-8."""
            ...

        def find_words(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> "FoundWords":
            """The tokens of a text in UTF-8, and which of them are wanted, by their terms; with parts, also words of
            which a part is (`indexer/text/identifiers.py`).
            """
            ...

        def unstemmed(self, surface: str) -> str:
            """A word without case and accents, but with its ending: as terms begin."""
            ...

        def expect(self, terms: Collection[str], names: Collection[str] = ()) -> None:
            """That these terms of texts and paths, and these whole names, will be looked up: for an engine to which
            each question is a journey.
            """

        def look_up(self, term: str, field: str = TEXT) -> IndexTerm | None:
            """A term of a field by its text; of the fields of names a whole name as it is, or in lower case."""
            ...

        def look_up_prefix(
            self, beginning: str, also: Collection[str], most: int, field: str = TEXT
        ) -> list[IndexTerm]:
            """Terms of a field that begin so and those of `also` that there are, most frequent first, then by text."""
            ...

        def check_unknown(self, surfaces: Sequence[str]) -> None:
            """Raises one of INDEX_READ_ERRORS where documents hold one of these words, whose terms were not found."""

        def look_up_any(self, terms: Collection[str], field: str = TEXT) -> list[IndexTerm]:
            """Those of these terms of a field that there are, by text."""
            ...

        def near_terms(self, word: str, most: int) -> list[IndexTerm]:
            """Words of texts that share trigrams with a word, those that share the most and rarest ones first."""
            ...

        def terms_containing(self, part: str, most: int) -> list[IndexTerm]:
            """Words of texts that contain a part of three letters or more, the shortest first, then by text."""
            ...

        # Rows

        def rows(self, query: RowQuery, most: int | None = None) -> list[Row]:
            """The rows that a query finds, at most so many, by ascending row number."""
            ...

        def row_ids(self, query: RowQuery, most: int | None = None) -> list[int]:
            """Their numbers alone, which is cheaper."""
            ...

        def best_rows(self, query: RowQuery, weights: FieldWeights, most: int) -> list[Row]:
            """The rows that the engine itself ranks highest: where there are too many to score."""
            ...

        def row_bounds(
            self,
            words: Sequence[ListedWord],
            weights: FieldWeights,
            saturation: Callable[[float, int], float],
            most: int | None,
        ) -> RowBounds | None:
            """The rows that hold any of these words, each with the most that it can score; of more than `most` at least
            as many, those of the highest bounds; None where that cannot be said. `saturation` is the tf part of a
            score, from weighted occurrences and tokens.
            """
            ...

        def rows_of(self, rowids: Iterable[int], query: RowQuery | None = None) -> list[Row]:
            """These rows, as far as they are there and the query, of which each holds a word, finds them."""
            ...

        def passages_of(self, parent_ids: Iterable[int], most: int | None = None) -> list[Row]:
            """The rows of all passages of these documents, by parent and by their order in it.

            A document that has more than so many is left out.
            """
            ...

        def frequencies(
            self, rows: Iterable[Row], term_ids: Collection[int], weights: FieldWeights
        ) -> list[list[tuple[int, float]]]:
            """For each row (term, weighted frequency) of those of the terms that it holds."""
            ...

        # What rows lead to

        def texts(self, rowids: Iterable[int], most_chars: int) -> dict[int, RowText]:
            """The texts of rows by their numbers, of each body the beginning."""
            ...

        def signals(self, document_ids: Iterable[int]) -> "list[RankingSignals]":
            """What is known of documents without reading them, in no particular order."""
            ...

        def parents(self, document_ids: Iterable[int]) -> "dict[int, ParentDocument]":
            """Documents as hits show them."""
            ...

        def passages(self, document_ids: Iterable[int]) -> "dict[int, StoredPassage]":
            """Passages as hits show them."""
            ...

        def feature_bounds(self, priorities: Collection[str]) -> "FeatureBounds":
            """What signals can be at most: which of these priorities were ever stored, and if there are passages."""
            ...

else:
    Engine = object  # a protocol of thirty methods is a tenth of a millisecond
