"""Documents: the packages and files that could be in a block, with their passages and prices.

Texts were redacted when they were stored; rows of an older rule set are redacted again here, before
anything is truncated, counted or packed.
"""

from itertools import accumulate

from ctxrank.indexer.light_typing import TYPE_CHECKING, Any
from ctxrank.indexer.records.cloned_notes import came_by
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.freshness import ELSEWHERE, FileStates, shown_path
from ctxrank.indexer.store.ids import public_id, whose
from ctxrank.indexer.text.tokens import ESTIMATE, estimate_tokens
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.bearing import IS_NEAR, IS_ROUTED
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
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


def package_candidate(
    spawn: Spawn, ranked: RankedPackage, states: FileStates, code: str = "", *, has_detail: bool = True
) -> BlockCandidate:
    """A package as the block could show it: its title, with its summary, with its passages; one that stands to a task
    in a line first, and without `has_detail` in no other way.

    `code` is what became of what it is about.
    """
    package = ranked.package
    detail = spawn.request.detail or "passage"
    passages: list[IncludedPassage] = []
    count = 0
    has_detail = has_detail and ranked.standing != IS_ROUTED
    if detail != "summary" and spawn.zone is Zone.NORMAL and has_detail:
        # Where nothing says which, the file's beginning.
        is_unsaid = ranked.words is None or (bool(ranked.standing) and not ranked.passage_ids)
        others = -1 if detail == "full" else 1 if is_unsaid else 0
        passages, count = _passages(spawn, package.document_id, ranked.passage_ids, others)
        if ranked.standing or not shown_path(package.path):
            known = " ".join(package.summary.split())
            passages = [one for one in passages if _says_something(one, known)]
    state = states.of(package.artifact, package.id)
    unrelated = UNRELATED if ranked.is_best_known else ""
    came = came_by(package.commit, package.producer) or whose(spawn.store.primary, package.id)
    labels = "; ".join(
        filter(None, (came, label(package, spawn.session.name), FILE_STATES.get(state), code, unrelated))
    )
    why = "; ".join(filter(None, (labels, reason(package, ranked.words, spawn.group))))
    shown = IncludedDocument(package.id, package.path, (), "summary", 0, round(ranked.score, 6), labels, why, state)
    shown = shown._replace(
        priority=package.priority,
        type=package.type,
        producer=package.producer,
        summary=truncated(cleaned(package.summary, package.ruleset, spawn.config.redaction_mode), spawn.zone),
        created_at=package.created_at,
        title=cleaned(package.title, package.ruleset, spawn.config.redaction_mode),
        explanation=ranked.explanation,
    )
    forms: tuple[IncludedDocument, ...] = (shown._replace(detail="line"),)
    steps = [_price(spawn, package, forms[0])]
    if has_detail or not ranked.standing:  # else no other form of it is shown, and none is priced
        more = max(0, _price(spawn, package, shown) - steps[0])
        if ranked.standing and passages:  # from its line to its summary with the best passage in one step
            passages[0] = passages[0]._replace(price=passages[0].price + more)
        else:
            forms, steps = (*forms, shown), [*steps, more]
    stands = {"has_line": bool(ranked.standing), "is_first": ranked.standing == IS_NEAR}
    return _candidate("packages", forms, steps, passages, count, **stands)


def _price(spawn: Spawn, package: EligiblePackage, form: IncludedDocument) -> int:
    """Of what is written of a package: its summary costs what was counted where it is there whole."""
    text = block.package_entry(form)
    if form.summary in ("", form.title) or form.summary != package.summary or package.summary not in text:
        return spawn.prices.of(text)
    return spawn.prices.of(block.package_entry(form._replace(summary=""))) + spawn.prices.of_stored(
        package.summary, package.tokens, package.counter
    )


def _says_something(passage: IncludedPassage, summary: str) -> bool:
    """Whether a passage is more than a heading, front matter, or the summary, which is on one line, once more."""
    text = passage.text.strip()
    if text.startswith("---\n") and "\n---" in text:
        text = text.partition("\n---")[2].strip("-\n ")
    said = filter(None, (line.strip() for line in text.splitlines() if not line.startswith("#")))
    first = next(said, "")
    # Mostly its first line says that it is not the summary, and the others are not read.
    return bool(first) and (first not in summary or " ".join((first, *said)) not in summary)


def file_candidates(spawn: Spawn, found: "tuple[MatchingFile, ...]") -> list[BlockCandidate]:
    """The files as the block could show them, as far as they are there; in the Soft_Warning zone their paths alone."""
    candidates: list[BlockCandidate] = []
    states = FileStates(spawn.store)
    for one in found:
        query = "SELECT record_id, path FROM documents WHERE id = ?"
        row = spawn.store.primary.execute(query, (one.document_id,)).fetchone()
        if row is None:  # it is gone by now
            continue
        number, path = row
        state = states.of(number)
        labels = FILE_STATES.get(state, "")
        passages: list[IncludedPassage] = []
        if spawn.zone is Zone.NORMAL and spawn.request.detail != "summary":
            passages, _ = _passages(spawn, one.document_id, one.passage_ids, 0)
        why = "; ".join(filter(None, (labels, f"matches {', '.join(one.words)}")))
        shown = IncludedDocument(number, path, (), "path", 0, round(one.text, 6), labels, why, state)
        steps = [spawn.prices.of(block.file_title(shown))]
        candidates.append(_candidate("files", (shown,), steps, passages, -1))
    return candidates


def _candidate(
    name: str,
    forms: tuple[IncludedDocument, ...],
    steps: list[int],
    passages: list[IncludedPassage],
    count: int,
    **stands: bool,
) -> BlockCandidate:
    levels = (*(form.detail for form in forms), *("passage",) * len(passages))
    prices = tuple(accumulate((*steps, *(passage.price for passage in passages))))
    id_ = public_id(block.BLOCK_CLASSES[name].kind, forms[0].id)
    item = Item(id_, levels, prices, kind=name, **stands)
    return BlockCandidate(item, forms, "", forms[0].reason, tuple(passages), count)


def _passages(spawn: Spawn, document_id: int, best: tuple[int, ...], others: int) -> tuple[list[IncludedPassage], int]:
    """The best passages of a document, then so many others in the file's order (-1 is all), and how many it has."""
    # Without its index on owners: it leads to all passages of the document.
    condition = "owner_id = ?1" if others else "+owner_id = ?1 AND id IN (SELECT value FROM json_each(?2))"
    query = f"""
        SELECT id, title, start_line, end_line, body, ruleset, tokens, token_counter,
               (SELECT count(*) FROM documents WHERE owner_id = ?1)
          FROM documents WHERE {condition} ORDER BY start_line, id LIMIT {others or -1}
    """
    values = (document_id,) if others else (document_id, id_list(best))
    mode = spawn.config.redaction_mode
    stored: dict[int, IncludedPassage] = {}
    rows: list[tuple[Any, ...]] = spawn.store.primary.execute(query, values).fetchall()
    for id_, heading, start, end, body, ruleset, tokens, counter, _ in rows:
        text = cleaned(body, ruleset, mode)
        if text != body:  # what was counted is not what is shown
            tokens, counter = estimate_tokens(text), ESTIMATE
        shown = IncludedPassage(id_, cleaned(heading, ruleset, mode), start, end, "")
        price = spawn.prices.of_stored(text, tokens, counter) + spawn.prices.of(block.passage(shown))
        stored[id_] = shown._replace(text=text, price=price, counter=counter)
    return [stored.pop(id_) for id_ in best if id_ in stored] + list(stored.values()), rows[0][-1] if rows else 0
