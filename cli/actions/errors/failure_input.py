"""The failure that a command is given: the text of a file or stdin, or a description in words."""

import sys

from ctxrank.cli.actions.given import stdin_bytes
from ctxrank.indexer.errors.failure_text import FailureText, read_failure_text, told_failure
from ctxrank.indexer.errors.parse.capture import capture_file, capture_stream
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.ruleset import RedactionMode


def capture_given(file: str | None) -> bytes:
    """What a file or, for '-' and None, stdin holds, bounded. Raises UsageError where there is nothing to read from."""
    if file is None and sys.stdin.isatty():
        raise UsageError(
            "There is no output to look at.", "Pipe it in, as in 'make 2>&1 | ctxrank error match', or name a FILE."
        )
    if file in (None, "-"):
        return capture_stream(stdin_bytes()).data()
    try:
        return capture_file(file).data()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}.", "Check the path, or give '-' for stdin."
        ) from error


def read_given(file: str | None, error_type: str | None, message: str | None, mode: RedactionMode) -> FailureText:
    """The failure, redacted: a message with its type, else a file. Raises UsageError where it is given twice."""
    if message is None:
        if error_type is not None:
            raise UsageError("--type needs --message.", "Give both, or the failure's whole output.")
        return read_failure_text(capture_given(file), mode)
    if file is not None:
        raise UsageError("The failure is given twice.", f"Give {file}, or --message, not both.")
    return told_failure(error_type or "", message, mode)
