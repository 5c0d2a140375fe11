"""Skill outputs: what a skill reported, every invocation kept and none written over.

saved = save_skill_output(store, "shop-2026-10", "lint-check", '{"errors": 0}', agent="developer")
saved.iteration                                                  1, then 2, 3 …
list_skill_outputs(store.primary, "shop-2026-10", "lint-check")  the newest first
"""

import apsw

from ctxrank.indexer.agents import fold_agent, saved_agent
from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.records.sessions import is_session_wide, require_place
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page, read_column, require_value
from ctxrank.indexer.store.rows import Value, list_where
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Store
from ctxrank.indexer.text.light_json import is_deep
from ctxrank.indexer.text.lines import is_one_line

MAX_SKILL_CHARS = 200
# More than any report has; what is larger still is a file, and searched as a package, in passages.
MAX_OUTPUT_CHARS = 32_000_000


class SavedSkillOutput(NamedTuple):
    """What saving did; `iteration` counts from 1 for each session, skill, agent and group."""

    id: int
    session: str
    skill: str
    iteration: int
    is_redacted: bool
    note: str = ""  # on an agent that is not known


class StoredSkillOutput(NamedTuple):
    """A stored output as it is listed; names instead of row ids. `group` None is session-wide, `output` is JSON."""

    id: int
    session: str
    group: str | None
    agent: str
    skill: str
    iteration: int
    output: str
    created_at: int


def save_skill_output(
    store: Store,
    session: str,
    skill: str,
    output: str,
    *,
    agent: str = "",
    group: str | None = None,
    create_session: bool = False,
) -> SavedSkillOutput:
    """Save what a skill reported: any JSON value, redacted; returns which invocation it was.

    `agent` '' is no particular agent; one that is not known is kept, with a note.
    Raises UsageError (no JSON, a bad name), NotFoundError for an unknown session, LockedError.
    """
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  start-up: writing only

    config = load_config(store)
    texts = IncomingTexts(config.redaction_mode)
    skill = texts.word(skill_name(skill))
    value = _checked_json(output, skill)
    clean = texts.json(value, empty="null")
    # Half a character pair is no secret, and is replaced in any mode.
    is_redacted = clean != IncomingTexts(RedactionMode.OFF).json(value, empty="null")
    agent, note = saved_agent(texts.word(agent), config.team) if agent.strip() else ("", "")
    with store.write() as change:
        owner, group_id = require_place(change, session, group, create=create_session)
        # The lock is held, so no other process gets the same number.
        query = """
            SELECT coalesce(max(iteration), 0) + 1 FROM skill_outputs
             WHERE session_id = ? AND skill = ? AND agent = ? AND group_id IS ?
        """
        iteration = require_value(change.connection, query, (owner.id, skill, agent, group_id), int)
        values: dict[str, Value] = {"session_id": owner.id, "group_id": group_id, "agent": agent, "skill": skill}
        values |= {"iteration": iteration, "output": clean, "created_at": now_us()}
        number = insert(change, KINDS["skill"], values)
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return SavedSkillOutput(number, owner.name, skill, iteration, is_redacted, note)


def skill_name(text: str) -> str:
    """A skill's name as it is kept: trimmed, one line. Raises UsageError."""
    name = text.strip()
    if not name:
        raise UsageError("A skill needs a name.", "Give one, such as lint-check.")
    if len(name) > MAX_SKILL_CHARS:
        raise UsageError(
            f"The skill's name has {len(name)} characters: {name[:40]!a} …", f"At most {MAX_SKILL_CHARS} are kept."
        )
    if not is_one_line(name):
        raise UsageError(f"{name!a} is not a skill's name.", "Choose one line of printable characters.")
    return name


def _checked_json(text: str, skill: str) -> str:
    """The text, which is JSON. Raises UsageError, which says where it stops being JSON."""
    import json  # noqa: PLC0415  start-up: most calls parse no JSON

    if len(text) > MAX_OUTPUT_CHARS:
        raise UsageError(
            f"The output of {skill} has {len(text):,} characters; at most {MAX_OUTPUT_CHARS:,} are kept.",
            "Save the report as a file and a package, and a summary of it as the output.",
        )
    reason = "it is nested too deeply"
    if not is_deep(text):
        try:
            value: object = json.loads(text, parse_constant=_refuse_constant)
            # A number such as 1e999 is read as infinite, which no JSON can say.
            json.dumps(value, ensure_ascii=False, allow_nan=False)
            return text
        except json.JSONDecodeError as error:
            reason = f"{error.msg} at line {error.lineno}, column {error.colno}" if text.strip() else "it is empty"
        except ValueError as error:
            reason = str(error)
    raise UsageError(
        f"The output of {skill} is not JSON: {reason}.",
        'Give one JSON value: an object, a list, a number, true, false, null, or a text in double quotes ("done").',
    )


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


def list_skill_outputs(
    primary: apsw.Connection,
    session: str,
    skill: str | None = None,
    *,
    agent: str | None = None,
    group: str | None = None,
    limit: int = -1,
) -> Page[StoredSkillOutput]:
    """Outputs of a session, the newest first, of two from one moment the one that was saved later.

    No `agent` is any agent, a session-wide `group` all groups; an unknown session has none.
    """
    wanted: dict[str, Value] = {
        "session": session,
        "skill": None if skill is None else skill.strip(),
        "agent": None if agent is None or not agent.strip() else fold_agent(agent),
        "group": None if is_session_wide(group) else group,
    }
    return list_where(primary, "skill_outputs", StoredSkillOutput, wanted, limit=limit)


def reported_skills(primary: apsw.Connection, session: str) -> tuple[str, ...]:
    """The names of the skills that have an output in a session, by name."""
    query = """
        SELECT DISTINCT o.skill FROM skill_outputs AS o JOIN sessions AS s ON s.id = o.session_id
         WHERE s.name = ? ORDER BY o.skill
    """
    return tuple(read_column(primary, query, (session,), str))
