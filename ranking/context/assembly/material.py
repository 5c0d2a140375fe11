"""Material: what could stand in a block, read from the truth before the budget chooses.

Texts were redacted when they were stored; rows of an older rule set are redacted again here, before
anything is truncated, counted or packed.
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import Group, Session
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import ESTIMATE, estimate_tokens
from ctxrank.ranking.context.assembly import memory
from ctxrank.ranking.context.assembly.composition import PackagePieces, Pieces
from ctxrank.ranking.context.assembly.order import Placed, label, reason
from ctxrank.ranking.context.assembly.request import AssembleRequest, CurrentFailure, IncludedPassage
from ctxrank.ranking.context.assembly.zones import Zone, truncated
from ctxrank.ranking.context.prices import StoredPassage
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.freshness import file_state

FILE_STATES = {"changed": "the file has changed since", "missing": "the file is gone"}


class Spawn(NamedTuple):
    """Who asks, resolved: what all steps of one assembly share."""

    store: Store
    request: AssembleRequest
    config: Config
    agent: str
    session: Session
    group: Group | None
    zone: Zone
    now: int


class Chosen(NamedTuple):
    """A package within the limit, and why: `words` of the task and passages that match, None without a task."""

    placed: Placed
    words: tuple[str, ...] | None
    passage_ids: tuple[int, ...]
    explanation: Explanation | None


def gather(spawn: Spawn, chosen: list[Chosen]) -> Pieces:
    """What the chosen packages and the agent's memory hold; Conservative shows packages alone."""
    packages = tuple(_package(spawn, one) for one in chosen)
    if spawn.zone is Zone.CONSERVATIVE:
        return Pieces(packages)
    truth, request, mode = spawn.store.truth, spawn.request, spawn.config.redaction_mode
    reasoning: list[memory.ReasoningEntry] = []
    if memory.wants_reasoning(spawn.agent, request.iteration, request.include_reasoning):
        reasoning = memory.prior_reasoning(truth, spawn.session, spawn.group, spawn.agent, mode)
    project = request.project or spawn.session.project
    errors, failure = _errors(spawn, project)
    strategies = memory.strategies(truth, project, request.lang, request.framework, mode)
    return Pieces(
        packages, tuple(reasoning), tuple(errors), tuple(strategies), _skills(spawn),
        has_long_reasoning=request.reasoning_level == "full", failure=failure,
    )  # fmt: skip


def _errors(spawn: Spawn, project: str) -> tuple[list[memory.Pattern], CurrentFailure | None]:
    """What is known of the current failure; where nothing fails, what is confirmed and the task is about."""
    truth, request, mode = spawn.store.truth, spawn.request, spawn.config.redaction_mode
    text, source = _current_failure(spawn)
    if text:
        patterns, answer = memory.errors_of_failure(truth, text, project, request.lang, spawn.now, mode)
        return patterns, CurrentFailure(source, answer.outcome, answer.reason, answer.unit)
    if not request.task.strip():
        return [], None
    from ctxrank.ranking.errors.relevance import relevant_errors

    ids = relevant_errors(
        spawn.store, request.task, project=project, lang=request.lang, now=spawn.now, limit=memory.MAX_PATTERNS,
        is_enabled=spawn.config.fts5,
    )  # fmt: skip
    return memory.confirmed_errors(truth, ids, mode), None


def _current_failure(spawn: Spawn) -> tuple[str, str]:
    """The text of the current failure, redacted, and where it comes from; '' for none."""
    if spawn.request.error_output is not None:
        from ctxrank.indexer.errors.failure_text import read_failure_text  # only where something failed

        return read_failure_text(spawn.request.error_output, spawn.config.redaction_mode).text, "given"
    query = "SELECT 1 FROM error_sightings WHERE session_id = ? LIMIT 1"
    if spawn.store.truth.execute(query, (spawn.session.id,)).fetchone() is None:
        return "", ""
    from ctxrank.indexer.errors.failures import last_failure

    group_id = None if spawn.group is None else spawn.group.id
    return last_failure(spawn.store.truth, spawn.session.id, group_id, now=spawn.now), "last"


