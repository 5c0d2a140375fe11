"""`ctxrank skill`: what skills reported, which ones an agent must invoke, and whether it did."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.cli.commands.skill_outputs import from_stdin, latest, outputs, save_output
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.sessions import Session
    from ctxrank.indexer.store.store import Store

_TESTING_MODE_HELP = "full, minimal or disabled: the last two excuse test-coverage and test-pattern-analysis."


@declare.group()
def command() -> None:
    """Skills: their outputs, and which of them an agent must, may and should invoke."""


for _reports in (save_output, latest, outputs):
    command.add(_reports)


@command.command()
@declare.argument("file", required=False)
@declare.option("--session", help="Only for this session [default: for every session made from now on].")
def seed(call: Call, file: str | None, session: str | None) -> None:
    """Take over the skills configuration of FILE, JSON or YAML [default: bazinga/skills_config.json].

    It stays until the next seed. As long as there is none, 'ctxrank session create' takes the default file as it is.

    Example: ctxrank skill seed bazinga/skills_config.json
    """
    from ctxrank.indexer.records.sessions import find_session
    from ctxrank.indexer.records.skills_config import seed_skills
    from ctxrank.indexer.store.config_file import read_config_file

    with call.open() as store:
        path = _existing(file, store.location.root)
        value, _ = read_config_file(path)
        session_id = None if session is None else find_session(store.truth, session).id
        with store.write() as change:
            seeded = seed_skills(change, value, session_id=session_id)
    for note in seeded.notes:
        call.note(note)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "file": path, "session_id": session, "agents": list(seeded.agents), "skills": seeded.skills,
                "notes": list(seeded.notes),
            }
        )  # fmt: skip
        return
    whom = f"session {shown(session)}" if session else "sessions made from now on"
    levels = f"{seeded.skills} skill level{'' if seeded.skills == 1 else 's'}"
    print(f"Seeded {levels} for {', '.join(seeded.agents) or 'no agent'}, for {whom}")


def _existing(file: str | None, root: str) -> str:
    """The file to seed from: as named from here, or the project's own."""
    import os

    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.records.skills_config import SKILLS_CONFIG_PATH

    path = os.path.join(root, SKILLS_CONFIG_PATH) if file is None else file
    if not os.path.exists(path):
        raise UsageError(f"There is no file {path}.", "Give the skills configuration: ctxrank skill seed FILE.")
    return path


@command.command()
@declare.option("--agent", required=True, help="Who is to invoke them.")
@declare.option("--session", help="The session it works in [default: the store's configuration].")
@declare.option("--testing-mode", default="full", show_default=True, help=_TESTING_MODE_HELP)
def checklist(call: Call, agent: str, session: str | None, testing_mode: str) -> int:
    """Print the skills that an agent must and may invoke, as the section of its block.

    Example: ctxrank skill checklist --agent developer --session S
    """
    from ctxrank.indexer.agents import fold_agent
    from ctxrank.indexer.records.skills_config import skill_levels
    from ctxrank.ranking.context.assembly.skills import checklist as checklist_of

    with call.open() as store:
        owner = _session(store, session)
        levels = skill_levels(store.truth, agent, session=owner, testing_mode=testing_mode)
        text = checklist_of(levels, agent)
        if not text and (levels.mandatory or levels.optional):
            call.note(f"{fold_agent(agent)} gets no checklist: it passes work on.")
        elif not text:
            call.note(_why_empty(store, agent, owner, "mandatory or optional"))
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "agent": fold_agent(agent), "mandatory": list(levels.mandatory), "optional": list(levels.optional),
                "disabled": list(levels.disabled), "text": text,
            },
            outcome="matched" if text else "no_match",
        )  # fmt: skip
    elif text:
        print(text)
    return 0 if text else 1


