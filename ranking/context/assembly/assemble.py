"""Assembly: the block for one spawn.

    eligible packages ──► ranked ──► within the limit ──► items ──► budget ──► rendered ──► recorded
                      text + static                     (levels)  (fair queue)

With a task text and an index the score is the blend; else it is the heuristic alone.
"""

from collections.abc import Mapping

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.engine import Engine, IndexHealth, Readiness, Statistics
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any
from ctxrank.indexer.opening import answer_of, engine_of
from ctxrank.indexer.records.sessions import (
    DEFAULT_PROJECT,
    Session,
    TaskGroup,
    find_group,
    find_session,
    has_session,
    is_session_wide,
    project_in_force,
)
from ctxrank.indexer.store.config import DEFAULT_RETRIEVAL_LIMIT, OPENSEARCH, Config, load_config
from ctxrank.indexer.store.freshness import FileStates, has_roots, in_checkout
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import joined, shell_word
from ctxrank.indexer.text.tokens import ESTIMATE, model_factor, model_limit
from ctxrank.ranking.context.assembly import block, limits, memory
from ctxrank.ranking.context.assembly.bearing import IS_NEAR, IS_ROUTED, select_by_bearing
from ctxrank.ranking.context.assembly.composition import compose, fitting
from ctxrank.ranking.context.assembly.documents import Passages, file_candidates, package_candidate
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage, eligible_packages, news_since
from ctxrank.ranking.context.assembly.limits import CLASSES, Budget, make_budget, usage
from ctxrank.ranking.context.assembly.order import (
    UNUSED_CLONE,
    RankedPackage,
    ZoneSelection,
    label,
    select_by_heuristic,
)
from ctxrank.ranking.context.assembly.receipt import record_assembly
from ctxrank.ranking.context.assembly.shapes import (
    DEFAULT_MODEL,
    SECTIONS,
    AssembleRequest,
    Assembly,
    BlockCandidate,
    Omitted,
    Spawn,
    forgiven_agent,
)
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.cleaning import cleaned_name, cleaned_task
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.task_text import task_query

if TYPE_CHECKING:  # most stores have packages alone
    from ctxrank.ranking.context.assembly.files import FoundFiles
    from ctxrank.ranking.context.section import SectionPart

CATCH_UP_MS = 50
ROUTED_SHARE = 0.2
_AT_ONCE = 32  # packages whose files and passages are looked up together: a small budget comes to no more
_NAMES = ("agent", "group", "model", "project", "lang", "framework", *SECTIONS, "run")


def assemble(store: Store, request: AssembleRequest, config: Config | None = None) -> Assembly:
    """The block for one spawn, within its budget; it leaves a receipt, and marks what it delivers where the zone marks.

    `config` is the store's own where none is given. Raises NotFoundError for an unknown session, CtxrankError;
    whatever breaks, the command prints the fallback text.
    """
    result, spawn = make_assembly(store, request, config)
    if spawn is None:
        return result
    recording = record_assembly(spawn, result)
    return result._replace(
        receipt=recording.receipt,
        shared_prefix=recording.shared_prefix,
        notes=(*result.notes, recording.note) if recording.note else result.notes,
    )


def assemble_without_session(store: Store, request: AssembleRequest, config: Config) -> Assembly | None:
    """The block of a session that the store has never heard of, such as of its first spawn: what is not its own.

    It leaves no receipt. None where there is no indexed file and no earlier finding for it.
    """
    if has_session(store.primary, request.session):
        return None
    unknown = Session(-1, request.session, DEFAULT_PROJECT, "simple", "active", "", "", now_us(), None)
    result, _ = make_assembly(store, request, config, unknown)
    return result if result.files or result.packages else None


