"""`ctxrank drifted`: findings whose code has changed or is gone, with what differs."""

from collections.abc import Iterator
from itertools import chain

from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.indexer.records.anchor_passes import differences
from ctxrank.indexer.records.anchors import MOVED, SAME, Anchor, DriftedFinding, drifted_findings
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.out_of_date import files_out_of_date
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import listed, one_line, printable
from ctxrank.ranking.context.assembly.code_state import phrase
from ctxrank.ranking.retrieval.cleaning import cleaned

_NAMED_FILES = 5
_Row = tuple[DriftedFinding, list[Anchor], dict[int, str]]  # what differs, by the anchor


def drifted(call: Call, store: Store, document: str | None) -> Reply:
    """Read what wants a look, the newest change first; 1 for nothing."""
    wanted = None if document is None else document_id(store.primary, local_ref(store.primary, document))
    found, mode = drifted_findings(store, wanted), load_config(store).redaction_mode
    shown = {
        one: [
            anchor._replace(name=cleaned(anchor.name, one.ruleset, mode))
            for anchor in anchors
            if document is not None or anchor.state not in (SAME, MOVED)
        ]
        for one, anchors in found.items()
    }
    differing = differences(store, chain.from_iterable(shown.values()), mode)
    touched = listed([file.path for file in files_out_of_date(store)], _NAMED_FILES)
    rows = [(one, anchors, differing) for one, anchors in shown.items()]
    nothing = "nothing has drifted."
    if document is not None:
        nothing = f"nothing of {document} is followed: it is superseded, or names nothing that is here."
    reply = list_reply(call, rows, "drifted", _lines, nothing, record=_as_record)
    note = f"changed since the last 'ctxrank index', which looks at them: {touched}."
    return reply._replace(text_notes=(*reply.text_notes, note)) if touched else reply


def _as_record(row: _Row) -> Extended:
    finding, anchors, differing = row
    return Extended(finding, {"anchors": [Extended(one, {"difference": differing.get(one.id, "")}) for one in anchors]})


def _lines(call: Call, row: _Row) -> Iterator[str]:
    finding, anchors, differing = row
    yield call.bold(f"{finding.id} {one_line(finding.title)}")
    for anchor in anchors:
        yield f"   {one_line(phrase(anchor))}"
        yield from (f"      {printable(line)}" for line in differing.get(anchor.id, "").splitlines())
