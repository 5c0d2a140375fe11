"""The trees behind scores, built from the same terms as the scores themselves."""

from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, TEXT
from ctxrank.ranking.formulas.blend import TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.explanation import Explanation, ScoreShares
from ctxrank.ranking.formulas.static_features import BLENDED_MAXIMUM, HeuristicParts
from ctxrank.ranking.retrieval.candidates.candidates import Bonus, term_scores
from ctxrank.ranking.retrieval.grouping import HitGroup
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm
from ctxrank.ranking.retrieval.rerank import TEST
from ctxrank.ranking.retrieval.whole_files import WHOLE_FILE, whole_term_scores


def explain_blend(
    plan: Plan, group: HitGroup | None, text: float, parts: HeuristicParts, weight: float = TEXT_WEIGHT
) -> tuple[Explanation, ScoreShares]:
    """score = text + what is known: the text down to what each term gave to each row; and the same score by kinds."""
    text_value, known = weight * text, (1 - weight) / BLENDED_MAXIMUM
    rows: list[Explanation] = []
    together = 0.0
    terms: dict[str, float] = {}
    total = group.score if group else 0.0
    shares = group.shares() if group and total else []
    scores_of = term_scores(plan, plan.engine.rows_of([row.rowid for _, row, _ in shares]) if shares else [])
    for share, candidate, name in shares:
        of_terms = scores_of(candidate.rowid)
        if candidate.rowid == WHOLE_FILE:
            of_terms = whole_term_scores(plan, [candidate.owner_id]).get(candidate.owner_id, [])
        value, scale = text_value * share * candidate.score / total, text_value * share / total
        together += scale * sum(bonus.score for bonus in candidate.bonuses)
        for part in of_terms:
            terms[part.term.text] = terms.get(part.term.text, 0.0) + scale * part.score
        leaves = tuple(
            Explanation(
                value * part.score / candidate.score,
                f"{_term_name(part.term)}: idf {part.term.idf:.2f} × {part.term.weight:g} asked, tf {part.tf:.1f}, "
                f"{part.length} tokens against {part.average_length:.0f} on average = {part.score:.2f}",
            )
            for part in of_terms
        ) + tuple(
            Explanation(value * bonus.score / candidate.score, f"{_named(bonus)} = {bonus.score:.2f}")
            for bonus in candidate.bonuses
        )
        rows.append(Explanation(value, f"{name}, BM25 {candidate.score:.2f} × {share:g}", leaves))
    prior = "" if not group or group.prior == 1.0 else f" × {group.prior:.2f} as {group.kind}"
    meaning = f"text: {weight:g} × {text:.3f} (BM25 {total:.2f}{prior}, calibrated)"
    summands = Explanation(text_value, meaning, tuple(rows)), explain_heuristic(parts, 1 - weight)
    return Explanation(blended(text, parts.total, weight), "score = text + what is known", summands), ScoreShares(
        words=text_value - together, together=together, priority=parts.of("priority") * known,
        group=parts.of("group") * known, recency=parts.of("recency") * known,
        terms=tuple(sorted(terms.items(), key=lambda item: (-item[1], item[0]))),
    )  # fmt: skip


# What an explanation says of a term beside the words of titles and bodies.
_PLACES = {TEXT: "", PATH: " in the path", DEFINITION: " defined here", HEADING: " as a heading"}


def _term_name(term: QueryTerm) -> str:
    stood_in = f" for '{term.typed}'" if term.typed else ""
    return f"'{term.text}'{stood_in}{_PLACES[term.field]}"


def _named(bonus: Bonus) -> str:
    if bonus.first == TEST:
        return "a test, and a source has the query word by word"
    return f"'{bonus.first}' near '{bonus.second}'" if bonus.second else f"'{bonus.first}' as it was typed"


def explain_heuristic(parts: HeuristicParts, weight: float | None = None) -> Explanation:
    """The heuristic's summands: as they are, or scaled by their weight in a blend."""
    scale = 1.0 if weight is None else weight / BLENDED_MAXIMUM
    leaves = (
        Explanation(value * scale, part.label.format(value))
        for part, value in zip(parts.parts, parts.values, strict=True)
    )
    meaning = "score = heuristic" if weight is None else f"known: {weight:g} × {parts.total:.2f} / {BLENDED_MAXIMUM}"
    return Explanation(parts.total * scale, meaning, tuple(leaf for leaf in leaves if leaf.value))
