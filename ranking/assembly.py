"""Assembly: the block for one spawn.

    eligible packages ──► scored ──► ranked ──► steps ──► packed ──► rendered ──► marked as delivered
                      text + known   (limit)   (levels)  (budget)

With a task text the score is the blend; without one, or without an index, it is the heuristic alone. Texts
were redacted when they were stored; rows of an older rule set are redacted again here, before anything is
truncated, counted or packed.
"""

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.config import DEFAULT_RETRIEVAL_LIMIT, Config
from ctxrank.indexer.errors import CtxrankError
from ctxrank.indexer.fts import Trouble
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.ruleset import RULESET_VERSION
from ctxrank.indexer.sessions import Group, Session, find_group, find_session, is_session_wide
from ctxrank.indexer.store import Store
from ctxrank.indexer.tokens import model_factor, model_limit
from ctxrank.ranking import block, memory
from ctxrank.ranking.blend import blended
from ctxrank.ranking.budget import CLASSES, Budget, make_budget
from ctxrank.ranking.composition import Frame, PackagePieces, Pieces, StoredPassage, compose, overflow, price_of_fixed
from ctxrank.ranking.eligibility import EligiblePackage, eligible_packages
from ctxrank.ranking.explanation import Explanation
from ctxrank.ranking.heuristic import HeuristicParts, Signals, heuristic
from ctxrank.ranking.readiness import Readiness, make_ready, recover
from ctxrank.ranking.reasons import explain_blend, explain_heuristic
from ctxrank.ranking.request import AssembleRequest, Assembly, IncludedPackage, IncludedPassage, Omitted, forgiven_agent
from ctxrank.ranking.task_match import TaskMatches, match_task, matched_words
from ctxrank.ranking.zones import MARKING, Usage, Zone, truncated, usage

CATCH_UP_MS = 50
LOCK_WAIT_MS = 250
DEFAULT_MODEL = "sonnet"
_MAX_OMITTED = 50
_PRIORITY_LADDER = ("critical", "high", "medium", "low")


class _Ranked(NamedTuple):
    """An eligible package with its place: `text` is None where the heuristic alone decides."""

    package: EligiblePackage
    text: float | None
    parts: HeuristicParts
    score: float


def assemble(store: Store, request: AssembleRequest, config: Config | None = None) -> Assembly:
    """The block for one spawn, within its budget; what it delivers is marked where the zone marks.

    `config` is the store's own where none is given. Raises UsageError for values that cannot be forgiven;
    whatever else breaks, the command prints the fallback text.
    """
    if config is None:
        from ctxrank.indexer.config import load_config

        config = load_config(store)
    agent, note = forgiven_agent(request.agent)
    notes = [*config.notes, *([note] if note else [])]
    model = request.model or DEFAULT_MODEL
    limit, is_known = model_limit(model)
    if not is_known:
        notes.append(f"The model '{model}' is not known; its limit is taken to be {limit:,} tokens.")
    used = usage(limit, config.token_safety_margin, max(request.current_tokens, 0))
    budget = make_budget(agent, used.remaining, request.reasoning_level, total=request.budget)
    empty = _without_packages(agent, used, model, budget, tuple(notes))
    if not config.enable_context_assembler:
        return _fixed(empty, block.switched_off(agent))._replace(reason="switched off in the configuration")
    if used.zone is Zone.EMERGENCY:
        return _fixed(empty, block.emergency(agent, used))
    if used.zone is Zone.WRAP_UP:
        return _fixed(empty, block.wrap_up(agent, used))
    return _assemble(store, request, config, agent, used, model, budget, notes)


def _without_packages(agent: str, used: Usage, model: str, budget: Budget, notes: tuple[str, ...]) -> Assembly:
    return Assembly(
        outcome="no_match", engine="fts5", reason="", stale=0, agent=agent, usage=used, model=model, budget=budget,
        used=0, by_class=dict.fromkeys(CLASSES, 0), counter="estimate", packages=(), reasoning=(), errors=(),
        strategies=(), omitted=(), available=0, overflow=0, text="", notes=notes,
    )  # fmt: skip


def _fixed(empty: Assembly, text: str) -> Assembly:
    """A block of a fixed text, counted."""
    return empty._replace(text=text, used=price_of_fixed(text, model_factor(empty.model)))


