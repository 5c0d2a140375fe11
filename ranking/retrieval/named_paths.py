"""Named paths: what a file gains whose own name, without its extension, or whose folder is the query."""

from ctxrank.ranking.retrieval.candidates.candidates import Bonus, Candidate, Candidates, best_first
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.query import Term
from ctxrank.ranking.retrieval.rerank import count_with_ties

# What a file gains that a query names without its extension, or whose folder it names, of what the rarest meaning of
# the name is worth: more than one that repeats the word, less than one that defines a name. Of 25 names of folders (MRR
# at 10, 2026-11) 0.72 without, 0.85 with 1.25 and 0.88 with 2; symbols of 32 repositories, nDCG@10, 0.918 and 0.927.
NAMED_SHARE = 2.0
_MOST_NAMED = 100  # of the best rows, whose paths are read for a name
_MOST_TIED = 2000


def with_named_paths(plan: Plan, found: Candidates, term: Term) -> Candidates:
    """The same candidates; of the best, those gain something whose file or folder a plain word names."""
    if not term.is_plain:
        return found
    named = term.text.strip("/").split("/")
    best = best_first(found.rows)
    del best[count_with_ties([row.score for row in best], _MOST_NAMED, _MOST_TIED) :]
    texts = plan.engine.texts([row.rowid for row in best], 0)
    gain = NAMED_SHARE * max((term.value for term in plan.terms), default=0.0)
    rows = {row.rowid: row for row in found.rows}
    for row in best:
        *folders, name = (texts[row.rowid][3] if row.rowid in texts else "").split("/")
        parts = [*folders, name.rpartition(".")[0] or name]
        if any(parts[at : at + len(named)] == named for at in range(len(parts))):
            rows[row.rowid] = lifted(plan, row, "/".join(named), gain)
    return found._replace(rows=list(rows.values()))


def lifted(plan: Plan, row: Candidate, name: str, gain: float = 0.0, line: int = 0) -> Candidate:
    """A row with a bonus; without a gain it puts it first."""
    bonus = Bonus(f"{name}:{line}" if line else name, "", gain or max(sum(plan.values), 1.0), line)
    return row._replace(score=row.score + bonus.score, bonuses=(*row.bonuses, bonus))
