"""Conversations that a search finds: prompts and last messages, redacted, where `hooks.keep` has them kept.

They are a kind of their own, which is in no block and is said at no event: only a search finds them.
"""

from ctxrank.cli.agents.injected_text import public_part, without_echo
from ctxrank.extensions.transcripts.steps import Said
from ctxrank.extensions.transcripts.tables import CONVERSATION, OWNER, VERSION
from ctxrank.indexer.catalogue import kinds_of
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import make_tables
from ctxrank.indexer.privacy.retention import UNCONFIRMED_DAYS, prune_older
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.records.conversations import TITLE_CHARS
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line, shorten

_MAX_CHARS = 6_000  # of one text


def is_prompt_of_person(said: Said) -> bool:
    """Whether a prompt is a person's words: neither a spawned agent's task, nor what a runner puts in their place.

    Those are a command, `/clear`, and what is in a tag such as `<local-command-stdout>`.
    """
    text = said.text.lstrip()
    tag = text[1:].partition(">")[0] if text.startswith("<") else ""
    is_runners = tag != (letters := tag.replace("-", "").replace("_", "")) and letters.isalpha()
    is_command = text.startswith("/") and "/" not in text.split(maxsplit=1)[0][1:]
    return said.is_prompt and not said.where.agent and bool(text) and not (is_runners or is_command)


def title_of(prompt: str, mode: RedactionMode) -> str:
    """What a session is called by its first prompt."""
    return shorten(one_line(IncomingTexts(mode).text(public_part(prompt))), TITLE_CHARS)


class Place(NamedTuple):
    """Where something was said, by whom ('': the person), and what the session is called."""

    session_id: int
    group_id: int | None
    agent: str
    title: str


def keep_said(change: Change, said: Said, place: Place, injected: frozenset[str], mode: RedactionMode) -> None:
    """Keep what was said in a session; `injected` are the digests of our own lines."""
    text = IncomingTexts(mode).text(without_echo(public_part(said.text), injected)).strip()
    if not text:
        return
    query = "SELECT version FROM extensions WHERE name = ?"
    if read_value(change.connection, query, (OWNER.name,), int) != VERSION:
        make_tables(change.connection, OWNER)
    values = {**place._asdict(), "content": shorten(text, _MAX_CHARS), "created_at": said.at_us}
    # An import that was ended before it noted how far it had come reads the same lines again.
    same = "session_id = :session_id AND agent = :agent AND content = :content AND created_at = :created_at"
    if read_value(change.connection, f"SELECT id FROM {CONVERSATION.table.name} WHERE {same}", values, int) is None:
        insert(change, CONVERSATION, values)


def prune_conversations(store: Store) -> None:
    """Remove what is too old to be kept unasked. Raises LockedError."""
    if CONVERSATION.name in kinds_of(store.primary):
        prune_older(store, now_us() - UNCONFIRMED_DAYS * DAY_US, kinds=(CONVERSATION.name,))