def make_assembly(
    store: Store, request: AssembleRequest, config: Config | None = None, session: Session | None = None
) -> tuple[Assembly, Spawn | None]:
    """The same without a trace in the store, and what it was made from, None without a known session.

    `session` stands in for one that is not in the store.
    """
    if config is None:
        config = load_config(store)
    # The task is given to what reads it alone, and the request without it to all others.
    task = cleaned_task(request.task, config.redaction_mode)
    mode = config.redaction_mode
    given = ((name, getattr(request, name)) for name in _NAMES)
    names: dict[str, Any] = {name: cleaned_name(value, mode) for name, value in given if value is not None}
    request = request._replace(task="", **names)  # with its names as a receipt may keep them
    empty = _empty(request, config)
    agent, zone = empty.agent, empty.usage.zone
    fixed = ""  # the whole text, where nothing is read for it
    if not config.enable_context_assembler:
        fixed = joined(block.opening(agent), block.SWITCHED_OFF)
        empty = empty._replace(reason="switched off in the configuration")
    elif zone in (limits.EMERGENCY, limits.WRAP_UP):
        said = block.EMERGENCY if zone is limits.EMERGENCY else block.WRAP_UP
        fixed = joined(block.opening(agent), block.zone_line(empty.usage), said)
    prices = Prices(model_factor(empty.model))
    if fixed:
        # What is left of the context in these zones is smaller than any text.
        empty = _with_text(empty, request, fixed)
    with store.one_question():
        try:
            session = session or find_session(store.primary, request.session)
        except NotFoundError:
            if fixed:  # it needs no session, so one that is not there only leaves it without a receipt
                return empty, None
            raise
        group: TaskGroup | None = None
        if request.group is not None and not is_session_wide(request.group):
            group = find_group(store.primary, session.id, request.group)
            if group is None:
                group = TaskGroup(-1, session.id, request.group, "", "", (), 0)
                note = f"There is no group '{request.group}' in {session.name}; global packages are shown."
                empty = empty if fixed else empty._replace(notes=(*empty.notes, note))
        project = project_in_force(store.primary, request.project, session.name)
        limit, now = 0 if fixed else _limit(request, config, agent), now_us()
        as_of = now if request.as_of is None else request.as_of
        spawn = Spawn(
            store, request, config, agent, session, group, zone, project, limit, prices, store.last_seq(), as_of, now
        )
        if request.after is not None and not fixed:
            spawn = spawn._replace(news=news_since(store, request.after, session.name))
        result = empty if fixed else _assembled(spawn, empty, task)
        return result, spawn._replace(request=request._replace(task=task))


def _empty(request: AssembleRequest, config: Config) -> Assembly:
    agent, note = forgiven_agent(request.agent, config.team)
    notes = [*config.notes, *([note] if note else [])]
    model = request.model or DEFAULT_MODEL
    configured = config.context_limits.get(model.lower())
    limit, is_known = model_limit(model) if configured is None else (configured, True)
    if not is_known:
        notes.append(f"The model '{model}' is not known; its limit is taken to be {limit:,} tokens.")
    used = usage(limit, config.token_safety_margin, max(request.current_tokens, 0))
    budget = make_budget(config.team.like(agent), used.remaining, request.reasoning_level, total=request.budget)
    return Assembly(
        outcome="no_match", engine="fts5", reason="", stale=0, agent=agent, usage=used, model=model, budget=budget,
        used=0, by_class=dict.fromkeys(CLASSES, 0), counter=ESTIMATE, notes=tuple(notes),
    )  # fmt: skip


def unread_assembly(request: AssembleRequest, text: str, *, outcome: str, reason: str) -> Assembly:
    """A block of a fixed text where nothing could be read, in the full shape; limits are by the defaults."""
    empty = _empty(request, Config())
    return _with_text(empty._replace(outcome=outcome, engine="", reason=reason, notes=()), request, text)


def _with_text(empty: Assembly, request: AssembleRequest, text: str) -> Assembly:
    """A block of a fixed text, which only a requested budget shortens."""
    prices = Prices(model_factor(empty.model))
    text = text if request.budget is None else fitting(text, empty.agent, empty.budget, prices)
    return empty._replace(parts=(text,) if text else (), used=prices.of(text))


