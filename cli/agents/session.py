"""A runner's session in the store: made on first use, and the group that the checked-out branch is."""

import os

from ctxrank.cli.agents.event import Event
from ctxrank.cli.agents.injected_text import reference, tokens_of
from ctxrank.indexer.beneath import read_beneath
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.injections import Injection, note_injection, shown_ids
from ctxrank.indexer.records.sessions import (
    Session,
    find_session,
    has_session,
    project_in_force,
    require_group,
    require_session,
    session_id_of,
)
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.freshness import has_roots, in_checkout
from ctxrank.indexer.store.hook_settings import HookSettings
from ctxrank.indexer.store.ids import public_id, whose
from ctxrank.indexer.store.location import checkout_of, git_folder
from ctxrank.indexer.store.store import Change, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxrank.indexer.store.parents import ParentDocument

_MAX_HEAD_BYTES = 4096
_BRANCH = "ref: refs/heads/"
# What is worked on there is the whole project, not one task of it; HEAD is no branch.
_MAIN_BRANCHES = ("main", "master", "trunk", "develop", "HEAD")


class HookCall(NamedTuple):
    """What all answers to one event share. `group` is None on a main branch, and outside a git tree."""

    store: Store
    event: Event
    config: Config
    settings: HookSettings
    group: str | None

    @property
    def session(self) -> Session:
        """The session, made if it is new. Raises UsageError for a name that is none, LockedError."""
        if not has_session(self.store.primary, self.event.session):
            with self.store.write() as change:  # looks again: hooks of one event run at the same time
                return require_session(change, self.event.session, create=True, project=self.project)
        return find_session(self.store.primary, self.event.session)

    @property
    def project(self) -> str:
        """The session's project, else the one that all of the store's sessions name."""
        return project_in_force(self.store.primary, None, self.event.session)

    @property
    def shown(self) -> frozenset[str]:
        """The ids of what the event's agent was shown in this session already."""
        session_id = session_id_of(self.store.primary, self.event.session) or 0  # which no session has
        return shown_ids(self.store.primary, session_id, self.agent_id, self.event.name)

    def news_filter(self) -> "Callable[[ParentDocument], bool]":
        """Whether a finding is said unasked: one that the agent was not shown, and that may be (unconfirmed.py)."""
        from ctxrank.indexer.records.unconfirmed import may_be_said  # noqa: PLC0415  a success says no finding

        shown, project, primary = self.shown, self.project, self.store.primary
        return lambda one: public_id(one.kind, one.number) not in shown and may_be_said(primary, one, project)

    @property
    def agent_id(self) -> str:
        """The runner's id of the spawned agent that the event is of; '' for the main one."""
        return self.event.text("agent_id")

    @property
    def agent_type(self) -> str:
        """The runner's name for the spawned agent that stops or has written; '' for the main one."""
        return self.event.text("agent_type") if self.event.name in ("SubagentStop", "PostToolUse") else ""

    def say(self, heading: str, items: list[tuple[str, str]], max_tokens: int) -> str:
        """What goes before the model: as many items (id, text) as have room, noted; '' where none has."""
        text, count = reference(heading, [item for _, item in items], max_tokens)
        if text:
            ids = tuple(id_ for id_, _ in items[:count] if id_)
            self.note(Injection(self.event.name, ids, tokens_of(text), len(text), agent=self.agent_id), text)
        return text

    def note(self, injection: Injection, text: str) -> None:
        """Remember what goes before the model. Raises LockedError: what cannot be noted is not said."""
        session_id = self.session.id
        with self.store.write() as change:
            self.note_in(change, session_id, injection, text)

    def note_in(self, change: Change, session_id: int, injection: Injection, text: str) -> None:
        """The same, with what else is written down."""
        note_injection(change, session_id, group_id(change, session_id, self.group), injection, text)


def origin_of(store: Store, document_id: int, number: int) -> str:
    """Whose a finding is, and in which checkout its file, where it is another's than the one that asks; '' mostly."""
    folder = ""
    if has_roots(store.primary):
        from ctxrank.ranking.retrieval.checkouts import files_elsewhere  # noqa: PLC0415  most projects have one checkout

        folder = files_elsewhere(store, [document_id]).others.get(document_id, "")
    return " · ".join(filter(None, (whose(store.primary, number), in_checkout(folder))))


def group_id(change: Change, session_id: int, group: str | None) -> int | None:
    """A group's row, made if it is new; None for None, and where a branch's name cannot be a group's."""
    if group is None:
        return None
    try:
        return require_group(change, session_id, group)
    except UsageError:
        return None


def role_of(config: Config, settings: HookSettings, agent_type: str) -> str:
    """The role of a runner's agent; a type that no configuration names is a role's own name, or a developer."""
    from ctxrank.indexer.agents import fold_agent  # noqa: PLC0415  most events name no agent

    role = fold_agent(settings.roles.get(agent_type, agent_type))
    return role if config.team.knows(role) or agent_type in settings.roles else "developer"


def group_of(branch: str) -> str | None:
    """The group that a branch is; None for a main one, and for what cannot be a name."""
    # Where git keeps its refs in another form than files, HEAD says `.invalid`: no branch begins so.
    is_none = not branch or branch.startswith(".") or branch in _MAIN_BRANCHES or not branch.isprintable()
    return None if is_none else branch


def branch_of(root: str) -> str | None:
    """The branch that is checked out in a folder's git tree, unless it is a main one; None for none."""
    top = checkout_of(os.path.realpath(root))
    own = git_folder(top) if top else ""
    try:
        head = read_beneath(own, "HEAD", _MAX_HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].strip()
    except (OSError, ValueError):
        return None
    return group_of(head.removeprefix(_BRANCH)) if head.startswith(_BRANCH) else None
