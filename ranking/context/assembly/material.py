"""Material: what could be in a block, read from the primary database before the budget chooses.

Texts were redacted when they were stored; rows of an older rule set are redacted again here, before
anything is truncated, counted or packed.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.sessions import Group, Session
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.freshness import ELSEWHERE, file_state
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.tokens import ESTIMATE, estimate_tokens
from ctxrank.ranking.context.assembly import memory
from ctxrank.ranking.context.assembly.limits import Zone, truncated
from ctxrank.ranking.context.assembly.order import UNRELATED, RankedPackage, label, reason
from ctxrank.ranking.context.assembly.request import (
    AssembleRequest,
    CurrentFailure,
    IncludedError,
    IncludedPackage,
    IncludedPassage,
    IncludedStrategy,
)
from ctxrank.ranking.retrieval.cleaning import cleaned

NEVER = 1 << 62  # a moment after all
if TYPE_CHECKING:  # most stores have packages alone
    from ctxrank.ranking.context.assembly.files import FileMaterial

FILE_STATES = {"changed": "the file has changed since", "missing": "the file is gone", "elsewhere": ELSEWHERE}


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
    project: str  # of the errors and strategies


class StoredPassage(NamedTuple):
    """A passage that could be shown, with its stored token count and who counted."""

    shown: IncludedPassage
    tokens: int
    counter: str


class PackageMaterial(NamedTuple):
    """One package that could be shown, and its passages in the order of preference."""

    package: IncludedPackage
    passages: tuple[StoredPassage, ...]
    passage_count: int  # of the whole file: all of them shown is full detail


class Material(NamedTuple):
    """Everything that could be in the block, each class in the order of preference."""

    packages: tuple[PackageMaterial, ...]
    files: "tuple[FileMaterial, ...]" = ()
    reasoning: tuple[memory.PriorReasoning, ...] = ()
    errors: tuple[IncludedError, ...] = ()
    strategies: tuple[IncludedStrategy, ...] = ()
    skills: str = ""  # the section about skills
    missing_skills: str = ""  # of the previous agent, on one line
    configured_skills: tuple[tuple[str, str], ...] = ()  # whose, and which: of this agent, and of the previous one
    failure: CurrentFailure | None = None  # what the errors answer


def gather(spawn: Spawn, packages: list[RankedPackage]) -> Material:
    """What the packages within the limit and the agent's memory hold; Conservative shows packages alone."""
    folders: dict[str, str | None] = {}
    material = Material(tuple(_package(spawn, one, folders) for one in packages))
    if spawn.zone is Zone.CONSERVATIVE:
        return material
    primary, request, mode = spawn.store.primary, spawn.request, spawn.config.redaction_mode
    reasoning: list[memory.PriorReasoning] = []
    if memory.wants_reasoning(spawn.config.team.like(spawn.agent), request.iteration, request.include_reasoning):
        wanted = memory.WantedReasoning(
            spawn.agent, request.iteration, request.reasoning_level, spawn.config.team
        )  # fmt: skip
        reasoning = memory.prior_reasoning(primary, spawn.session, spawn.group, wanted, mode)
    errors, failure = _errors(spawn)
    strategies = memory.strategies(primary, spawn.project, request.lang, request.framework, mode)
    skills, missing_skills, configured_skills = _skills(spawn)
    return material._replace(
        reasoning=tuple(reasoning),
        errors=tuple(errors),
        strategies=tuple(strategies),
        skills=skills,
        missing_skills=missing_skills,
        configured_skills=configured_skills,
        failure=failure,
    )


def _errors(spawn: Spawn) -> tuple[list[IncludedError], CurrentFailure | None]:
    """What is known of the current failure; where nothing fails, what is confirmed and the task is about."""
    primary, request, mode = spawn.store.primary, spawn.request, spawn.config.redaction_mode
    text, source = _current_failure(spawn)
    if text:
        errors, answer = memory.errors_of_failure(primary, text, spawn.project, request.lang, spawn.now, mode)
        return errors, CurrentFailure(source, answer.outcome, answer.reason, answer.unit)
    if not request.task.strip():
        return [], None
    from ctxrank.ranking.errors.relevance import relevant_errors  # noqa: PLC0415  only with a task

    ids = relevant_errors(
        spawn.store, request.task, project=spawn.project, lang=request.lang, now=spawn.now, limit=memory.MAX_PATTERNS,
        is_enabled=spawn.config.has_index,
    )  # fmt: skip
    return memory.confirmed_errors(primary, ids, mode), None


def _current_failure(spawn: Spawn) -> tuple[str, str]:
    """The text of the current failure, redacted, and where it comes from; '' for none."""
    if spawn.request.error_output is not None:
        from ctxrank.indexer.errors.failure_text import read_failure_text  # noqa: PLC0415  only where something failed

        return read_failure_text(spawn.request.error_output, spawn.config.redaction_mode).text, "given"
    query = "SELECT 1 FROM error_sightings WHERE session_id = ? LIMIT 1"
    if spawn.store.primary.execute(query, (spawn.session.id,)).fetchone() is None:
        return "", ""
    from ctxrank.indexer.errors.failures import last_failure  # noqa: PLC0415  only where something failed

    group_id = None if spawn.group is None else spawn.group.id
    return last_failure(spawn.store.primary, spawn.session.id, group_id, now=spawn.now), "last"


