"""`ctxrank wide`: the index of a store in an OpenSearch cluster, for one that is too large for a disk."""

from ctxrank.cli.declare import WIDE, Command, Group, by_name, option

_SENT = {"index": "string", "changed": "integer", "unchanged": "integer", "waits": "integer"}

_SYNC = Command(
    "sync",
    "ctxrank.cli.actions.upkeep.wide:sync",
    """Send the cluster what its index is missing of this store.

    CTXRANK_WIDE, or wide: in your own config.yaml, says where the cluster is. A search sends a few changes itself.
    The first run makes the index; one that is ended goes on where it stopped.

    Example: ctxrank wide sync
    """,
    (option("--rebuild", is_flag=True, help="Remove the index first, and send everything."),),
    answer=_SENT,
)
_STATUS = Command(
    "status",
    "ctxrank.cli.actions.upkeep.wide:status",
    """Ask the cluster how far its index is, and how large.

    Example: ctxrank wide status
    """,
    answer=WIDE,
)
_FORGET = Command(
    "forget",
    "ctxrank.cli.actions.upkeep.wide:forget",
    """Rid the files of the cluster of what was deleted.

    After 'ctxrank purge': sends deletions, then merges the whole index, which may take long. Snapshots of the
    cluster are out of reach.

    Example: ctxrank wide forget
    """,
    answer=_SENT,
)
_WIDE = Group(
    "wide",
    "Search in an OpenSearch cluster what is too large for a disk; the store itself stays here.",
    (_SYNC, _STATUS, _FORGET),
)

COMMANDS = by_name(_WIDE)
