"""`ctxrank wide`: the index of a store in an OpenSearch cluster, for one that is too large for a disk."""

from ctxrank.cli.declare import Command, Group, by_name, option

_SENT = {
    "index": "string", "changed": "integer", "unchanged": "integer", "waits": "integer",
    "refused": [{"id": "string", "reason": "string"}],
}  # fmt: skip

_SYNC = Command(
    "sync",
    "ctxrank.extensions.opensearch.actions:sync",
    """Send the cluster what its index is missing of this store.

    CTXRANK_WIDE, or wide: in your own config.yaml, says where the cluster is. A search sends a few changes itself.
    The first run makes the index; one that is ended goes on where it stopped. A document that the cluster refuses
    is set aside and named (6), and the others are sent.

    Example: ctxrank wide sync
    """,
    (
        option("--rebuild", is_flag=True, help="Remove the index first, and send everything."),
        option(
            "--forget",
            is_flag=True,
            help="After a purge: rid the cluster's files of what was deleted. Merges the whole index, which may take"
            " long; snapshots of the cluster are out of reach.",
        ),
    ),
    answer=_SENT,
    exits={0: "done", 6: "done but for documents that were refused and set aside"},
)
_WIDE = Group(
    "wide",
    "Search in an OpenSearch cluster what is too large for a disk; the store itself stays here.",
    (_SYNC,),
)

COMMANDS = by_name(_WIDE)
