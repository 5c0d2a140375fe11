"""Hit grouping: all rows by which one file, package or record was found, as one score.

    s = best + 0.4·second + 0.1·(the next passages: those that are shown, of source more)

`best` and `second` are the best passage and the file's own row (title, summary, path), whichever scores
higher first: a file is found by its best passage, and the score of the whole file supports it. Of prose `second` counts
0.1 where it is the file's own row: its title is the heading that the passage has, too. To more than four words among
prose alone the own row of a file with passages that were found is nothing: it is short, and so scored more than the
text below it (nDCG@10 through files, 2026-11: cisi 0.379 with 0.4, 0.395 with 0.1, 0.405 with nothing; cranfield 0.401,
0.402 and 0.405); for a question, which has words of the heading alone, it is 0.05, and never the best one: with the
file's heading counted once and document frequencies without titles, cisi 0.416 (0.411 with nothing) and cranfield 0.405
(0.403). Notes among code need it: in other words (MRR@10) 0.279 with 0.1, 0.257 with nothing. Where a question asks for
prose, the whole text of the file does, too (whole_files.py).
"""

from collections.abc import Iterable

from ctxrank.indexer.store.facets import document_id_of
from ctxrank.ranking.retrieval.candidates.candidates import Candidate

SHOWN_PASSAGES = 3
OWN_SHARE = 0.4
# The heading of prose stands in its title and in its best passage as well.
PROSE_OWN_SHARE = 0.1
OTHERS_SHARE = 0.1
_DOCUMENT = document_id_of(-1)  # the bits of it in a rowid


class HitGroup:
    """The rows that one document was found by; `passages` are best first.

    `support` is what else counts: with which share, and what it is. `prior` is what the document is worth to the
    question (file_kinds.py), and `kind` why.
    """

    own: Candidate | None = None
    own_share = OWN_SHARE
    counted = SHOWN_PASSAGES  # of its passages, the best
    prior = 1.0
    kind = ""

    def __init__(self) -> None:
        self.passages: list[Candidate] = []
        self.support: list[tuple[float, Candidate, str]] = []

    @property
    def score(self) -> float:
        """The rows' scores, each by its share: the sum over `shares`, of hundreds of documents."""
        own, passages = self.own, self.passages
        best = passages[0].score if passages else 0.0
        if own is None:
            total = best
        elif not passages or (own.score > best and self.own_share >= PROSE_OWN_SHARE):
            total = own.score + OWN_SHARE * best
        else:
            total = self.own_share * own.score + best
        for passage in passages[1 : self.counted]:
            total += OTHERS_SHARE * passage.score
        for share, candidate, _ in self.support:
            total += share * candidate.score
        return total

    @property
    def worth(self) -> float:
        """What the rows' scores are worth to the question."""
        return self.score * self.prior

    @property
    def best(self) -> Candidate:
        """The row that counts in full."""
        own, passages = self.own, self.passages
        if own is None or (passages and (own.score <= passages[0].score or self.own_share < PROSE_OWN_SHARE)):
            return passages[0]
        return own

    def shares(self) -> list[tuple[float, Candidate, str]]:
        """Which rows make the score, with which share, and what they are."""
        own, passages = self.own, self.passages
        is_own_best = own is self.best
        shares: list[tuple[float, Candidate, str]] = []
        if own is not None and (is_own_best or self.own_share > 0):
            shares.append((1.0 if is_own_best else self.own_share, own, "title, summary and path"))
        if passages:
            shares.append((OWN_SHARE if is_own_best else 1.0, passages[0], "best passage"))
        shares += [(OTHERS_SHARE, passage, "another passage") for passage in passages[1 : self.counted]]
        return shares + self.support


def grouped(rows: Iterable[Candidate]) -> dict[int, HitGroup]:
    """Candidates, which come best first, by the id of their owning document."""
    groups: dict[int, HitGroup] = {}
    for row in rows:
        rowid, owner_id, _, _ = row  # at once: of hundreds of rows
        group = groups.get(owner_id) or groups.setdefault(owner_id, HitGroup())
        if rowid & _DOCUMENT == owner_id:
            group.own = row
        else:
            group.passages.append(row)
    return groups
