"""Assembly: the block for one spawn.

    eligible packages ──► placed ──► chosen ──► steps ──► packed ──► rendered ──► marked as delivered
                      text + known   (limit)   (levels)  (budget)

With a task text and an index the score is the blend; else it is the heuristic alone.
"""

import apsw

from ctxrank.indexer.agents import AGENTS
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.fulltext.index_file import BROKEN, Trouble
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import shared_prefix_tokens
from ctxrank.indexer.records.sessions import Group, Session, find_group, find_session, is_session_wide
from ctxrank.indexer.store.config import DEFAULT_RETRIEVAL_LIMIT, Config
from ctxrank.indexer.store.connection import snapshot
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import model_factor, model_limit
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.budget import CLASSES, Budget, make_budget
from ctxrank.ranking.context.assembly.composition import Composed, Frame, compose, fitting, overflow
from ctxrank.ranking.context.assembly.delivery import LOCK_WAIT_MS, Delivery, record
from ctxrank.ranking.context.assembly.eligibility import Asked, EligiblePackage, eligible_packages
from ctxrank.ranking.context.assembly.material import Chosen, Spawn, gather
from ctxrank.ranking.context.assembly.order import Shown, label, placed, shown_in
from ctxrank.ranking.context.assembly.receipt import Seen, make_receipt
from ctxrank.ranking.context.assembly.request import AssembleRequest, Assembly, Omitted, forgiven_agent
from ctxrank.ranking.context.assembly.task_match import match_task, matched_words
from ctxrank.ranking.context.assembly.zones import MARKING, Usage, Zone, usage
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.cleaning import cleaned_task
from ctxrank.ranking.retrieval.degraded.readiness import Readiness, beyond_healing, make_ready, recover

__all__ = ["LOCK_WAIT_MS", "Made", "assemble", "make_assembly"]

CATCH_UP_MS = 50
_NEVER = 1 << 62
DEFAULT_MODEL = "sonnet"


class Made(NamedTuple):
    """An assembly of which nothing is recorded yet, and what it had before it; None without a known session."""

    assembly: Assembly
    seen: Seen | None


def assemble(store: Store, request: AssembleRequest, config: Config | None = None) -> Assembly:
    """The block for one spawn, within its budget; it leaves a receipt, and marks what it delivers where the zone marks.

    `config` is the store's own where none is given. Raises NotFoundError for an unknown session, CtxrankError;
    whatever breaks, the command prints the fallback text.
    """
    made = make_assembly(store, request, config)
    return made.assembly if made.seen is None else _recorded(store, made.seen, made.assembly)


def make_assembly(store: Store, request: AssembleRequest, config: Config | None = None) -> Made:
    """The same without a trace in the store."""
    if config is None:
        from ctxrank.indexer.store.config import load_config

        config = load_config(store)
    request = request._replace(task=cleaned_task(request.task, config.redaction_mode))
    agent, note = forgiven_agent(request.agent)
    notes = [*config.notes, *([note] if note else [])]
    model = request.model or DEFAULT_MODEL
    limit, is_known = model_limit(model)
    if not is_known:
        notes.append(f"The model '{model}' is not known; its limit is taken to be {limit:,} tokens.")
    used = usage(limit, config.token_safety_margin, max(request.current_tokens, 0))
    budget = make_budget(agent, used.remaining, request.reasoning_level, total=request.budget)
    empty = _without_packages(agent, used, model, budget, tuple(notes))
    is_bound = request.budget is not None
    if not config.enable_context_assembler:
        off = _fixed(empty, block.switched_off(agent), is_bound=is_bound)
        return _without_reading(store, request, config, off._replace(reason="switched off in the configuration"))
    if used.zone is Zone.EMERGENCY:
        return _without_reading(store, request, config, _fixed(empty, block.emergency(agent, used), is_bound=is_bound))
    if used.zone is Zone.WRAP_UP:
        return _without_reading(store, request, config, _fixed(empty, block.wrap_up(agent, used), is_bound=is_bound))
    return _assemble(store, request, config, agent, used, model, budget, notes)


def _without_packages(agent: str, used: Usage, model: str, budget: Budget, notes: tuple[str, ...]) -> Assembly:
    return Assembly(
        outcome="no_match", engine="fts5", reason="", stale=0, agent=agent, usage=used, model=model, budget=budget,
        used=0, by_class=dict.fromkeys(CLASSES, 0), counter="estimate", packages=(), reasoning=(), errors=(),
        strategies=(), skills="", omitted=(), available=0, overflow=0, parts=(), notes=notes,
    )  # fmt: skip


