"""`ctxrank show` and `ctxrank why`: one document, and why it was in a block or was not."""

import re
from collections.abc import Iterator

from ctxrank.cli.actions.receipts import show as show_receipt
from ctxrank.cli.actions.sessions import show_session
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts
from ctxrank.cli.parse import whole_number
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.cloned_notes import note_use
from ctxrank.indexer.records.reader import ShownDocument, read_document
from ctxrank.indexer.records.receipts import ASSEMBLY, Receipt, get_receipt, list_receipts
from ctxrank.indexer.records.related import Related, read_related
from ctxrank.indexer.store.ids import PACKAGE, local_ref, public_id, whose, without_origin
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, printable
from ctxrank.ranking.context.section import Why
from ctxrank.ranking.context.why import why as ask_receipt

_ARTIFACT_ID = re.compile(r"[A-Za-z]+(-[A-Za-z0-9]+)+")


def show(call: Call, store: Store, document: str, depth: str, is_related: bool) -> Reply:
    """Read one document, and what surrounds it if asked for."""
    kind, _, name = document.partition(":")
    if kind == "session" and name:
        return show_session(call, store, name, is_related)
    if kind == "receipt" and (number := whole_number(name)) is not None:
        return show_receipt(call, store, number)
    ref = local_ref(store.primary, document)
    found = read_document(store, ref, with_passages=depth == "full")
    related = read_related(store.primary, ref) if is_related else None
    told_by = whose(store.primary, ref.number)
    if ref.kind == PACKAGE:
        note_use(store, (ref.number,))
    passages = [Extended(one, {"text": one.body}) for one in found.passages]
    more = {"body": None if depth == "meta" else found.document.body, "passages": passages if depth == "full" else None}
    shown_fields = Extended(found.document, {**found._asdict(), **more})
    return Reply(
        lambda: {"document": shown_fields} | ({"related": related} if related else {}),
        (*_document_lines(call, found, depth, told_by), *(_related_lines(call, related) if related else ())),
    )


def _related_lines(call: Call, related: Related) -> Iterator[str]:
    for version in related["versions"]:
        yield f"{call.bold('version')} {version['version']} {version['id']} · {one_line(version['summary'])}"
    for one in related["taken"]:
        yield f"{call.bold(one['how'])} {one_line(one['agent'])} · {one['at'] or 'not yet'}"
    for entry in related["receipts"]:
        state = f"in it, {entry['detail']}" if entry["included"] else "left out"
        agent, reason = one_line(entry["agent"]), one_line(entry["reason"])
        yield f"{call.bold('receipt')} {entry['receipt']} {agent} · {state} · {reason}"
    for name in ("links_to", "linked_from"):
        for other in related[name]:
            where = one_line(f"{other['id']} {other['title']} · {other['how']}".strip())
            yield f"{call.bold(name.replace('_', ' '))} {where}"
    for sighting in related["sightings"]:
        ended = f"resolved {sighting['resolved_at']}" if sighting["resolved_at"] else "not resolved"
        yield f"{call.bold('seen')} {one_line(sighting['session_id'])} · {sighting['seen_at']} · {ended}"


def _document_lines(call: Call, found: ShownDocument, depth: str, told_by: str) -> Iterator[str]:
    yield call.bold(one_line(found.document.title))
    yield call.dim(facts(*found.facts(), told_by))
    for name, detail in found.details.items():
        yield f"{name}: {one_line(detail)}"
    if depth != "meta" and found.document.body:
        yield f"\n{printable(found.document.body)}"
    for passage in found.passages:
        place = f"{public_id('passage', passage.id)} · lines {passage.start_line}-{passage.end_line}"
        yield f"\n{call.dim(place)}"
        yield printable(passage.body).rstrip("\n")


def why(call: Call, store: Store, document: str, receipt_id: int | None, task: str | None, **options: Any) -> Reply:
    """Ask the newest receipt that fits."""
    bare = without_origin(store.primary, document.strip())
    # An artifact of .contextia/ is asked for by its own id, or by ours.
    linked = task is not None or bare.startswith("linked:") or bool(_ARTIFACT_ID.fullmatch(bare))
    if receipt_id is not None:
        receipt = get_receipt(store.primary, receipt_id)
    else:
        receipt = _newest(list_receipts(store.primary, **options), task, is_linked=linked)
    answer = ask_receipt(store, bare if linked else local_ref(store.primary, document), receipt)
    return Reply(lambda: Extended(answer, {"receipt": receipt.id}), _why_lines(answer, receipt))


def _newest(receipts: list[Receipt], task: str | None, *, is_linked: bool) -> Receipt:
    """The newest receipt that could name the document."""
    for one in receipts:
        if one.task_id and (task is None or one.task_id.lower() == task.lower()) if is_linked else one.kind == ASSEMBLY:
            return one
    if is_linked:
        raise NotFoundError(
            f"There is no receipt of a context{f' of {task!a}' if task else ''}.", "Each 'ctxrank context' leaves one."
        )
    raise NotFoundError("There is no such receipt.", "Each 'ctxrank assemble' leaves one.")


def _why_lines(answer: Why, receipt: Receipt) -> Iterator[str]:
    where = f"the {'context' if receipt.kind == 'context' else 'block'} of receipt {receipt.id}"
    if answer.is_included:
        yield f"{one_line(answer.id)} is in {where}: {answer.detail}, {answer.tokens} tokens"
    else:
        yield f"{one_line(answer.id)} is not in {where}"
    for reason in answer.reasons:
        yield f"   {one_line(reason)}"
