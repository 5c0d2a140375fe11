"""`ctxrank team`: one memory for a team, by a log on PostgreSQL."""

from ctxrank.cli.declare import TEAM, AnyOf, Command, Group, Path, argument, by_name, option

_SYNCED = {
    **TEAM, "pushed": "integer", "pulled": "integer", "forgotten": "boolean", "erased": "boolean",
    "skipped": "integer",
}  # fmt: skip
_FORGETTING = {0: "done", 7: "not yet purged: another process reads the store"}

_INIT = Command(
    "init",
    "ctxrank.extensions.team.actions:init",
    """Make the log in the database of CTXRANK_TEAM, a project in it, and a role for each machine; or upgrade it.

    For the database's administrator, once. A new role's password is printed once, and kept nowhere.

    Example: ctxrank team init shop --machine anna --machine ben
    """,
    (
        argument("project", metavar="PROJECT"),
        option(
            "--machine", "machines", multiple=True, metavar="ROLE", help="Admit this role; made if it is not there."
        ),
    ),
    answer={
        "created": "boolean",
        "project": "string",
        "project_created": "boolean",
        "machines": [{"role": "string", "password": "string?"}],
    },
)
_JOIN = Command(
    "join",
    "ctxrank.extensions.team.actions:join",
    """Share this store with a project of the log, and exchange for the first time.

    CTXRANK_TEAM, or team: in your own config.yaml, says how the log is connected to. A role speaks for one store.

    Example: ctxrank team join shop
    """,
    (
        argument("project", metavar="PROJECT"),
        option("--snapshot", type=Path(), metavar="FILE", help="Begin with what 'team snapshot' wrote."),
    ),
    answer={**_SYNCED, "history": "string", "snapshot?": {"taken": "integer", "refused": "integer"}},
    exits=_FORGETTING,
)
_STATUS = Command(
    "status",
    "ctxrank.extensions.team.actions:status",
    """Say how far this store is with the log, from what it knows: nothing is asked over the network.

    Example: ctxrank team status
    """,
    (
        option(
            "--unconfirmed",
            is_flag=True,
            help="Instead, ask which machines have not confirmed that they have forgotten what was purged.",
        ),
    ),
    answer=AnyOf(
        {**TEAM, "head": "integer", "outbox": "integer", "process": "integer?"},
        {
            "machines": "integer",
            "unconfirmed": [{"machine": "string", "orders": "integer", "seen_at": "time?", "this": "boolean"}],
        },
    ),
    exits={0: "said; all have confirmed", 7: "some have not"},
)
_SYNC = Command(
    "sync",
    "ctxrank.extensions.team.actions:sync",
    """Push and pull now, and wait for it. Other commands do so in the background.

    Example: ctxrank team sync
    """,
    (
        option(
            "--follow", is_flag=True, help="Stay in step until SIGTERM or Ctrl-C: a line for each exchange, never JSON."
        ),
    ),
    answer=_SYNCED,
    exits=_FORGETTING,
)
_LEAVE = Command(
    "leave",
    "ctxrank.extensions.team.actions:leave",
    """Share no more. What came stays here, and what was written stays in the log.

    Example: ctxrank team leave
    """,
    answer={"project": "string", "told": "boolean"},
)
_SNAPSHOT = Command(
    "snapshot",
    "ctxrank.extensions.team.actions:snapshot",
    """Write the project's lines to FILE, for 'team join --snapshot' on a new machine.

    They stay sealed: the log alone has their keys, and what is forgotten later is forgotten in FILE, too.

    Example: ctxrank team snapshot shop.snapshot
    """,
    (argument("file", type=Path(), metavar="FILE"),),
    answer={"file": "string", "lines": "integer", "change": "integer"},
)
_TEAM = Group(
    "team",
    "Share one memory with other machines: a log on PostgreSQL, answers from each machine's own store.",
    (_INIT, _JOIN, _STATUS, _SYNC, _LEAVE, _SNAPSHOT),
)

COMMANDS = by_name(_TEAM)