def _fixed(empty: Assembly, text: str, *, is_bound: bool) -> Assembly:
    """A block of a fixed text, which only a budget that was asked for can shorten: what is left of the
    context in these zones is smaller than any text."""
    price = Prices(model_factor(empty.model))
    if is_bound:
        text = fitting(text, empty.agent, empty.budget, price)
    return empty._replace(parts=(text,) if text else (), used=price.of(text))


def _without_reading(store: Store, request: AssembleRequest, config: Config, result: Assembly) -> Made:
    """A fixed text; it needs no session, so one that is not there only leaves it without a receipt."""
    try:
        session = find_session(store.truth, request.session)
    except NotFoundError:
        return Made(result, None)
    now = now_us()
    return Made(
        result, Seen(request, session, _group(store, session, request, []), config, 0, now, store.last_seq(), now)
    )


def _assemble(
    store: Store,
    request: AssembleRequest,
    config: Config,
    agent: str,
    used: Usage,
    model: str,
    budget: Budget,
    notes: list[str],
) -> Made:
    asked = request
    session = find_session(store.truth, request.session)
    group = _group(store, session, request, notes)
    started_at, seq = now_us(), store.last_seq()
    now = started_at if request.as_of is None else request.as_of
    linked = None
    if request.task_id is not None:
        from ctxrank.ranking.context.links.assembly import linked_block  # only where a task has links

        is_bound = request.budget is not None
        linked = linked_block(store, request.task_id, config, used, budget, model_factor(model), is_bound=is_bound)
        request = request._replace(task=request.task or linked.task_text)
    whole, budget = budget, budget if linked is None else budget._replace(limit=linked.rest)
    spawn = Spawn(store, request, config, agent, session, group, used.zone, now)
    iteration = max(request.iteration, 0)
    before = _NEVER if request.delivered_before is None else request.delivered_before
    eligible = eligible_packages(store.truth, session, group, Asked(agent, iteration, request.reach, before))
    limit = _limit(request, config, agent)
    readiness, shown, chosen = _choose(spawn, eligible, limit)
    frame = Frame(agent, used, len(shown.packages), shown.level, model_factor(model))
    pieces = gather(spawn, chosen)
    composed = compose(frame, budget, pieces)
    if linked is not None and composed.is_complete and asked.budget is not None:
        from ctxrank.ranking.context.links.assembly import with_more

        linked = with_more(linked, whole.limit - composed.used, whole.limit)
    if linked is not None:
        notes += linked.notes
    if request.with_skills and not composed.skills:
        notes.append(_why_no_skills(composed))
    outcome, engine, reason = _outcome(composed, readiness)
    if any(one.words is None for one in chosen):
        engine = "heuristic"
    result = Assembly(
        outcome=outcome, engine=engine, reason=reason, stale=readiness.stale, agent=agent, usage=used, model=model,
        budget=whole, used=composed.used, by_class=composed.by_class, counter=composed.counter,
        packages=composed.packages, reasoning=composed.reasoning, errors=composed.errors,
        strategies=composed.strategies, skills=composed.skills,
        omitted=(*composed.omitted, *_not_chosen(shown, limit, session.name)),
        available=frame.available, overflow=overflow(frame, len(composed.packages)), parts=composed.parts,
        notes=tuple(notes), failure=pieces.failure,
    )  # fmt: skip
    if linked is not None and linked.text:
        result = result._replace(
            linked=linked.shown, parts=(f"{linked.text}\n", *result.parts), used=result.used + linked.used,
            by_class={"linked": linked.used, **result.by_class}, omitted=(*linked.omitted, *result.omitted),
            outcome="matched" if result.outcome == "no_match" else result.outcome,
        )  # fmt: skip
    return Made(result, Seen(asked, session, group, config, limit, now, seq, started_at))


def _recorded(store: Store, seen: Seen, result: Assembly) -> Assembly:
    """The assembly with its receipt, its delivery marked where the zone marks."""
    request = seen.request
    delivery = None
    if request.is_marking and result.usage.zone in MARKING and (result.packages or result.reasoning):
        delivery = Delivery(
            seen.session.id, None if seen.group is None else seen.group.id, result.agent, max(request.iteration, 0),
            tuple(package.id for package in result.packages),
            tuple(entry.id for entry in result.reasoning),
            sum(len(entry.content) for entry in result.reasoning),
        )  # fmt: skip
    receipt = make_receipt(seen, result)
    shared = shared_prefix_tokens(store.truth, receipt, result.text)
    recorded = record(store, delivery, receipt)
    notes = (*result.notes, recorded.note) if recorded.note else result.notes
    return result._replace(receipt=recorded.receipt, shared_prefix_tokens=shared, notes=notes)


