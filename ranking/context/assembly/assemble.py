"""Assembly: the block for one spawn.

    eligible packages ──► ranked ──► within the limit ──► items ──► budget ──► rendered ──► recorded
                      text + static                     (levels)  (fair queue)

With a task text and an index the score is the blend; else it is the heuristic alone.
"""

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import ENGINE_ERRORS, INDEX_READ_ERRORS, SWITCHED_OFF, Engine, IndexHealth, Readiness
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.receipts import LOCK_WAIT_MS
from ctxrank.indexer.records.sessions import (
    DEFAULT_PROJECT,
    Group,
    Session,
    find_group,
    find_session,
    has_session,
    is_session_wide,
    project_in_force,
)
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import DEFAULT_RETRIEVAL_LIMIT, OPENSEARCH, Config, load_config
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import ESTIMATE, model_factor, model_limit
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.composition import compose, fitting
from ctxrank.ranking.context.assembly.eligibility import EligibilityQuery, EligiblePackage, eligible_packages
from ctxrank.ranking.context.assembly.limits import CLASSES, Budget, Usage, Zone, make_budget, usage
from ctxrank.ranking.context.assembly.material import NEVER, Material, Spawn, gather
from ctxrank.ranking.context.assembly.order import (
    RankedPackage,
    ZoneSelection,
    label,
    match_task,
    matched_words,
    rank_packages,
    select_for_zone,
    with_floor,
    with_reserved,
)
from ctxrank.ranking.context.assembly.receipt import AssemblyInputs, record_assembly
from ctxrank.ranking.context.assembly.request import (
    DEFAULT_MODEL,
    SECTIONS,
    AssembleRequest,
    Assembly,
    Omitted,
    forgiven_agent,
)
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.cleaning import cleaned_name, cleaned_task

if TYPE_CHECKING:  # most stores have packages alone
    from ctxrank.indexer.store.wide_settings import WideSettings
    from ctxrank.ranking.context.assembly.files import FoundFiles

__all__ = ["LOCK_WAIT_MS", "Draft", "assemble", "assemble_without_session", "make_assembly"]

CATCH_UP_MS = 50


class Draft(NamedTuple):
    """An assembly of which nothing is recorded yet, and what it was made from; None without a known session."""

    assembly: Assembly
    inputs: AssemblyInputs | None


def assemble(store: Store, request: AssembleRequest, config: Config | None = None) -> Assembly:
    """The block for one spawn, within its budget; it leaves a receipt, and marks what it delivers where the zone marks.

    `config` is the store's own where none is given. Raises NotFoundError for an unknown session, CtxrankError;
    whatever breaks, the command prints the fallback text.
    """
    result, inputs = make_assembly(store, request, config)
    if inputs is None:
        return result
    recording = record_assembly(store, inputs, result)
    return result._replace(
        receipt=recording.receipt,
        shared_prefix_tokens=recording.shared_prefix_tokens,
        notes=(*result.notes, recording.note) if recording.note else result.notes,
    )


def assemble_without_session(store: Store, request: AssembleRequest, config: Config) -> Assembly | None:
    """The block of a session that the store has never heard of, such as of its first spawn: what is no session's.

    It leaves no receipt. None where the task is about no indexed file.
    """
    if not request.with_files or not request.task.strip() or has_session(store.primary, request.session):
        return None
    unknown = Session(-1, request.session, DEFAULT_PROJECT, "simple", "active", "", "", 0, None)
    result, _ = make_assembly(store, request, config, unknown)
    return result if result.files else None


def make_assembly(
    store: Store, request: AssembleRequest, config: Config | None = None, session: Session | None = None
) -> Draft:
    """The same without a trace in the store; `session` stands in for one that is not in it."""
    if config is None:
        config = load_config(store)
    request = _cleaned(request, config.redaction_mode)
    agent, note = forgiven_agent(request.agent, config.team)
    notes = [*config.notes, *([note] if note else [])]
    model = request.model or DEFAULT_MODEL
    limit, is_known = _model_limit(model, config)
    if not is_known:
        notes.append(f"The model '{model}' is not known; its limit is taken to be {limit:,} tokens.")
    used = usage(limit, config.token_safety_margin, max(request.current_tokens, 0))
    like = config.team.like(agent)
    budget = make_budget(like, used.remaining, request.reasoning_level, total=request.budget)
    empty = _empty(agent, used, model, budget, tuple(notes))
    if not config.enable_context_assembler:
        off = empty._replace(reason="switched off in the configuration")
        return _without_reading(store, request, config, _fixed(off, block.switched_off(agent), request))
    if used.zone is Zone.EMERGENCY:
        return _without_reading(store, request, config, _fixed(empty, block.emergency(agent, used), request))
    if used.zone is Zone.WRAP_UP:
        return _without_reading(store, request, config, _fixed(empty, block.wrap_up(agent, used), request))
    with store.one_question():
        return _assemble(store, request, config, empty, session or find_session(store.primary, request.session))


