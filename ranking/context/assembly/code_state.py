"""What a block says of the code that its findings are about.

    config.py `load` has changed since: 3 of 12 lines, commit 4f2c9ab1, 2 days later

The state of the anchors that a block used is in its receipt, and a replay reads it there: the files go on changing.
"""

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.anchors import Anchor, anchors_of, look_again
from ctxrank.indexer.text.lines import one_line, shorten
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
from ctxrank.ranking.context.assembly.shapes import Spawn
from ctxrank.ranking.retrieval.cleaning import cleaned

_MOST_NAMED = 2
_NAME_CHARS = 60
_COMMIT_CHARS = 8
ALL_GONE = "all that it is about is gone"


class CodeState(NamedTuple):
    """Of a finding: when its code was last as it was, and whether all of it is gone; the state of each anchor, and what
    a block says of them, '' where all is as it was, or nothing was looked at.
    """

    held_at: int
    is_gone: bool
    states: str = ""
    line: str = ""


def as_recorded(spawn: Spawn, eligible: list[EligiblePackage]) -> list[EligiblePackage]:
    """The packages of a replay as the receipt says of their code."""
    known, none = _read(spawn.request.anchors or ""), CodeState(0, is_gone=False)
    states = ((one, known.get(one.document_id, none)) for one in eligible)
    return [one._replace(held_at=state.held_at, is_gone=state.is_gone) for one, state in states]


def code_lines(
    spawn: Spawn, eligible: list[EligiblePackage], shown: list[EligiblePackage]
) -> tuple[dict[int, str], str]:
    """What a block says of the code of packages, by their documents, and what its receipt has of it.

    Those that are about to be shown are looked at once more, the first ones first; a replay reads what was said.
    """
    if spawn.request.anchors is not None:
        return {id_: state.line for id_, state in _read(spawn.request.anchors).items()}, spawn.request.anchors
    states = {one.document_id: CodeState(one.held_at, one.is_gone) for one in eligible if one.held_at}
    ranks = {one.document_id: rank for rank, one in enumerate(shown) if one.held_at}
    known = sorted(anchors_of(spawn.store.primary, ranks), key=lambda anchor: ranks[anchor.document_id])
    by_document: dict[int, list[Anchor]] = {}
    for anchor in look_again(spawn.store, known):
        by_document.setdefault(anchor.document_id, []).append(anchor)
    rulesets, mode = {one.document_id: one.ruleset for one in shown}, spawn.config.redaction_mode
    for id_, found in by_document.items():
        anchors = [one._replace(name=cleaned(one.name, rulesets[id_], mode)) for one in found]
        said = ", ".join(f"{anchor.name} {anchor.state}" for anchor in anchors)
        states[id_] = states[id_]._replace(states=said, line=code_line(anchors))
    rows = ((str(id_), str(one.held_at), str(int(one.is_gone)), *one[2:]) for id_, one in states.items())
    return {id_: one.line for id_, one in states.items()}, "\n".join("\t".join(map(one_line, row)) for row in rows)


def _read(text: str) -> dict[int, CodeState]:
    """The states that a receipt has, by documents."""
    rows = (line.split("\t") for line in text.split("\n") if line)
    return {int(id_): CodeState(int(held_at), gone == "1", states, line) for id_, held_at, gone, states, line in rows}


def code_line(anchors: list[Anchor]) -> str:
    """What has become of the code that a finding names, the worst first; '' where it is as it was."""
    order = ("changed", "gone", "lost", "moved")
    other = sorted((one for one in anchors if one.state in order), key=lambda one: order.index(one.state))
    said = [ALL_GONE] if anchors and all(one.state == "gone" for one in anchors) else []
    said += map(phrase, other[: _MOST_NAMED - len(said)])
    more = len(other) - len(other[:_MOST_NAMED])
    return "; ".join((*said, f"{more} more like that")) if more else "; ".join(said)


def phrase(anchor: Anchor) -> str:
    """What has become of one thing that a finding names."""
    name = shorten(one_line(anchor.name), _NAME_CHARS)
    path = one_line(anchor.path)
    what = name if anchor.kind in ("path", "line") else f"{path} `{name}`"
    if anchor.state == "gone":
        return f"{what} is gone{_commit(anchor)}"
    if anchor.state == "lost":
        return f"{what} is not there any more"
    place = "" if anchor.now_path == anchor.path else f" (now in {one_line(anchor.now_path)})"
    if anchor.state == "same":
        return f"{what} is as it was"
    if anchor.state == "moved":
        return f"{what} is at {one_line(anchor.now_path)}:{anchor.now_start} now"
    lines = max(anchor.end_line - anchor.start_line + 1, anchor.differing)
    return f"{what}{place} has changed since: {anchor.differing} of {lines} lines{_commit(anchor)}"


def _commit(anchor: Anchor) -> str:
    """The commit that an anchor was changed by, and when; '' where it is not known."""
    if anchor.changed_at is None:
        return ""
    days = (anchor.changed_at - anchor.made_at) // DAY_US
    later = "the same day" if days < 1 else "a day later" if days == 1 else f"{days} days later"
    return f", commit {anchor.changed_by[:_COMMIT_CHARS]}, {later}"
