"""`ctxrank receipt`: what an assembly was asked, saw and gave; made again, and compared with another."""

from collections.abc import Iterator

from ctxrank.cli.actions.given import note_unknown_group, others_know
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts, place
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records.injections import StoredInjection, list_injections
from ctxrank.indexer.records.receipts import Receipt, ReceiptEntry, get_receipt, list_receipts
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.context.replay import Difference, difference, replay_receipt
from ctxrank.ranking.retrieval.cleaning import cleaned_task


def list_(
    call: Call, store: Store, session: str | None, limit: int, of_hooks: bool = False, **options: str | None
) -> Reply:
    """Read a page of receipts, the newest first, or of what hooks have injected."""
    if of_hooks:
        if any(options.values()):
            raise UsageError("--hook goes with --session alone.", "Leave --group and --agent out.")
        return injections(call, store, session, limit)
    note_unknown_group(call, store, session, options["group"])
    found = list_receipts(store.primary, session=session, limit=limit, **options)
    elsewhere = others_know(store.primary, "receipts", agent=options["agent"])
    return list_reply(call, found, "receipts", _receipt_line, f"no receipts.{elsewhere}")


def injections(call: Call, store: Store, session: str | None, limit: int) -> Reply:
    """Read a page of what hooks put before a model, the newest first."""
    note_unknown_group(call, store, session, None)
    found = list_injections(store.primary, session, limit)
    nothing = "no hook has put anything before a model here."
    return list_reply(call, found, "injections", _injection_line, nothing, record=_injection_json)


def _injection_json(one: StoredInjection) -> Extended:
    return Extended(one, {**one.injection._asdict(), "documents": one.injection.ids})


def _injection_line(call: Call, one: StoredInjection) -> str:
    event, ids, tokens, _, receipt, _ = one.injection
    what = f"receipt {receipt}" if receipt is not None else ", ".join(ids)
    where = place(one.session, one.group)
    return f"{call.bold(one_line(event))} {facts(where, f'{tokens} tokens', format_us(one.created_at), what)}"


def show(call: Call, store: Store, receipt_id: int) -> Reply:
    """Read one receipt."""
    receipt, mode = get_receipt(store.primary, receipt_id), load_config(store).redaction_mode
    # What somebody wrote, perhaps under older redaction rules.
    said = {name: cleaned_task(receipt.inputs[name], mode) for name in ("task", "failure") if name in receipt.inputs}
    receipt = receipt._replace(inputs={**receipt.inputs, **said})
    inputs = (f"   {one_line(name)}: {_input(name, value)}" for name, value in receipt.inputs.items())
    return Reply(
        lambda: {"receipt": receipt}, (_receipt_line(call, receipt), *inputs, *map(_entry_line, receipt.entries))
    )


def replay(call: Call, store: Store, receipt_id: int, is_text: bool) -> Reply:
    """Make an assembly again; 1 where other bytes come out."""
    result = replay_receipt(store, get_receipt(store.primary, receipt_id))
    lines = [f"receipt {receipt_id}: {'the same bytes' if result.is_same else 'other bytes, because'}"]
    lines += [f"   {one_line(change)}" for change in result.changes]
    return Reply(
        lambda: Extended(result, {"receipt": receipt_id}),
        [] if is_text else lines,
        text=result.text if is_text else "",
        exit_code=0 if result.is_same else 1,
    )


def diff(call: Call, store: Store, one: int, other: int) -> Reply:
    """Compare two receipts; 1 where nothing differs."""
    found = difference(get_receipt(store.primary, one), get_receipt(store.primary, other))
    return Reply(
        lambda: found,
        _difference_lines(found),
        outcome="matched" if any(found) else "no_match",
        exit_code=0 if any(found) else 1,
        text_notes=() if any(found) else ("nothing differs.",),
    )


def _difference_lines(found: Difference) -> Iterator[str]:
    for name, mine, theirs in found.inputs:
        yield f"{one_line(name)}: {_input(name, mine)} → {_input(name, theirs)}"
    for entry in found.removed:
        yield f"no longer named: {_entry_line(entry).strip()}"
    for entry in found.added:
        yield f"named now: {_entry_line(entry).strip()}"
    for before, after in found.changed:
        yield f"{one_line(before.id)}: {_state(before)} → {_state(after)}"


def _input(name: str, value: str) -> str:
    """One input of a receipt as a person reads it: a moment is stored in microseconds, the state of code as the fourth
    of five columns (code_state.py).
    """
    if name == "as_of" and value.isdecimal():
        return format_us(int(value))
    if name == "anchors":
        value = "; ".join(filter(None, value.split("\t")[3::4]))  # a row's last column ends where the next row begins
    return one_line(value) or "not set"


def _receipt_line(call: Call, receipt: Receipt) -> str:
    count = sum(entry.is_included for entry in receipt.entries)
    of_task = f"context of {receipt.inputs.get('task', '')}" if receipt.kind == "context" else ""
    about = facts(
        of_task, receipt.agent, place(receipt.session, receipt.group),
        "" if of_task else f"iteration {receipt.iteration}", f"{count} in, {len(receipt.entries) - count} out",
        f"{receipt.tokens} tokens", format_us(receipt.created_at),
    )  # fmt: skip
    return f"{call.bold(f'receipt {receipt.id}')} · {about}"


def _entry_line(entry: ReceiptEntry) -> str:
    return f"   {'+' if entry.is_included else '-'} {one_line(entry.id)} · {_state(entry)}"


def _state(entry: ReceiptEntry) -> str:
    return facts(entry.detail, f"{entry.tokens} tokens" if entry.tokens else "", entry.reason)
