"""The table of conversations, as the core asks about it: see indexer/owners.py. No export has it."""

import os

from ctxrank.indexer.declarations import (
    DocumentShape,
    Kind,
    Row,
    Table,
    agent,
    group_reference,
    line,
    numbers,
    session_reference,
    text,
    times,
)
from ctxrank.indexer.owners import Owner

VERSION = 1


def _title(row: Row) -> str:
    return str(row["title"])


def _is_low(_: Row) -> bool:
    return True  # nothing of it was saved on purpose


CONVERSATION = Kind(
    "conversation",
    Table(
        "conversations",
        (
            *numbers("id"),
            session_reference(),
            group_reference(),
            agent("agent"),
            line("title"),
            text("content"),
            *times("created_at"),
        ),
        counted_as="conversation",
    ),
    document=DocumentShape(title=_title, body="content", agent="agent", is_low=_is_low),
    ages_by="created_at",
    is_exported=False,
)

OWNER = Owner("transcripts", version=VERSION, folder=os.path.dirname(__file__), kinds=(CONVERSATION,))
