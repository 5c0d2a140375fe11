"""`ctxrank skill`: which skills an agent must, may and should invoke, whether it did, and what they reported."""

import json
import os
from collections.abc import Iterator

from ctxrank.cli.actions.given import given_text, or_piped
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts, place
from ctxrank.indexer.agents import Team, fold_agent
from ctxrank.indexer.bounds import MAX_QUERY_BYTES
from ctxrank.indexer.clock import SECOND_US, format_us, now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.sessions import Session, find_session
from ctxrank.indexer.records.skill_evidence import check_evidence
from ctxrank.indexer.records.skill_outputs import (
    MAX_OUTPUT_CHARS,
    StoredSkillOutput,
    list_skill_outputs,
    reported_skills,
    save_skill_output,
)
from ctxrank.indexer.records.skills_config import (
    SKILLS_CONFIG_PATH,
    configured_skills,
    has_skills_config,
    seed_skills,
    skill_levels,
)
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.config_file import read_config_file
from ctxrank.indexer.store.connection import Page
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, shorten, shown_json
from ctxrank.ranking.context.assembly.skills import Suggestion, suggest_skills
from ctxrank.ranking.context.assembly.skills import checklist as checklist_of

_PREVIEW_CHARS = 160


def seed(call: Call, store: Store, file: str | None, session: str | None) -> Reply:
    """Take over a skills configuration."""
    path = os.path.join(store.location.root, SKILLS_CONFIG_PATH) if file is None else file
    if not os.path.exists(path):
        raise UsageError(f"There is no file {path}.", "Give the skills configuration: ctxrank skill seed FILE.")
    value, _ = read_config_file(path, within=store.location.root if file is None else None)
    session_id = None if session is None else find_session(store.primary, session).id
    team = load_config(store).team
    with store.write() as change:
        seeded = seed_skills(change, value, team=team, session_id=session_id)
    whom = f"session {one_line(session)}" if session else "sessions made from now on"
    levels = f"{seeded.skills} skill level{'' if seeded.skills == 1 else 's'}"
    said = f"Seeded {levels} for {', '.join(seeded.agents) or 'no agent'}, for {whom}"
    return Reply(lambda: Extended(seeded, {"file": path, "session_id": session}), [said], notes=seeded.notes)


def checklist(call: Call, store: Store, agent: str, session: str | None, testing_mode: str) -> Reply:
    """Make the section of an agent's block that names its skills."""
    owner, agent, team = _asked(store, session, agent)
    levels = skill_levels(store.primary, agent, team=team, session=owner, testing_mode=testing_mode)
    text = checklist_of(levels, team.like(agent))
    note = f"{agent} gets no checklist: it passes work on."
    if not (levels.mandatory or levels.optional):
        note = _why_empty(store, agent, team, owner, "mandatory or optional")
    return Reply(
        lambda: Extended(levels, {"agent": agent, "text": text}),
        [text] if text else [],
        outcome="matched" if text else "no_match",
        exit_code=0 if text else 1,
        notes=() if text else (note,),
    )


def evidence(
    call: Call, store: Store, session: str, agent: str, since: str, skills: tuple[str, ...], **options: Any
) -> Reply:
    """Compare what an agent's skills reported with what it must invoke."""
    now = now_us()
    since_us = parse_time(since, now=now) // SECOND_US * SECOND_US
    if since_us >= now:
        raise UsageError(f"--since {since} is not in the past.", "Give an age such as 30m, or an earlier time.")
    owner = find_session(store.primary, session)
    _, agent, team = _asked(store, None, agent)
    levels = skill_levels(store.primary, agent, team=team, session=owner, testing_mode=options.pop("testing_mode"))
    mandatory = levels.mandatory
    checked = check_evidence(store.primary, owner, agent, skills or mandatory, since_us=since_us, **options)
    reason = "" if skills or mandatory else _why_empty(store, agent, team, owner, "mandatory")
    notes = list(_unknown_skills(store, team, owner, checked.missing)) if skills else []
    minutes = round((now - since_us) / (60 * SECOND_US), 1)
    more = {"agent": agent, "mandatory": mandatory, "recency_window_minutes": minutes, "note": reason or None}
    return Reply(
        lambda: Extended(checked, more),
        _evidence_lines(agent, checked.found, checked.missing, since_us),
        notes=(*notes, reason) if reason else tuple(notes),
    )


def _evidence_lines(agent: str, found: tuple[str, ...], missing: tuple[str, ...], since_us: int) -> Iterator[str]:
    for skill in found:
        yield f"found    {one_line(skill)}"
    for skill in missing:
        yield f"MISSING  {one_line(skill)}"
    if missing:
        noun = "skill has" if len(missing) == 1 else "skills have"
        yield f"Warning: {len(missing)} {noun} no output by {one_line(agent)} since {format_us(since_us)}."
    else:
        yield f"Complete: nothing is {'missing' if found else 'mandatory'}."


