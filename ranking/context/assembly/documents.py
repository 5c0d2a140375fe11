"""Documents: the packages and files that could be in a block, with their passages and prices.

Texts were redacted when they were stored; rows of an older rule set are redacted again here, before
anything is truncated, counted or packed.
"""

from itertools import accumulate

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.connection import require_value
from ctxrank.indexer.store.freshness import ELSEWHERE, file_state
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.text.tokens import ESTIMATE, estimate_tokens
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.limits import Zone, truncated
from ctxrank.ranking.context.assembly.order import UNRELATED, RankedPackage, label, reason
from ctxrank.ranking.context.assembly.shapes import (
    BlockCandidate,
    IncludedDocument,
    IncludedPassage,
    Spawn,
)
from ctxrank.ranking.context.budget import Item
from ctxrank.ranking.retrieval.cleaning import cleaned

if TYPE_CHECKING:  # most stores have packages alone
    from ctxrank.ranking.context.assembly.files import MatchingFile

FILE_STATES = {"changed": "the file has changed since", "missing": "the file is gone", "elsewhere": ELSEWHERE}


def package_candidate(spawn: Spawn, ranked: RankedPackage, folders: dict[str, str | None]) -> BlockCandidate:
    """A package as the block could show it: its title, with its summary, with its passages.

    `folders` is kept from one package to the next, see `file_state`.
    """
    package, primary = ranked.package, spawn.store.primary
    detail = spawn.request.detail or "passage"
    passages: list[IncludedPassage] = []
    count = 0
    if detail != "summary" and spawn.zone is Zone.NORMAL:
        # Where nothing says which, the file's beginning.
        others = -1 if detail == "full" else 1 if ranked.words is None else 0
        passages = _passages(spawn, package.document_id, ranked.passage_ids, others)
        count = require_value(primary, "SELECT count(*) FROM documents WHERE owner_id = ?", (package.document_id,), int)
    artifact: int | None = primary.execute("SELECT artifact_id FROM packages WHERE id = ?", (package.id,)).get
    state = file_state(spawn.store, artifact, package.id, folders)
    unrelated = UNRELATED if ranked.is_best_known else ""
    labels = "; ".join(filter(None, (label(package, spawn.session.name), FILE_STATES.get(state), unrelated)))
    why = "; ".join(filter(None, (labels, reason(package, ranked.words, spawn.group))))
    shown = IncludedDocument(package.id, package.path, (), "title", 0, round(ranked.score, 6), labels, why, state)
    shown = shown._replace(
        priority=package.priority,
        type=package.type,
        producer=package.producer,
        summary=truncated(cleaned(package.summary, package.ruleset, spawn.config.redaction_mode), spawn.zone),
        created_at=package.created_at,
        explanation=ranked.explanation,
    )
    price = spawn.prices.of
    steps = [price(block.package_title(shown)), price(block.package_summary(shown))]
    forms = (shown, shown._replace(detail="summary"))
    return _candidate("packages", PACKAGE, forms, steps, passages, count)


def file_candidates(spawn: Spawn, found: "tuple[MatchingFile, ...]") -> list[BlockCandidate]:
    """The files as the block could show them, as far as they are there; in the Soft_Warning zone their paths alone."""
    candidates: list[BlockCandidate] = []
    for one in found:
        query = "SELECT record_id, path FROM documents WHERE id = ?"
        row = spawn.store.primary.execute(query, (one.document_id,)).fetchone()
        if row is None:  # it is gone by now
            continue
        number, path = row
        state = file_state(spawn.store, number)
        labels = FILE_STATES.get(state, "")
        passages: list[IncludedPassage] = []
        if spawn.zone is Zone.NORMAL and spawn.request.detail != "summary":
            passages = _passages(spawn, one.document_id, one.passage_ids, 0)
        why = "; ".join(filter(None, (labels, f"matches {', '.join(one.words)}")))
        shown = IncludedDocument(number, path, (), "path", 0, round(one.text, 6), labels, why, state)
        steps = [spawn.prices.of(block.file_title(shown))]
        candidates.append(_candidate("files", "artifact", (shown,), steps, passages, -1))
    return candidates


def _candidate(
    name: str,
    kind: str,
    forms: tuple[IncludedDocument, ...],
    steps: list[int],
    passages: list[IncludedPassage],
    count: int,
) -> BlockCandidate:
    levels = (*(form.detail for form in forms), *("passage",) * len(passages))
    prices = tuple(accumulate((*steps, *(passage.price for passage in passages))))
    item = Item(public_id(kind, forms[0].id), levels, prices, kind=name)
    return BlockCandidate(item, forms, "", forms[0].reason, tuple(passages), count)


def _passages(spawn: Spawn, document_id: int, best: tuple[int, ...], others: int) -> list[IncludedPassage]:
    """The best passages of a document, then so many others in the file's order; -1 is all."""
    condition = "" if others else f"AND id IN ({', '.join(map(str, best))})"
    query = f"""
        SELECT id, title, start_line, end_line, body, ruleset, tokens, token_counter
          FROM documents WHERE owner_id = ? {condition} ORDER BY start_line, id LIMIT {others or -1}
    """
    mode = spawn.config.redaction_mode
    stored: dict[int, IncludedPassage] = {}
    for id_, heading, start, end, body, ruleset, tokens, counter in spawn.store.primary.execute(query, (document_id,)):
        text = cleaned(body, ruleset, mode)
        if text != body:  # what was counted is not what is shown
            tokens, counter = estimate_tokens(text), ESTIMATE
        shown = IncludedPassage(id_, cleaned(heading, ruleset, mode), start, end, "")
        price = spawn.prices.of_stored(text, tokens, counter) + spawn.prices.of(block.passage(shown))
        stored[id_] = shown._replace(text=text, price=price, counter=counter)
    return [stored.pop(id_) for id_ in best if id_ in stored] + list(stored.values())
