"""Reranking: the best candidates, read again for the order and the exact form of their words.

The index's lists know how often a term occurs, and neither where nor in which form. So the texts of the best rows are
tokenised once more, by the index's own tokenizer: about 0.1 ms for a passage. Positions kept in the index would cost
every document its time and space, for the few that come so far; beyond MAX_RERANKED rows little is gained (mean nDCG@10
with 20, 30 and 50 rows: the same within 0.001).
"""

from _bisect import bisect_left, bisect_right
from _operator import neg
from collections.abc import Iterator
from itertools import accumulate

from ctxrank.indexer.engine import TEXT_COLUMNS, RowText, below_heading
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import searchable
from ctxrank.ranking.formulas.bm25 import inverse_document_frequency, tf_saturation
from ctxrank.ranking.formulas.proximity import WINDOW, nearness, scaled_df, share_of_bonus
from ctxrank.ranking.retrieval.candidates.candidates import Bonus, Candidate, Candidates, best_first
from ctxrank.ranking.retrieval.plan import NEIGHBOUR_TOKENS, Plan, QueryTerm

MAX_RERANKED = 30
MAX_TIED = 90
TEST = "a test"  # in place of a word, in the bonus of a row that counts less
# A test stands below what it quotes: so much of its score it loses where a source has the query word by word.
TEST_DEMOTION = 0.3
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing", "testdata"})
_TEST_ENDINGS = ("_test", "_spec", ".test", ".spec")
_TEST_WORDS = ("Test", "Tests", "Spec")  # behind the name of what they test
_EXTENSION_CHARS = 5
_LEAST_QUOTED = 2  # neighbours of a query: three words
_PATH = TEXT_COLUMNS.index("path")
_MAX_CHARS = 6000  # of one row; a passage has at most 2,400
_NOTHING: RowText = (0, "", "", "", "")  # gone since the index was made: it is dropped later


class _Read(NamedTuple):
    """What one row's text holds: the positions of each query term, and how often the term is written as typed."""

    candidate: Candidate
    path: str
    length: int
    positions: dict[str, list[int]]
    written: dict[tuple[str, str], float]  # (stem, form) → weighted tf


def reranked(plan: Plan, found: Candidates) -> Candidates:
    """The same candidates best first, the best of them with their bonuses, in the caller's snapshot."""
    rows = best_first(found.rows)
    plain = [term for term in plan.terms if len(term.stems) == 1 and not (term.column or term.field)]
    if not plain or not found.rows or not (plan.tuning.near or plan.tuning.exact):
        return found._replace(rows=rows)
    # A row's bonus depends on which others were read, too (`forms`): with a tie cut in two, the same documents saved
    # in another order would have other scores.
    count = count_with_ties([row.score for row in rows], MAX_RERANKED, MAX_TIED)
    read = _read(plan, plain, rows[:count])
    share = share_of_bonus(len(plan.terms))
    # Whether the whole query stands word by word in a source that is no test.
    may_be_quoted = len(plan.pairs) >= _LEAST_QUOTED and not plan.unknown
    is_quoted = may_be_quoted and any(_is_source_with(plan.pairs, row) for row in read)
    forms: dict[tuple[str, str], tuple[float, float]] = {}  # (times asked, idf) of each form as typed
    holding = [stem for row in read for stem in row.positions]
    writing = [written for row in read for written in row.written]
    for term in plain:
        for form, times in term.forms:
            df = scaled_df(term.df, writing.count((term.stems[0], form)), holding.count(term.stems[0]))
            forms[term.stems[0], form] = (times, inverse_document_frequency(plan.statistics.documents, df))
    best: list[Candidate] = []
    for row in read:
        rowid, owner_id, score, known = row.candidate
        bonuses = tuple(_bonuses(plan, row, forms, share))
        total = score + sum([bonus.score for bonus in bonuses])
        if is_quoted and is_test(row.path):
            bonuses = (*bonuses, Bonus(TEST, "", -TEST_DEMOTION * total))
            total -= TEST_DEMOTION * total
        best.append(Candidate._make((rowid, owner_id, total, known + bonuses)))
    best, others = best_first(best), rows[count:]
    # A bonus lifts a row: only tests can come below the others.
    is_in_order = not (best and others) or best[-1].score > others[0].score
    return found._replace(rows=best + others if is_in_order else best_first(best + others))