def _assemble(
    store: Store,
    request: AssembleRequest,
    config: Config,
    agent: str,
    used: Usage,
    model: str,
    budget: Budget,
    notes: list[str],
) -> Assembly:
    session = find_session(store.truth, request.session)
    group = None
    if not is_session_wide(request.group):
        assert request.group is not None, "a group that is not session-wide has a name"
        group = find_group(store.truth, session.id, request.group)
        if group is None:
            notes.append(f"There is no group '{request.group}' in {session.name}; global packages are shown.")
            group = Group(0, session.id, request.group, "", "", (), 0)
    now = now_us() if request.as_of is None else request.as_of
    eligible = eligible_packages(store.truth, session, group, agent, max(request.iteration, 0), request.reach)
    readiness, matches = _match(store, request, config, eligible)
    ranked = _ranked(eligible, matches, group, now // DAY_US)
    level = ""
    if used.zone is Zone.CONSERVATIVE:
        level = next(
            (level for level in _PRIORITY_LADDER if any(row.package.priority == level for row in ranked)), "critical"
        )
        if level == "low":
            level, ranked = "medium", []
        ranked = [row for row in ranked if row.package.priority == level]
    limit = request.limit
    if limit is None:
        limit = config.retrieval_limits.get(agent, DEFAULT_RETRIEVAL_LIMIT)
    limit = max(limit, 0)
    pieces = _gather(_Call(store, request, config, agent, session, group, used.zone, now), ranked[:limit], matches)
    frame = Frame(agent, used, len(ranked), level, model_factor(model))
    composed = compose(frame, budget, pieces)
    over_limit = (
        Omitted(f"package:{row.package.id}", f"rank {rank} of limit {limit}", 0)
        for rank, row in enumerate(ranked[limit:], start=limit + 1)
    )
    if request.is_marking and used.zone in MARKING and composed.packages:
        note = _mark_delivered(store, composed.packages, group, agent, max(request.iteration, 0))
        notes += [note] if note else []
    outcome = "matched" if composed.packages or composed.reasoning or composed.errors else "no_match"
    engine, reason = "fts5", ""
    if not readiness.is_usable:
        outcome, engine, reason = "degraded", "heuristic", readiness.trouble.value
    elif readiness.stale:
        outcome = "stale"
    return Assembly(
        outcome=outcome, engine=engine, reason=reason, stale=readiness.stale, agent=agent, usage=used, model=model,
        budget=budget, used=composed.used, by_class=composed.by_class, counter=composed.counter,
        packages=composed.packages, reasoning=composed.reasoning, errors=composed.errors,
        strategies=composed.strategies, omitted=(*composed.omitted, *over_limit)[:_MAX_OMITTED],
        available=len(ranked), overflow=max(overflow(frame, len(composed.packages)), 0), text=composed.text,
        notes=tuple(notes),
    )  # fmt: skip


def _match(
    store: Store, request: AssembleRequest, config: Config, eligible: list[EligiblePackage]
) -> tuple[Readiness, TaskMatches | None]:
    """The task's matches among the eligible packages; None where there is no task or no index to ask."""
    if not request.task.strip() or not eligible:
        return Readiness(Trouble.NONE, 0), None
    readiness = make_ready(store, is_enabled=config.fts5, bound_ms=CATCH_UP_MS)
    sessions = sorted({package.session_id for package in eligible})
    documents = frozenset(package.document_id for package in eligible)
    for _ in range(2):
        if not readiness.is_usable:
            break
        try:
            return readiness, match_task(store, request.task, sessions, documents)
        except apsw.Error as error:
            readiness = recover(store, error, bound_ms=CATCH_UP_MS)
    return readiness, None


def _ranked(
    eligible: list[EligiblePackage], matches: TaskMatches | None, group: Group | None, today: int
) -> list[_Ranked]:
    """Best first: this agent's before others', undelivered before delivered, then by score, then the newest."""
    rows: list[_Ranked] = []
    for package in eligible:
        is_same_group = package.is_own_group and package.group == (group.name if group is not None else None)
        days = today - package.created_at // DAY_US
        parts = heuristic(Signals(package.priority, is_same_group, package.is_designated, days))
        if matches is None:
            rows.append(_Ranked(package, None, parts, parts.total))
        else:
            text = matches.text_score(package.document_id)
            rows.append(_Ranked(package, text, parts, blended(text, parts.total)))
    rows.sort(
        key=lambda row: (
            row.package.is_for_others,
            row.package.is_delivered,
            -row.score,
            -row.package.created_at,
            -row.package.id,
        )
    )
    return rows


class _Call(NamedTuple):
    """What all steps of one assembly share."""

    store: Store
    request: AssembleRequest
    config: Config
    agent: str
    session: Session
    group: Group | None
    zone: Zone
    now: int


def _gather(call: _Call, chosen: list[_Ranked], matches: TaskMatches | None) -> Pieces:
    """Read what the chosen packages and the agent's memory hold."""
    packages = tuple(_package_pieces(call, row, matches) for row in chosen)
    if call.zone is Zone.CONSERVATIVE:
        return Pieces(packages)
    truth, request = call.store.truth, call.request
    reasoning: list[memory.ReasoningEntry] = []
    if memory.wants_reasoning(call.agent, request.iteration, request.include_reasoning):
        reasoning = memory.prior_reasoning(truth, call.session, call.group, call.agent)
    project = request.project or call.session.project
    errors = memory.known_errors(truth, project, request.lang, call.now)
    strategies = memory.strategies(truth, project, request.lang, request.framework)
    return Pieces(packages, tuple(reasoning), tuple(errors), tuple(strategies))


def _package_pieces(call: _Call, row: _Ranked, matches: TaskMatches | None) -> PackagePieces:
    package = row.package
    detail = call.request.detail or ("passage" if call.request.task.strip() else "summary")
    passages: list[StoredPassage] = []
    if detail != "summary" and call.zone is Zone.NORMAL:
        passages = _passages(call, row, matches, detail)
    label = _label(package, call.request)
    words = [] if matches is None else matched_words(call.store, matches, package.document_id)
    (count,) = call.store.truth.execute(
        "SELECT count(*) FROM documents WHERE owner_id = ?", (package.document_id,)
    ).fetchone() or (0,)
    return PackagePieces(
        package.id, package.path, package.priority, package.type, package.producer,
        truncated(_clean(package.summary, package.ruleset, call.config), call.zone), package.created_at, row.score,
        label, _reason(package, label, words, call.group, has_task=matches is not None),
        _explanation(call.store, row, matches), tuple(passages), int(count),
    )  # fmt: skip


def _explanation(store: Store, row: _Ranked, matches: TaskMatches | None) -> Explanation:
    if matches is None or row.text is None:
        return explain_heuristic(row.parts)
    evidence = matches.evidence.get(row.package.document_id)
    return explain_blend(store.index(), matches.state, matches.plan, evidence, row.text, row.parts)


def _clean(text: str, ruleset: int, config: Config) -> str:
    """Text as the rules of today leave it; what was stored under them is clean already."""
    if ruleset >= RULESET_VERSION:
        return text
    from ctxrank.indexer.redaction import redact

    return redact(text, config.redaction_mode).text


def _passages(call: _Call, row: _Ranked, matches: TaskMatches | None, detail: str) -> list[StoredPassage]:
    """The package's passages in the order they are wanted: the best matching ones, then the rest of the file."""
    wanted = matches.passage_ids(row.package.document_id) if matches is not None else []
    query = """
        SELECT id, title, start_line, end_line, body, ruleset, tokens, counter
          FROM documents WHERE owner_id = ? ORDER BY start_line, id
    """
    if detail == "passage" and matches is None:
        query += " LIMIT 1"  # nothing says which passage, so the file's beginning
    rows: dict[int, StoredPassage] = {}
    for id_, heading, start, end, body, ruleset, tokens, counter in call.store.truth.execute(
        query, (row.package.document_id,)
    ):
        text = _clean(body, ruleset, call.config)
        rows[int(id_)] = StoredPassage(IncludedPassage(id_, heading, start, end, text), tokens, counter)
    best = [rows[id_] for id_ in wanted if id_ in rows]
    if detail == "passage" and matches is not None:
        return best
    return best + [passage for id_, passage in rows.items() if id_ not in wanted]


def _label(package: EligiblePackage, request: AssembleRequest) -> str:
    """What sets a package apart from those that are simply for this agent and group; mostly ''."""
    labels: list[str] = []
    if package.is_for_others:
        labels.append("designated for other agents")
    if package.session != request.session:
        labels.append(f"from session {package.session}")
    elif not package.is_own_group:
        labels.append(f"from group {package.group}")
    if package.is_delivered:
        labels.append("delivered before")
    return "; ".join(labels)


def _reason(package: EligiblePackage, label: str, words: list[str], group: Group | None, *, has_task: bool) -> str:
    """Why a package is in the block, in a few words."""
    if has_task:
        why = f"matches {', '.join(words)}" if words else "no word of the task matches"
    elif group is not None and package.group == group.name:
        why = "same group"
    else:
        why = f"group {package.group}" if package.group else "whole session"
    return f"{label}; {why}" if label else why


def _mark_delivered(
    store: Store, packages: tuple[IncludedPackage, ...], group: Group | None, agent: str, iteration: int
) -> str:
    """Record that the block showed these packages; returns a note where the store could not be written."""
    group_id = group.id if group is not None else 0
    moment = now_us()
    store.truth.set_busy_timeout(min(store.busy_ms, LOCK_WAIT_MS))
    try:
        with store.write() as change:
            change.connection.executemany(
                "INSERT OR IGNORE INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
                " VALUES (?, ?, ?, ?, ?)",
                [(package.id, group_id, agent, iteration, moment) for package in packages],
            )
    except CtxrankError as error:
        return f"The delivery is not recorded: {error.message}"
    finally:
        store.truth.set_busy_timeout(store.busy_ms)
    return ""
