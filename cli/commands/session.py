"""`ctxrank session`: what packages hang on."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.sessions import Session
    from ctxrank.indexer.store.store import Change


@declare.group()
def command() -> None:
    """Sessions of a team."""


@command.command()
@declare.argument("name")
@declare.option("--project", default="default", show_default=True, help="Ties sessions of one project together.")
@declare.option("--mode", default="simple", show_default=True, help="simple or parallel.")
@declare.option("--requirements", default="", help="What the session is about.")
@declare.option("--branch", default="main", show_default=True, help="The branch it started on.")
def create(call: Call, name: str, project: str, mode: str, requirements: str, branch: str) -> None:
    """Make a session, with a copy of the skills configuration as it is now.

    Example: ctxrank session create shop-2026-11 --project shop
    """
    from ctxrank.indexer.exceptions import CtxrankError
    from ctxrank.indexer.records.sessions import NewSession, create_session
    from ctxrank.indexer.redaction.engine import RedactionMode, redact
    from ctxrank.indexer.store.config import load_config

    with call.open() as store:
        skills, trouble = _project_skills(store.location.root)
        try:
            rules = load_config(store).redaction_mode
        except CtxrankError:
            if not trouble:
                raise
            # The file also says how much to redact; unread, it may have said everything.
            rules = RedactionMode.BOTH
        if trouble:
            call.note(f"no skills are seeded: {trouble}")
        text, branch = redact(requirements, rules).text, redact(branch, rules).text
        with store.write() as change:
            _seed(call, change, skills)
            session_id = create_session(change, NewSession(name, project, mode, "active", text, branch))
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"id": session_id, "session_id": name, "project": project})
    else:
        print(f"Made session {shown(name)}")


def _project_skills(root: str) -> tuple[object, str]:
    """What the project's skills configuration says, None if there is none; and why it cannot be used."""
    import os

    from ctxrank.indexer.records.skills_config import SKILLS_CONFIG_PATH

    path = os.path.join(root, SKILLS_CONFIG_PATH)
    if not os.path.exists(path):
        return None, ""
    from ctxrank.indexer.exceptions import CtxrankError
    from ctxrank.indexer.store.config_file import read_config_file

    try:
        return read_config_file(path, within=root)[0], ""
    except CtxrankError as error:
        return None, error.message


def _seed(call: Call, change: "Change", skills: object) -> None:
    if skills is None:
        return
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.records.skills_config import SKILLS_CONFIG_PATH, seed_from_project

    try:
        seeded = seed_from_project(change, skills)
    except UsageError as error:
        call.note(f"no skills are seeded from {SKILLS_CONFIG_PATH}: {error.message} {error.hint}")
        return
    for note in seeded.notes if seeded else ():
        call.note(f"{SKILLS_CONFIG_PATH}: {note}")


@command.command("list")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
def list_(call: Call, limit: int) -> int:
    """List sessions, the newest first.

    Example: ctxrank session list
    """
    from ctxrank.indexer.clock import format_day
    from ctxrank.indexer.records.sessions import list_sessions

    with call.open() as store:
        sessions = list_sessions(store.truth, limit)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"sessions": [_session_json(session) for session in sessions]},
            outcome="matched" if sessions else "no_match",
        )
        return 0 if sessions else 1
    for session in sessions:
        about = shown(f"{session.project} · {session.status} · {format_day(session.created_at)}")
        print(f"{call.bold(shown(session.name))} · {about}")
    if not sessions:
        call.note("no sessions.")
    return 0 if sessions else 1


@command.command()
@declare.argument("name")
def show(call: Call, name: str) -> None:
    """Show one session with its groups and how much it holds.

    Example: ctxrank session show shop-2026-11
    """
    from ctxrank.indexer.clock import format_us
    from ctxrank.indexer.records.sessions import find_session, list_groups

    with call.open() as store:
        session = find_session(store.truth, name)
        groups = list_groups(store.truth, session.id)
        counts = {
            str(kind): int(count)
            for kind, count in store.truth.execute(
                "SELECT kind, count(*) FROM documents WHERE session_id = ? GROUP BY kind ORDER BY kind", (session.id,)
            )
        }
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"session": _session_json(session), "groups": [group.name for group in groups], "documents": counts})
        return
    print(f"{call.bold(shown(session.name))} · {shown(session.project)} · {session.mode} · {session.status}")
    print(f"   since {format_us(session.created_at)}, branch {shown(session.initial_branch)}")
    if session.requirements:
        print(f"   {shown(session.requirements)}")
    print(f"   groups: {shown(', '.join(group.name for group in groups)) or 'none'}")
    print(f"   holds: {shown(', '.join(f'{count} {kind}' for kind, count in counts.items())) or 'nothing'}")


def _session_json(session: "Session") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    value: dict[str, object] = session._asdict()
    value["session_id"] = value.pop("name")
    value["created_at"] = format_us(session.created_at)
    value["ended_at"] = None if session.ended_at is None else format_us(session.ended_at)
    return value