def suggest(call: Call, store: Store, task: tuple[str, ...], agent: str, session: str | None) -> Reply:
    """Choose the optional skills that fit a task."""
    text = given_text(call.note, " ".join(task), max_bytes=MAX_QUERY_BYTES)
    if not text.strip():
        raise UsageError("The task is empty.", "Say in words what the agent is to do.")
    owner, agent, team = _asked(store, session, agent)
    levels = skill_levels(store.primary, agent, team=team, session=owner)
    found = suggest_skills(text, levels)
    absent = f"nothing in the task calls for one of {', '.join(levels.optional)}."
    if not levels.optional:
        absent = _why_empty(store, agent, team, owner, "optional")
    return list_reply(call, found, "suggestions", _suggestion_line, absent=(absent,), agent=agent)


def _suggestion_line(call: Call, suggestion: Suggestion) -> str:
    return f"{call.bold(suggestion.skill)}: {suggestion.reason}"


def _asked(store: Store, session: str | None, agent: str) -> tuple[Session | None, str, Team]:
    """The session, the name of an agent or a role, and the roles that there are."""
    team = load_config(store).team
    return None if session is None else find_session(store.primary, session), fold_agent(agent, team), team


def _why_empty(store: Store, agent: str, team: Team, session: Session | None, levels: str) -> str:
    """Why there is nothing to say about an agent's skills of these levels."""
    if not team.knows(agent):
        return f"'{agent}' is not an agent; agents are {', '.join(team.agents)}."
    if not has_skills_config(store.primary, session=session):
        return "there is no skills configuration; 'ctxrank skill seed FILE' brings one in."
    if not configured_skills(store.primary, team=team, session=session):
        return "the skills configuration names no skill of any agent."
    return f"the skills configuration gives {agent} no {levels} skill."


def _unknown_skills(store: Store, team: Team, session: Session, missing: tuple[str, ...]) -> Iterator[str]:
    configured = configured_skills(store.primary, team=team, session=session)
    known = sorted({*configured, *reported_skills(store.primary, session.name)})
    for skill in missing:
        if skill not in known:
            yield f"'{skill}' is not a known skill; known ones are {', '.join(known) or 'none yet'}."


def save_output(call: Call, store: Store, skill: str, output: str | None, session: str, **options: Any) -> Reply:
    """Save what a skill reported."""
    text = given_text(call.note, or_piped(output), max_bytes=4 * MAX_OUTPUT_CHARS)  # a character takes up to four bytes
    saved = save_skill_output(store, session, skill, text, **options)
    return Reply(
        lambda: saved,
        [f"Saved {public_id('skill', saved.id)}, iteration {saved.iteration} of {one_line(saved.skill)}"],
        notes=tuple(filter(None, ("the output was redacted." if saved.is_redacted else "", saved.note))),
    )


def latest(call: Call, store: Store, skill: str, session: str, **options: Any) -> Reply:
    """Read the newest output of a skill."""
    found, reported = _found(store, session, skill, limit=1, **options)
    if not found:
        note = f"no output of {skill} that fits. {reported}"
        return Reply(lambda: {"output": None}, outcome="no_match", exit_code=1, notes=(note,))
    return Reply(lambda: _with_output(found[0]), [shown_json(found[0].output)])


def outputs(call: Call, store: Store, skill: str | None, session: str, **options: Any) -> Reply:
    """Read a page of outputs, the newest first."""
    found, reported = _found(store, session, skill, **options)
    return list_reply(
        call, found, "outputs", _output_lines, absent=(f"no outputs that fit. {reported}",), record=_with_output
    )


def _found(store: Store, session: str, skill: str | None, **options: Any) -> tuple[Page[StoredSkillOutput], str]:
    """A page of outputs, and a sentence on which skills have reported."""
    find_session(store.primary, session)
    found = cleaned_page(store, "skill", list_skill_outputs(store.primary, session, skill, **options))
    known = () if found else reported_skills(store.primary, session)
    said = f"What has reported in {session}: {', '.join(known)}."
    return found, said if known else f"No skill has reported in {session} yet."


def _output_lines(call: Call, entry: StoredSkillOutput) -> Iterator[str]:
    yield f"{call.bold(public_id('skill', entry.id))} {one_line(entry.skill)} · iteration {entry.iteration}"
    yield f"   {call.dim(facts(entry.agent, place(entry.session, entry.group), format_us(entry.created_at)))}"
    yield f"   {shorten(shown_json(entry.output), _PREVIEW_CHARS)}"


def _with_output(entry: StoredSkillOutput) -> Extended:
    return Extended(entry, {"output": json.loads(entry.output)})
