"""Row bounds: which rows hold any of a query's words, each with the most that it can score, from FTS5's own lists.

FTS5 answers which rows match, one by one and without how often they hold each word. Its lists say more: how often a row
holds a word, and in which column. So they are read as they are in the table `fts_data`, each once, and what each row's
counts can add to a score at most comes from the word's impact bounds (impact_bounds.py).

    lock    rows 3 (title 1, body 2), 9 (body 1)         3: 4.1 + 0.0
    wait    rows 9 (body 2)                              9: 1.9 + 3.5

The format is told in SQLite's `fts5_index.c` and does not change for an index that is there: a list of segments, each
with pages of terms and their rows, and a hash of the rows that were deleted from it. What is not as expected here is
left to FTS5. The lists themselves are read by `_postings.c`, or by `pure_postings.py` where there was no C compiler, to
the same rows and bounds: about half a microsecond for each row of a list, so that a search of 100,000 documents takes
0.05 to 0.25 s in place of 0.015.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import apsw

from ctxrank.indexer.engine import FieldWeights, ListedWord
from ctxrank.indexer.fulltext.impact_bounds import LEVELS, NONE, PATH_STEPS, SHORTEST, TEXT_STEPS, WEIGHTS
from ctxrank.indexer.fulltext.varint import varint
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast
from ctxrank.indexer.store.facets import id_list

if TYPE_CHECKING:
    from typing import Literal

    from ctxrank.indexer.fulltext import pure_postings as loops
else:
    try:
        from ctxrank.indexer.fulltext import _postings as loops
    except ImportError:  # not compiled here
        from ctxrank.indexer.fulltext import pure_postings as loops

_ALWAYS = 1e12  # occurrences that no more can add to
_STRUCTURE = 10  # the id of the record that lists the segments
_SECOND_FORMAT = b"\xff\x00\x00\x01"
_SEGMENT_BITS, _TOMBSTONES = 37, 1 << 16
_MAIN = b"0"  # what each term begins with
_ALL_ROWS = 1 << 40
_MOST_LISTS = 255  # of one segment, as the compiled part has room for

Saturation = Callable[[float, int], float]  # from weighted occurrences and tokens


class BoundArrays:
    """Rows, each with the most that it can score: two arrays, of 64-bit integers and of doubles.

    Where some were left out, the answers are the same for as many as were wanted.
    """

    def __init__(self, rowids: bytes, bounds: bytes) -> None:
        self.rowids = rowids
        self.bounds = bounds

    def __len__(self) -> int:
        return len(self.bounds) // 8

    def threshold(self, most: int) -> float:
        """About the lowest bound that at most so many rows are above; the highest of all where more have that."""
        return loops.threshold(self.bounds, most)

    def between(self, low: float, high: float, most: int) -> list[int]:
        """The rows with low < bound ≤ high; of more than `most` the last ones, which are the newest."""
        return loops.between(self.rowids, self.bounds, low, high, most)

    def among(self, rowids: Iterable[int]) -> "BoundArrays":
        """Those of the rows that are among these."""
        wanted, own = frozenset(rowids), memoryview(self.rowids).cast("q")
        kept = [slice(8 * place, 8 * place + 8) for place, rowid in enumerate(own) if rowid in wanted]
        return BoundArrays(*[b"".join(map(numbers.__getitem__, kept)) for numbers in (self.rowids, self.bounds)])


def _packed(form: str, numbers: Sequence[float]) -> bytes:
    """An array of these numbers; the modules `array` and `struct` take as long to load as a search takes for a word."""
    packed = memoryview(bytearray(8 * len(numbers))).cast(cast("Literal['d']", form))
    for place, number in enumerate(numbers):
        packed[place] = number
    return bytes(packed)


class _Segment(NamedTuple):
    """A part of the index: its pages, and how many pages of deleted rows it has."""

    id: int
    first: int
    last: int
    tombstone_pages: int


def row_bounds(
    connection: apsw.Connection,
    words: Sequence[ListedWord],
    weights: FieldWeights,
    saturation: Saturation,
    most: int | None = None,
) -> BoundArrays | None:
    """The rows that hold any of these words in a text column; None where that cannot be read.

    Of more than `most` rows at least as many, those of the highest bounds; of equal ones those that are last.
    """
    if not 0 < len(words) <= _MOST_LISTS:
        return None
    try:
        segments = [
            (
                _deleted(connection, parts),
                [
                    (place, *found)
                    for place, word in enumerate(words)
                    for segment in parts
                    if (found := _list(connection, segment, _MAIN + word.term.encode())) is not None
                ],
            )
            for parts in _segments(connection)
        ]
        tables = impact_tables(connection, words, weights, saturation)
        return BoundArrays(*loops.row_bounds(segments, tables, _ALL_ROWS if most is None else most))
    except (IndexError, TypeError, ValueError):
        return None


def impact_tables(
    connection: apsw.Connection, words: Sequence[ListedWord], weights: FieldWeights, saturation: Saturation
) -> bytes:
    """For each word what a row can gain by it at most: by its occurrences in text, by those in a path, by a name."""
    scale = max(weight / own for weight, own in zip(weights, WEIGHTS, strict=True))  # how much more one counts by these
    ids = [id_ for word in words for id_ in (word.id, word.path_id) if id_ is not None]
    query = f"SELECT id, {SHORTEST} FROM main.terms WHERE id IN (SELECT value FROM json_each(?))"
    shortest = {row[0]: row[1:] for row in connection.execute(query, (id_list(ids),))}
    table: list[float] = []
    for word in words:
        in_text = _impacts(shortest.get(word.id), TEXT_STEPS, 0.5, scale, saturation)
        in_path = _impacts(shortest.get(word.path_id), PATH_STEPS, WEIGHTS.path, scale * word.path_scale, saturation)
        table.extend(word.value * impact for impact in (*in_text, *in_path))
        table.append(word.name_value)
    return _packed("d", table)


def _impacts(
    shortest: Sequence[int] | None, steps: int, unit: float, scale: float, saturation: Saturation
) -> Iterator[float]:
    """The most that so many occurrences can add, by number; never less for more of them.

    Another column may have some of them, whose word is a term of its own: then the level is a lower one.
    """
    highest, level = 0.0, 0
    yield highest
    if shortest is None:
        yield from [highest] * (steps - 1)
        return
    for step in range(1, steps):
        occurrences = step * unit
        while level < len(LEVELS) and (occurrences > LEVELS[level] or step == steps - 1):
            if shortest[level] < NONE:
                highest = max(highest, saturation(LEVELS[level] * scale, shortest[level]))
            level += 1
        if shortest[level] < NONE:
            counted = occurrences * scale if level < len(LEVELS) else _ALWAYS
            highest = max(highest, saturation(counted, shortest[level]))
        yield highest


def _segments(connection: apsw.Connection) -> list[list[_Segment]]:
    """The parts of the index, from FTS5's record of its structure, each with all that its rows are in.

    While segments are being merged, a row has its first words in the new one, the last one of the next level, and the
    others still in its own.
    """
    record = connection.execute("SELECT block FROM main.fts_data WHERE id = ?", (_STRUCTURE,)).get
    is_second = record[4:8] == _SECOND_FORMAT
    numbers = _varints(record, 8 if is_second else 4)
    levels, _, _ = (next(numbers) for _ in range(3))  # and how many segments and writes
    groups: list[list[_Segment]] = []
    merging: list[_Segment] = []
    for _ in range(levels):
        inputs = next(numbers)
        segments: list[_Segment] = []
        for _ in range(next(numbers)):
            id_, first, last = next(numbers), next(numbers), next(numbers)
            tombstone_pages = [next(numbers) for _ in range(5)][2] if is_second else 0
            segments.append(_Segment(id_, first, last, tombstone_pages))
        if merging:
            groups.append([*merging, segments.pop()])
        merging = segments[:inputs]
        groups += [[segment] for segment in segments[inputs:]]
    return [[segment for segment in group if segment.first] for group in groups]


def _varints(record: bytes, at: int) -> Iterator[int]:
    while True:
        value, at = varint(record, at)
        yield value


def _deleted(connection: apsw.Connection, parts: list[_Segment]) -> bytes:
    """The rows that were deleted from a part. Raises ValueError where a row may be in another segment of it anew."""
    if len(parts) > 1 and any(segment.tombstone_pages for segment in parts):
        raise ValueError("what is being merged has deleted rows")
    return _packed("q", sorted(row for segment in parts for row in _deleted_of(connection, segment)))


def _deleted_of(connection: apsw.Connection, segment: _Segment) -> Iterator[int]:
    """The rows that were deleted from a segment: a hash on several pages, whose empty places are 0."""
    for page in range(segment.tombstone_pages):
        id_ = (segment.id + _TOMBSTONES << _SEGMENT_BITS) + page
        block = connection.execute("SELECT block FROM main.fts_data WHERE id = ?", (id_,)).get
        width = 4 if block[0] == 4 else 8
        rows = [int.from_bytes(block[at : at + width], "big") for at in range(8, len(block) - width + 1, width)]
        yield from filter(None, rows)


def _list(connection: apsw.Connection, segment: _Segment, term: bytes) -> tuple[int, int, list[bytes]] | None:
    """Where the list of a term begins and ends on its first page, and its pages; None for none."""
    query = "SELECT pgno >> 1 FROM main.fts_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1"
    page = connection.execute(query, (segment.id, term)).get
    base = segment.id << _SEGMENT_BITS
    first = max(page or 0, segment.first)
    block = connection.execute("SELECT block FROM main.fts_data WHERE id = ?", (base + first,)).get
    found = loops.find_list(block, term)
    if found is None:
        return None
    start, end, is_last = found
    pages = [block]
    if is_last:
        query = "SELECT block FROM main.fts_data WHERE id BETWEEN ? AND ? ORDER BY id"
        for (block,) in connection.execute(query, (base + first + 1, base + segment.last)):
            content = block[2] << 8 | block[3]
            has_terms = content < len(block)
            if has_terms and block[content] == 4:  # it begins with a term
                break
            pages.append(block)
            if has_terms:
                break
    return start, end, pages
