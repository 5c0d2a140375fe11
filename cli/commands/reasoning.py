"""`ctxrank reasoning`: save what an agent thought, read it again, and see which phases are missing."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


@declare.group()
def command() -> None:
    """Reasoning: what an agent thought, phase by phase, kept for the one that comes after it."""


@command.command()
@declare.argument("text", required=False)
@declare.option("--session", required=True, help="The session it belongs to.")
@declare.option("--group", help="Its task group; none, - or 'global' means the whole session.")
@declare.option("--agent", required=True, help="The agent that thought it.")
@declare.option(
    "--phase", required=True, help="understanding, approach, decisions, risks, blockers, pivot or completion."
)
@declare.option("--content", metavar="TEXT", help="The text, instead of the argument.")
@declare.option("--content-file", metavar="FILE", help="Read the text from a file; '-' is stdin.")
@declare.option("--confidence", help="high, medium or low.")
@declare.option("--reference", "references", multiple=True, help="A file, task or link that it refers to.")
@declare.option("--iteration", default=0, show_default=True, type=declare.Whole(0), help="At which try.")
@declare.option("--agent-name", default="", help="Which of several agents of one kind.")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
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
) -> None:
    """Save what an agent thought in one phase; '-' reads TEXT from stdin.

    TEXT is kept whole but for its secrets. Behind '--' it may begin with a dash.

    Example: ctxrank reasoning save --session S --group AUTH --agent developer --phase completion
    "Tokens refresh once: a lock guards the call"
    """
    import json

    from ctxrank.cli.commands.given_text import given_text
    from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
    from ctxrank.indexer.store.config import load_config

    given = given_text(call.note, text, content_file, content)
    new = NewReasoning(
        session, group, agent, phase, given, agent_name, iteration, confidence,
        json.dumps([reference for reference in references if reference.strip()]),
    )  # fmt: skip
    with call.open() as store:
        saved = save_reasoning(store, new, create_session=create_session, mode=load_config(store).redaction_mode)
    for note in saved.notes:
        call.note(note)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json
        from ctxrank.indexer.clock import format_us

        emit_json(
            {
                "id": saved.id, "session_id": saved.session, "group_id": saved.group, "agent": saved.agent,
                "phase": saved.phase, "created_at": format_us(saved.created_at), "redacted": saved.is_redacted,
                "notes": list(saved.notes),
            }
        )  # fmt: skip
        return
    print(f"Saved reasoning:{saved.id} ({saved.phase} by {saved.agent})")


@command.command()
@declare.option("--session", required=True, help="The session.")
@declare.option("--group", help="Only of this group, exactly; none means all.")
@declare.option("--agent", help="Only of this agent.")
@declare.option("--phase", help="Only of this phase.")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
@declare.option("--full", "is_full", is_flag=True, help="The whole texts, not their beginnings.")
def get(
    call: Call, session: str, group: str | None, agent: str | None, phase: str | None, limit: int, is_full: bool
) -> int:
    """Show what was thought in a session, the newest first.

    Example: ctxrank reasoning get --session S --group AUTH --phase decisions
    """
    from ctxrank.cli.commands.known_groups import note_unknown_group
    from ctxrank.indexer.records.reasoning import list_reasoning, normalise_phase
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        owner = find_session(store.truth, session)
        found = list_reasoning(
            store.truth, session, group=group, agent=agent,
            phase=None if phase is None else normalise_phase(phase), limit=limit + 1,
        )  # fmt: skip
        if not found:
            note_unknown_group(call, store, owner, group)
    entries = found[:limit]
    from ctxrank.cli.commands.reasoning_view import entry_json, entry_lines

    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(entries), "has_more": len(found) > limit, "reasoning": [entry_json(e) for e in entries]},
            outcome="matched" if entries else "no_match",
        )
    else:
        for entry in entries:
            print("\n".join(entry_lines(call, entry, is_full=is_full)))
        if len(found) > limit:
            call.note("there is more; -n shows more at once.")
    if not entries:
        _note_nothing(call, agent)
    return 0 if entries else 1


@command.command()
@declare.option("--session", required=True, help="The session.")
@declare.option("--group", help="Only of this group, exactly; none means all.")
@declare.option("--full", "is_full", is_flag=True, help="The whole texts, not their beginnings.")
def timeline(call: Call, session: str, group: str | None, is_full: bool) -> int:
    """Print how a session was thought through, the oldest first, as Markdown.

    Example: ctxrank reasoning timeline --session S
    """
    from ctxrank.cli.commands import reasoning_view
    from ctxrank.cli.commands.known_groups import note_unknown_group
    from ctxrank.indexer.records.reasoning import list_reasoning
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        owner = find_session(store.truth, session)
        entries = list_reasoning(store.truth, session, group=group, oldest_first=True)
        if not entries:
            note_unknown_group(call, store, owner, group)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(entries), "reasoning": [reasoning_view.entry_json(entry) for entry in entries]},
            outcome="matched" if entries else "no_match",
        )
    elif entries:
        for line in reasoning_view.timeline(session, entries, is_full=is_full):
            print(line)
    if not entries:
        _note_nothing(call, None)
    return 0 if entries else 1


@command.command()
@declare.option("--session", required=True, help="The session.")
@declare.option("--group", help="In this group, exactly; none means in any.")
@declare.option("--agent", required=True, help="Whose reasoning.")
def check(call: Call, session: str, group: str | None, agent: str) -> int:
    """Say whether an agent has saved the mandatory phases.

    The exit code is 0 if understanding and completion are there, else 1.

    Example: ctxrank reasoning check --session S --group AUTH --agent developer
    """
    from ctxrank.cli.commands.known_groups import note_unknown_group
    from ctxrank.indexer.agents import fold_agent
    from ctxrank.indexer.records.reasoning import check_phases
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        owner = find_session(store.truth, session)
        result = check_phases(store.truth, session, group, agent)
        note_unknown_group(call, store, owner, group)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "complete": result.is_complete, "missing": list(result.missing),
                "documented": list(result.documented), "all_documented": list(result.all_documented),
            },
            outcome="matched" if result.is_complete else "no_match",
        )  # fmt: skip
    elif result.is_complete:
        print(f"complete: {fold_agent(agent)} has saved {', '.join(result.all_documented)}")
    else:
        print(f"missing: {', '.join(result.missing)}")
        print(f"saved: {', '.join(result.all_documented) or 'nothing'}")
    for phase in result.missing:
        call.note(f"save it with: {_save_call(session, group, agent, phase)}")
    if result.missing:
        _note_unknown_agent(call, agent)
    return 0 if result.is_complete else 1


@command.command()
@declare.option("--session", required=True, help="The session.")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
def handoffs(call: Call, session: str, limit: int) -> int:
    """List which agent was given whose reasoning, the newest first.

    Example: ctxrank reasoning handoffs --session S
    """
    from ctxrank.cli.commands.reasoning_view import handoff_json, handoff_line
    from ctxrank.indexer.records.events import REASONING_HANDOFF, list_events
    from ctxrank.indexer.records.sessions import find_session

    with call.open() as store:
        find_session(store.truth, session)
        events = list_events(store.truth, session, subtype=REASONING_HANDOFF, limit=limit)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(events), "handoffs": [handoff_json(event) for event in events]},
            outcome="matched" if events else "no_match",
        )
    else:
        for event in events:
            print(handoff_line(call, event))
    if not events:
        call.note("no hand-offs.")
    return 0 if events else 1


def _note_nothing(call: Call, agent: str | None) -> None:
    call.note("no reasoning.")
    if agent is not None:
        _note_unknown_agent(call, agent)


def _note_unknown_agent(call: Call, agent: str) -> None:
    from ctxrank.indexer.agents import AGENTS, fold_agent

    if fold_agent(agent) not in AGENTS:
        call.note(f"'{agent}' is not an agent we know; agents are {', '.join(AGENTS)}.")


def _save_call(session: str, group: str | None, agent: str, phase: str) -> str:
    """The command that saves a phase, ready for a shell."""
    from shlex import quote

    from ctxrank.indexer.records.sessions import is_session_wide

    where = f" --group {quote(group)}" if group is not None and not is_session_wide(group) else ""
    return shown(
        f"ctxrank reasoning save --session {quote(session)}{where} --agent {quote(agent)} --phase {phase} TEXT"
    )