@command.command()
@declare.option("--session", required=True, help="The session to look in.")
@declare.option("--agent", required=True, help="Whose mandatory skills are checked, in what it reported itself.")
@declare.option("--group", help="Only of this group.")
@declare.option("--since", metavar="WHEN", default="30m", show_default=True, help="An age (30m), a date or a time.")
@declare.option("--iteration", type=declare.Whole(1), help="Only outputs of this iteration.")
@declare.option("--testing-mode", default="full", show_default=True, help=_TESTING_MODE_HELP)
@declare.option("--skill", "skills", multiple=True, help="Check this one instead of the mandatory ones.")
def evidence(
    call: Call,
    session: str,
    agent: str,
    group: str | None,
    since: str,
    iteration: int | None,
    testing_mode: str,
    skills: tuple[str, ...],
) -> None:
    """Say which mandatory skills an agent has an output of: a warning where one is missing, never a failure.

    Example: ctxrank skill evidence --session S --agent developer --group AUTH --since 30m
    """
    from ctxrank.indexer.agents import fold_agent
    from ctxrank.indexer.clock import SECOND_US, format_us, now_us, parse_time
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.records.sessions import find_session
    from ctxrank.indexer.records.skill_evidence import check_evidence
    from ctxrank.indexer.records.skills_config import skill_levels

    now = now_us()
    since_us = parse_time(since, now=now) // SECOND_US * SECOND_US
    if since_us >= now:
        raise UsageError(f"--since {since} is not in the past.", "Give an age such as 30m, or an earlier time.")
    agent = fold_agent(agent)
    with call.open() as store:
        owner = find_session(store.truth, session)
        mandatory = skill_levels(store.truth, agent, session=owner, testing_mode=testing_mode).mandatory
        checked = check_evidence(
            store.truth, owner, agent, skills or mandatory, group=group, since_us=since_us, iteration=iteration
        )
        reason = "" if skills or mandatory else _why_empty(store, agent, owner, "mandatory")
        if skills:
            _note_unknown(call, store, owner, checked.missing)
    if reason:
        call.note(reason)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        payload: dict[str, object] = {
            "agent": agent, "complete": checked.is_complete, "missing": list(checked.missing),
            "found": list(checked.found), "mandatory": list(mandatory),
            "recency_window_minutes": round((now - since_us) / (60 * SECOND_US), 1),
        }  # fmt: skip
        emit_json({**payload, "note": reason} if reason else payload)
        return
    for skill in checked.found:
        print(f"found    {shown(skill)}")
    for skill in checked.missing:
        print(f"MISSING  {shown(skill)}")
    if checked.missing:
        count = len(checked.missing)
        noun = "skill has" if count == 1 else "skills have"
        print(f"Warning: {count} {noun} no output by {shown(agent)} since {format_us(since_us)}.")
    else:
        print(f"Complete: nothing is {'missing' if checked.found else 'mandatory'}.")


@command.command()
@declare.argument("task", nargs=-1, required=True)
@declare.option("--agent", required=True, help="Who is to invoke them.")
@declare.option("--session", help="The session it works in [default: the store's configuration].")
def suggest(call: Call, task: tuple[str, ...], agent: str, session: str | None) -> int:
    """Name the optional skills of an agent that fit a TASK; - reads it from stdin.

    Example: ctxrank skill suggest --agent developer add a users endpoint
    """
    from ctxrank.indexer.agents import fold_agent
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.records.skills_config import skill_levels
    from ctxrank.ranking.context.assembly.skills import suggest_skills

    text = from_stdin(call) if task == ("-",) else " ".join(task)
    if not text.strip():
        raise UsageError("The task is empty.", "Say in words what the agent is to do.")
    with call.open() as store:
        owner = _session(store, session)
        levels = skill_levels(store.truth, agent, session=owner)
        found = suggest_skills(text, levels)
        if not levels.optional:
            call.note(_why_empty(store, agent, owner, "optional"))
        elif not found:
            call.note(f"nothing in the task calls for one of {', '.join(levels.optional)}.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"agent": fold_agent(agent), "suggestions": [suggestion._asdict() for suggestion in found]},
            outcome="matched" if found else "no_match",
        )
    else:
        for suggestion in found:
            print(f"{call.bold(suggestion.skill)}: {suggestion.reason}")
    return 0 if found else 1


def _session(store: "Store", name: str | None) -> "Session | None":
    from ctxrank.indexer.records.sessions import find_session

    return None if name is None else find_session(store.truth, name)


def _why_empty(store: "Store", agent: str, session: "Session | None", levels: str) -> str:
    """Why there is nothing to say about an agent's skills of these levels."""
    from ctxrank.indexer.agents import AGENTS, fold_agent
    from ctxrank.indexer.records.skills_config import configured_skills, has_skills_config

    known = fold_agent(agent)
    if known not in AGENTS:
        return f"'{agent}' is not an agent; agents are {', '.join(AGENTS)}."
    if not has_skills_config(store.truth, session=session):
        return "there is no skills configuration; 'ctxrank skill seed FILE' brings one in."
    if not configured_skills(store.truth, session=session):
        return "the skills configuration names no skill of any agent."
    return f"the skills configuration gives {known} no {levels} skill."


def _note_unknown(call: Call, store: "Store", session: "Session", missing: tuple[str, ...]) -> None:
    from ctxrank.indexer.records.skill_outputs import reported_skills
    from ctxrank.indexer.records.skills_config import configured_skills

    known = sorted({*configured_skills(store.truth, session=session), *reported_skills(store.truth, session.name)})
    for skill in missing:
        if skill not in known:
            call.note(f"'{skill}' is not a known skill; known ones are {', '.join(known) or 'none yet'}.")
