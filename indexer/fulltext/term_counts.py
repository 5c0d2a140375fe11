"""Which terms a document holds and how often in each column, as the forward list packs them.

    counter.add(document)     body="Locks and locking", title="Lock", path="", identifiers=""

        lock: 2 in the body and 1 in the title; and: 1 in the body; 4 tokens in all

    counter.add(document)     body="", title="", path="src/locks.py", identifiers=""

        /src, /lock, /py: 1 each; 3 tokens in all

Words of paths and defined names are terms of fields of their own (index_file.py). A name adds nothing to the length:
the text that defines it has it already.

A counter serves one run of the index updater and knows the id of every term it has met. A new term gets the next id
when it is counted, and its row before the transaction ends.
"""

from collections import Counter

from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, below_heading
from ctxrank.indexer.fulltext import forward, index_file
from ctxrank.indexer.fulltext.batch_counts import UNITS, BatchCounts
from ctxrank.indexer.fulltext.dictionary import has_trigrams
from ctxrank.indexer.fulltext.impact_bounds import COLUMNS, LEVEL_OF, NONE
from ctxrank.indexer.store.change_log import LoggedDocument
from ctxrank.indexer.text.definitions import forms_of, names_in

# The packed counts of a defined name: as many as there can be, so that the length of the passage matters little.
NAME_COUNTS = forward.IDENTIFIERS[forward.IDENTIFIERS_MAX]
_LOWER = ", ".join(f"{column} = nullif(min(ifnull({column}, {NONE}), ?), {NONE})" for column in COLUMNS)
_CHANGE = f"UPDATE main.terms SET df = df + ?, {_LOWER} WHERE id = ?"
# In the table's own order: the names of its columns took as long as its values, since each row asks for the statement.
_INSERT = f"INSERT INTO main.terms VALUES (?8, ?9, ?1, 0, {', '.join(f'nullif(?{at}, {NONE})' for at in range(2, 8))})"
_TERMS_MAX = 500_000  # remembered; logs have a new one in every line


class TermCounter:
    """Counts the terms of documents."""

    def __init__(self, index: index_file.Index) -> None:
        self._index = index
        self._ids = _Ids(index)
        self.titles = Counter[int]()  # by the id of a term: in how many more titles of files it is than before
        self._counts = BatchCounts(index.tokens, self._ids, UNITS, LEVEL_OF)
        self._of_path: tuple[str, int, list[tuple[int, int]]] = "", 0, []  # its tokens and packed counts

    def start(self) -> None:
        """To be called when a transaction has begun: other processes may have written since the last one."""
        self._ids.start()

    def finish(self) -> None:
        """Write what the documents changed in the terms' statistics, and the new terms."""
        connection = self._index.connection
        new = self._ids.take_new()
        changes = self.take_changes()
        # A new term belongs to a document of this batch, so it has changed.
        connection.executemany(_INSERT, [(*changes.pop(id_), term) for id_, term in new])
        spelt = [one for one in new if has_trigrams(one[1])]  # FTS5 writes out whenever rowids go backwards: ids ascend
        connection.executemany("INSERT INTO main.term_trigrams (rowid, term) VALUES (?, ?)", spelt)
        connection.executemany(_CHANGE, changes.values())
        connection.executemany("UPDATE main.terms SET titles = titles + ?2 WHERE id = ?1", self.titles.items())
        self.titles.clear()

    def take_changes(self) -> dict[int, tuple[int, ...]]:
        """What changed in the statistics of each term, by its id: of df, the shortest at each level, the id."""
        return {change[-1]: change for change in self._counts.take()}

    def forget(self) -> None:
        """Forget all ids: the index was emptied and gives new ones."""
        self._ids.clear()
        self._counts.forget()
        self._of_path = "", 0, []

    def add(self, text: LoggedDocument) -> tuple[bytes, int, bool]:
        """The forward list of one more document, how many tokens there are, and whether it is a file's title alone."""
        identifiers, names = names_in(text.identifiers)
        path, path_length, fixed = self._of_path
        if text.path != path:
            # Passages of one file come one after the other and have the same path.
            found = self._index.tokens(text.path)
            path_length = len(found)
            fixed = [
                (self._ids[index_file.MARKS[PATH] + token], forward.PATH[min(count, forward.PATH_MAX)])
                for token, count in Counter(found).items()
            ]
            self._of_path = text.path, path_length, fixed
        for field, defined in ((DEFINITION, names.code), (HEADING, names.headings)):
            if defined:
                mark = index_file.MARKS[field]
                fixed = fixed + [(self._ids[mark + name], NAME_COUNTS) for name in forms_of(defined)]
        body = below_heading(text.title, text.body)
        terms, length = self._counts.add(body, text.title, identifiers, fixed, path_length)
        is_title = index_file.is_title(text.kind, text.body)
        if is_title:
            self.titles.update(forward.term_ids(terms))
        return terms, length, is_title

    def remove(self, blob: bytes, *, is_title: bool) -> None:
        """The terms of a document that goes or is replaced, by its forward list."""
        ids = forward.term_ids(blob)
        self._counts.remove(ids)
        self.titles.subtract(ids if is_title else ())


class _Ids(dict[str, int]):
    """The id of each term that was met."""

    def __init__(self, index: index_file.Index) -> None:
        super().__init__()
        self._index = index
        self._last_id = 0
        self._has_all = False
        self._new: list[tuple[int, str]] = []

    def start(self) -> None:
        if len(self) > _TERMS_MAX:
            self.clear()
        self._last_id = self._index.connection.execute("SELECT max(id) FROM main.terms").get or 0
        self._has_all = len(self) == self._last_id  # ids have no gaps

    def __missing__(self, term: str) -> int:
        query = "SELECT id FROM main.terms WHERE term = ?"
        id_ = None if self._has_all else self._index.connection.execute(query, (term,)).get
        if id_ is None:
            self._last_id = id_ = self._last_id + 1
            self._new.append((id_, term))
        return self.setdefault(term, id_)

    def take_new(self) -> list[tuple[int, str]]:
        """The terms that have no row yet, by ascending id."""
        new, self._new = self._new, []
        return new