def _cleaned(request: AssembleRequest, mode: RedactionMode) -> AssembleRequest:
    """The request as a receipt may keep it."""

    def clean(name: str | None) -> str | None:
        return None if name is None else cleaned_name(name, mode)

    return request._replace(
        agent=cleaned_name(request.agent, mode),
        group=clean(request.group),
        task=cleaned_task(request.task, mode),
        model=clean(request.model),
        project=clean(request.project),
        lang=clean(request.lang),
        framework=clean(request.framework),
        task_id=clean(request.task_id),
    )


def _model_limit(model: str, config: Config) -> tuple[int, bool]:
    """The context of a model in tokens, as configured or as it is known; and whether it is."""
    configured = config.context_limits.get(model.lower())
    return model_limit(model) if configured is None else (configured, True)


def _empty(agent: str, used: Usage, model: str, budget: Budget, notes: tuple[str, ...]) -> Assembly:
    return Assembly(
        outcome="no_match", engine="fts5", reason="", stale=0, agent=agent, usage=used, model=model, budget=budget,
        used=0, by_class=dict.fromkeys(CLASSES, 0), counter="estimate", packages=(), reasoning=(), errors=(),
        strategies=(), skills="", omitted=(), available=0, overflow=0, parts=(), notes=notes,
    )  # fmt: skip


def unread_assembly(request: AssembleRequest, text: str, *, outcome: str, reason: str) -> Assembly:
    """A block of a fixed text where nothing could be read, in the full shape; limits are by the defaults."""
    agent, _ = forgiven_agent(request.agent)
    model = request.model or DEFAULT_MODEL
    limit, _ = model_limit(model)
    used = usage(limit, Config().token_safety_margin, max(request.current_tokens, 0))
    budget = make_budget(agent, used.remaining, request.reasoning_level, total=request.budget)
    return _empty(agent, used, model, budget, ())._replace(
        outcome=outcome, engine="", reason=reason, parts=(text,), used=Prices(model_factor(model)).of(text)
    )


def _fixed(empty: Assembly, text: str, request: AssembleRequest) -> Assembly:
    """A block of a fixed text, which only a requested budget can shorten.

    What is left of the context in these zones is smaller than any text.
    """
    price = Prices(model_factor(empty.model))
    if request.budget is not None:
        text = fitting(text, empty.agent, empty.budget, price)
    return empty._replace(parts=(text,) if text else (), used=price.of(text))


def _without_reading(store: Store, request: AssembleRequest, config: Config, result: Assembly) -> Draft:
    """A fixed text; it needs no session, so one that is not there only leaves it without a receipt."""
    try:
        session = find_session(store.primary, request.session)
    except NotFoundError:
        return Draft(result, None)
    now = now_us()
    inputs = AssemblyInputs(
        request=request,
        session=session,
        group=_group(store, session, request, []),
        project=project_in_force(store.primary, request.project, session.name),
        config=config,
        limit=0,
        now=now,
        seq=store.last_seq(),
        started_at=now,
    )
    return Draft(result, inputs)


