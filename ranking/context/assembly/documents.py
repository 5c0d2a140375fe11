"""Documents: the packages and files that could be in a block, with their passages and prices.

Texts were redacted when they were stored; rows of an older rule set are redacted again here, before
anything is truncated, counted or packed.
"""

from collections.abc import Iterable
from itertools import accumulate

from ctxrank.indexer.light_typing import TYPE_CHECKING, Any
from ctxrank.indexer.records.cloned_notes import came_by
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.freshness import STATES, FileStates, in_checkout, shown_path
from ctxrank.indexer.store.ids import public_id, whose
from ctxrank.indexer.text.lines import shorten
from ctxrank.indexer.text.tokens import ESTIMATE, estimate_tokens
from ctxrank.ranking.context.assembly import block, limits
from ctxrank.ranking.context.assembly.bearing import IS_NEAR, IS_ROUTED
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
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


def package_candidate(
    spawn: Spawn, ranked: RankedPackage, states: FileStates, texts: "Passages", *labelled: str, has_detail: bool
) -> BlockCandidate:
    """A package as the block could show it: its title, with its summary, with its passages; one that stands to a task
    in a line first, and without `has_detail` in no other way.

    `labelled` are where its file is and what became of the code that it is about.
    """
    package, passage_ids = ranked.package, ranked.passage_ids
    detail = spawn.request.detail or "passage"
    passages: list[IncludedPassage] = []
    count = 0
    has_detail = has_detail and ranked.standing != IS_ROUTED
    if detail != "summary" and spawn.zone is limits.NORMAL and has_detail:
        # Where nothing says which, the file's beginning.
        is_unsaid = ranked.text is None or (bool(ranked.standing) and not passage_ids)
        others = -1 if detail == "full" else int(is_unsaid)
        passages, count = texts.of(package.document_id, passage_ids, others)
        if ranked.standing or not shown_path(package.path):
            summary = " ".join(package.summary.split())
            passages = [one for one in passages if _says_something(one, summary)]
    state = states.of(package.artifact, package.id)
    came = came_by(package.commit, package.producer) or whose(spawn.store.primary, package.id)
    labelled += (UNRELATED,) * ranked.is_best_known
    labels = "; ".join(filter(None, (came, label(package, spawn.session.name), STATES.get(state), *labelled)))
    why = "; ".join(filter(None, (labels, reason(package, ranked.words, spawn.group))))
    mode = spawn.config.redaction_mode
    title = cleaned(package.title, package.ruleset, mode)
    summary = shorten(cleaned(package.summary, package.ruleset, mode), spawn.zone.summary_chars)
    known = (package.id, package.path, (), "line", 0, round(ranked.score, 6), labels, why, state, title)
    said = (package.priority, package.type, package.producer, summary, package.created_at, ranked.explanation)
    line = IncludedDocument(*known, *said)
    forms, written = [line], [block.package_entry(line)]
    steps = [_price(spawn, package, line, written[0])]
    if has_detail or not ranked.standing:  # else no other form of it is shown, and none is priced
        forms.append(line._replace(detail="summary"))
        written.append(block.package_entry(forms[1]))
        steps.append(max(0, _price(spawn, package, forms[1], written[1]) - steps[0]))
    return _candidate("packages", forms, written, steps, passages, count, ranked.standing)


def _price(spawn: Spawn, package: EligiblePackage, form: IncludedDocument, text: str) -> int:
    """Of the text of a form of a package: its summary costs what was counted where it is there whole."""
    if not form.summary or form.summary != package.summary or form.summary not in text:
        return spawn.prices.of(text)
    frame = text.replace(form.summary, "", 1)
    return spawn.prices.of(frame) + spawn.prices.of_stored(package.summary, package.tokens, package.counter)


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
    states, texts = FileStates(spawn.store), Passages(spawn)
    for one in found:
        row = spawn.store.primary.execute("SELECT record_id, path FROM documents WHERE id = ?", (one.document_id,)).get
        if row is None:  # it is gone by now
            continue
        number, path = row
        state = states.of(number)
        labels = in_checkout(one.checkout) or STATES.get(state, "")
        passages: list[IncludedPassage] = []
        if spawn.zone is limits.NORMAL and spawn.request.detail != "summary":
            passages, _ = texts.of(one.document_id, one.passage_ids, 0)
        why = "; ".join(filter(None, (labels, f"matches {', '.join(one.words)}")))
        shown = IncludedDocument(number, path, (), "path", 0, round(one.text, 6), labels, why, state)
        text = block.file_entry(shown)
        candidates.append(_candidate("files", [shown], [text], [spawn.prices.of(text)], passages, -1))
    return candidates


def _candidate(
    name: str,
    forms: list[IncludedDocument],
    texts: list[str],
    steps: list[int],
    passages: list[IncludedPassage],
    count: int,
    standing: str = "",
) -> BlockCandidate:
    levels = tuple([form.detail for form in forms] + ["passage"] * len(passages))
    prices = tuple(accumulate(steps + [passage.price for passage in passages]))
    id_ = public_id(block.BLOCK_CLASSES[name].kind, forms[0].id)
    item = Item(id_, levels, prices, 0, name, standing == IS_NEAR, bool(standing), False)
    return BlockCandidate(item, tuple(forms), tuple(texts), "", forms[0].reason, tuple(passages), count)


class Passages:
    """The passages of documents, as a block could show them: for all of one block."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._rows: dict[int, tuple[Any, ...]] = {}

    def expect(self, ids: Iterable[int]) -> None:
        """Read passages that will be asked for, by their own ids, in one statement."""
        self._read("id IN (SELECT value FROM json_each(?))", id_list(ids))

    def _read(self, condition: str, *values: str | int) -> list[tuple[Any, ...]]:
        rows: list[Any] = self._spawn.store.primary.execute(f"{_PASSAGES} WHERE {condition}", values).fetchall()
        self._rows |= {row[0]: row for row in rows}
        return rows

    def of(self, document_id: int, best: tuple[int, ...], others: int) -> tuple[list[IncludedPassage], int]:
        """The best passages of a document, then so many others in the file's order (-1 is all), and how many it has."""
        rows = self._read("owner_id = ? ORDER BY start_line, id LIMIT ?", document_id, others) if others else []
        if not (others or self._rows.keys() >= set(best)):
            self.expect(best)
        found = [row for id_ in best if (row := self._rows.get(id_)) and row[1] == document_id]
        found += [row for row in rows if row[0] not in best]
        return list(map(self._shown, found)), found[0][2] if found else 0

    def _shown(self, row: "tuple[Any, ...]") -> IncludedPassage:
        id_, _, _, heading, start, end, body, ruleset, tokens, counter = row
        prices, mode = self._spawn.prices, self._spawn.config.redaction_mode
        text = cleaned(body, ruleset, mode)
        if text != body:  # what was counted is not what is shown
            tokens, counter = estimate_tokens(text), ESTIMATE
        heading = cleaned(heading, ruleset, mode)
        frame = block.passage(IncludedPassage._make((id_, heading, start, end, "", 0, "")))
        price = prices.of_stored(text, tokens, counter) + prices.of(frame)
        return IncludedPassage._make((id_, heading, start, end, text, price, counter))


_PASSAGES = """
    SELECT id, owner_id, (SELECT count(*) FROM documents AS o WHERE o.owner_id = d.owner_id), title, start_line,
           end_line, body, ruleset, tokens, token_counter
      FROM documents AS d
"""