def _limit(request: AssembleRequest, config: Config, agent: str) -> int:
    """How many packages: as requested, else as configured for this role, or for the agent that it is served as."""
    if request.limit is not None:
        return max(request.limit, 0)
    role = config.roles.get(agent)
    if role is not None and role.limit is not None:
        return role.limit
    served_as = agent if role is not None and agent in config.retrieval_limits else config.team.served_as(agent)
    return config.retrieval_limits.get(served_as, DEFAULT_RETRIEVAL_LIMIT)


def _assembled(spawn: Spawn, empty: Assembly, task: str) -> Assembly:
    request, config, budget = spawn.request, spawn.config, empty.budget
    part, said = _section(spawn, empty)
    notes = [*empty.notes, *said]
    task = task or ("" if part is None else part.subject)
    eligible = eligible_packages(spawn)
    if request.anchors is not None:
        from ctxrank.ranking.context.assembly.code_state import as_recorded  # noqa: PLC0415  a replay

        eligible = as_recorded(spawn, eligible)
    readiness, selection, files, plan = _select(spawn, task, eligible)
    code: dict[int, str] = {}
    anchors = ""
    if any(one.held_at for one in eligible):
        from ctxrank.ranking.context.assembly.code_state import code_lines  # noqa: PLC0415  only with anchors

        code, anchors = code_lines(spawn, eligible, [row.package for row in selection.packages])
    candidates, unnamed = _package_candidates(spawn, selection, budget, code)
    others, facts = _other_candidates(spawn, task, files)
    candidates += others
    if selection.is_by_bearing:
        priorities = [row.package.priority for row in (*selection.packages, *selection.floored)]
        hidden = {priority: priorities.count(priority) for priority in dict.fromkeys(priorities)}
        facts |= {"hidden": hidden, "listing": _listing(request)}
    state = block.state_line(spawn.session, spawn.group)
    if config.team_log is not None:
        # Up to which change of the team's log the store is. No clock: blocks are compared.
        state += f"Team memory at change {config.team_log.applied}.\n"
    if spawn.news is not None:
        state += f"Only what is new since receipt:{request.after}.\n"
    shown = compose(
        empty._replace(
            budget=budget if part is None else budget._replace(limit=part.rest),
            available=selection.available,
            **facts,
            estimated=tuple(
                one.item.id for one in candidates if any(passage.counter == ESTIMATE for passage in one.passages)
            ),
            state=state,
            after=request.after,
            anchors=anchors,
        ),
        candidates,
        spawn.prices,
        plan,
        level=selection.level,
    )
    if part is not None:
        if part.more is not None and shown.is_complete and request.budget is not None:
            part = part.more(budget.limit - shown.used)
        notes += part.notes
    left_out = [*unnamed, *_not_chosen(selection, spawn)]
    if files is not None and files.left_out:
        left_out.append(Omitted("files", files.left_out, 0))
        notes.append(f"Indexed files are left out: {files.left_out}.")
    if request.with_skills and not shown.skills:
        has_room = all(omitted.id != "skills" for omitted in shown.omitted)
        no_room = "The skills checklist has no room in the token budget: it is the first to go."
        notes.append("There is no skills checklist for this agent here." if has_room else no_room)
    outcome, engine, reason = _outcome(shown, spawn.store, readiness)
    shown = shown._replace(
        outcome=outcome,
        engine="heuristic" if any(one.text is None for one in selection.packages[: spawn.limit]) else engine,
        reason=reason,
        stale=readiness.stale,
        budget=budget,
        omitted=(*shown.omitted, *left_out),
        notes=tuple(notes),
    )
    return shown if part is None or not part.text else part.before(shown)


