"""`ctxrank package`, `session` and `group`: findings, and what they belong to."""

from ctxrank.cli.commands.kinds import GROUPS, PACKAGE_SHOW, PACKAGES, SESSION_SHOW, SESSIONS
from ctxrank.cli.commands.options import (
    CREATE_SESSION,
    DURABLE,
    OWNING_GROUP,
    OWNING_SESSION,
    SESSION,
)
from ctxrank.cli.commands.save import SAVED_PACKAGE
from ctxrank.cli.declare import Command, Group, Path, Whole, argument, by_name, option

_PACKAGE_SAVE = Command(
    "save",
    "ctxrank.cli.actions.packages:save",
    """Save a package and index its FILE (relative to the root); a known file becomes its next version.

    With - for FILE the text comes from stdin and is kept in the store, under --title. An agent or type that the
    configuration does not know is kept, with a note.

    Example: ctxrank package save notes/locks.md --session S --group QUEUE --type research
    --producer investigator --priority high --summary "WAL switch ignores the busy timeout"
    """,
    (
        argument("path", type=Path(), metavar="FILE"),
        option("--title", help="The title [default: the file's first heading, or its name]."),
        OWNING_SESSION,
        OWNING_GROUP,
        option(
            "--type", "type_", required=True, help="research, failures, decisions, handoff, investigation, or your own."
        ),
        option("--producer", required=True, help="The agent that found it."),
        option("--summary", required=True, help="One line that says what is in it; stored whole."),
        option("--priority", default="medium", show_default=True, help="low, medium, high or critical."),
        option("--scope", help="group or global [default: group if there is a group]."),
        option("--consumer", "consumers", multiple=True, help="An agent it is meant for [default: by its type]."),
        CREATE_SESSION,
        DURABLE,
    ),
    answer=SAVED_PACKAGE,
)
_PACKAGE_SUPERSEDE = Command(
    "supersede",
    "ctxrank.cli.actions.packages:supersede",
    """Say that package OLD is replaced by package NEW of the same session.

    Example: ctxrank package supersede 12 --by 31
    """,
    (
        argument("old_id", metavar="OLD"),
        option("--by", "new_id", required=True, metavar="NEW", help="The package that replaces it."),
    ),
    answer={"superseded": "integer", "by": "integer"},
)
_PACKAGE_CONSUME = Command(
    "consume",
    "ctxrank.cli.actions.packages:consume",
    """Record that an agent has taken a package; the package must be meant for it.

    Example: ctxrank package consume 12 --agent developer
    """,
    (
        argument("package_id", metavar="ID"),
        option("--agent", required=True, help="Who has taken it."),
        option("--iteration", type=Whole(0), default=0, show_default=True, help="Number of the attempt."),
    ),
    answer={"package": "row", "agent": "string", "iteration": "integer", "recorded": "boolean"},
)
_PACKAGE = Group(
    "package",
    "Context packages: a finding with a file, a summary, a priority and the agents it is meant for.",
    (_PACKAGE_SAVE, PACKAGES, PACKAGE_SHOW, _PACKAGE_SUPERSEDE, _PACKAGE_CONSUME),
)
_SESSION_CREATE = Command(
    "create",
    "ctxrank.cli.actions.sessions:create_session",
    """Make a session, with a copy of the skills configuration as it is now.

    Example: ctxrank session create shop-2026-11 --project shop
    """,
    (
        argument("name"),
        option("--project", default="default", show_default=True, help="The project that the session belongs to."),
        option("--mode", default="simple", show_default=True, help="simple or parallel."),
        option("--requirements", default="", help="What the session is about."),
        option("--branch", default="main", show_default=True, help="The branch it started on."),
    ),
    answer={"id": "row", "session_id": "string", "project": "string"},
)
_SESSION_END = Command(
    "end",
    "ctxrank.cli.actions.sessions:end_session",
    """Say that a session is over: lists and blocks show it, and prune may take it when it is old.

    Example: ctxrank session end shop-2026-11
    """,
    (
        argument("name"),
        option("--status", default="completed", show_default=True, help="completed or failed."),
    ),
    answer={"session_id": "string", "status": ("completed", "failed"), "before": "string", "ended_at": "time"},
)
_SESSION = Group("session", "Sessions of a team.", (_SESSION_CREATE, SESSIONS, SESSION_SHOW, _SESSION_END))
_GROUP_CREATE = Command(
    "create",
    "ctxrank.cli.actions.sessions:create_group",
    """Make a group; packages that name a new group make it too.

    Example: ctxrank group create AUTH --session shop-2026-11
    """,
    (
        argument("name"),
        OWNING_SESSION,
        option("--title", default="", help="What the group works on."),
        option("--status", default="pending", show_default=True, help="pending, in_progress, completed …"),
        option("--reference", "references", multiple=True, help="A package of another group that it may see."),
        CREATE_SESSION,
    ),
    answer={"id": "row", "session_id": "string", "group_id": "string"},
)
_GROUP_STATUS = Command(
    "status",
    "ctxrank.cli.actions.sessions:set_status",
    """Say how far a group is: pending, in_progress, completed, failed, approved_pending_merge or merging.

    Example: ctxrank group status AUTH completed --session shop-2026-11
    """,
    (argument("name"), argument("status"), SESSION),
    answer={"session_id": "string", "group_id": "string", "status": "string", "before": "string"},
)
_GROUP = Group("group", "Task groups of a session.", (_GROUP_CREATE, GROUPS, _GROUP_STATUS))

COMMANDS = by_name(_PACKAGE, _SESSION, _GROUP)
