"""`ctxrank skill save-output`, `latest` and `outputs`: what skills reported."""

import json
import sys
from collections.abc import Iterator

from ctxrank.cli.actions.given import decoded, read_given, readable
from ctxrank.cli.call import Call, Extended, Reply, list_reply, shown
from ctxrank.cli.output.lines import facts, place
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skill_outputs import (
    MAX_OUTPUT_CHARS,
    StoredSkillOutput,
    latest_skill_output,
    list_skill_outputs,
    reported_skills,
    save_skill_output,
)
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import shown_json

_PREVIEW_CHARS = 160


def save_output(call: Call, skill: str, output: str | None, session: str, **options: Any) -> Reply:
    """Save what a skill reported."""
    text = from_stdin(call) if output is None or output == "-" else readable(output, call.note)
    with call.open() as store:
        config = load_config(store)
        mode, team = config.redaction_mode, config.team
        saved = save_skill_output(store, session, skill, text, mode=mode, team=team, **options)
    return Reply(
        lambda: saved,
        [f"Saved {public_id('skill', saved.id)}, iteration {saved.iteration} of {shown(saved.skill)}"],
        notes=tuple(filter(None, ("the output was redacted." if saved.is_redacted else "", saved.note))),
    )


def from_stdin(call: Call, max_bytes: int = 4 * MAX_OUTPUT_CHARS) -> str:
    """All of stdin, as far as an output may reach. Raises UsageError where there is nothing, or more."""
    if sys.stdin.isatty():
        raise UsageError("Nothing is piped in.", "Give it as an argument, or pipe it in.")
    # A character takes up to four bytes.
    return decoded(read_given("-", max_bytes), call.note)


def latest(call: Call, skill: str, session: str, **options: Any) -> Reply:
    """Read the newest output of a skill."""
    with call.open() as store:
        find_session(store.primary, session)
        entry = latest_skill_output(store.primary, session, skill, **options)
        known = () if entry is not None else reported_skills(store.primary, session)
    if entry is None:
        note = f"no output of {skill} that fits. {_reported(session, known)}"
        return Reply(lambda: {"output": None}, outcome="no_match", exit_code=1, notes=(note,))
    return Reply(lambda: _with_output(entry), map(shown_json, [entry.output]))


def outputs(call: Call, skill: str | None, session: str, **options: Any) -> Reply:
    """Read a page of outputs, the newest first."""
    with call.open() as store:
        find_session(store.primary, session)
        found = list_skill_outputs(store.primary, session, skill, **options)
        known = () if found else reported_skills(store.primary, session)
    lines = (line for entry in found for line in _output_lines(call, entry))
    notes = () if found else (f"no outputs that fit. {_reported(session, known)}",)
    return list_reply(found, "outputs", lines, notes=notes, record=_with_output)


def _reported(session: str, known: tuple[str, ...]) -> str:
    if not known:
        return f"No skill has reported in {session} yet."
    return f"What has reported in {session}: {', '.join(known)}."


def _output_lines(call: Call, entry: StoredSkillOutput) -> Iterator[str]:
    yield f"{call.bold(public_id('skill', entry.id))} {shown(entry.skill)} · iteration {entry.iteration}"
    yield f"   {call.dim(facts(entry.agent, place(entry.session, entry.group), format_us(entry.created_at)))}"
    text = shown_json(entry.output)
    yield f"   {text if len(text) <= _PREVIEW_CHARS else text[: _PREVIEW_CHARS - 1] + '…'}"


def _with_output(entry: StoredSkillOutput) -> Extended:
    return Extended(entry, {"output": json.loads(entry.output)})