def _why_no_skills(composed: Composed) -> str:
    if any(omitted.id == "skills" for omitted in composed.omitted):
        return "The skills checklist has no room in the token budget: it is the first to go."
    return "There is no skills checklist for this agent here."


def _group(store: Store, session: Session, request: AssembleRequest, notes: list[str]) -> Group | None:
    """The request's group; None is session-wide. An unknown one sees what is global."""
    if request.group is None or is_session_wide(request.group):
        return None
    group = find_group(store.truth, session.id, request.group)
    if group is None:
        notes.append(f"There is no group '{request.group}' in {session.name}; global packages are shown.")
        group = Group(-1, session.id, request.group, "", "", (), 0)
    return group


def _limit(request: AssembleRequest, config: Config, agent: str) -> int:
    """How many packages: as asked, else as configured; an agent that nobody knows is served like a developer."""
    if request.limit is not None:
        return max(request.limit, 0)
    served_as = agent if agent in AGENTS else "developer"
    return config.retrieval_limits.get(served_as, DEFAULT_RETRIEVAL_LIMIT)


def _choose(spawn: Spawn, eligible: list[EligiblePackage], limit: int) -> tuple[Readiness, Shown, list[Chosen]]:
    """The packages in their order, and those within the limit with why."""
    readiness = Readiness(Trouble.NONE, 0)
    if spawn.request.task.strip() and eligible:
        readiness = make_ready(spawn.store, is_enabled=spawn.config.fts5, bound_ms=CATCH_UP_MS)
        for attempt in range(2):
            if not readiness.is_usable:
                break
            try:
                return readiness, *_choose_by_task(spawn, eligible, limit)
            except BROKEN as error:
                if attempt and not isinstance(error, apsw.Error):
                    raise  # a fresh index raises it as well: it is not the index
                readiness = recover(spawn.store, error, bound_ms=CATCH_UP_MS)
        readiness = beyond_healing(readiness)
    shown = shown_in(spawn.zone, placed(eligible, None, spawn.group, spawn.now // DAY_US))
    if not spawn.request.is_explained:
        return readiness, shown, [Chosen(row, None, (), None) for row in shown.packages[:limit]]
    from ctxrank.ranking.retrieval.explain import explain_heuristic  # only where somebody reads the trees

    chosen = [Chosen(row, None, (), explain_heuristic(row.parts)) for row in shown.packages[:limit]]
    return readiness, shown, chosen


def _choose_by_task(spawn: Spawn, eligible: list[EligiblePackage], limit: int) -> tuple[Shown, list[Chosen]]:
    index = spawn.store.index()
    sessions = sorted({package.session_id for package in eligible})
    documents = frozenset(package.document_id for package in eligible)
    with snapshot(index.connection):
        matches = match_task(index, spawn.request.task, sessions, documents, tuned(spawn.config.ranking))
        shown = shown_in(spawn.zone, placed(eligible, matches.text_score, spawn.group, spawn.now // DAY_US))
        chosen: list[Chosen] = []
        for row in shown.packages[:limit]:
            id_ = row.package.document_id
            explanation = None
            if spawn.request.is_explained:
                from ctxrank.ranking.retrieval.explain import explain_blend  # only where somebody reads the trees

                evidence = matches.evidence.get(id_)
                explanation = explain_blend(index, matches.state, matches.plan, evidence, row.text or 0.0, row.parts)
            words = matched_words(index, matches, id_)
            chosen.append(Chosen(row, words, tuple(matches.passage_ids(id_)), explanation))
    return shown, chosen


def _not_chosen(shown: Shown, limit: int, session: str) -> list[Omitted]:
    """The packages that the limit or the zone left out."""
    over: list[Omitted] = []
    for rank, row in enumerate(shown.packages[limit:], start=limit + 1):
        why = "; ".join(filter(None, (f"rank {rank} of limit {limit}", label(row.package, session))))
        over.append(Omitted(f"package:{row.package.id}", why, 0))
    return over + [
        Omitted(f"package:{row.package.id}", f"the zone shows the {shown.level} level alone", 0)
        for row in shown.left_out
    ]


def _outcome(composed: Composed, readiness: Readiness) -> tuple[str, str, str]:
    """(outcome, engine, reason)."""
    if not readiness.is_usable:
        return "degraded", "heuristic", readiness.trouble.value
    if readiness.stale:
        return "stale", "fts5", ""
    is_empty = not (composed.packages or composed.reasoning or composed.errors or composed.strategies)
    return "no_match" if is_empty else "matched", "fts5", ""
