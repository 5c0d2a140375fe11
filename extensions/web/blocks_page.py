"""Blocks: what an agent would get, how its budget is spent, why each item is in it, and what was left out."""

from collections.abc import Iterator

from ctxrank.extensions.web.answers import Answer, Commands, Json, Parameters
from ctxrank.extensions.web.rendering import address, said
from ctxrank.extensions.web.search_page import Segment, in_a_row
from ctxrank.indexer.agents import AGENTS
from ctxrank.indexer.light_typing import NamedTuple

MOST_LEFT_OUT = 60  # a session of thousands leaves thousands out, each with a title that is read
LEAST_BUDGET, MOST_BUDGET = 200, 20_000
# What a class of a budget shows of an item: its colour (of the five for the parts of a score), the kind of its id, its
# title, its detail, the reason.
_CLASSES = (
    ("packages", "words", "package", "{summary}", "{detail}", "{reason}"),
    ("files", "together", "artifact", "{path}", "{detail}", "{reason}"),
    ("reasoning", "group", "reasoning", "{agent}: {phase}", "entry", "prior reasoning"),
    ("errors", "priority", "error", "{signature}", "fix", "{why}"),
    ("strategies", "recency", "strategy", "{insight}", "entry", "{topic}"),
)
_COLOURS = {name: colour for name, colour, *_ in _CLASSES}


class BlockItem(NamedTuple):
    """Something that a block holds; `link` is its public id, '' for what has none."""

    link: str
    title: str
    detail: str
    tokens: int
    reason: str
    colour: str


def values(ask: Commands, given: Parameters) -> Json:
    """The request as a form, and the blocks that it makes: one, or two side by side."""
    sessions = ask("session list", limit=200).fields.get("sessions", [])
    session = given("session") or (sessions[0]["session_id"] if sessions else "")
    groups: list[str] = []
    if any(one["session_id"] == session for one in sessions):
        found = ask("group list", session=session).fields
        groups = [one["group_id"] for one in found.get("groups", [])]
    agent, second = given("agent", AGENTS[0]), given("second")
    form: Json = {
        "session": session, "group": given("group"), "agent": agent, "second": second, "task": given("task"),
        "task_id": given("task_id"), "budget": given.whole("budget"),
    }  # fmt: skip
    shown: Json = {
        "form": form, "sessions": sessions, "groups": groups, "agents": AGENTS,
        "least": LEAST_BUDGET, "most": MOST_BUDGET,
    }  # fmt: skip
    compared = dict.fromkeys(filter(None, (agent, second))) if session else ()
    blocks = [_block(ask, form, one) for one in compared]
    share = blocks[0]["budget"]["limit"] if blocks and form["budget"] is None else ""
    return shown | {"blocks": blocks, "share": share, "back": address("/blocks", **form)}


def _block(ask: Commands, form: Json, agent: str) -> Json:
    made = ask(
        "assemble", session=form["session"], group=form["group"] or None, agent=agent, task=form["task"] or None,
        task_id=form["task_id"] or None, budget=form["budget"], no_mark=True, no_receipt=True,
    )  # fmt: skip
    answer, budget = made.fields, made.fields["budget"]
    items = list(_items(answer))
    omitted = left_out(ask, answer["omitted"], {item.link: item.title for item in items}, agent)
    return {
        "agent": agent, "answer": answer, "notes": made.notes, "budget": budget, "items": items,
        **omitted, "segments": _segments(made), "took": made.milliseconds,
    }  # fmt: skip


def left_out(ask: Commands, omitted: list[Json], held: dict[str, str], agent: str) -> Json:
    """What was left out or shortened, the first of it, with titles and reasons in words; `held` has the block's own."""
    shown = omitted[:MOST_LEFT_OUT]
    for one in shown:
        id_ = one["id"]
        one["is_lowered"] = id_ in held
        one["title"] = held.get(id_) or ask.title(id_)
        one["reason"] = said(one["reason"], agent)
    count = len({one["id"] for one in omitted} - {*held})
    return {"omitted": shown, "left_out": count, "more": max(len(omitted) - MOST_LEFT_OUT, 0)}


def _segments(made: Answer) -> list[Segment]:
    """How the budget is spent, by class; what no class is charged for is the block's own text."""
    budget = made.fields["budget"]
    used, limit = budget["used"], max(budget["limit"], budget["used"], 1.0)
    by_class = [(name, tokens) for name, tokens in budget["by_class"].items() if tokens]
    rest = used - sum(tokens for _, tokens in by_class)
    parts = [*by_class, *([("headings", rest)] if rest > 0 else [])]
    return in_a_row((_COLOURS.get(name, "other"), f"{name} {tokens:,.0f}", tokens / limit) for name, tokens in parts)


def _items(answer: Json) -> Iterator[BlockItem]:
    for one in answer["linked"]:
        title = f"{one['id']} {one['title']}"
        yield BlockItem("", title, f"{one['tier']} {one['level']}", 0, "linked from the task", "other")
    for name, colour, kind, *shown in _CLASSES:
        for one in answer[name]:
            texts = {key: value if isinstance(value, str) else "" for key, value in one.items()}
            title, detail, reason = (part.format_map(texts) for part in shown)
            yield BlockItem(f"{kind}:{one['id']}", title, detail, one["tokens"], reason, colour)
