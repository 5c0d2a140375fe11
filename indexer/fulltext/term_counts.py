"""Which terms a document holds and how often in each column, as the forward list packs them.

    counter.count(body="Locks and locking", title="Lock", path="", identifiers="")

        lock: 2 in the body and 1 in the title; and: 1 in the body; 4 tokens in all

    counter.count(body="", title="", path="src/locks.py", identifiers="")

        /src, /lock, /py: 1 each; 3 tokens in all

Words of paths and defined names are terms of fields of their own (index_file.py). A name adds nothing to the length:
the text that defines it has it already.

A counter serves one run of the index updater and knows the id of every term it has met. A new term gets the next id
when it is counted, and its row before the transaction ends.
"""

from collections import Counter
from operator import itemgetter

from ctxrank.indexer.engine import DEFINITION, HEADING, PATH
from ctxrank.indexer.fulltext import forward, index_file
from ctxrank.indexer.text.definitions import Names, forms_of, names_in

# The packed counts of a defined name: as many as there can be, so that the length of the passage matters little.
NAME_COUNTS = forward.IDENTIFIERS[forward.IDENTIFIERS_MAX]
_TERMS_MAX = 500_000  # remembered; logs have a new one in every line


class TermCounter:
    """Counts the terms of documents."""

    def __init__(self, index: index_file.Index) -> None:
        self._index = index
        self._ids = _Ids(index)
        self._path = ""
        self._path_length = 0
        self._path_counts: list[tuple[int, int]] = []

    def start(self) -> None:
        """To be called when a transaction has begun: other processes may have written since the last one."""
        self._ids.start()

    def finish(self) -> None:
        """Write the new terms."""
        self._ids.finish()

    def forget(self) -> None:
        """Forget all ids: the index was emptied and gives new ones."""
        self._ids.clear()
        self._path, self._path_length, self._path_counts = "", 0, []

    def count(self, *, body: str, title: str, path: str, identifiers: str) -> tuple[dict[int, int], int]:
        """Packed counts by the ids of one document's terms, and how many tokens there are."""
        found = self._ids_in(body)
        length = len(found)
        # The body comes first: up to 15, its counts are packed already.
        counts: dict[int, int] = Counter(found)
        if length > forward.BODY_PLAIN_MAX and max(counts.values()) > forward.BODY_PLAIN_MAX:
            for id_, count in counts.items():
                if count > forward.BODY_PLAIN_MAX:
                    counts[id_] = forward.BODY[min(count, forward.BODY_MAX)]
        names = Names()
        if "\n" in identifiers:
            identifiers, names = names_in(identifiers)
        get = counts.get
        for text, most, units in (
            (title, forward.TITLE_MAX, forward.TITLE),
            (identifiers, forward.IDENTIFIERS_MAX, forward.IDENTIFIERS),
        ):
            if text:
                found = self._ids_in(text)
                length += len(found)
                for id_, count in Counter(found).items():
                    counts[id_] = get(id_, 0) + units[count if count < most else most]
        if path:
            length += self._read_path(path)
            for id_, unit in self._path_counts:
                counts[id_] = unit
        for field, defined in ((DEFINITION, names.code), (HEADING, names.headings)):
            for name in forms_of(defined) if defined else ():
                counts[self._ids[index_file.MARKS[field] + name]] = NAME_COUNTS
        return counts, length

    def _ids_in(self, text: str) -> list[int]:
        return list(map(self._ids.__getitem__, self._index.tokens(text)))

    def _read_path(self, path: str) -> int:
        """How many tokens a path has; passages of one file come one after the other and have the same."""
        if path != self._path:
            found = self._index.tokens(path)
            self._path, self._path_length = path, len(found)
            self._path_counts = [
                (self._ids[index_file.MARKS[PATH] + token], forward.PATH[min(count, forward.PATH_MAX)])
                for token, count in Counter(found).items()
            ]
        return self._path_length


class _Ids(dict[str, int]):
    """The id of each term that was met."""

    def __init__(self, index: index_file.Index) -> None:
        super().__init__()
        self._index = index
        self._last_id = 0
        self._new: list[tuple[int, str]] = []

    def start(self) -> None:
        if len(self) > _TERMS_MAX:
            self.clear()
        self._last_id = int(self._index.connection.execute("SELECT ifnull(max(id), 0) FROM main.terms").get)

    def __missing__(self, term: str) -> int:
        found = self._index.connection.execute("SELECT id FROM main.terms WHERE term = ?", (term,)).get
        if found is None:
            self._last_id += 1
            self._new.append((self._last_id, term))
        id_ = self[term] = self._last_id if found is None else int(found)
        return id_

    def finish(self) -> None:
        self._new.sort(key=itemgetter(1))  # the order of the index over them
        self._index.connection.executemany("INSERT INTO main.terms (id, term, df) VALUES (?, ?, 0)", self._new)
        self._new = []
