"""The calls of the Python API: what the commands do, with keyword arguments and values in place of text.

Wrong types are a TypeError; what a value may not be is a UsageError, which names what is allowed. Every CtxrankError
has a `message`, a `hint` and an `exit_code`.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar, get_origin

from ctxrank.cli.actions.errors.lookup import Whose, look_up, save_solution
from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.errors.failure_text import FailureText, read_failure_text, told_failure
from ctxrank.indexer.errors.solutions import SavedKnownError
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.scan import IndexReport
from ctxrank.indexer.light_typing import require_type
from ctxrank.indexer.records import packages, reasoning
from ctxrank.indexer.records.packages import NewPackage, SavedPackage
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import assemble as assemble_block
from ctxrank.ranking.context.assembly.shapes import WORDS, AssembleRequest, Assembly
from ctxrank.ranking.errors.answer import MAX_FIXES, ErrorAnswer
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
from ctxrank.ranking.retrieval.search import search as search_store

P = ParamSpec("P")
R = TypeVar("R")
Words = str | Sequence[str]
Moment = str | datetime


def _checked(call: Callable[P, R]) -> Callable[P, R]:
    """The call, which raises TypeError for an argument of another type than it is annotated with."""
    kinds = {name: getattr(kind, "__args__", (kind,)) for name, kind in call.__annotations__.items()}

    @wraps(call)
    def checking(*given: P.args, **named: P.kwargs) -> R:
        for name, value in (*zip(kinds, given, strict=False), *named.items()):
            require_type(value, name, *(get_origin(one) or one for one in kinds.get(name, (object,))))
        return call(*given, **named)

    return checking


@_checked
def save_package(
    store: Store,
    path: str | None = None,
    *,
    session: str,
    type: str,
    producer: str,
    summary: str,
    text: str | None = None,
    title: str = "",
    group: str | None = None,
    priority: str = "medium",
    scope: str | None = None,
    consumers: Words = (),
    create_session: bool = False,
) -> SavedPackage:
    """Save a finding: a file below the store's root with a summary, or a `text` with a `title`, kept in the store.

    A path or title that the session and group know becomes its next version. `type` is research, failures, decisions,
    handoff, investigation or one of the configuration; `priority` low, medium, high or critical; `scope` group or
    global; `consumers` are the agents it is meant for, those of its type where none are named. An agent or type that
    is not known is kept, and `notes` says so.

    Raises UsageError (a bad value, a file that is not there or has no text), NotFoundError for an unknown session
    unless `create_session`, LockedError, TypeError.
    """
    if (path is None) == (text is None):
        raise UsageError("A package has either a file or a text: not both, not none.", "Give path, or text and title.")
    new = NewPackage(
        session, group, type, path or "", producer, summary, priority, scope, _words("consumers", consumers),
        title=title,
    )  # fmt: skip
    return packages.save_package(store, new, text=text, create_session=create_session, needs_file=True)


@_checked
def save_reasoning(
    store: Store,
    content: str,
    *,
    session: str,
    agent: str,
    phase: str,
    group: str | None = None,
    confidence: str | None = None,
    references: Words = (),
    iteration: int = 0,
    agent_name: str = "",
    create_session: bool = False,
) -> reasoning.SavedReasoning:
    """Save what an agent thought in one phase: understanding, approach, decisions, risks, blockers, pivot, completion.

    `confidence` is high, medium, low or None; `references` are paths or ids; `agent_name` says which of several agents
    of one kind it was. A group that is not there is made.

    Raises UsageError, NotFoundError for an unknown session unless `create_session`, LockedError, TypeError.
    """
    new = reasoning.NewReasoning(
        session, group, agent, phase, content, agent_name, iteration, confidence,
        json.dumps(_words("references", references)),
    )  # fmt: skip
    return reasoning.save_reasoning(store, new, create_session=create_session)


@_checked
def save_error(
    store: Store,
    failure: str | bytes,
    *,
    solution: str,
    error_type: str = "",
    hints: Words = (),
    project: str | None = None,
    session: str | None = None,
    lang: str | None = None,
    replace: bool = False,
) -> SavedKnownError:
    """Save what fixed a failure, or count a known one once more.

    `failure` is what was printed, or with `error_type` a message alone. The project is the session's where none is
    given. `replace` lets this solution take the place of any that is saved.

    Raises UsageError (no failure, no solution), LockedError, TypeError.
    """
    saved, _, _ = save_solution(
        store, _failure(store, failure, error_type), solution, Whose(project, session, lang), None,
        "Give the failure's output, or its message with error_type.", hints=_words("hints", hints), is_final=replace,
    )  # fmt: skip
    return saved


@_checked
def match_error(
    store: Store,
    failure: str | bytes,
    *,
    error_type: str = "",
    project: str | None = None,
    session: str | None = None,
    lang: str | None = None,
    limit: int = MAX_FIXES,
) -> ErrorAnswer:
    """Whether a failure is known, and what fixed it: `answer.fixes`, the likeliest first, or `answer.reason` why none.

    `failure` is what was printed, or with `error_type` a message alone. Nothing is recorded.

    Raises UsageError, LockedError, TypeError.
    """
    if limit < 1:
        raise UsageError(f"limit is {limit}.", "Give a whole number from 1.")
    _, answer = look_up(store, _failure(store, failure, error_type), Whose(project, session, lang), None, limit)
    return answer


@_checked
def index(store: Store, paths: Words = (), *, dry_run: bool = False) -> IndexReport:
    """Bring the store in step with the files below its root, or below `paths`, which start from the working folder.

    A dry run reports the same and changes nothing. Raises UsageError for a path outside the root, LockedError,
    TypeError.
    """
    return bring_up_to_date(store, _words("paths", paths), is_dry_run=dry_run).report


@_checked
def search(
    store: Store,
    query: str,
    *,
    limit: int = 10,
    kind: Words = (),
    session: Words = (),
    group: Words = (),
    agent: Words = (),
    type: Words = (),
    phase: Words = (),
    priority: Words = (),
    path: Words = (),
    since: Moment | None = None,
    until: Moment | None = None,
    plain: bool = False,
    syntax: bool = False,
    passages: bool = False,
    folded: bool = True,
    explain: bool = False,
) -> SearchResult:
    """Past findings, ranked: `result.hits`, the best first; `result.outcome` is matched, no_match, degraded or stale.

    Several values of one filter are alternatives; `path` is a glob. `since` and `until` are an age (`7d`), a date or a
    datetime (without a zone: UTC). `plain` reads nothing in the query as syntax, `syntax` all of it. With `passages`
    each passage is a hit of its own; unless `folded`, what is nearly the same as a better hit is one of its own, too.

    Raises UsageError for a kind, phase, moment or limit that is none, CtxrankError, TypeError.
    """
    if plain and syntax:
        raise UsageError("plain and syntax exclude each other.", "Give one of them.")
    if limit < 0:
        raise UsageError(f"The limit is {limit}.", "Give a whole number from 0.")
    request = SearchRequest(
        query, limit, _words("kind", kind), _words("session", session), _words("group", group),
        _words("agent", agent), _words("type", type), _words("phase", phase), _words("priority", priority),
        _words("path", path), _moment(since), _moment(until), is_explained=explain,
        is_by_passage=passages, is_plain=plain, is_syntax=syntax, is_folded=folded,
    )  # fmt: skip
    return search_store(store, request)


@_checked
def assemble(
    store: Store,
    *,
    session: str,
    agent: str,
    group: str | None = None,
    task: str = "",
    task_id: str | None = None,
    model: str | None = None,
    current_tokens: int = 0,
    iteration: int = 0,
    run: str | None = None,
    after: int | None = None,
    limit: int | None = None,
    budget: int | None = None,
    reach: str = "group",
    detail: str | None = None,
    reasoning: bool | None = None,
    reasoning_level: str = "medium",
    error_output: str | bytes | None = None,
    project: str | None = None,
    lang: str | None = None,
    framework: str | None = None,
    files: bool = True,
    skills: bool = False,
    testing_mode: str = "full",
    as_of: Moment | None = None,
    mark: bool = True,
    explain: bool = True,
) -> Assembly:
    """The context block for one spawn: `result.text`, within its budget of tokens.

    The arguments are the options of `ctxrank assemble`, whose help and docs/orchestrator.md say what each does. The
    block leaves a receipt, and unless `mark` is false it counts as delivered.

    Raises NotFoundError for an unknown session, UsageError for a bad value, CtxrankError, TypeError.
    """
    output = error_output.encode() if isinstance(error_output, str) else error_output
    request = AssembleRequest(
        session, agent, group, task, model, current_tokens, iteration, limit, budget, reach, detail, reasoning,
        reasoning_level, project, lang, framework, _moment(as_of), is_marking=mark,
        is_explained=explain, with_files=files, with_skills=skills, testing_mode=testing_mode, error_output=output,
        task_id=task_id, run=run, after=after,
    )  # fmt: skip
    for name, allowed in WORDS.items():
        value = getattr(request, name)
        if value not in allowed and (name != "detail" or value is not None):
            raise UsageError(f"{name} is '{value}'.", f"Give one of {', '.join(allowed)}.")
    return assemble_block(store, request)


def _failure(store: Store, failure: str | bytes, error_type: str) -> FailureText:
    mode = load_config(store).redaction_mode
    data = failure.encode("utf-8", "replace") if isinstance(failure, str) else failure
    return (
        told_failure(error_type, data.decode("utf-8", "replace"), mode) if error_type else read_failure_text(data, mode)
    )


def _words(name: str, value: Words) -> tuple[str, ...]:
    """One text or several. Raises TypeError."""
    words = (value,) if isinstance(value, str) else tuple(value)
    for word in words:
        require_type(word, name, str)
    return words


def _moment(value: Moment | None) -> int | None:
    """Microseconds since 1970. Raises UsageError for a text that is no moment."""
    if value is None:
        return None
    return parse_time(value if isinstance(value, str) else value.isoformat(), now=now_us())
