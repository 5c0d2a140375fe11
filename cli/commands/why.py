"""`ctxrank why`: why a document was in a block, or was not."""

import re

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.receipts import Receipt
    from ctxrank.indexer.store.store import Store
    from ctxrank.ranking.context.why import Why

_LINKED = re.compile(r"linked:\d{1,15}|[A-Za-z]+(-[A-Za-z0-9]+)+")


@declare.command()
@declare.argument("document", metavar="ID")
@declare.option(
    "--receipt", "receipt_id", type=declare.Whole(), help="In which assembly [default: the newest that fits]."
)
@declare.option("--session", help="The newest of this session.")
@declare.option("--group", help="The newest of this group.")
@declare.option("--agent", help="The newest for this agent.")
@declare.option("--task", metavar="TASK", help="The newest context of this task of .contextia/.")
def command(
    call: Call,
    document: str,
    receipt_id: int | None,
    session: str | None,
    group: str | None,
    agent: str | None,
    task: str | None,
) -> None:
    """Say why a document was in the newest block, or why it was not.

    An artifact of .contextia/ is asked for by its own id: SPEC-BILLING-001.

    Example: ctxrank why package:12 --session S --group AUTH
    """
    from ctxrank.indexer.records.receipts import get_receipt, list_receipts

    with call.open() as store:
        is_linked = _LINKED.fullmatch(document.strip()) is not None or task is not None
        if receipt_id is not None:
            receipt = get_receipt(store.truth, receipt_id)
        else:
            found = list_receipts(store.truth, session=session, group=group, agent=agent)
            receipt = _newest(found, task, is_linked=is_linked)
        answer = _why_linked(store, document, receipt) if is_linked else _why(store, document, receipt)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "id": answer.id, "receipt": receipt.id, "included": answer.is_included,
                "detail": answer.detail or None, "tokens": answer.tokens, "reasons": list(answer.reasons),
            }
        )  # fmt: skip
        return
    where = f"the {'context' if receipt.kind == 'context' else 'block'} of receipt {receipt.id}"
    if answer.is_included:
        print(f"{shown(answer.id)} is in {where}: {answer.detail}, {answer.tokens} tokens")
    else:
        print(f"{shown(answer.id)} is not in {where}")
    for reason in answer.reasons:
        print(f"   {shown(reason)}")


def _newest(receipts: "list[Receipt]", task: str | None, *, is_linked: bool) -> "Receipt":
    """The newest receipt that could name the document."""
    from ctxrank.indexer.exceptions import NotFoundError

    for receipt in receipts:
        if is_linked:
            fits = receipt.task_id and (task is None or receipt.task_id.lower() == task.lower())
        else:
            fits = receipt.kind == "assemble"
        if fits:
            return receipt
    if is_linked:
        raise NotFoundError(
            f"There is no receipt of a context{f' of {task!a}' if task else ''}.", "Each 'ctxrank context' leaves one."
        )
    raise NotFoundError("There is no such receipt.", "Each 'ctxrank assemble' leaves one.")


def _why(store: "Store", document: str, receipt: "Receipt") -> "Why":
    from ctxrank.indexer.store.documents import parse_ref
    from ctxrank.ranking.context.why import why

    return why(store, parse_ref(document), receipt)


def _why_linked(store: "Store", document: str, receipt: "Receipt") -> "Why":
    from ctxrank.indexer.exceptions import NotFoundError
    from ctxrank.ranking.context.why import why

    kind, _, number = document.strip().partition(":")
    if kind == "linked" and number:
        row = store.truth.execute("SELECT name FROM linked_artifacts WHERE id = ?", (int(number),)).fetchone()
        if row is None or not row[0]:
            raise NotFoundError(f"There is no {document} with an id of its own.", "'ctxrank search' shows ids.")
        document = str(row[0])
    return why(store, document.strip(), receipt)
