"""`ctxrank skill save-output`, `latest` and `outputs`: what skills reported."""

import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.text.lines import visible_json

if TYPE_CHECKING:
    from ctxrank.indexer.records.skill_outputs import StoredSkillOutput

_PREVIEW_CHARS = 160


@declare.command("save-output")
@declare.argument("skill")
@declare.argument("output", metavar="[JSON|-]", required=False)
@declare.option("--session", required=True, help="The session it belongs to.")
@declare.option("--agent", default="", help="The agent that invoked the skill.")
@declare.option("--group", help="Its task group; none, - or 'global' means the whole session.")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
def save_output(
    call: Call, skill: str, output: str | None, session: str, agent: str, group: str | None, create_session: bool
) -> None:
    """Save what SKILL reported, any JSON value; without JSON, or with -, it is read from stdin.

    Example: ctxrank skill save-output lint-check '{"errors": 0}' --session S --agent developer
    """
    from ctxrank.cli.commands.given_text import readable
    from ctxrank.indexer.records.skill_outputs import save_skill_output
    from ctxrank.indexer.store.config import load_config

    text = from_stdin(call) if output is None or output == "-" else readable(output, call.note)
    with call.open() as store:
        saved = save_skill_output(
            store, session, skill, text, agent=agent, group=group, create_session=create_session,
            mode=load_config(store).redaction_mode,
        )  # fmt: skip
    if saved.is_redacted:
        call.note("the output was redacted.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "id": saved.id, "session_id": saved.session, "skill": saved.skill, "iteration": saved.iteration,
                "redacted": saved.is_redacted,
            }
        )  # fmt: skip
    else:
        print(f"Saved skill:{saved.id}, iteration {saved.iteration} of {shown(saved.skill)}")


def from_stdin(call: Call) -> str:
    """All of stdin, as far as an output may reach. Raises UsageError where nothing is piped in."""
    from ctxrank.cli.commands.given_text import decoded
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.records.skill_outputs import MAX_OUTPUT_CHARS

    if sys.stdin.isatty():
        raise UsageError("Nothing is piped in.", "Give it as an argument, or pipe it in.")
    # A character takes up to four bytes; what is longer still is refused where it is parsed.
    return decoded(sys.stdin.buffer.read(4 * MAX_OUTPUT_CHARS + 1), call.note)


@declare.command()
@declare.argument("skill")
@declare.option("--session", required=True, help="The session to look in.")
@declare.option("--agent", help="Only what this agent reported.")
@declare.option("--group", help="Only of this group.")
def latest(call: Call, skill: str, session: str, agent: str | None, group: str | None) -> int:
    """Print the JSON value that SKILL reported last; exit code 1 if there is none.

    Example: ctxrank skill latest lint-check --session S
    """
    from ctxrank.indexer.records.sessions import find_session
    from ctxrank.indexer.records.skill_outputs import latest_skill_output, reported_skills

    with call.open() as store:
        find_session(store.truth, session)
        entry = latest_skill_output(store.truth, session, skill, agent=agent, group=group)
        known = () if entry is not None else reported_skills(store.truth, session)
    if entry is None:
        call.note(f"no output of {skill} that fits. {_reported(session, known)}")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"output": None} if entry is None else _output_json(entry),
            outcome="no_match" if entry is None else "matched",
        )
    elif entry is not None:
        print(visible_json(entry.output))
    return 0 if entry is not None else 1


@declare.command()
@declare.argument("skill", required=False)
@declare.option("--session", required=True, help="The session to look in.")
@declare.option("--agent", help="Only what this agent reported.")
@declare.option("--group", help="Only of this group.")
@declare.option("-n", "--limit", default=50, show_default=True, type=declare.Whole(1), help="How many.")
def outputs(call: Call, skill: str | None, session: str, agent: str | None, group: str | None, limit: int) -> int:
    """List the outputs of SKILL, or of all skills, the newest first.

    Example: ctxrank skill outputs lint-check --session S --agent developer
    """
    from ctxrank.indexer.records.sessions import find_session
    from ctxrank.indexer.records.skill_outputs import list_skill_outputs, reported_skills

    with call.open() as store:
        find_session(store.truth, session)
        entries = list_skill_outputs(store.truth, session, skill, agent=agent, group=group, limit=limit)
        known = () if entries else reported_skills(store.truth, session)
    if not entries:
        call.note(f"no outputs that fit. {_reported(session, known)}")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"total": len(entries), "outputs": [_output_json(entry) for entry in entries]},
            outcome="matched" if entries else "no_match",
        )
    else:
        for entry in entries:
            _print_line(call, entry)
    return 0 if entries else 1


def _reported(session: str, known: tuple[str, ...]) -> str:
    if not known:
        return f"No skill has reported in {session} yet."
    return f"What has reported in {session}: {', '.join(known)}."


def _print_line(call: Call, entry: "StoredSkillOutput") -> None:
    from ctxrank.indexer.clock import format_us

    where = "/".join(part for part in (entry.session, entry.group) if part)
    facts = [entry.agent, where, format_us(entry.created_at)]
    print(f"{call.bold(f'skill:{entry.id}')} {shown(entry.skill)} · iteration {entry.iteration}")
    print(f"   {call.dim(shown(' · '.join(fact for fact in facts if fact)))}")
    text = visible_json(entry.output)
    print(f"   {text if len(text) <= _PREVIEW_CHARS else text[: _PREVIEW_CHARS - 1] + '…'}")


def _output_json(entry: "StoredSkillOutput") -> dict[str, object]:
    import json

    from ctxrank.indexer.clock import format_us

    return {
        "id": entry.id, "session_id": entry.session, "group_id": entry.group, "agent": entry.agent or None,
        "skill": entry.skill, "iteration": entry.iteration, "created_at": format_us(entry.created_at),
        "output": json.loads(entry.output),
    }  # fmt: skip
