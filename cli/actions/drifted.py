"""`ctxrank drifted`: findings whose code has changed or is gone, with what differs."""

from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.anchor_passes import differences
from ctxrank.indexer.records.anchors import CHANGED, GONE, Anchor, DriftedFinding, anchors_of, drifted_findings
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.text.lines import one_line, printable
from ctxrank.ranking.context.assembly.code_state import phrase


class _Drift(NamedTuple):
    """A finding with what it names, and the difference of each by its number."""

    finding: DriftedFinding
    anchors: list[Anchor]
    differences: dict[int, str]


def drifted(call: Call, document: str | None) -> Reply:
    """Read what wants a look, the newest change first; 1 for nothing."""
    with call.open() as store:
        wanted = None if document is None else document_id(store.primary, local_ref(store.primary, document))
        found = drifted_findings(store.primary, wanted)
        mode = load_config(store).redaction_mode
        anchors = anchors_of(store.primary, [one.document_id for one in found])
        if wanted is None:
            anchors = [one for one in anchors if one.state in (CHANGED, GONE)]
        differing = differences(store, anchors, mode)
    of_each = [[anchor for anchor in anchors if anchor.document_id == one.document_id] for one in found]
    rows = [_Drift(one, of_it, differing) for one, of_it in zip(found, of_each, strict=True)]
    return Reply(
        lambda: {"drifted": [_as_record(row) for row in rows], "total": len(rows), "has_more": False},
        [line for row in rows for line in _lines(call, row)] or ["nothing has drifted."],
        exit_code=0 if rows else 1,
    )


def _as_record(row: _Drift) -> Extended:
    anchors = [Extended(one, {"difference": row.differences.get(one.id, "")}) for one in row.anchors]
    return Extended(row.finding, {"anchors": anchors})


def _lines(call: Call, row: _Drift) -> Iterator[str]:
    yield call.bold(f"{row.finding.id} {one_line(row.finding.title)}")
    for anchor in row.anchors:
        yield f"   {one_line(phrase(anchor))}"
        yield from (f"      {printable(line)}" for line in row.differences.get(anchor.id, "").splitlines())
