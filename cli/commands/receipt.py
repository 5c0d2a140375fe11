"""`ctxrank receipt`: what an assembly was asked, saw and gave; made again, and held against another."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.receipts import Entry, Receipt


@declare.group()
def command() -> None:
    """Receipts: every assembly and context leaves one; the newest fifty of each group and task are kept."""


@command.command("list")
@declare.option("--session", help="Only of this session.")
@declare.option("--group", help="Only of this group.")
@declare.option("--agent", help="Only for this agent.")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
def list_(call: Call, session: str | None, group: str | None, agent: str | None, limit: int) -> int:
    """List receipts, the newest first.

    Example: ctxrank receipt list --session S --group AUTH
    """
    from ctxrank.indexer.records.receipts import list_receipts
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        if session is not None:
            find_session(store.truth, session)
        receipts = list_receipts(store.truth, session=session, group=group, agent=agent, limit=limit)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(receipts), "receipts": [_receipt_json(receipt, is_whole=False) for receipt in receipts]},
            outcome="matched" if receipts else "no_match",
        )
    else:
        for receipt in receipts:
            print(_line(call, receipt))
        if not receipts:
            call.note("no receipts.")
    return 0 if receipts else 1


@command.command()
@declare.argument("receipt_id", metavar="ID", type=declare.Whole())
def show(call: Call, receipt_id: int) -> None:
    """Show one receipt: what was asked, what went in, what was left out and why.

    Example: ctxrank receipt show 12
    """
    from ctxrank.indexer.records.receipts import get_receipt

    with call.open() as store:
        receipt = get_receipt(store.truth, receipt_id)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"receipt": _receipt_json(receipt, is_whole=True)})
        return
    print(_line(call, receipt))
    for name, value in receipt.inputs.items():
        print(f"   {shown(name)}: {shown(value)}")
    for entry in receipt.entries:
        print(_entry_line(entry))


@command.command()
@declare.argument("receipt_id", metavar="ID", type=declare.Whole())
@declare.option("--text", "is_text", is_flag=True, help="Print the block as it would be now.")
def replay(call: Call, receipt_id: int, is_text: bool) -> int:
    """Make an assembly again: the same bytes, or each input that has changed since; 1 where it has.

    Example: ctxrank receipt replay 12
    """
    from ctxrank.indexer.records.receipts import get_receipt
    from ctxrank.ranking.context.replay import replay_receipt

    with call.open() as store:
        result = replay_receipt(store, get_receipt(store.truth, receipt_id))
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"receipt": receipt_id, "same": result.is_same, "changes": list(result.changes), "text": result.text})
    elif is_text:
        print(result.text, end="")
    elif result.is_same:
        print(f"receipt {receipt_id}: the same bytes")
    else:
        print(f"receipt {receipt_id}: other bytes, because")
        for change in result.changes:
            print(f"   {shown(change)}")
    return 0 if result.is_same else 1


@command.command()
@declare.argument("one", type=declare.Whole())
@declare.argument("other", type=declare.Whole())
def diff(call: Call, one: int, other: int) -> int:
    """Say what receipt OTHER has otherwise than receipt ONE; 1 where nothing differs.

    Example: ctxrank receipt diff 12 15
    """
    from ctxrank.indexer.records.receipts import get_receipt
    from ctxrank.ranking.context.replay import difference

    with call.open() as store:
        found = difference(get_receipt(store.truth, one), get_receipt(store.truth, other))
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "inputs": [{"name": name, "one": mine, "other": theirs} for name, mine, theirs in found.inputs],
                "added": [_entry_json(entry) for entry in found.added],
                "removed": [_entry_json(entry) for entry in found.removed],
                "changed": [{"one": _entry_json(mine), "other": _entry_json(theirs)} for mine, theirs in found.changed],
            },
            outcome="matched" if any(found) else "no_match",
        )
        return 0 if any(found) else 1
    for name, mine, theirs in found.inputs:
        print(f"{shown(name)}: {shown(mine) or 'not set'} → {shown(theirs) or 'not set'}")
    for entry in found.removed:
        print(f"no longer named: {_entry_line(entry).strip()}")
    for entry in found.added:
        print(f"named now: {_entry_line(entry).strip()}")
    for mine_entry, their_entry in found.changed:
        print(f"{shown(mine_entry.id)}: {_state(mine_entry)} → {_state(their_entry)}")
    if not any(found):
        call.note("nothing differs.")
    return 0 if any(found) else 1


def _line(call: Call, receipt: "Receipt") -> str:
    from ctxrank.indexer.clock import format_us

    where = "/".join(part for part in (receipt.session, receipt.group) if part)
    count = sum(entry.is_included for entry in receipt.entries)
    of_task = f"context of {receipt.inputs.get('task', '')}" if receipt.kind == "context" else ""
    facts = [
        of_task, receipt.agent, where, "" if of_task else f"iteration {receipt.iteration}",
        f"{count} in, {len(receipt.entries) - count} out", f"{receipt.tokens} tokens", format_us(receipt.created_at),
    ]  # fmt: skip
    return f"{call.bold(f'receipt {receipt.id}')} · {shown(' · '.join(fact for fact in facts if fact))}"


def _entry_line(entry: "Entry") -> str:
    return f"   {'+' if entry.is_included else '-'} {shown(entry.id)} · {_state(entry)}"


def _state(entry: "Entry") -> str:
    parts = (entry.detail, f"{entry.tokens} tokens" if entry.tokens else "", entry.reason)
    return shown(" · ".join(part for part in parts if part))


def _entry_json(entry: "Entry") -> dict[str, object]:
    return {
        "id": entry.id, "included": entry.is_included, "detail": entry.detail or None, "tokens": entry.tokens,
        "reason": entry.reason,
    }  # fmt: skip


def _receipt_json(receipt: "Receipt", *, is_whole: bool) -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    value: dict[str, object] = {
        "id": receipt.id, "kind": receipt.kind, "session_id": receipt.session, "group_id": receipt.group,
        "agent": receipt.agent, "iteration": receipt.iteration, "tokens": receipt.tokens, "digest": receipt.digest,
        "created_at": format_us(receipt.created_at),
    }  # fmt: skip
    if is_whole:
        value["inputs"] = dict(receipt.inputs)
        value["entries"] = [_entry_json(entry) for entry in receipt.entries]
    return value
