"""The predecessor's commands for skill outputs."""

import json

from ctxrank.cli.bazinga.arguments import group_name
from ctxrank.cli.bazinga.call import BazingaCall, text_moment
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skill_evidence import check_evidence
from ctxrank.indexer.records.skill_outputs import latest_skill_output, list_skill_outputs
from ctxrank.indexer.records.skill_outputs import save_skill_output as save

if TYPE_CHECKING:
    from ctxrank.indexer.records.skill_outputs import StoredSkillOutput

_MINUTE_US = 60 * 1_000_000
_RECENT_MINUTES = 30


def save_skill_output(call: BazingaCall) -> int:
    """Save what a skill reported; each invocation has a number of its own."""
    try:
        given = call.read()
        group = group_name(given.text("--group") or "")
        agent = given.text("--agent") or ""
        saved = save(call.store, given[0], given[1], given[2], agent=agent, group=group, mode=call.mode)
    except (UsageError, NotFoundError) as error:
        return _failed(call, error.message)
    for_whom = f" for {agent}" if agent else ""
    call.done(f"Saved {saved.skill} output{for_whom} (iteration {saved.iteration})")
    if saved.is_redacted:
        call.complain("Warning: the output was redacted.")
    if not call.is_quiet:
        call.answer_on_one_line({"iteration": saved.iteration})
    return 0


def _failed(call: BazingaCall, message: str) -> int:
    """Here the predecessor's JSON error is on stderr."""
    call.warn(json.dumps({"success": False, "error": message}, indent=2))
    return 1


def get_skill_output(call: BazingaCall) -> int:
    """What a skill reported last, or null."""
    try:
        given = call.read()
    except UsageError as error:
        return _failed(call, error.message)
    latest = latest_skill_output(call.store.primary, given[0], given[1], agent=given.text("--agent"))
    call.answer(None if latest is None else json.loads(latest.output))
    return 0


get_latest_skill_output = get_skill_output  # the name that was promised and never made


def get_skill_output_all(call: BazingaCall) -> int:
    """Everything a skill reported, the newest first."""
    try:
        given = call.read()
    except UsageError as error:
        return _failed(call, error.message)
    found = list_skill_outputs(call.store.primary, given[0], given[1], agent=given.text("--agent"))
    call.answer([_output_json(output) for output in found])
    return 0


def _output_json(output: "StoredSkillOutput") -> dict[str, object]:
    return {
        "iteration": output.iteration,
        "agent_type": output.agent or None,
        "group_id": output.group,
        "timestamp": text_moment(output.created_at),
        "output_data": json.loads(output.output),
    }


def check_skill_evidence(call: BazingaCall) -> int:
    """Which of some skills have an output of late; 0 whatever is missing."""
    try:
        given = call.read()
        minutes = given.number("--since", _RECENT_MINUTES)
        if minutes < 1:
            raise UsageError(f"--since must be a positive integer, got {minutes}")
    except UsageError as error:
        return _failed(call, error.message)
    wanted = [skill.strip() for skill in given[1].split(",") if skill.strip()]
    found: tuple[str, ...] = ()
    if wanted:
        try:
            session = find_session(call.store.primary, given[0])
        except NotFoundError as error:
            call.complain(error.message)
        else:
            since = now_us() - minutes * _MINUTE_US
            found = check_evidence(
                call.store.primary, session, given.text("--agent"), tuple(wanted), since_us=since
            ).found
    missing = [skill for skill in wanted if skill not in found]
    call.answer(
        {
            "complete": not missing,
            "missing": missing,
            "found": [skill for skill in wanted if skill in found],
            "mandatory": wanted,
            "recency_window_minutes": minutes,
        }
    )
    return 0
