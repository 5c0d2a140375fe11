"""A text that a command is given: as its argument, from stdin or from a file."""

import sys

from ctxrank.indexer.errors import UsageError


def given_text(text: str | None, file: str | None = None) -> str:
    """The argument, or for '-' all of stdin, or a file's whole text. Raises UsageError where there is none or two."""
    if text is not None and file is not None:
        raise UsageError("A text and a file are both given.", "Give one of them.")
    name = "-" if text == "-" else file
    if name is None:
        if text is None:
            raise UsageError("There is no text.", "Give it as one argument in quotes, or '-' and the text on stdin.")
        return text
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        with open(name, "rb") as source:
            return source.read().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}.", "Check the path, or give '-' for stdin."
        ) from error