def _skills(spawn: Spawn) -> str:
    """The checklist of the agent where it is asked for."""
    if not spawn.request.with_skills:
        return ""
    from ctxrank.indexer.records.skills_config import skill_levels  # only on request
    from ctxrank.ranking.context.assembly.skills import checklist

    levels = skill_levels(
        spawn.store.truth, spawn.agent, session=spawn.session, testing_mode=spawn.request.testing_mode
    )
    text = checklist(levels, spawn.agent)
    return f"{text}\n" if text else ""


def _package(spawn: Spawn, chosen: Chosen) -> PackagePieces:
    package = chosen.placed.package
    detail = spawn.request.detail or "passage"
    passages: list[StoredPassage] = []
    count = 0
    if detail != "summary" and spawn.zone is Zone.NORMAL:
        stored = _stored_passages(spawn, package.document_id, None if detail == "full" else chosen)
        count = _passage_count(spawn, package.document_id)
        passages = _wanted(stored, chosen, is_full=detail == "full")
    state = file_state(spawn.store, _artifact_of(spawn, package.id))
    labels = "; ".join(filter(None, (label(package, spawn.session.name), FILE_STATES.get(state))))
    why = reason(package, chosen.words, spawn.group)
    summary = cleaned(package.summary, package.ruleset, spawn.config.redaction_mode)
    return PackagePieces(
        package.id, package.path, package.priority, package.type, package.producer,
        truncated(summary, spawn.zone), package.created_at, chosen.placed.score, labels,
        f"{labels}; {why}" if labels else why, chosen.explanation, tuple(passages), count, state,
    )  # fmt: skip


def _artifact_of(spawn: Spawn, package_id: int) -> int | None:
    row = spawn.store.truth.execute("SELECT artifact_id FROM packages WHERE id = ?", (package_id,)).fetchone()
    return None if row is None or row[0] is None else int(str(row[0]))


def _passage_count(spawn: Spawn, document_id: int) -> int:
    row = spawn.store.truth.execute("SELECT count(*) FROM documents WHERE owner_id = ?", (document_id,)).fetchone()
    return 0 if row is None else int(str(row[0]))


def _stored_passages(spawn: Spawn, document_id: int, chosen: Chosen | None) -> dict[int, StoredPassage]:
    """Passages of a package by id, in the file's order: all, or those that `chosen` may show."""
    query = """
        SELECT id, title, start_line, end_line, body, ruleset, tokens, token_counter
          FROM documents WHERE owner_id = ? {} ORDER BY start_line, id {}
    """
    if chosen is None:
        query = query.format("", "")
    elif chosen.words is None:
        query = query.format("", "LIMIT 1")  # nothing says which passage, so the file's beginning
    else:
        query = query.format(f"AND id IN ({', '.join(map(str, chosen.passage_ids))})", "")
    mode = spawn.config.redaction_mode
    stored: dict[int, StoredPassage] = {}
    for id_, heading, start, end, body, ruleset, tokens, counter in spawn.store.truth.execute(query, (document_id,)):
        text = cleaned(body, ruleset, mode)
        if text != body:  # what was counted is not what is shown
            tokens, counter = estimate_tokens(text), ESTIMATE
        shown = IncludedPassage(id_, cleaned(heading, ruleset, mode), start, end, text)
        stored[id_] = StoredPassage(shown, tokens, counter)
    return stored


def _wanted(stored: dict[int, StoredPassage], chosen: Chosen, *, is_full: bool) -> list[StoredPassage]:
    """The passages in the order they are wanted: the best matching ones first."""
    best = [stored[id_] for id_ in chosen.passage_ids if id_ in stored]
    if is_full:
        return best + [passage for id_, passage in stored.items() if id_ not in chosen.passage_ids]
    return list(stored.values()) if chosen.words is None else best