def _skills(spawn: Spawn) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """The section about skills, if it was requested; what is missing of the previous agent; and what was configured."""
    if not spawn.request.with_skills:
        return "", "", ()
    from ctxrank.indexer.records.skill_evidence import check_evidence, previous_agent  # noqa: PLC0415  only on request
    from ctxrank.indexer.records.skills_config import SkillLevels, skill_levels  # noqa: PLC0415  only on request
    from ctxrank.ranking.context.assembly.skills import skills_section  # noqa: PLC0415  only on request

    team = spawn.config.team
    primary, request, session, mode = spawn.store.primary, spawn.request, spawn.session, spawn.request.testing_mode
    before = NEVER if request.delivered_before is None else request.delivered_before
    group_id = None if spawn.group is None else spawn.group.id
    previous = previous_agent(
        primary, session, group_id, spawn.agent, max(request.iteration, 0), before_us=before
    )  # fmt: skip
    levels = skill_levels(primary, spawn.agent, team=team, session=session, testing_mode=mode)
    configured = [(f"skills of {spawn.agent}", one_line(levels.described))]
    missing: tuple[str, ...] = ()
    if previous is not None:
        wanted = skill_levels(primary, previous.agent, team=team, session=session, testing_mode=mode).mandatory
        if previous.agent != spawn.agent:
            configured.append((f"skills of {previous.agent}", one_line(SkillLevels(wanted).described)))
        missing = check_evidence(
            primary, session, previous.agent, wanted, group=request.group, since_us=previous.since_us, before_us=before
        ).missing
    text = skills_section(
        levels, team.like(spawn.agent), request.task,
        missing=missing, previous="" if previous is None else previous.agent,
    )  # fmt: skip
    said = f"{previous.agent}: {', '.join(missing)}" if previous is not None and missing else ""
    return f"{text}\n" if text else "", one_line(said), tuple(configured)


def _package(spawn: Spawn, ranked: RankedPackage, folders: dict[str, str | None]) -> PackageMaterial:
    package = ranked.package
    detail = spawn.request.detail or "passage"
    passages: list[StoredPassage] = []
    count = 0
    if detail != "summary" and spawn.zone is Zone.NORMAL:
        stored = _stored_passages(spawn, package.document_id, None if detail == "full" else ranked)
        count = _passage_count(spawn, package.document_id)
        passages = _by_preference(stored, ranked, is_full=detail == "full")
    state = file_state(spawn.store, _artifact_of(spawn, package.id), package.id, folders)
    unrelated = UNRELATED if ranked.is_best_known else ""
    labels = "; ".join(filter(None, (label(package, spawn.session.name), FILE_STATES.get(state), unrelated)))
    why = reason(package, ranked.words, spawn.group)
    shown = IncludedPackage(
        id=package.id,
        path=package.path,
        priority=package.priority,
        type=package.type,
        producer=package.producer,
        summary=truncated(cleaned(package.summary, package.ruleset, spawn.config.redaction_mode), spawn.zone),
        passages=(),
        detail="",
        tokens=0,
        score=round(ranked.score, 6),
        label=labels,
        reason=f"{labels}; {why}" if labels else why,
        created_at=package.created_at,
        explanation=ranked.explanation,
        file_state=state,
    )
    return PackageMaterial(shown, tuple(passages), count)


def _artifact_of(spawn: Spawn, package_id: int) -> int | None:
    number: int | None = spawn.store.primary.execute("SELECT artifact_id FROM packages WHERE id = ?", (package_id,)).get
    return number


def _passage_count(spawn: Spawn, document_id: int) -> int:
    count: int = spawn.store.primary.execute("SELECT count(*) FROM documents WHERE owner_id = ?", (document_id,)).get
    return count


def _stored_passages(spawn: Spawn, document_id: int, ranked: RankedPackage | None) -> dict[int, StoredPassage]:
    """Passages of a package by id, in the file's order: all, or those that match the task."""
    if ranked is None:
        return passages_of(spawn, document_id)
    if ranked.words is None:
        return passages_of(spawn, document_id, limit="LIMIT 1")  # nothing says which, so the file's beginning
    return passages_of(spawn, document_id, f"AND id IN ({', '.join(map(str, ranked.passage_ids))})")


def passages_of(spawn: Spawn, document_id: int, condition: str = "", limit: str = "") -> dict[int, StoredPassage]:
    """Passages of a document by id, in the file's order; `condition` and `limit` are SQL."""
    query = f"""
        SELECT id, title, start_line, end_line, body, ruleset, tokens, token_counter
          FROM documents WHERE owner_id = ? {condition} ORDER BY start_line, id {limit}
    """
    mode = spawn.config.redaction_mode
    stored: dict[int, StoredPassage] = {}
    for id_, heading, start, end, body, ruleset, tokens, counter in spawn.store.primary.execute(query, (document_id,)):
        text = cleaned(body, ruleset, mode)
        if text != body:  # what was counted is not what is shown
            tokens, counter = estimate_tokens(text), ESTIMATE
        shown = IncludedPassage(id_, cleaned(heading, ruleset, mode), start, end, text)
        stored[id_] = StoredPassage(shown, tokens, counter)
    return stored


def _by_preference(stored: dict[int, StoredPassage], ranked: RankedPackage, *, is_full: bool) -> list[StoredPassage]:
    """The passages, the best matching ones first."""
    best = [stored[id_] for id_ in ranked.passage_ids if id_ in stored]
    if is_full:
        return best + [passage for id_, passage in stored.items() if id_ not in ranked.passage_ids]
    return list(stored.values()) if ranked.words is None else best
