"""`ctxrank reasoning`: save what an agent thought, read it again, and see which phases are missing."""

import json
from collections.abc import Iterable, Iterator
from shlex import quote

from ctxrank.cli.actions.given import given_text, note_unknown_group
from ctxrank.cli.call import Call, Extended, Reply, list_reply, shown
from ctxrank.indexer.agents import Team, fold_agent
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.records.events import REASONING_HANDOFF, Event, list_events
from ctxrank.indexer.records.reasoning import (
    NewReasoning,
    PhaseCheck,
    ReasoningEntry,
    check_phases,
    list_reasoning,
    normalise_phase,
    save_reasoning,
)
from ctxrank.indexer.records.sessions import find_session, is_session_wide
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import printable

_KIND = "reasoning"
_SHOWN_CHARACTERS = 300
_WHOLE_SESSION = "(whole session)"


class _Handoff(NamedTuple):
    """Whose reasoning went to whom, as an event's payload says it; what it does not say is empty."""

    from_agents: tuple[str, ...]
    to_agent: str
    iteration: int
    phases: tuple[str, ...]
    reasoning: tuple[int, ...]
    content_length: int


def save(
    call: Call,
    text: str | None,
    session: str,
    group: str | None,
    agent: str,
    phase: str,
    content: str | None,
    content_file: str | None,
    confidence: str | None,
    references: tuple[str, ...],
    iteration: int,
    agent_name: str,
    create_session: bool,
) -> Reply:
    """Save one entry."""
    given = given_text(call.note, text, content_file, content)
    new = NewReasoning(
        session, group, agent, phase, given, agent_name, iteration, confidence,
        json.dumps([reference for reference in references if reference.strip()]),
    )  # fmt: skip
    with call.open() as store:
        config = load_config(store)
        saved = save_reasoning(store, new, create_session=create_session, mode=config.redaction_mode, team=config.team)
    return Reply(
        lambda: saved,
        [f"Saved {public_id('reasoning', saved.id)} ({saved.phase} by {saved.agent})"],
        notes=saved.notes,
    )  # fmt: skip


def get(
    call: Call, session: str, group: str | None, agent: str | None, phase: str | None, limit: int, is_full: bool
) -> Reply:
    """Read a page of entries, the newest first."""
    with call.open() as store:
        owner, team = find_session(store.primary, session), load_config(store).team
        agent = None if agent is None else fold_agent(agent, team)
        found = list_reasoning(
            store.primary, session, group=group, agent=agent,
            phase=None if phase is None else normalise_phase(phase), limit=limit,
        )  # fmt: skip
        if not found:
            note_unknown_group(call, store, owner, group)
    return list_reply(
        found,
        lambda: {"reasoning": [_with_references(entry) for entry in found]},
        (line for entry in found for line in _entry_lines(call, entry, is_full=is_full)),
        notes=() if found else ("no reasoning.", *_unknown_agent(agent, team)),
    )


def timeline(call: Call, session: str, group: str | None, is_full: bool) -> Reply:
    """Read all entries, the oldest first."""
    with call.open() as store:
        owner = find_session(store.primary, session)
        found = list_reasoning(store.primary, session, group=group, oldest_first=True)
        if not found:
            note_unknown_group(call, store, owner, group)
    return list_reply(
        found,
        lambda: {"reasoning": [_with_references(entry) for entry in found]},
        _timeline_lines(session, found, is_full=is_full) if found else (),
        notes=() if found else ("no reasoning.",),
    )


def check(call: Call, session: str, group: str | None, agent: str) -> Reply:
    """Compare the phases that are saved with the mandatory ones."""
    with call.open() as store:
        owner, team = find_session(store.primary, session), load_config(store).team
        agent = fold_agent(agent, team)
        result = check_phases(store.primary, session, group, agent)
        note_unknown_group(call, store, owner, group)
    notes = [f"save it with: {_save_call(session, group, agent, phase)}" for phase in result.missing]
    return Reply(
        lambda: {
            "complete": result.is_complete, "missing": list(result.missing),
            "documented": list(result.documented), "all_documented": list(result.all_documented),
        },
        _check_lines(result, agent),
        outcome="matched" if result.is_complete else "no_match",
        exit_code=0 if result.is_complete else 1,
        notes=(*notes, *(_unknown_agent(agent, team) if result.missing else ())),
    )  # fmt: skip


def _check_lines(result: PhaseCheck, agent: str) -> Iterator[str]:
    if result.is_complete:
        yield f"complete: {agent} has saved {', '.join(result.all_documented)}"
        return
    yield f"missing: {', '.join(result.missing)}"
    yield f"saved: {', '.join(result.all_documented) or 'nothing'}"


