"""`ctxrank session` and `ctxrank group`: what packages belong to."""

from collections.abc import Iterator

from ctxrank.cli.actions.project_skills import project_skills, seed
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.records import sessions as records
from ctxrank.indexer.records.conversations import Conversation, read_conversation
from ctxrank.indexer.records.packages import get_package
from ctxrank.indexer.records.session_records import SessionRecord, session_records
from ctxrank.indexer.records.sessions import NewSession, Session, TaskGroup, find_session
from ctxrank.indexer.redaction.engine import RedactionMode, redact
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, shorten
from ctxrank.ranking.retrieval.cleaning import cleaned_task

_TITLE_CHARS = 200  # of a record in a session's list


def create_session(call: Call, store: Store, name: str, project: str, mode: str, **said: str) -> Reply:
    """Make a session; it keeps the project's skills configuration as it is now."""
    skills, trouble = project_skills(store.location.root)
    try:
        config = load_config(store)
    except CtxrankError:
        if not trouble:
            raise
        # The file also says how much to redact; unread, it may have said everything.
        config = store.last_config = Config(redaction_mode=RedactionMode.BOTH)
    rules = config.redaction_mode
    if trouble:
        call.note(f"no skills are seeded: {trouble}")
    text, branch = (redact(said[one], rules).text for one in ("requirements", "branch"))
    with store.write() as change:
        seed(change, skills, config.team, call.note)
        session_id = records.create_session(change, NewSession(name, project, mode, "active", text, branch))
    return Reply(lambda: {"id": session_id, "session_id": name, "project": project}, [f"Made session {one_line(name)}"])


def list_sessions(call: Call, store: Store, limit: int) -> Reply:
    """Read a page of sessions."""
    nothing = "no sessions. 'ctxrank session create NAME' makes one."
    return list_reply(call, records.list_sessions(store.primary, limit), "sessions", _session_line, nothing)


def _session_line(call: Call, session: Session) -> str:
    ended = "" if session.ended_at is None else f", ended {format_day(session.ended_at)}"
    about = facts(f"project {session.project}", session.status, f"began {format_day(session.created_at)}{ended}")
    first, *others = map(one_line, filter(None, (session.title, session.name)))
    return " · ".join((call.bold(first), *others, about))


def show_session(call: Call, store: Store, name: str, with_records: bool) -> Reply:
    """Read one session and count what it holds."""
    session = find_session(store.primary, name)
    groups = list(records.list_groups(store.primary, session.id))
    query = "SELECT kind, count(*) FROM documents WHERE session_id = ? AND session_id > 0 GROUP BY kind ORDER BY kind"
    counts = read_map(store.primary, query, (session.id,), str, int)
    found = session_records(store.primary, session.id) if with_records else []
    came_of = read_conversation(store.primary, session.id) if session.title else None
    mode = load_config(store).redaction_mode
    found = [one._replace(title=one_line(cleaned_task(one.title, mode))[:_TITLE_CHARS]) for one in found]
    if came_of is not None:
        came_of = came_of._replace(
            failures=tuple(one._replace(error=cleaned_task(one.error, mode)) for one in came_of.failures),
            decisions=tuple(cleaned_task(one, mode) for one in came_of.decisions),
        )
    return Reply(
        lambda: {
            "session": session, "groups": [group.name for group in groups], "documents": counts,
            **({"records": found} if with_records else {}), **({"conversation": came_of} if came_of else {}),
        },
        (
            *_session_lines(call, session, groups, counts), *(_conversation_lines(came_of) if came_of else ()),
            *(_record_line(call, one) for one in found),
        ),
    )  # fmt: skip


def _conversation_lines(came_of: Conversation) -> Iterator[str]:
    if came_of.changed:
        yield f"   changed: {one_line(', '.join(came_of.changed))}"
    for failure in came_of.failures:
        ended = "still open" if failure.resolved_at is None else f"over {format_us(failure.resolved_at)}"
        yield f"   failed: {facts(_line(failure.error), ended, _line(failure.ended_by))}"
    for decision in came_of.decisions:
        yield f"   decided: {_line(decision)}"


def _line(text: str) -> str:
    return shorten(one_line(text), _TITLE_CHARS)


def _record_line(call: Call, one: SessionRecord) -> str:
    about = facts(one.group, one.agent, one.title, f"of {one.of}" if one.of else "")
    return f"   {format_us(one.at)} {call.bold(one.kind)} {about}"


def _session_lines(call: Call, session: Session, groups: list[TaskGroup], counts: dict[str, int]) -> Iterator[str]:
    if session.title:
        yield call.bold(one_line(session.title))
    yield f"{call.bold(one_line(session.name))} · {one_line(session.project)} · {session.mode} · {session.status}"
    ended = "" if session.ended_at is None else f", ended {format_us(session.ended_at)}"
    # 'main' is not said.
    branch = "" if session.initial_branch == "main" else f", branch {one_line(session.initial_branch)}"
    yield f"   since {format_us(session.created_at)}{branch}{ended}"
    if session.requirements:
        yield f"   {one_line(session.requirements)}"
    named = ", ".join(f"{group.name} ({group.status})" for group in groups)
    yield f"   groups: {one_line(named) or 'none'}"
    yield f"   holds: {one_line(', '.join(f'{count} {kind}' for kind, count in counts.items())) or 'nothing'}"


def end_session(call: Call, store: Store, name: str, status: str) -> Reply:
    """Say that a session is over."""
    with store.write() as change:
        before = records.end_session(change, name, status.strip().lower())
    session = find_session(store.primary, name)
    done = f"is {session.status}" if before.status != session.status else f"was {session.status} before"
    said = f"{one_line(name)} {done}; it ended {format_us(session.ended_at or 0)}"
    return Reply(lambda: Extended(session, {"before": before.status}), [said])


def create_group(
    call: Call, store: Store, name: str, session: str, references: tuple[str, ...], create_session: bool, **said: str
) -> Reply:
    """Make a group."""
    numbers = [get_package(store.primary, local_ref(store.primary, one).number).id for one in references]
    said["title"] = redact(said["title"], load_config(store).redaction_mode).text
    with store.write() as change:
        owner = records.require_session(change, session, create=create_session)
        id_ = records.create_group(change, owner.id, name, context_references=id_list(numbers), **said)
    made = {"id": id_, "session_id": session, "group_id": name}
    return Reply(lambda: made, [f"Made group {one_line(name)} in {one_line(session)}"])


def set_status(call: Call, store: Store, name: str, status: str, session: str) -> Reply:
    """Say how far a group is."""
    wanted = status.strip().lower()
    with store.write() as change:
        before = records.set_group_status(change, session, name, wanted)
    answer = {"session_id": session, "group_id": name, "status": wanted, "before": before.status}
    return Reply(lambda: answer, [f"{one_line(name)} of {one_line(session)}: {before.status} → {wanted}"])


def list_groups(call: Call, store: Store, session: str) -> Reply:
    """Read the groups of a session."""
    found = records.list_groups(store.primary, find_session(store.primary, session).id)
    return list_reply(call, found, "groups", _group_line, "no groups.", session_id=session)


def _group_line(call: Call, group: TaskGroup) -> str:
    return f"{call.bold(one_line(group.name))} · {facts(group.status, group.title)}"
