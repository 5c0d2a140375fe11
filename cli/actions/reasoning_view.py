"""How reasoning looks: as JSON, as a list for a person, and as a timeline in Markdown."""

import json
from collections.abc import Iterable, Iterator

from ctxrank.cli.call import Call, shown
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.records.events import Event
from ctxrank.indexer.records.reasoning import ReasoningEntry
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import printable

_KIND = "reasoning"
SHOWN_CHARACTERS = 300
WHOLE_SESSION = "(whole session)"


class Handoff(NamedTuple):
    """Whose reasoning went to whom, as an event's payload says it; what it does not say is empty."""

    from_agents: tuple[str, ...]
    to_agent: str
    iteration: int
    phases: tuple[str, ...]
    reasoning: tuple[int, ...]
    content_length: int


def entry_json(entry: ReasoningEntry) -> dict[str, object]:
    """An entry as JSON, with the names that other answers use."""

    value: dict[str, object] = entry._asdict()
    value["session_id"] = value.pop("session")
    value["group_id"] = value.pop("group")
    value["references"] = json.loads(entry.references)
    value["redacted"] = value.pop("is_redacted")
    value["created_at"] = format_us(entry.created_at)
    return value


def entry_lines(call: Call, entry: ReasoningEntry, *, is_full: bool) -> Iterator[str]:
    """An entry for a person: a line of facts, then the content, indented so that it cannot look like one."""
    facts = [_who(entry), entry.group or WHOLE_SESSION, format_day(entry.created_at), *_circumstances(entry)]
    yield f"{call.bold(public_id(_KIND, entry.id))} {entry.phase} · {call.dim(shown(' · '.join(facts)))}"
    if is_full:
        yield from (f"   {line}".rstrip() for line in printable(entry.content).strip("\n").split("\n"))
    else:
        yield f"   {_cut(shown(entry.content))}"
    if entry.references != "[]":
        yield f"   {call.dim(_cut(shown(f'refers to {_references(entry)}')))}"


def timeline(session: str, entries: Iterable[ReasoningEntry], *, is_full: bool) -> Iterator[str]:
    """Entries in their order as Markdown, with a heading where the group changes."""
    yield f"# Reasoning of {shown(session)}"
    before: str | None = None
    for entry in entries:
        group = entry.group or WHOLE_SESSION
        if group != before:
            yield f"\n## {shown(group)}"
            before = group
        facts = [
            format_us(entry.created_at),
            _who(entry),
            entry.phase,
            *_circumstances(entry),
            public_id(_KIND, entry.id),
        ]
        yield f"\n### {shown(' · '.join(facts))}\n"
        text = printable(entry.content).strip("\n")
        yield fenced(text if is_full else _cut(text))


def fenced(text: str) -> str:
    """The text in a fence longer than any run of backticks in it, so that it cannot break out."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def read_handoff(event: Event) -> Handoff:
    """What an event says of a hand-off. Others write events too, so nothing about its payload is certain."""
    try:
        parsed: object = json.loads(event.payload)
    except (ValueError, RecursionError):
        parsed = None
    payload = dict(parsed.items()) if is_dict(parsed) else {}
    return Handoff(
        _words(payload.get("from_agents")), " ".join(_words([payload.get("to_agent")])),
        _number(payload.get("iteration")), _words(payload.get("phases")),
        tuple(map(_number, _items(payload.get("reasoning")))), _number(payload.get("content_length")),
    )  # fmt: skip


def handoff_json(event: Event) -> dict[str, object]:
    """A hand-off as JSON."""
    return {
        "id": event.id, "session_id": event.session, "group_id": event.group,
        "created_at": format_us(event.created_at), **read_handoff(event)._asdict(),
    }  # fmt: skip


def handoff_line(call: Call, event: Event) -> str:
    """A hand-off on one line: when, from whom to whom, and what."""
    handoff = read_handoff(event)
    way = f"{', '.join(handoff.from_agents) or 'none'} → {handoff.to_agent or 'none'}"
    entries = ", ".join(public_id(_KIND, number) for number in handoff.reasoning)
    facts = [
        event.group or WHOLE_SESSION, f"iteration {handoff.iteration}", ", ".join(handoff.phases),
        f"{handoff.content_length} characters", entries,
    ]  # fmt: skip
    return f"{format_us(event.created_at)} {call.bold(shown(way))} · {shown(' · '.join(filter(None, facts)))}"


def _references(entry: ReasoningEntry) -> str:

    items = _items(json.loads(entry.references))
    return ", ".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items)


def _who(entry: ReasoningEntry) -> str:
    return f"{entry.agent} ({entry.agent_name})" if entry.agent_name else entry.agent


def _circumstances(entry: ReasoningEntry) -> list[str]:
    """The lines that are printed only where they have content."""
    return [
        *([f"iteration {entry.iteration}"] if entry.iteration else []),
        *([f"{entry.confidence} confidence"] if entry.confidence else []),
        *(["redacted"] if entry.is_redacted else []),
    ]


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3].rstrip()}..."


def _items(value: object) -> list[object]:
    return list(value) if is_list(value) else []


def _words(value: object) -> tuple[str, ...]:
    return tuple(item for item in _items(value) if isinstance(item, str))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
