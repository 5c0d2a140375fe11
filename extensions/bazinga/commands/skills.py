"""The predecessor's commands for skill outputs; what they refuse is JSON on stderr there."""

import json

from ctxrank.extensions.bazinga.arguments import Arguments, group_name
from ctxrank.extensions.bazinga.call import BazingaCall, Json, text_moment
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records import skill_outputs
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skill_evidence import check_evidence

_MINUTE_US = 60 * 1_000_000
_RECENT_MINUTES = 30


def save_skill_output(call: BazingaCall, given: Arguments) -> None:
    """Save what a skill reported; each invocation has a number of its own."""
    session, skill, text = given.positionals[:3]
    group, agent = group_name(given.get("--group", "")), given.get("--agent", "")
    saved = skill_outputs.save_skill_output(call.store, session, skill, text, agent=agent, group=group, mode=call.mode)
    for_whom = f" for {agent}" if agent else ""
    call.done(f"Saved {saved.skill} output{for_whom} (iteration {saved.iteration})")
    if saved.is_redacted:
        call.complain("Warning: the output was redacted.")
    if not call.is_quiet:
        call.write(json.dumps({"iteration": saved.iteration}) + "\n")


def get_skill_output(call: BazingaCall, given: Arguments) -> None:
    """What a skill reported last, or null."""
    session, skill = given.positionals[:2]
    latest = skill_outputs.latest_skill_output(call.store.primary, session, skill, agent=given.get("--agent"))
    call.answer(None if latest is None else json.loads(latest.output))


get_latest_skill_output = get_skill_output  # the name that was promised and never made


def get_skill_output_all(call: BazingaCall, given: Arguments) -> list[Json]:
    """Everything a skill reported, the newest first."""
    session, skill = given.positionals[:2]
    found = skill_outputs.list_skill_outputs(call.store.primary, session, skill, agent=given.get("--agent"))
    return [
        {
            "iteration": output.iteration,
            "agent_type": output.agent or None,
            "group_id": output.group,
            "timestamp": text_moment(output.created_at),
            "output_data": json.loads(output.output),
        }
        for output in found
    ]


def check_skill_evidence(call: BazingaCall, given: Arguments) -> Json:
    """Which of some skills have an output of late; 0 whatever is missing."""
    minutes = given.number("--since", _RECENT_MINUTES)
    if minutes < 1:
        raise UsageError(f"--since must be a positive integer, got {minutes}")
    wanted = tuple(skill.strip() for skill in given.positionals[1].split(",") if skill.strip())
    found: tuple[str, ...] = ()
    try:
        if wanted:
            session, since = find_session(call.store.primary, given["session"]), now_us() - minutes * _MINUTE_US
            found = check_evidence(call.store.primary, session, given.get("--agent"), wanted, since_us=since).found
    except NotFoundError as error:
        call.complain(error.message)
    missing = [skill for skill in wanted if skill not in found]
    return {
        "complete": not missing,
        "missing": missing,
        "found": [skill for skill in wanted if skill in found],
        "mandatory": list(wanted),
        "recency_window_minutes": minutes,
    }
