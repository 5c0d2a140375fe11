"""`ctxrank reasoning`: save what an agent thought, read it again, and see which phases are missing."""

import json
from collections.abc import Iterable, Iterator
from functools import partial

from ctxrank.cli.actions.given import given_text, note_unknown_group
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import SHOWN_CHARS, facts, text_lines
from ctxrank.indexer.agents import Team, fold_agent
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.light_typing import Any, is_dict
from ctxrank.indexer.records.events import StoredEvent
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.reasoning import (
    NewReasoning,
    ReasoningEntry,
    check_phases,
    list_reasoning,
    normalise_phase,
    save_reasoning,
)
from ctxrank.indexer.records.receipts import REASONING_HANDOFF
from ctxrank.indexer.records.sessions import find_session, is_session_wide
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.rows import list_where
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import fence, one_line, printable, shell_word, shorten

_KIND = "reasoning"
_WHOLE_SESSION = "(whole session)"


def save(call: Call, store: Store, text: str | None, content: str | None, **options: Any) -> Reply:
    """Save one entry."""
    given = given_text(call.note, text, options.pop("content_file"), content)
    refs = json.dumps([reference for reference in options.pop("references") if reference.strip()])
    create_session: bool = options.pop("create_session")
    new = NewReasoning(content=given, references=refs, **options)
    saved = save_reasoning(store, new, create_session=create_session)
    line = f"Saved {public_id(_KIND, saved.id)} ({saved.phase} by {saved.agent})"
    return Reply(lambda: saved, [line], notes=saved.notes)


def get(call: Call, store: Store, session: str, format_: str, is_full: bool, **options: Any) -> Reply:
    """Read a page of entries, the newest first."""
    agent, phase, team = options.pop("agent"), options.pop("phase"), load_config(store).team
    agent = None if agent is None else fold_agent(agent, team)
    phase = None if phase is None else normalise_phase(phase)
    found = _entries(call, store, session, agent=agent, phase=phase, **options)
    absent = ("no reasoning.", *_unknown_agent(agent, team))
    reply = _reply(call, found, absent, is_full=is_full)
    return reply._replace(lines=_timeline_lines(session, found, is_full=True)) if format_ == "markdown" else reply


def timeline(call: Call, store: Store, session: str, group: str | None, is_full: bool) -> Reply:
    """Read all entries, the oldest first."""
    found = _entries(call, store, session, group=group, oldest_first=True)
    lines = _timeline_lines(session, found, is_full=is_full) if found else ()
    return _reply(call, found, ("no reasoning.",))._replace(lines=lines)


def _entries(call: Call, store: Store, session: str, **wanted: Any) -> Page[ReasoningEntry]:
    note_unknown_group(call, store, session, wanted["group"])
    return cleaned_page(store, _KIND, list_reasoning(store.primary, session, **wanted))


def _reply(call: Call, found: Page[ReasoningEntry], absent: tuple[str, ...], *, is_full: bool = True) -> Reply:
    shown = partial(_entry_lines, is_full=is_full)
    return list_reply(call, found, _KIND, shown, absent=absent, record=_with_references)


def check(call: Call, store: Store, session: str, group: str | None, agent: str) -> Reply:
    """Compare the phases that are saved with the mandatory ones."""
    note_unknown_group(call, store, session, group)
    team = load_config(store).team
    agent = fold_agent(agent, team)
    result = check_phases(store.primary, session, group, agent)
    saved = ", ".join(result.all_documented)
    notes = [f"save it with: {_save_call(session, group, agent, phase)}" for phase in result.missing]
    return Reply(
        lambda: result,
        [f"complete: {agent} has saved {saved}"]
        if result.is_complete
        else [f"missing: {', '.join(result.missing)}", f"saved: {saved or 'nothing'}"],
        outcome="matched" if result.is_complete else "no_match",
        exit_code=0 if result.is_complete else 1,
        notes=(*notes, *(_unknown_agent(agent, team) if result.missing else ())),
    )


def handoffs(call: Call, store: Store, session: str, limit: int) -> Reply:
    """Read a page of the hand-offs, the newest first."""
    find_session(store.primary, session)
    wanted = {"session": session, "subtype": REASONING_HANDOFF}
    found = list_where(store.primary, "events", StoredEvent, wanted, limit=limit)
    return list_reply(call, found, "handoffs", _handoff_line, absent=("no hand-offs.",), record=_with_handoff)


