"""The table of conversations, as the core asks about it: see indexer/owners.py. No export has it."""

import os

from ctxrank.indexer.declarations import declared
from ctxrank.indexer.owners import Owner
from ctxrank.indexer.text.tables import rows

VERSION = 1


# Nothing of it was saved on purpose.
_KINDS, _ = declared(
    rows(__file__, "tables"), {"conversation": {"title": lambda row: str(row["title"]), "is_low": lambda _: True}}
)
CONVERSATION = _KINDS["conversation"]

OWNER = Owner("transcripts", VERSION, os.path.dirname(__file__), (CONVERSATION,))
