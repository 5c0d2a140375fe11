"""A note where a call names a group that the session does not have."""

from ctxrank.cli.call import Call
from ctxrank.indexer.records.sessions import Session, find_group, is_session_wide, list_groups
from ctxrank.indexer.store.store import Store

_NAMED = 10


def note_unknown_group(call: Call, store: Store, session: Session, group: str | None) -> None:
    """Say that a session has no such group, and which ones it has; nothing where it has it."""
    if group is None or is_session_wide(group) or find_group(store.primary, session.id, group) is not None:
        return
    names = [known.name for known in list_groups(store.primary, session.id)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    has = f"it has {', '.join(names[:_NAMED])}{more}" if names else "it has none"
    call.note(f"{session.name} has no group '{group}'; {has}.")
