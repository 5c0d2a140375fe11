"""A text that a command is given: as its argument, from stdin or from a file."""

import sys

from ctxrank.indexer.errors import UsageError


def given_text(argument: str | None, file: str | None = None, option: str | None = None) -> str:
    """The argument or option, or for '-' all of stdin, or a file's whole text. Raises UsageError for none or two."""
    if sum(one is not None for one in (argument, file, option)) > 1:
        raise UsageError("The text is given more than once.", "Give it once: as an argument, an option or a file.")
    text = option if argument is None else argument
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
