"""`ctxrank receipt` and `why`: what an assembly was asked, saw and gave, and why."""

from ctxrank.cli.commands.kinds import RECEIPT_ENTRY_FIELDS, RECEIPT_LIST, RECEIPT_SHOW
from ctxrank.cli.declare import Command, Group, Whole, argument, by_name, option

_RECEIPT_REPLAY = Command(
    "replay",
    "ctxrank.cli.actions.receipts:replay",
    """Replay an assembly: the same bytes, or each input that has changed since; 1 if one has.

    Example: ctxrank receipt replay 12
    """,
    (
        argument("receipt_id", type=Whole(), metavar="ID"),
        option("--text", "is_text", is_flag=True, help="Print the block as it would be now."),
    ),
    answer={"receipt": "integer", "same": "boolean", "changes": ["string"], "text": "string"},
    exits={0: "the same bytes", 1: "other bytes"},
)
_RECEIPT_DIFF = Command(
    "diff",
    "ctxrank.cli.actions.receipts:diff",
    """Show how receipt OTHER differs from receipt ONE; 1 if it does not.

    Example: ctxrank receipt diff 12 15
    """,
    (
        argument("one", type=Whole()),
        argument("other", type=Whole()),
    ),
    answer={
        "inputs": [{"name": "string", "one": "string", "other": "string"}],
        "added": [RECEIPT_ENTRY_FIELDS],
        "removed": [RECEIPT_ENTRY_FIELDS],
        "changed": [{"one": RECEIPT_ENTRY_FIELDS, "other": RECEIPT_ENTRY_FIELDS}],
    },
    exits={0: "they differ", 1: "nothing differs"},
)
_RECEIPT = Group(
    "receipt",
    "Receipts: every assembly and context leaves one; the newest fifty of each group and task are kept.",
    (RECEIPT_LIST, RECEIPT_SHOW, _RECEIPT_REPLAY, _RECEIPT_DIFF),
)
_WHY = Command(
    "why",
    "ctxrank.cli.actions.documents:why",
    """Say why a document was in the newest block, or why it was not.

    An artifact of .contextia/ is asked for by its own id: SPEC-BILLING-001.

    Example: ctxrank why package:12 --session S --group AUTH
    """,
    (
        argument("document", metavar="ID"),
        option("--receipt", "receipt_id", type=Whole(), help="In which assembly [default: the newest that fits]."),
        option("--session", help="The newest of this session."),
        option("--group", help="The newest of this group."),
        option("--agent", help="The newest for this agent."),
        option("--task", metavar="TASK", help="The newest context of this task of .contextia/."),
    ),
    answer={
        "id": "string",
        "receipt": "integer",
        "included": "boolean",
        "detail": "string?",
        "tokens": "integer",
        "reasons": ["string"],
    },
)

COMMANDS = by_name(_RECEIPT, _WHY)
