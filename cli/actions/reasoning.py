"""`ctxrank reasoning`: save what an agent thought, read it again, and see which phases are missing."""

import json
from collections.abc import Iterator
from shlex import quote

from ctxrank.cli.actions import reasoning_view
from ctxrank.cli.actions.given_text import given_text
from ctxrank.cli.actions.known_groups import note_unknown_group
from ctxrank.cli.call import Call, Reply, list_reply, shown
from ctxrank.indexer.agents import AGENTS, fold_agent
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.records.events import REASONING_HANDOFF, list_events
from ctxrank.indexer.records.reasoning import (
    NewReasoning,
    PhaseCheck,
    check_phases,
    list_reasoning,
    normalise_phase,
    save_reasoning,
)
from ctxrank.indexer.records.sessions import find_session, is_session_wide
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id


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
        saved = save_reasoning(store, new, create_session=create_session, mode=load_config(store).redaction_mode)
    return Reply(
        lambda: {
            "id": saved.id, "session_id": saved.session, "group_id": saved.group, "agent": saved.agent,
            "phase": saved.phase, "created_at": format_us(saved.created_at), "redacted": saved.is_redacted,
            "notes": list(saved.notes),
        },
        [f"Saved {public_id('reasoning', saved.id)} ({saved.phase} by {saved.agent})"],
        notes=saved.notes,
    )  # fmt: skip


def get(
    call: Call, session: str, group: str | None, agent: str | None, phase: str | None, limit: int, is_full: bool
) -> Reply:
    """Read a page of entries, the newest first."""
    with call.open() as store:
        owner = find_session(store.primary, session)
        found = list_reasoning(
            store.primary, session, group=group, agent=agent,
            phase=None if phase is None else normalise_phase(phase), limit=limit,
        )  # fmt: skip
        if not found:
            note_unknown_group(call, store, owner, group)
    return list_reply(
        found,
        lambda: {"reasoning": [reasoning_view.entry_json(entry) for entry in found]},
        (line for entry in found for line in reasoning_view.entry_lines(call, entry, is_full=is_full)),
        notes=() if found else ("no reasoning.", *_unknown_agent(agent)),
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
        lambda: {"reasoning": [reasoning_view.entry_json(entry) for entry in found]},
        reasoning_view.timeline(session, found, is_full=is_full) if found else (),
        notes=() if found else ("no reasoning.",),
    )


def check(call: Call, session: str, group: str | None, agent: str) -> Reply:
    """Compare the phases that are saved with the mandatory ones."""
    with call.open() as store:
        owner = find_session(store.primary, session)
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
        notes=(*notes, *(_unknown_agent(agent) if result.missing else ())),
    )  # fmt: skip


def _check_lines(result: PhaseCheck, agent: str) -> Iterator[str]:
    if result.is_complete:
        yield f"complete: {fold_agent(agent)} has saved {', '.join(result.all_documented)}"
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
        lambda: {"handoffs": [reasoning_view.handoff_json(event) for event in found]},
        (reasoning_view.handoff_line(call, event) for event in found),
        notes=() if found else ("no hand-offs.",),
    )


def _unknown_agent(agent: str | None) -> tuple[str, ...]:
    """A note on an agent that we do not know."""
    if agent is None or fold_agent(agent) in AGENTS:
        return ()
    return (f"'{agent}' is not an agent we know; agents are {', '.join(AGENTS)}.",)


def _save_call(session: str, group: str | None, agent: str, phase: str) -> str:
    """The command that saves a phase, ready for a shell."""
    where = f" --group {quote(group)}" if group is not None and not is_session_wide(group) else ""
    return shown(
        f"ctxrank reasoning save --session {quote(session)}{where} --agent {quote(agent)} --phase {phase} TEXT"
    )