def _assemble(store: Store, request: AssembleRequest, config: Config, empty: Assembly, session: Session) -> Draft:
    notes = list(empty.notes)
    agent, budget, factor = empty.agent, empty.budget, model_factor(empty.model)
    group = _group(store, session, request, notes)
    started_at = now_us()
    inputs = AssemblyInputs(
        request=request,
        session=session,
        group=group,
        project=project_in_force(store.primary, request.project, session.name),
        config=config,
        limit=_limit(request, config, agent),
        now=started_at if request.as_of is None else request.as_of,
        seq=store.last_seq(),
        started_at=started_at,
    )
    part = None
    if any(getattr(request, field) is not None for field in SECTIONS):
        from ctxrank.ranking.context.section import AskedSection, section_part  # noqa: PLC0415  most spawns ask for none

        asked = AskedSection(config, empty.usage, budget, factor, is_bound=request.budget is not None)
        part = section_part(store, request, asked)
        request = request._replace(task=request.task or part.subject)
    spawn = Spawn(store, request, config, agent, session, group, empty.usage.zone, inputs.now, inputs.project)
    before = NEVER if request.delivered_before is None else request.delivered_before
    query = EligibilityQuery(agent, config.team.like(agent), max(request.iteration, 0), request.reach, before)
    eligible = eligible_packages(store.primary, session, group, query)
    readiness, selection, files = _select(spawn, eligible, inputs.limit)
    chosen = selection.packages[: inputs.limit]
    material = gather(spawn, chosen)
    if files is not None and files.files:
        from ctxrank.ranking.context.assembly.files import file_materials  # noqa: PLC0415  only with indexed files

        material = material._replace(files=file_materials(spawn, files.files))
    result = compose(
        empty._replace(
            budget=budget if part is None else budget._replace(limit=part.rest),
            available=selection.available,
            failure=material.failure,
            missing_skills=material.missing_skills,
            configured_skills=material.configured_skills,
            estimated=_estimated(material),
            state=block.state_line(session, group)
            + block.team_line(None if config.team_log is None else config.team_log.applied),
        ),
        material,
        level=selection.level,
        factor=factor,
    )
    if part is not None:
        if part.more is not None and result.is_complete and request.budget is not None:
            part = part.more(budget.limit - result.used)
        notes += part.notes
    if files is not None and files.left_out:
        notes.append(f"Indexed files are left out: {files.left_out}.")
    if request.with_skills and not result.skills:
        notes.append(_why_no_skills(result))
    outcome, engine, reason = _outcome(result, readiness, spawn.store.wide)
    result = result._replace(
        outcome=outcome,
        engine="heuristic" if any(one.words is None for one in chosen) else engine,
        reason=reason,
        stale=readiness.stale,
        budget=budget,
        omitted=(*result.omitted, *_not_chosen(selection, inputs.limit, session.name), *_files_left_out(files)),
        notes=tuple(notes),
    )
    if part is not None and part.text:
        result = result._replace(
            linked=part.items, parts=(f"{part.text}\n", *result.parts), used=result.used + part.used,
            by_class={part.name: part.used, **result.by_class}, omitted=(*part.omitted, *result.omitted),
            outcome="matched" if result.outcome == "no_match" else result.outcome,
        )  # fmt: skip
    return Draft(result, inputs)


def _estimated(material: Material) -> tuple[str, ...]:
    """The packages and files that could be shown and whose tokens are estimates, by their ids."""
    packages = [(public_id(PACKAGE, one.package.id), one.passages) for one in material.packages]
    packages += [(public_id("artifact", one.file.id), one.passages) for one in material.files]
    return tuple(id_ for id_, passages in packages if any(passage.counter == ESTIMATE for passage in passages))


def _why_no_skills(result: Assembly) -> str:
    if any(omitted.id == "skills" for omitted in result.omitted):
        return "The skills checklist has no room in the token budget: it is the first to go."
    return "There is no skills checklist for this agent here."


def _group(store: Store, session: Session, request: AssembleRequest, notes: list[str]) -> Group | None:
    """The request's group; None is session-wide. An unknown one sees what is global."""
    if request.group is None or is_session_wide(request.group):
        return None
    group = find_group(store.primary, session.id, request.group)
    if group is None:
        notes.append(f"There is no group '{request.group}' in {session.name}; global packages are shown.")
        group = Group(-1, session.id, request.group, "", "", (), 0)
    return group


def _limit(request: AssembleRequest, config: Config, agent: str) -> int:
    """How many packages: as requested, else as configured for this role, or for the agent that it is served as."""
    if request.limit is not None:
        return max(request.limit, 0)
    role = config.roles.get(agent)
    if role is not None and role.limit is not None:
        return role.limit
    if role is not None and agent in config.retrieval_limits:
        return config.retrieval_limits[agent]
    return config.retrieval_limits.get(config.team.served_as(agent), DEFAULT_RETRIEVAL_LIMIT)


