"""`ctxrank receipt` and `why`: what an assembly was asked, saw and gave, and why."""

from ctxrank.cli.declare import FOUND, AnyOf, Command, Group, Whole, argument, by_name, option, page

_RECEIPT_FIELDS = {
    "id": "integer", "kind": ("assemble", "context"), "session_id": "string?", "group_id": "string?",
    "agent": "string", "iteration": "integer", "tokens": "integer", "digest": "string", "created_at": "time",
}  # fmt: skip
_ENTRY_FIELDS = {
    "id": "string", "included": "boolean", "detail": "string?", "tokens": "integer", "reason": "string"
}  # fmt: skip

_INJECTION_FIELDS = {
    "id": "integer", "event": "string", "session_id": "string", "group_id": "string?", "documents": ["string"],
    "tokens": "integer", "characters": "integer", "receipt": "integer?", "created_at": "time",
}  # fmt: skip

_RECEIPT_LIST = Command(
    "list",
    "ctxrank.cli.actions.receipts:list_",
    """List receipts, the newest first.

    Example: ctxrank receipt list --session S --group AUTH
    """,
    (
        option("--session", help="Only of this session."),
        option("--group", help="Only of this group."),
        option("--agent", help="Only for this agent."),
        option("--hook", "of_hooks", is_flag=True, help="What 'ctxrank hook' put before a model, instead."),
        option("-n", "--limit", type=Whole(1), default=20, show_default=True, help="How many."),
    ),
    answer=AnyOf(page("receipts", _RECEIPT_FIELDS), page("injections", _INJECTION_FIELDS)),
    exits=FOUND,
)
_RECEIPT_SHOW = Command(
    "show",
    "ctxrank.cli.actions.receipts:show",
    """Show one receipt: what was asked, what went in, what was left out and why.

    Example: ctxrank receipt show 12
    """,
    (argument("receipt_id", type=Whole(), metavar="ID"),),
    answer={"receipt": {**_RECEIPT_FIELDS, "inputs": {"*": "string"}, "entries": [_ENTRY_FIELDS]}},
)
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
        "added": [_ENTRY_FIELDS],
        "removed": [_ENTRY_FIELDS],
        "changed": [{"one": _ENTRY_FIELDS, "other": _ENTRY_FIELDS}],
    },
    exits={0: "they differ", 1: "nothing differs"},
)
_RECEIPT = Group(
    "receipt",
    "Receipts: every assembly and context leaves one; the newest fifty of each group and task are kept.",
    (_RECEIPT_LIST, _RECEIPT_SHOW, _RECEIPT_REPLAY, _RECEIPT_DIFF),
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