def _is_source_with(pairs: tuple[tuple[str, str, float, float], ...], row: _Read) -> bool:
    """Whether a row has all these neighbours one behind the other, and is of a source that is no test."""
    if not all(_follows(row.positions, first, second) for first, second, _, _ in pairs) or is_test(row.path):
        return False
    from ctxrank.ranking.retrieval.questions import is_prose  # noqa: PLC0415  few queries are quotations

    return not is_prose(row.path)


def _follows(positions: dict[str, list[int]], first: str, second: str) -> bool:
    """Whether the second word stands behind the first, with stop words between them at most."""
    behind = positions.get(second, ())
    return any(0 < other - at <= NEIGHBOUR_TOKENS for at in positions.get(first, ()) for other in behind)


def count_with_ties(scores: list[float], most: int, most_tied: int) -> int:
    """How many of these scores, best first, are the best `most`, or a few more: equal ones all or none.

    So no row's number decides.
    """
    if len(scores) <= most or scores[most - 1] > scores[most]:
        return min(len(scores), most)
    tied = scores[most]
    end = bisect_right(scores, -tied, key=neg)
    return end if end <= most_tied else bisect_left(scores, -tied, key=neg)


def _read(plan: Plan, terms: list[QueryTerm], rows: list[Candidate]) -> list[_Read]:
    forms = {term.stems[0]: frozenset(form for form, _ in term.forms) for term in terms}
    texts = plan.engine.texts([row.rowid for row in rows], _MAX_CHARS)
    weights = plan.tuning.weights
    scales = {term.stems[0]: term.path_scale for term in terms}
    read: list[_Read] = []
    columns: list[bytes] = []
    for row in rows:
        length, title, body, path, identifiers = texts.get(row.rowid, _NOTHING)
        title, body, path = map(searchable, (title, below_heading(title, body), path))
        parts = identifiers.partition("\n")[0]  # below them are the defined names, once more
        columns += [f"{text}\n".encode("utf-8", "replace") for text in (title, body, path, parts)]
        read.append(_Read._make((row, path, length, {}, {})))
    # All at once: the tokenizer is asked for all words that it has not met together.
    together, ends = b"".join(columns), [*accumulate(map(len, columns))]
    _, _, found = plan.engine.find_words(together, forms, with_parts=False)
    for at, first, end, term in found:
        place = bisect_right(ends, first)
        column = place % len(weights)
        _, _, _, positions, written = read[place // len(weights)]
        # The end of one column and the beginning of the next are no neighbours.
        positions.setdefault(term, []).append(at + place * (WINDOW + 1))
        form = together[first:end].decode("utf-8", "replace").lower()
        if form in forms[term] and (worth := weights[column] * (scales[term] if column == _PATH else 1.0)):
            written[term, form] = written.get((term, form), 0.0) + worth
    return read


def is_test(path: str) -> bool:
    """Whether a path is that of a test, as the usual runners find them."""
    *folders, name = path.split("/")
    is_of_pytest = name == "conftest.py" or (name.startswith("test_") and name.endswith(".py"))
    if is_of_pytest or not _TEST_FOLDERS.isdisjoint(folders):
        return True
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > _EXTENSION_CHARS or not extension.replace("_", "a").isalnum():
        return False
    tested = next((stem.removesuffix(word) for word in _TEST_WORDS if stem.endswith(word)), "")
    return stem.endswith(_TEST_ENDINGS) or tested[-1:].replace("_", "a").isalnum()


def _bonuses(
    plan: Plan, row: _Read, forms: dict[tuple[str, str], tuple[float, float]], share: float
) -> Iterator[Bonus]:
    """What the neighbours of the query and its forms as typed give to a row."""
    tuning, positions = plan.tuning, row.positions

    def score(tf: float, times: float, idf: float) -> float:
        return times * idf * tf_saturation(tf, row.length, plan.statistics.average_length, tuning.k1, tuning.b)

    for first, second, times, idf in plan.pairs:
        if first in positions and second in positions and (tf := nearness(positions[first], positions[second])):
            yield Bonus._make((first, second, share * tuning.near * score(tf, times, idf), 0))
    for (stem, form), tf in row.written.items():
        yield Bonus._make((form, "", share * tuning.exact * score(tf, *forms[stem, form]), 0))
