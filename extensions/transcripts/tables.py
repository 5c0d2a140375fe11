"""The table of conversations, as the core asks about it: see indexer/owners.py. No export has it."""

import os

from ctxrank.indexer.declarations import Row, declared
from ctxrank.indexer.owners import Owner
from ctxrank.indexer.text.tables import rows

VERSION = 1


def _title(row: Row) -> str:
    return str(row["title"])


def _is_low(_: Row) -> bool:
    return True  # nothing of it was saved on purpose


_KINDS, _ = declared(rows(__file__, "tables"), {"conversation": {"title": _title, "is_low": _is_low}})
CONVERSATION = _KINDS["conversation"]

OWNER = Owner("transcripts", VERSION, os.path.dirname(__file__), (CONVERSATION,))