def handoffs(call: Call, session: str, limit: int) -> Reply:
    """Read a page of the hand-offs, the newest first."""
    with call.open() as store:
        find_session(store.primary, session)
        found = list_events(store.primary, session, subtype=REASONING_HANDOFF, limit=limit)
    return list_reply(
        found,
        lambda: {"handoffs": [_handoff_json(event) for event in found]},
        (_handoff_line(call, event) for event in found),
        notes=() if found else ("no hand-offs.",),
    )


def _unknown_agent(agent: str | None, team: Team) -> tuple[str, ...]:
    """A note on an agent that we do not know."""
    if agent is None or team.knows(agent):
        return ()
    return (f"'{agent}' is not an agent we know; agents are {', '.join(team.agents)}.",)


def _save_call(session: str, group: str | None, agent: str, phase: str) -> str:
    """The command that saves a phase, ready for a shell."""
    where = f" --group {quote(group)}" if group is not None and not is_session_wide(group) else ""
    return shown(
        f"ctxrank reasoning save --session {quote(session)}{where} --agent {quote(agent)} --phase {phase} TEXT"
    )


def _with_references(entry: ReasoningEntry) -> Extended:
    return Extended(entry, {"references": json.loads(entry.refs), "redacted": bool(entry.redacted)})


def _entry_lines(call: Call, entry: ReasoningEntry, *, is_full: bool) -> Iterator[str]:
    """An entry for a person: a line of facts, then the content, indented so that it cannot look like one."""
    facts = [_who(entry), entry.group or _WHOLE_SESSION, format_day(entry.created_at), *_circumstances(entry)]
    yield f"{call.bold(public_id(_KIND, entry.id))} {entry.phase} · {call.dim(shown(' · '.join(facts)))}"
    if is_full:
        yield from (f"   {line}".rstrip() for line in printable(entry.content).strip("\n").split("\n"))
    else:
        yield f"   {_cut(shown(entry.content))}"
    if entry.refs != "[]":
        yield f"   {call.dim(_cut(shown(f'refers to {_references(entry)}')))}"


def _timeline_lines(session: str, entries: Iterable[ReasoningEntry], *, is_full: bool) -> Iterator[str]:
    """Entries in their order as Markdown, with a heading where the group changes."""
    yield f"# Reasoning of {shown(session)}"
    before: str | None = None
    for entry in entries:
        group = entry.group or _WHOLE_SESSION
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


def _read_handoff(event: Event) -> _Handoff:
    """What an event says of a hand-off. Others write events too, so nothing about its payload is certain."""
    try:
        parsed: object = json.loads(event.payload)
    except (ValueError, RecursionError):
        parsed = None
    payload = dict(parsed.items()) if is_dict(parsed) else {}
    return _Handoff(
        _words(payload.get("from_agents")), " ".join(_words([payload.get("to_agent")])),
        _number(payload.get("iteration")), _words(payload.get("phases")),
        tuple(map(_number, _items(payload.get("reasoning")))), _number(payload.get("content_length")),
    )  # fmt: skip


def _handoff_json(event: Event) -> dict[str, object]:
    """A hand-off as JSON."""
    return {
        "id": event.id, "session_id": event.session, "group_id": event.group,
        "created_at": format_us(event.created_at), **_read_handoff(event)._asdict(),
    }  # fmt: skip


def _handoff_line(call: Call, event: Event) -> str:
    """A hand-off on one line: when, from whom to whom, and what."""
    handoff = _read_handoff(event)
    way = f"{', '.join(handoff.from_agents) or 'none'} → {handoff.to_agent or 'none'}"
    entries = ", ".join(public_id(_KIND, number) for number in handoff.reasoning)
    facts = [
        event.group or _WHOLE_SESSION, f"iteration {handoff.iteration}", ", ".join(handoff.phases),
        f"{handoff.content_length} characters", entries,
    ]  # fmt: skip
    return f"{format_us(event.created_at)} {call.bold(shown(way))} · {shown(' · '.join(filter(None, facts)))}"


def _references(entry: ReasoningEntry) -> str:

    items = _items(json.loads(entry.refs))
    return ", ".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items)


def _who(entry: ReasoningEntry) -> str:
    return f"{entry.agent} ({entry.agent_name})" if entry.agent_name else entry.agent


def _circumstances(entry: ReasoningEntry) -> list[str]:
    """The lines that are printed only where they have content."""
    return [
        *([f"iteration {entry.iteration}"] if entry.iteration else []),
        *([f"{entry.confidence} confidence"] if entry.confidence else []),
        *(["redacted"] if entry.redacted else []),
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3].rstrip()}..."


def _items(value: object) -> list[object]:
    return list(value) if is_list(value) else []


def _words(value: object) -> tuple[str, ...]:
    return tuple(item for item in _items(value) if isinstance(item, str))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