def _section(spawn: Spawn, empty: Assembly) -> "tuple[SectionPart | None, list[str]]":
    """The section that a request asks for, None for none; and what is said of one that is left out."""
    request = spawn.request
    if all(getattr(request, field) is None for field in SECTIONS):
        return None, []
    if spawn.news is not None:
        return None, ["What links reach is in the whole block alone: it is left out of what is new since."]
    from ctxrank.ranking.context.section import AskedSection, section_part  # noqa: PLC0415  most spawns ask for none

    factor, is_bound = model_factor(empty.model), request.budget is not None
    asked = AskedSection(spawn.config, empty.usage, empty.budget, factor, is_bound)
    return section_part(spawn.store, request, asked), []


def _other_candidates(
    spawn: Spawn, task: str, files: "FoundFiles | None"
) -> "tuple[list[BlockCandidate], dict[str, Any]]":
    """What a block could show beside packages, and fields of the assembly that say what a class was gathered from."""
    if spawn.zone is limits.CONSERVATIVE:
        return [], {}
    candidates = [] if files is None else file_candidates(spawn, files.files)
    candidates += memory.prior_reasoning(spawn)
    errors, failure = memory.known_errors(spawn, task)
    candidates += [*errors, *memory.strategies(spawn)]
    if spawn.news is not None:
        candidates = [one for one in candidates if one.item.id in spawn.news]
    if not spawn.request.with_skills:
        return candidates, {"failure": failure}
    from ctxrank.ranking.context.assembly.skills import skills_section  # noqa: PLC0415  only on request

    skills, of_skills = skills_section(spawn, task)
    return candidates + skills, {"failure": failure, **of_skills}


def _package_candidates(
    spawn: Spawn, selection: ZoneSelection, budget: Budget, code: Mapping[int, str]
) -> tuple[list[BlockCandidate], list[Omitted]]:
    """The packages as the block could show them, and those that are routed here and have no room for a line.

    The limit is of what is shown with detail where the task decides, else of all.
    """
    rows = selection.packages
    detailed = rows if selection.is_by_bearing and spawn.request.limit is None else rows[: spawn.limit]
    states, texts = FileStates(spawn.store), Passages(spawn)
    has_passages = spawn.zone is limits.NORMAL and spawn.request.detail not in ("summary", "full")
    looked_up = 0
    elsewhere: Mapping[int, str] = {}
    if has_roots(spawn.store.primary):
        from ctxrank.ranking.retrieval.checkouts import files_elsewhere  # noqa: PLC0415  most projects have one checkout

        elsewhere = files_elsewhere(spawn.store, [row.package.document_id for row in rows]).others

    def candidate_of(rank: int, row: RankedPackage) -> BlockCandidate:
        nonlocal looked_up
        if rank >= looked_up:
            looked_up = rank + _AT_ONCE
            states.expect(one.package.artifact for one in rows[rank:looked_up])
            if has_passages:
                texts.expect(id_ for one in detailed[rank:looked_up] for id_ in one.passage_ids)
        id_ = row.package.document_id
        labelled = in_checkout(elsewhere.get(id_, "")), code.get(id_, "")
        return package_candidate(spawn, row, states, texts, *labelled, has_detail=rank < len(detailed))

    if not selection.is_by_bearing:
        return [candidate_of(rank, row) for rank, row in enumerate(detailed)], []
    candidates: list[BlockCandidate] = []
    unnamed: list[Omitted] = []
    # The lines of those before: where they take all, none behind them gets one, and it is not made up.
    near = lines = 0
    # What the lines of routed packages may take: more only as far as the role's number of places goes.
    room = budget.limit * budget.shares["packages"] / sum(budget.shares.values()) * ROUTED_SHARE
    places = spawn.limit
    too_full = f"the lines before it take more than the budget of {budget.limit} tokens"
    for rank, one in enumerate(rows):
        is_routed = one.standing == IS_ROUTED
        is_full = (near if one.standing == IS_NEAR else lines) > budget.limit
        candidate = None
        # Where there is no place and no room, no line of it is made: there may be many.
        if not (is_full or (is_routed and places <= 0 and room < 0)):
            candidate = candidate_of(rank, one)
            if is_routed:
                room -= candidate.item.prices[0]
                places -= 1
                candidate = candidate._replace(item=candidate.item._replace(is_last=places < 0))
        if candidate is None or (is_routed and places < 0 and room < 0):
            reason = too_full if is_full else "too little of the task is in it, and no place is free"
            unnamed.append(Omitted._make((public_id(PACKAGE, one.package.id), reason, 0)))
        else:
            candidates.append(candidate)
            lines += candidate.item.prices[0]
            near += candidate.item.prices[0] * (one.standing == IS_NEAR)
    return candidates, unnamed


