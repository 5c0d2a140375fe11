"""Links: what a task of `.contextia/` reaches, as a graph in columns by tier, and what a budget leaves out."""

from collections.abc import Iterator
from itertools import pairwise

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.rendering import words_of
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple

# The picture, in units of its own.
_NODE_WIDTH, _NODE_HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 204, 38, 44, 12, 8
_TITLE_CHARS = 28
# Columns from left to right; of what is linked, what another artifact leads to stands in one of its own.
_FURTHER = "T1 further"
_TIERS = words_of("tier")
LEAST_BUDGET, MOST_BUDGET = 100, 12_000


class DrawnNode(NamedTuple):
    """An artifact in the picture; its state is '', left (out of the budget) or broken (linked, and not there)."""

    id: str
    title: str
    x: int
    y: int
    state: str
    level: str
    said: str


class TierColumn(NamedTuple):
    """A tier: its name, where it is, and its nodes."""

    tier: str
    meaning: str
    x: int


def values(ask: Commands, given: Parameters) -> Json:
    """The tasks there are, the checker's findings, and what the chosen task reaches within a budget."""
    listed = ask("search", query=("kind:linked type:task",), limit=200).fields
    tasks = [_task(hit["title"]) for hit in listed.get("hits", [])]
    task, budget = given("task") or min(tasks, default=("", ""))[0], given.whole("budget")
    shown: Json = {
        "tasks": sorted(tasks), "task": task, "budget": budget, "found": None, "picture": None, "checked": None,
        "least": LEAST_BUDGET, "most": MOST_BUDGET,
    }  # fmt: skip
    if not task:
        return shown
    found = ask("context", task=task, budget=budget, no_receipt=True)
    shown |= {"found": found.fields, "notes": found.notes, "picture": _picture(found.fields)}
    try:
        shown["checked"] = ask("check").fields
    except CtxrankError as error:  # the graph is worth showing without it
        shown["notes"] = (*found.notes, error.message)
    return shown


def _task(title: str) -> tuple[str, str]:
    """A task's id and title: a linked document is called by both."""
    id_, _, rest = title.partition(" ")
    return id_, rest


def _picture(found: Json) -> Json:
    nodes = list(_nodes(found))
    columns: list[TierColumn] = []
    placed: dict[str, DrawnNode] = {}
    x = _MARGIN
    lowest = 0
    for tier, meaning in _TIERS.items():
        own = [node for node, of in nodes if of == tier and node.id not in placed]
        if not own:
            continue
        columns.append(TierColumn(tier.partition(" ")[0], meaning, x))
        for place, node in enumerate(own):
            placed[node.id] = node._replace(x=x, y=_MARGIN + 34 + place * (_NODE_HEIGHT + _GAP_Y))
        lowest = max(lowest, *(placed[node.id].y for node in own))
        x += _NODE_WIDTH + _GAP_X
    return {
        "width": x - _GAP_X + _MARGIN, "height": lowest + _NODE_HEIGHT + _MARGIN, "columns": columns,
        "nodes": list(placed.values()), "edges": list(_edges(found, placed)), "node_width": _NODE_WIDTH,
        "node_height": _NODE_HEIGHT,
    }  # fmt: skip


def _nodes(found: Json) -> Iterator[tuple[DrawnNode, str]]:
    for one in found["artifacts"]:
        said = f"{one['level']}, {one['tokens']:,} tokens; {one['reason']}"
        yield _node(one["id"], one["title"], "", one["level"], said), _column(one)
    for one in found["omitted"]:
        said = f"left out: {one['tokens']:,} tokens do not fit"
        yield _node(one["id"], one["title"], "left", "left out", said), _column(one)
    for one in found["missing"]:
        said = f"{one['source']} links to it, and there is no such artifact"
        yield _node(one["id"], "", "broken", "not there", said), ""


def _column(one: Json) -> str:
    tier = one["tier"]
    return _FURTHER if tier == "T1" and len(one["chain"]) > 2 else tier


def _node(id_: str, title: str, state: str, level: str, said: str) -> DrawnNode:
    short = title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1].rstrip()}…"
    return DrawnNode(id_, short, 0, 0, state, level, said)


def _edges(found: Json, placed: dict[str, DrawnNode]) -> Iterator[str]:
    """The links that were followed, each once, as paths from node to node."""
    links: dict[tuple[str, str], None] = {}
    for one in (*found["artifacts"], *found["omitted"]):
        links |= dict.fromkeys(pairwise(map(str, one["chain"])))
    for one in found["missing"]:
        links[one["source"], one["id"]] = None
    for source, target in links:
        start, end = placed.get(source), placed.get(target)
        if start is not None and end is not None:
            yield _path(start, end)


def _path(start: DrawnNode, end: DrawnNode) -> str:
    x, y, end_y = start.x + _NODE_WIDTH, start.y + _NODE_HEIGHT // 2, end.y + _NODE_HEIGHT // 2
    # Within a column around its right side.
    end_x, bend = (x, x + _GAP_X // 2) if start.x == end.x else (end.x, (x + end.x) // 2)
    return f"M{x} {y}C{bend} {y} {bend} {end_y} {end_x} {end_y}"
