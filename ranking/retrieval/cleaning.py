"""Cleaning: what was stored under older redaction rules is redacted again before anyone sees it."""

from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode, may_hold_secret
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.text.lines import WIPED, searchable

if TYPE_CHECKING:
    from ctxrank.indexer.store.parents import ParentDocument


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


def cleaned_parent(parent: "ParentDocument", mode: RedactionMode) -> "ParentDocument":
    """The same document with its texts as today's redaction rules leave them."""
    if parent.ruleset >= RULESET_VERSION:
        return parent
    title, body = (cleaned(text, parent.ruleset, mode) for text in (parent.title, parent.body))
    return parent._replace(title=title, body=body)


_PARTING = dict.fromkeys(map(ord, "-_./"), " ")
_TOKEN_CHARS = 14


def cleaned_task(task: str, mode: RedactionMode) -> str:
    """A task text without its secrets: it is searched with and written into a receipt."""
    if not may_hold_secret(task, mode):
        return task
    from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  most tasks are plain words

    return redact(task, mode).text


def cleaned_name(name: str, mode: RedactionMode) -> str:
    """A name that a receipt keeps (an agent's, a group's, a model's), without a secret that was given in its place.

    Names are in parts, and no part of one is as long as a token: the rules are not loaded to find that out.
    """
    if mode.is_off or (mode.rules is None and _is_plain_name(name)):
        return name
    # By form alone, as names are refused where they are made: a group may be named by a hash.
    return cleaned_task(name, RedactionMode.PATTERN_ONLY.with_rules(mode.rules))


def _is_plain_name(name: str) -> bool:
    if not (name.isascii() and name.isprintable()) or any(sign in name for sign in "=:@,"):
        return False
    parts = name.translate(_PARTING).split()
    return all(len(part) < _TOKEN_CHARS or (part.islower() and part.isalpha()) for part in parts)
