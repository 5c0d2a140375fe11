"""The failure that a command is given: the text of a file or stdin, or a description in words."""

import sys

from ctxrank.cli.actions.given import stdin_bytes
from ctxrank.indexer.errors.failure_text import FailureText, read_failure_text, told_failure
from ctxrank.indexer.errors.parse.capture import capture_file, capture_stream
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode


class GivenFailure(NamedTuple):
    """Where the failure is: a file ('-' and None are stdin), or a message with its type."""

    file: str | None = None
    error_type: str | None = None
    message: str | None = None


def capture_given(given: GivenFailure) -> bytes:
    """What the file or stdin holds, bounded. Raises UsageError where there is nothing to read from."""
    if given.file is None and sys.stdin.isatty():
        raise UsageError(
            "There is no output to look at.", "Pipe it in, as in 'make 2>&1 | ctxrank error match', or name a FILE."
        )
    if given.file in (None, "-"):
        return capture_stream(stdin_bytes()).data()
    try:
        return capture_file(given.file).data()
    except OSError as error:
        raise UsageError(
            f"{given.file} cannot be read: {error.strerror}.", "Check the path, or give '-' for stdin."
        ) from error


def read_given(given: GivenFailure, mode: RedactionMode) -> FailureText:
    """The failure, redacted. Raises UsageError where it is given twice, or not at all."""
    if given.message is None:
        if given.error_type is not None:
            raise UsageError("--type needs --message.", "Give both, or the failure's whole output.")
        return read_failure_text(capture_given(given), mode)
    if given.file is not None:
        raise UsageError("The failure is given twice.", f"Give {given.file}, or --message, not both.")
    return told_failure(given.error_type or "", given.message, mode)
