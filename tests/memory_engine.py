"""A second engine: documents in dicts, every question answered by looking at all of them.

It shares nothing with FTS5 but the tokenizer, so that a search which gives the same hits with the same scores over both
has been asked through the interface alone.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import apsw

from ctxrank.indexer.engine import (
    DEFINITION,
    HEADING,
    PATH,
    TEXT,
    TEXT_COLUMNS,
    AnyClause,
    Clause,
    FieldWeights,
    IndexHealth,
    IndexTerm,
    ListedWord,
    PhraseClause,
    Readiness,
    Row,
    RowQuery,
    RowText,
    Statistics,
    TermClause,
    below_heading,
)
from ctxrank.indexer.fulltext.forward import BODY_MAX, IDENTIFIERS_MAX, PATH_MAX, TITLE_MAX
from ctxrank.indexer.store.change_log import ChangeBatch, LoggedDocument, read_changes
from ctxrank.indexer.store.facets import WITH_PASSAGES, Scope, document_id_of, index_rowid
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.parents import (
    FeatureBounds,
    ParentDocument,
    RankingSignals,
    StoredPassage,
    read_parents,
    read_passages,
    read_signals,
)

if TYPE_CHECKING:
    from ctxrank.indexer.engine import RowBounds
from ctxrank.indexer.store.facets import sqlite_globs
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.definitions import forms_of, names_in
from ctxrank.indexer.text.identifiers import FoundWords, find_words

_BATCH = 100
_Key = tuple[str, str]  # field, term


class _Held(NamedTuple):
    """One document with its tokens by column."""

    document: LoggedDocument
    tokens: dict[str, list[str]]
    parts: list[str]  # of compound words, without the defined names below them
    below: list[str]  # of the body, without a heading that is the title

    @property
    def rowid(self) -> int:
        return index_rowid(self.document.session_id, self.document.id)

    @property
    def owner_id(self) -> int:
        return self.document.owner_id or self.document.id

    @property
    def is_title(self) -> bool:
        return self.document.kind == "artifact" and not self.document.body

    @property
    def length(self) -> int:
        return sum(map(len, (self.tokens["title"], self.below, self.tokens["path"], self.parts)))

    @property
    def terms(self) -> set[_Key]:
        """Every term of every field."""
        words = {token for column in ("title", "body") for token in self.tokens[column]}.union(self.parts)
        names = names_in(self.document.identifiers)[1]
        fields = (
            (TEXT, words),
            (PATH, self.tokens["path"]),
            (DEFINITION, forms_of(names.code)),
            (HEADING, forms_of(names.headings)),
        )
        return {(field, term) for field, found in fields for term in found}

    def frequency(self, key: _Key, weights: FieldWeights) -> float:
        """How often a term stands here, each occurrence by the weight of its column."""
        field, term = key
        if field == PATH:
            return weights.path * min(self.tokens["path"].count(term), PATH_MAX)
        if field in (DEFINITION, HEADING):
            return weights.identifiers * IDENTIFIERS_MAX
        return (
            weights.title * min(self.tokens["title"].count(term), TITLE_MAX)
            + weights.body * min(self.below.count(term), BODY_MAX)
            + weights.identifiers * min(self.parts.count(term), IDENTIFIERS_MAX)
        )


class MemoryEngine:
    """The documents of one store, in memory."""

    name = "memory"
    row_limit: int | None = None
    fingerprint = "memory"

    def __init__(self, store: Store) -> None:
        self._primary = store.primary
        self._held: dict[int, _Held] = {}
        self._versions: dict[int, int] = {}  # of documents and of what is deleted
        self._applied_seq = 0
        self._ids: dict[_Key, int] = {}
        self._df: Counter[_Key] = Counter()
        self._porter = _tokenizer("porter", "unicode61", "remove_diacritics", "2")
        self._unicode = _tokenizer("unicode61", "remove_diacritics", "2")

    # Life

    def make_ready(self, bound_ms: int) -> Readiness:
        """Apply the change log to its end."""
        is_last = False
        while not is_last:
            batch = read_changes(self._primary, "main", after=self._applied_seq, most=_BATCH)
            self.apply(batch)
            is_last = batch.is_last
        return Readiness(IndexHealth.OK, 0)

    def recover(self, error: Exception, bound_ms: int) -> Readiness:
        """Nothing here can be damaged."""
        raise error

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Statistics, None, None]:
        """Documents stay as they are until the next `apply`."""
        lengths = [held.length for held in self._held.values() if not held.is_title]
        average_length = max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0
        yield Statistics(self._applied_seq, len(lengths), average_length)

    def apply(self, batch: ChangeBatch) -> None:
        """Upsert and delete by version."""
        for document in batch.documents:
            if document.seq > self._versions.get(document.id, 0):
                self._versions[document.id] = document.seq
                tokens = {column: self.tokens(getattr(document, column)) for column in TEXT_COLUMNS}
                below = self.tokens(below_heading(document.title, document.body))
                parts, _ = names_in(document.identifiers)
                self._held[document.id] = _Held(document, tokens, self.tokens(parts), below)
        for deletion in batch.deletions:
            if deletion.seq > self._versions.get(deletion.id, 0):
                self._versions[deletion.id] = deletion.seq
                self._held.pop(deletion.id, None)
        self._applied_seq = max(self._applied_seq, batch.end)
        all_terms = Counter(term for held in self._held.values() for term in held.terms)
        texts = Counter(term for held in self._held.values() if not held.is_title for term in held.terms)
        self._df = Counter({term: texts[term] or 1 for term in all_terms})
        for term in self._df:
            self._ids.setdefault(term, len(self._ids) + 1)

    # The dictionary

    def tokens(self, text: str) -> list[str]:
        """The terms of a text."""
        return [token for _, _, token in _cut(self._porter, text)]

    def tokens_at(self, text: bytes) -> list[tuple[int, int, str]]:
        """Terms with their offsets in bytes."""
        return _cut(self._porter, text.decode())

    def find_words(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
        """The same, and which of them are wanted."""
        return find_words(lambda read: _cut(self._porter, read.decode()), text, wanted, with_parts=with_parts)

    def unstemmed(self, surface: str) -> str:
        """A word without case and accents."""
        return " ".join(token for _, _, token in _cut(self._unicode, surface))

    def expect(self, terms: Collection[str], names: Collection[str] = ()) -> None:
        """All are at hand."""

    def look_up(self, term: str, field: str = TEXT) -> IndexTerm | None:
        """A term of a field by its text."""
        key = (field, term)
        return IndexTerm(self._ids[key], term, self._df[key]) if key in self._df else None

    def look_up_prefix(self, beginning: str, also: Collection[str], most: int, field: str = TEXT) -> list[IndexTerm]:
        """All terms are looked at."""
        found = [key for key in self._df if key[0] == field and (key[1].startswith(beginning) or key[1] in also)]
        found.sort(key=lambda key: (-self._df[key], key[1]))
        return [IndexTerm(self._ids[key], key[1], self._df[key]) for key in found[:most]]

    def check_unknown(self, surfaces: Sequence[str]) -> None:
        """There is one dictionary, so nothing can be missing from another."""

    def look_up_any(self, terms: Collection[str], field: str = TEXT) -> list[IndexTerm]:
        """Each is looked up."""
        return [found for term in sorted(set(terms)) if (found := self.look_up(term, field))]

    def near_terms(self, word: str, most: int) -> list[IndexTerm]:
        """All terms with a common trigram, by how many they have."""
        shared = {term: len(_trigrams(term) & _trigrams(word)) for term in self._spelt()}
        near = sorted((term for term in shared if shared[term]), key=lambda term: (-shared[term], term))
        return [IndexTerm(self._ids[TEXT, term], term, self._df[TEXT, term]) for term in near[:most]]

    def terms_containing(self, part: str, most: int) -> list[IndexTerm]:
        """All terms are looked at."""
        found = [term for term in self._spelt() if part in term] if len(part) > 2 else []
        found.sort(key=lambda term: (len(term), term))
        return [IndexTerm(self._ids[TEXT, term], term, self._df[TEXT, term]) for term in found[:most]]

    def _spelt(self) -> list[str]:
        return [
            term for field, term in self._df
            if field == TEXT and 2 < len(term) < 49 and term[0].isalpha() and max(term) < "\u1100"
        ]  # fmt: skip

    # Rows

    def rows(self, query: RowQuery, most: int | None = None) -> list[Row]:
        """Every document is looked at."""
        found = sorted((held for held in self._held.values() if self._is_found(held, query)), key=_by_rowid)
        return list(map(_row, found[:most]))

    def row_ids(self, query: RowQuery, most: int | None = None) -> list[int]:
        """The numbers of the rows."""
        return [row[0] for row in self.rows(query, most)]

    def best_rows(self, query: RowQuery, weights: FieldWeights, most: int) -> list[Row]:
        """The shortest documents: this engine does not rank."""
        return sorted(self.rows(query), key=lambda row: row[2])[:most]

    def row_bounds(
        self,
        words: Sequence[ListedWord],
        weights: FieldWeights,
        saturation: Callable[[float, int], float],
        most: int | None,
    ) -> "RowBounds | None":
        """None are known."""
        return None

    def rows_of(self, rowids: Iterable[int], query: RowQuery | None = None) -> list[Row]:
        """These rows, as far as they are there and found."""
        ids = [document_id_of(rowid) for rowid in rowids]
        held = [self._held[id_] for id_ in ids if id_ in self._held]
        return [_row(one) for one in held if query is None or self._is_found(one, query)]

    def passages_of(self, parent_ids: Iterable[int], most: int | None = None) -> list[Row]:
        """The rows of passages, in their order."""
        counts = Counter(held.document.owner_id for held in self._held.values())
        wanted = {id_ for id_ in parent_ids if most is None or counts[id_] <= most}
        passages = [held for held in self._held.values() if held.document.owner_id in wanted]
        stored = self.passages(held.document.id for held in passages)
        passages.sort(key=lambda held: (held.owner_id, stored[held.document.id].start_line, held.document.id))
        return list(map(_row, passages))

    def frequencies(
        self, rows: Iterable[Row], term_ids: Collection[int], weights: FieldWeights
    ) -> list[list[tuple[int, float]]]:
        """Occurrences are counted anew each time."""
        keys = {self._ids[key]: key for key in self._ids}
        return [
            [(id_, held.frequency(keys[id_], weights)) for id_ in term_ids if keys[id_] in held.terms]
            for held in (cast("_Held", row[3]) for row in rows)
        ]

    # What rows lead to

    def texts(self, rowids: Iterable[int], most_chars: int) -> dict[int, RowText]:
        """The texts as they were applied."""
        return {
            row[0]: (row[2], one.title, one.body[:most_chars], one.path, one.identifiers)
            for row in self.rows_of(rowids)
            for one in (cast("_Held", row[3]).document,)
        }

    def signals(self, document_ids: Iterable[int]) -> list[RankingSignals]:
        """Read from the primary database."""
        return read_signals(self._primary, document_ids, self._applied_seq)

    def parents(self, document_ids: Iterable[int]) -> dict[int, ParentDocument]:
        """Read from the primary database."""
        return read_parents(self._primary, document_ids)

    def passages(self, document_ids: Iterable[int]) -> dict[int, StoredPassage]:
        """Read from the primary database."""
        return read_passages(self._primary, document_ids)

    def feature_bounds(self, priorities: Collection[str]) -> FeatureBounds:
        """Of the documents that are held."""
        documents = [held.document for held in self._held.values()]
        stored = {document.priority for document in documents}
        has_passages = any(document.owner_id for document in documents)
        return FeatureBounds(has_passages, tuple(priority for priority in priorities if priority in stored))

    def _is_found(self, held: _Held, query: RowQuery) -> bool:
        if not self._holds(held, query.clause) or not self._is_in_scope(held, query.scope):
            return False
        family = [other for other in self._held.values() if other.owner_id == held.owner_id]
        return all(any(self._holds(one, clause) for one in family) for clause in query.required) and not any(
            self._holds(one, clause) for one in family for clause in query.excluded
        )

    def _holds(self, held: _Held, clause: Clause) -> bool:
        if isinstance(clause, TermClause):
            columns = [held.tokens[column] for column in _columns(clause.column)]
            beginnings = self.tokens(clause.prefix) if clause.prefix else []
            return any(
                token in clause.terms or any(token.startswith(beginning) for beginning in beginnings)
                for tokens in columns
                for token in tokens
            )
        if isinstance(clause, PhraseClause):
            wanted = self.tokens(clause.text)
            return any(_has_phrase(held.tokens[column], wanted, clause) for column in _columns(clause.column))
        parts = [self._holds(held, part) for part in clause.parts]
        return any(parts) if isinstance(clause, AnyClause) else all(parts)

    def _is_in_scope(self, held: _Held, scope: Scope) -> bool:
        document = held.document
        kinds = scope.kinds
        if any(kind in kinds for kind in WITH_PASSAGES):
            kinds = (*kinds, "passage")
        own = (
            (kinds, document.kind), (scope.session_ids, document.session_id), (scope.group_ids, document.group_id),
            (scope.agents, document.agent), (scope.types, document.type), (scope.priorities, document.priority),
        )  # fmt: skip
        if any(wanted and value not in wanted for wanted, value in own):
            return False
        if scope.is_current and document.superseded_by is not None:
            return False
        if scope.document_ids is not None and held.owner_id not in scope.document_ids:
            return False
        parent = self.parents([held.owner_id])[held.owner_id]
        if scope.without and any(self._is_in_scope(self._held[held.owner_id], one) for one in scope.without):
            return False
        if scope.kinds and "passage" not in scope.kinds and parent.kind not in scope.kinds:
            return False
        if scope.origins and origin_and_number(parent.number)[0] not in scope.origins:
            return False
        is_in_time = (scope.since or 0) <= parent.created_at <= (scope.until or parent.created_at)
        return is_in_time and (not scope.paths or any(self._fits(parent.path, path) for path in scope.paths))

    def _fits(self, path: str, pattern: str) -> bool:
        globs = sqlite_globs(pattern)
        return path == pattern or any(
            self._primary.execute("SELECT ? GLOB ?", (f"/{path}/", glob)).get for glob in globs
        )


def _trigrams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _by_rowid(held: _Held) -> int:
    return held.rowid


def _row(held: _Held) -> Row:
    return held.rowid, held.owner_id, held.length, held


def _columns(column: str) -> tuple[str, ...]:
    return (column,) if column else TEXT_COLUMNS


def _has_phrase(tokens: list[str], wanted: list[str], clause: PhraseClause) -> bool:
    for start in range(len(tokens) - len(wanted) + 1):
        found = tokens[start : start + len(wanted)]
        if found == wanted or (clause.is_prefix and found[:-1] == wanted[:-1] and found[-1].startswith(wanted[-1])):
            return True
    return False


def _tokenizer(name: str, *arguments: str) -> apsw.FTS5Tokenizer:
    return apsw.Connection(":memory:").fts5_tokenizer(name, list(arguments))


def _cut(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[tuple[int, int, str]]:
    tokens = tokenizer(
        text.encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=True,
        include_colocated=False,
    )
    return cast("list[tuple[int, int, str]]", tokens)
