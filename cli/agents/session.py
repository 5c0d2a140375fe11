"""A runner's session in the store: made on first use, and the group that the checked-out branch is."""

import os

from ctxrank.cli.agents.event import Event
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.injections import Injection, note_injection
from ctxrank.indexer.records.sessions import (
    NewSession,
    Session,
    create_session,
    find_session,
    has_session,
    project_in_force,
    require_group,
)
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.hook_settings import HookSettings
from ctxrank.indexer.store.store import Change, Store

if TYPE_CHECKING:
    from typing import Protocol

_MAX_HEAD_BYTES = 4096
_BRANCH = "ref: refs/heads/"
# What is worked on there is the whole project, not one task of it.
_MAIN_BRANCHES = ("main", "master", "trunk", "develop")


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
        name, project = self.event.session, self.project
        if not has_session(self.store.primary, name):
            with self.store.write() as change:
                if not has_session(change.connection, name):  # hooks of one event run at the same time
                    create_session(change, NewSession(name, project))
        return find_session(self.store.primary, name)

    @property
    def project(self) -> str:
        """The session's project, else the one that all of the store's sessions name."""
        return project_in_force(self.store.primary, None, self.event.session)

    def role_of(self, agent_type: str) -> str:
        """The role of a runner's agent."""
        return role_of(self.config, self.settings, agent_type)

    def group_id(self, change: Change, session_id: int) -> int | None:
        """The group's row, made if it is new; None where the branch's name cannot be a group's."""
        if self.group is None:
            return None
        try:
            return require_group(change, session_id, self.group)
        except UsageError:
            return None

    def note(self, injection: Injection, text: str) -> None:
        """Remember what goes before the model. Raises LockedError: what cannot be noted is not said."""
        session = self.session
        with self.store.write() as change:
            note_injection(change, session.id, self.group_id(change, session.id), injection, text)


def role_of(config: Config, settings: HookSettings, agent_type: str) -> str:
    """The role of a runner's agent; a type that no configuration names is a role's own name, or a developer."""
    from ctxrank.indexer.agents import fold_agent  # noqa: PLC0415  most events name no agent

    role = fold_agent(settings.roles.get(agent_type, agent_type))
    return role if config.team.knows(role) or agent_type in settings.roles else "developer"


def is_main_branch(branch: str) -> bool:
    """Whether what is worked on there is the whole project, not one task of it."""
    return branch in _MAIN_BRANCHES


def branch_of(root: str) -> str | None:
    """The branch that is checked out in a folder's git tree, unless it is a main one; None for none."""
    top = os.path.realpath(root)
    while not os.path.lexists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    head = _head_of(top)
    branch = head.removeprefix(_BRANCH)
    is_branch = head.startswith(_BRANCH) and not is_main_branch(branch) and branch.isprintable()
    return branch if is_branch else None


def _head_of(top: str) -> str:
    """What HEAD of a checkout says, '' where that cannot be read; a `.git` file is followed where that leads back."""
    folder = os.path.join(top, ".git")
    if os.path.isdir(folder) and not os.path.islink(folder):
        return _first_line(folder, "HEAD")
    own = os.path.normpath(os.path.join(top, _first_line(top, ".git").removeprefix("gitdir:").strip()))
    back = os.path.realpath(os.path.join(own, _first_line(own, "gitdir")))
    return _first_line(own, "HEAD") if back == os.path.join(top, ".git") else ""


def _first_line(folder: str, path: str) -> str:
    from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  loaded by every answer later on

    try:
        return read_beneath(folder, path, _MAX_HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""


if TYPE_CHECKING:

    class Importer(Protocol):
        """The port of what reads a runner's transcripts; without it a session's end keeps nothing."""

        def on_session_end(self, call: HookCall) -> None:
            """Take in what the session that ends has left. Raises CtxrankError; the hook logs it."""
            ...
