"""`ctxrank group`: task groups of a session."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


@declare.group()
def command() -> None:
    """Task groups of a session."""


@command.command()
@declare.argument("name")
@declare.option("--session", required=True, help="The session it belongs to.")
@declare.option("--title", default="", help="What the group works on.")
@declare.option("--status", default="pending", show_default=True, help="pending, in_progress, completed …")
@declare.option("--reference", "references", multiple=True, help="A package of another group that it may see.")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
def create(
    call: Call,
    name: str,
    session: str,
    title: str,
    status: str,
    references: tuple[str, ...],
    create_session: bool,
) -> None:
    """Make a group; packages that name a new group make it too.

    Example: ctxrank group create AUTH --session shop-2026-11
    """
    from ctxrank.indexer.records.packages import get_package
    from ctxrank.indexer.records.sessions import create_group, require_session
    from ctxrank.indexer.redaction.engine import redact
    from ctxrank.indexer.store.config import load_config
    from ctxrank.indexer.store.documents import parse_ref

    with call.open() as store:
        numbers = tuple(get_package(store.truth, parse_ref(reference).number).id for reference in references)
        text = redact(title, load_config(store).redaction_mode).text
        with store.write() as change:
            owner = require_session(change, session, create=create_session)
            group_id = create_group(change, owner.id, name, title=text, status=status, context_references=numbers)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"id": group_id, "session_id": session, "group_id": name})
    else:
        print(f"Made group {shown(name)} in {shown(session)}")


@command.command("list")
@declare.option("--session", required=True, help="The session.")
def list_(call: Call, session: str) -> int:
    """List the groups of a session.

    Example: ctxrank group list --session shop-2026-11
    """
    from ctxrank.indexer.records.sessions import find_session, list_groups

    with call.open() as store:
        groups = list_groups(store.truth, find_session(store.truth, session).id)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "session_id": session,
                "groups": [
                    {
                        "group_id": group.name,
                        "title": group.title,
                        "status": group.status,
                        "context_references": list(group.context_references),
                    }
                    for group in groups
                ],
            },
            outcome="matched" if groups else "no_match",
        )
    else:
        for group in groups:
            title = f" · {group.title}" if group.title else ""
            print(f"{call.bold(shown(group.name))} · {shown(f'{group.status}{title}')}")
        if not groups:
            call.note("no groups.")
    return 0 if groups else 1