def _select(
    spawn: Spawn, eligible: list[EligiblePackage], limit: int
) -> "tuple[Readiness, ZoneSelection, FoundFiles | None]":
    """The packages in their order, those within the limit also with why, and the files that the task is about."""
    readiness = Readiness(IndexHealth.OK, 0)
    with_files = _wants_files(spawn)
    if spawn.request.task.strip() and (eligible or with_files):
        engine = engine_of(spawn.store)
        readiness = engine.make_ready(CATCH_UP_MS) if spawn.config.has_index else SWITCHED_OFF
        for attempt in range(2):
            if not readiness.is_usable:
                break
            engine = readiness.stand_in or engine
            try:
                return readiness, *_select_by_task(spawn, engine, eligible, limit, with_files=with_files)
            except INDEX_READ_ERRORS as error:
                if attempt and not isinstance(error, ENGINE_ERRORS):
                    raise  # a fresh index raises it as well: it is not the index
                readiness = engine.recover(error, CATCH_UP_MS)
        readiness = readiness.beyond_healing
    ranked = with_reserved(rank_packages(eligible, None, spawn.group, spawn.now // DAY_US), limit)
    selection = select_for_zone(spawn.zone, ranked)
    if not spawn.request.is_explained:
        return readiness, selection, None
    from ctxrank.ranking.retrieval.explain import explain_heuristic  # noqa: PLC0415  only where the trees are read

    explained = [row._replace(explanation=explain_heuristic(row.parts)) for row in selection.packages[:limit]]
    return readiness, selection._replace(packages=explained + selection.packages[limit:]), None


def _wants_files(spawn: Spawn) -> bool:
    """Whether the block may show indexed files, and there are any."""
    if not (spawn.request.with_files and spawn.config.block_files) or spawn.zone is Zone.CONSERVATIVE:
        return False
    query = "SELECT 1 FROM documents WHERE kind = 'artifact' AND record_id IS NOT NULL LIMIT 1"
    return spawn.store.primary.execute(query).fetchone() is not None


def _select_by_task(
    spawn: Spawn, engine: Engine, eligible: list[EligiblePackage], limit: int, *, with_files: bool
) -> "tuple[ZoneSelection, FoundFiles | None]":
    sessions = sorted({package.session_id for package in eligible})
    documents = frozenset(package.document_id for package in eligible)
    with engine.snapshot() as statistics:
        matches = match_task(engine, statistics, spawn.request.task, sessions, documents, tuned(spawn.config.ranking))
        ranked = rank_packages(eligible, matches.text_score, spawn.group, spawn.now // DAY_US)
        ranked, floored = with_floor(ranked, matches.bearing)
        selection = select_for_zone(spawn.zone, with_reserved(ranked, limit))
        within: list[RankedPackage] = []
        for row in selection.packages[:limit]:
            id_ = row.package.document_id
            explanation = None
            if spawn.request.is_explained:
                from ctxrank.ranking.retrieval.explain import explain_blend  # noqa: PLC0415  only where they are read

                group = matches.groups.get(id_)
                explanation = explain_blend(engine, statistics, matches.plan, group, row.text or 0.0, row.parts)
            words = matched_words(engine, matches, id_)
            passage_ids = tuple(matches.passage_ids(id_))
            within.append(row._replace(words=words, passage_ids=passage_ids, explanation=explanation))
        files = None
        if with_files:
            from ctxrank.ranking.context.assembly.files import find_files  # noqa: PLC0415  only with indexed files

            files = find_files(engine, statistics, matches.plan)
    return selection._replace(packages=within + selection.packages[limit:], floored=floored), files


def _not_chosen(selection: ZoneSelection, limit: int, session: str) -> list[Omitted]:
    """The packages that the limit or the zone left out."""
    over: list[Omitted] = []
    for rank, row in enumerate(selection.packages[limit:], start=limit + 1):
        why = "; ".join(filter(None, (f"rank {rank} of limit {limit}", label(row.package, session))))
        over.append(Omitted(public_id(PACKAGE, row.package.id), why, 0))
    level = selection.level
    left_out = f"the zone shows the {level} level alone" if level else "the zone shows nothing of low priority"
    return (
        over
        + [Omitted(public_id(PACKAGE, row.package.id), left_out, 0) for row in selection.omitted]
        + [Omitted(public_id(PACKAGE, row.package.id), "it has no bearing on the task", 0) for row in selection.floored]
    )


def _files_left_out(files: "FoundFiles | None") -> list[Omitted]:
    """The class of files where it was too much work."""
    return [] if files is None or not files.left_out else [Omitted("files", files.left_out, 0)]


def _outcome(result: Assembly, readiness: Readiness, wide: "WideSettings | None") -> tuple[str, str, str]:
    """(outcome, engine, reason)."""
    if not readiness.is_usable:
        return "degraded", "heuristic", readiness.health
    engine = "fts5" if wide is None or readiness.stand_in else OPENSEARCH
    if readiness.reason:
        return "degraded", engine, readiness.reason
    if readiness.stale:
        return "stale", engine, ""
    is_empty = not (result.packages or result.files or result.reasoning or result.errors or result.strategies)
    return "no_match" if is_empty else "matched", engine, ""