def _listing(request: AssembleRequest) -> str:
    """The command that lists the packages of a group, of its session, or of all sessions, as wide as is asked for."""
    of_session = "" if request.reach == "project" else f" --session {shell_word(request.session)}"
    of_group = "" if request.group is None or request.reach != "group" else f" --group {shell_word(request.group)}"
    return f"ctxrank list packages{of_session}{of_group}"


def _select(
    spawn: Spawn, task: str, eligible: list[EligiblePackage]
) -> "tuple[Readiness, ZoneSelection, FoundFiles | None, Plan | None]":
    """The packages in their order, those within the limit also with why, the files that the task is about, and the plan
    of its words.
    """
    readiness = Readiness(IndexHealth.OK, 0)
    with_files = spawn.request.with_files and spawn.config.block_files and spawn.zone is not limits.CONSERVATIVE
    if with_files:
        query = "SELECT 1 FROM documents WHERE kind = 'artifact' AND record_id IS NOT NULL LIMIT 1"
        with_files = spawn.store.primary.execute(query).fetchone() is not None

    def ask(engine: Engine, statistics: Statistics) -> "tuple[ZoneSelection, FoundFiles | None, Plan]":
        asked = task_query(task)
        plan = make_plan(asked, engine, statistics, tuned(spawn.config.ranking))
        selection = select_by_bearing(spawn, plan, eligible)
        if not with_files:
            return selection, None, plan
        from ctxrank.ranking.context.assembly.files import find_files  # noqa: PLC0415  only with files

        return selection, find_files(plan, spawn.store, task, asked), plan

    if task.strip() and (eligible or with_files):
        found, readiness = answer_of(spawn.store, engine_of(spawn.store), spawn.config, CATCH_UP_MS, ask)
        if found is not None:
            return readiness, *found
    return readiness, select_by_heuristic(spawn, eligible), None, None


def _not_chosen(selection: ZoneSelection, spawn: Spawn) -> list[Omitted]:
    """The packages that the limit or the zone left out."""
    limit = len(selection.packages) if selection.is_by_bearing else spawn.limit
    level, omitted = selection.level, list[Omitted]()
    for rank, row in enumerate(selection.packages[limit:], start=limit + 1):
        why = "; ".join(filter(None, (f"rank {rank} of limit {limit}", label(row.package, spawn.session.name))))
        omitted.append(Omitted(public_id(PACKAGE, row.package.id), why, 0))
    left_out = f"the zone shows the {level} level alone" if level else "the zone shows nothing of low priority"
    for rows, why in ((selection.omitted, left_out), (selection.floored, "it has no bearing on the task")):
        for row in rows:
            reason = UNUSED_CLONE if row.package.is_unused_clone else why
            omitted.append(Omitted._make((public_id(PACKAGE, row.package.id), reason, 0)))
    return omitted


def _outcome(result: Assembly, store: Store, readiness: Readiness) -> tuple[str, str, str]:
    """(outcome, engine, reason)."""
    if not readiness.is_usable:
        return "degraded", "heuristic", readiness.health
    engine = "fts5" if store.wide is None or readiness.stand_in else OPENSEARCH
    if readiness.reason:
        return "degraded", engine, readiness.reason
    if readiness.stale:
        return "stale", engine, ""
    is_empty = not (result.packages or result.files or result.reasoning or result.errors or result.strategies)
    return "no_match" if is_empty else "matched", engine, ""
