"""The last message of an agent, kept as reasoning by the phases that its headings name.

    ## Decisions                    decisions
    We keep the queue in SQLite.
    ## What I did                   completion, which is also what has no heading
    …

An entry is unconfirmed: a search finds it, and no prompt is given it before another session has said the same.
"""

from ctxrank.cli.agents.injected_text import public_part, without_echo
from ctxrank.cli.agents.session import HookCall, role_of
from ctxrank.indexer.records.injections import injected_lines
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import Session
from ctxrank.indexer.records.unconfirmed import (
    confirm_entry,
    count_unconfirmed,
    same_entries,
    unconfirmed_name,
)
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import shorten
from ctxrank.indexer.text.tables import rows

_LEAST_WORDS = 8  # "Done." is no reasoning
_MAX_MESSAGE_CHARS = 40_000
_MAX_ENTRY_CHARS = 6_000
_MAX_ENTRIES = 200  # of a session, kept unasked
_COMPLETION = "completion"
_PHASES = {heading: phase for phase, heading in rows(__file__, "headings")}


def keep_message(call: HookCall) -> None:
    """Keep the last message of an agent as reasoning, an entry for each of its phases."""
    session, agent = call.session, unconfirmed_name(call.agent_type)
    role = role_of(call.config, call.settings, call.agent_type or "main")
    entry = NewReasoning(session.name, call.group, role, "", "", agent)
    injected = injected_lines(call.store.primary)
    keep_text(call.store, session, entry, call.event.text("last_assistant_message"), injected)


def keep_text(
    store: Store,
    session: Session,
    entry: NewReasoning,
    message: str,
    injected: frozenset[str],
    phases: tuple[str, ...] = (),
) -> int:
    """Keep what is new in a message, unconfirmed; of these phases alone, if any are named. Returns how many entries.

    `entry` is one of them but for its phase and content, `injected` are the digests of lines that we said ourselves.
    """
    message = without_echo(public_part(message[:_MAX_MESSAGE_CHARS]), injected)
    if len(message.split()) < _LEAST_WORDS:
        return 0
    texts = IncomingTexts(load_config(store).redaction_mode)
    room = _MAX_ENTRIES - count_unconfirmed(store.primary, session.id)
    kept = 0
    wanted = [(phase, text) for phase, text in phases_of(message) if not phases or phase in phases]
    for phase, text in wanted[: max(room, 0)]:
        content = shorten(texts.text(text).strip(), _MAX_ENTRY_CHARS)
        if known := same_entries(store.primary, content):
            if set(known.values()) != {session.id}:  # a session that repeats itself confirms nothing
                with store.write() as change:
                    for number in known:
                        confirm_entry(change, number)
            continue
        save_reasoning(store, entry._replace(phase=phase, content=content), create_session=True, notes_agent=False)
        kept += 1
    return kept


def phases_of(message: str) -> list[tuple[str, str]]:
    """(phase, text) by the headings of a message; what is below no heading of a phase is completion."""
    texts: dict[str, list[str]] = {}
    phase = _COMPLETION
    for line in message.split("\n"):
        heading = _heading(line)
        if heading is not None and heading in _PHASES:
            phase = _PHASES[heading]
        else:
            texts.setdefault(phase, []).append(line)
    joined = [(phase, "\n".join(lines).strip()) for phase, lines in texts.items()]
    return [(phase, text) for phase, text in joined if len(text.split()) >= _LEAST_WORDS]


def _heading(line: str) -> str | None:
    """The words of a line that is a heading: `## Risks`, `**Risks**` or `Risks:`; None for another line."""
    line = line.strip()
    is_heading = line.startswith("#") or line.endswith(":") or (line.startswith("**") and line.endswith("**"))
    return line.strip("#*: \t").lower() if is_heading and len(line) < 60 else None