def _with_handoff(event: StoredEvent) -> Extended:
    return Extended(event, _handoff(event))


def _unknown_agent(agent: str | None, team: Team) -> tuple[str, ...]:
    """A note on an agent that we do not know."""
    if agent is None or team.knows(agent):
        return ()
    return (f"'{agent}' is not an agent we know; agents are {', '.join(team.agents)}.",)


def _save_call(session: str, group: str | None, agent: str, phase: str) -> str:
    """The command that saves a phase, ready for a shell."""
    where = f" --group {shell_word(group)}" if group is not None and not is_session_wide(group) else ""
    whose = f"--session {shell_word(session)}{where} --agent {shell_word(agent)}"
    return f"ctxrank reasoning save {whose} --phase {phase} TEXT"


def _with_references(entry: ReasoningEntry) -> Extended:
    return Extended(entry, {"references": json.loads(entry.refs), "redacted": bool(entry.redacted)})


def _entry_lines(call: Call, entry: ReasoningEntry, *, is_full: bool) -> Iterator[str]:
    """An entry for a person: a line of facts, then the content, indented so that it cannot look like one."""
    about = facts(_who(entry), entry.group or _WHOLE_SESSION, format_day(entry.created_at), *_circumstances(entry))
    yield f"{call.bold(public_id(_KIND, entry.id))} {entry.phase} · {call.dim(about)}"
    yield from text_lines(entry.content, is_full=is_full)
    if entry.refs != "[]":
        items: list[object] = json.loads(entry.refs)
        named = ", ".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in items)
        yield f"   {call.dim(shorten(one_line(f'refers to {named}'), SHOWN_CHARS))}"


def _timeline_lines(session: str, entries: Iterable[ReasoningEntry], *, is_full: bool) -> Iterator[str]:
    """Entries in their order as Markdown, with a heading where the group changes, each text in a fence."""
    yield f"# Reasoning of {one_line(session)}"
    before: str | None = None
    for entry in entries:
        group = entry.group or _WHOLE_SESSION
        if group != before:
            yield f"\n## {one_line(group)}"
            before = group
        about = (_who(entry), entry.phase, *_circumstances(entry), public_id(_KIND, entry.id))
        yield f"\n### {facts(format_us(entry.created_at), *about)}\n"
        text = printable(entry.content).strip("\n")
        text = text if is_full else shorten(text, SHOWN_CHARS)
        yield f"{fence(text)}text\n{text}\n{fence(text)}"


def _handoff(event: StoredEvent) -> dict[str, Any]:
    """What an event says of a hand-off. Others write events too, so nothing about its payload is certain."""
    try:
        parsed: object = json.loads(event.payload)
    except (ValueError, RecursionError):
        parsed = None
    said = parsed if is_dict(parsed) else {}
    found: dict[str, Any] = {
        name: one if isinstance(one := said.get(name), type_) else type_() for name, type_ in _HANDOFF.items()
    }
    for name in ("from_agents", "phases"):
        found[name] = [one for one in found[name] if isinstance(one, str)]
    found["reasoning"] = [one if isinstance(one, int) else 0 for one in found["reasoning"]]
    return found


_HANDOFF: dict[str, Any] = {
    "iteration": int, "content_length": int, "from_agents": list, "phases": list, "reasoning": list, "to_agent": str
}  # fmt: skip


def _handoff_line(call: Call, event: StoredEvent) -> str:
    """A hand-off on one line: when, from whom to whom, and what."""
    said = _handoff(event)
    way = f"{', '.join(said['from_agents']) or 'none'} → {said['to_agent'] or 'none'}"
    entries = ", ".join(public_id(_KIND, number) for number in said["reasoning"])
    what = (f"iteration {said['iteration']}", ", ".join(said["phases"]), f"{said['content_length']} characters")
    about = facts(event.group or _WHOLE_SESSION, *what, entries)
    return f"{format_us(event.created_at)} {call.bold(one_line(way))} · {about}"


def _who(entry: ReasoningEntry) -> str:
    return f"{entry.agent} ({entry.agent_name})" if entry.agent_name else entry.agent


def _circumstances(entry: ReasoningEntry) -> tuple[str, ...]:
    """What is printed only where it is set."""
    return (
        f"iteration {entry.iteration}" if entry.iteration else "",
        f"{entry.confidence} confidence" if entry.confidence else "",
        "redacted" if entry.redacted else "",
    )
