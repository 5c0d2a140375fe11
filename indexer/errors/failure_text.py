"""A failure as text: what a command printed, without secrets, ready to be cut into errors.

    read_failure_text(b"error: no such file\\n", RedactionMode.PATTERN_ONLY).text    "error: no such file\\n"

Redacted twice where that makes a difference: before cleaning, which may cut a long line in the middle of a secret, and
after it, because a colour inside a secret hides it from the rules.
"""

from ctxrank.indexer.errors.parse.console import clean
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RedactionMode, redact, secret_values

NOTHING_PRINTED = "Nothing was printed, so there is nothing to recognise."
NO_TEXT = "What came in is binary data and no text."

_SAMPLE_BYTES = 8192
_MOST_NOISE = 0.1  # of a sample's characters; text in a wrong encoding has a few
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Controls that consoles do print: backspace, tab, line ends, form feed, escape.
_PRINTED_CONTROLS = frozenset(b"\x07\b\t\n\v\f\r\x1b")
_HIDING = ("\x1b", "\b", "\r")


class FailureText(NamedTuple):
    """A redacted text; where there is none, `trouble` says why."""

    text: str
    trouble: str = ""
    secrets: frozenset[str] = frozenset()  # what was redacted, for the other fields of a record; never stored


def read_failure_text(data: bytes, mode: RedactionMode) -> FailureText:
    """What a command printed, redacted. The caller has bounded the data (capture.py)."""
    if not data.strip(b"\0 \t\r\n"):
        return FailureText("", NOTHING_PRINTED)
    if data[:2] in _BYTE_ORDER_MARKS:
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    if _is_binary(data):
        return FailureText("", NO_TEXT)
    raw = data.decode("utf-8-sig", "replace")
    redacted = redact(raw, mode)
    secrets = secret_values(raw, mode) if redacted.rules else frozenset[str]()
    text = clean(redacted.text)
    if any(hiding in raw for hiding in _HIDING):
        text = redact(text, mode).text
    return FailureText(text, secrets=secrets) if text.strip() else FailureText("", NOTHING_PRINTED)


def told_failure(error_type: str, message: str, mode: RedactionMode) -> FailureText:
    """A failure described in words, written as a program would print it."""
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  start-up: writing only

    texts = IncomingTexts(mode)
    kind, said = texts.line(error_type), texts.text(message).strip()
    secrets = secret_values(message, mode) if said != message.strip() else frozenset[str]()
    if not said:
        return FailureText("", "The message is empty.")
    text = said if not kind or said.startswith(kind) else f"{kind}: {said}"
    return FailureText(text, secrets=secrets)


def _is_binary(data: bytes) -> bool:
    """Whether the beginning and the end are no text: too many controls, or bytes that are no UTF-8."""
    for sample in (data[:_SAMPLE_BYTES], data[-_SAMPLE_BYTES:]):
        text = sample.decode("utf-8", "replace")
        noise = text.count("\ufffd") + sum(byte < 0x20 and byte not in _PRINTED_CONTROLS for byte in sample)
        if noise > max(4, len(text) * _MOST_NOISE):
            return True
    return False
