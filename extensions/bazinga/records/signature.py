"""The predecessor's error signature: a message with its variable parts masked, and a hash of the result.

    masked("No module named 'foo' at /home/u/app/x.py line 42")      "No module named '...' at .../x.py line N"

The same error in another folder, at another line or with another literal gives the same hash. Everything
is redacted before it comes here: masking first would tear a secret in two that no rule then recognises.
"""

import re

from ctxrank.indexer.light_typing import NamedTuple

UNKNOWN_TYPE = "Unknown"
MAX_MESSAGE_CHARS = 500

# In this order: what one mask leaves is what the next one sees.
_MASKS = (
    (r"/[^\s]+/", ".../"),
    (r"[A-Z]:\\[^\s]+\\", r"...\\"),
    (r"line \d+", "line N"),
    (r"'[^']{1,50}'", "'...'"),
    (r'"[^"]{1,50}"', '"..."'),
)


class StoredSignature(NamedTuple):
    """What an error is recognised by."""

    error_type: str
    message: str
    context_hints: tuple[str, ...]
    stack_pattern: tuple[str, ...]


def signature(
    error_type: str, message: str, context_hints: tuple[str, ...] = (), stack_pattern: tuple[str, ...] = ()
) -> StoredSignature:
    """The signature of an error whose texts are redacted already."""
    return StoredSignature(error_type.strip() or UNKNOWN_TYPE, masked(message), context_hints, stack_pattern)


def masked(message: str) -> str:
    """The message without paths, line numbers and short literals, trimmed and cut."""
    for pattern, replacement in _MASKS:
        message = re.sub(pattern, replacement, message)
    return message.strip()[:MAX_MESSAGE_CHARS]


def signature_hash(signed: StoredSignature) -> str:
    """SHA-256 in hex; neither the stack nor the order of the hints counts."""
    import hashlib  # noqa: PLC0415  loads OpenSSL; few callers hash

    parts = f"{signed.error_type}:{signed.message}:{','.join(sorted(signed.context_hints))}"
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()
