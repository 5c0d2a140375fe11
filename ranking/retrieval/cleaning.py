"""Cleaning: what was stored under older redaction rules is redacted again before anyone sees it."""

from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode, may_hold_secret
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.text.lines import WIPED, searchable


def cleaned(text: str, ruleset: int, mode: RedactionMode) -> str:
    """The text as today's rules leave it, its words whole; what was stored under the rules is redacted already.

    Raises DamagedError for a text that was wiped on the disk.
    """
    if WIPED in text:
        raise DamagedError("The store is damaged (a text in it was wiped).", DAMAGED_STEP)
    if ruleset >= RULESET_VERSION:
        return searchable(text)
    from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  its patterns are compiled only where a row needs them

    return searchable(redact(text, mode).text)


def cleaned_task(task: str, mode: RedactionMode) -> str:
    """A task text without its secrets: it is searched with and written into a receipt."""
    if not may_hold_secret(task, mode):
        return task
    from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  most tasks are plain words

    return redact(task, mode).text
