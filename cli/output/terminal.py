"""What a person gets on a terminal alone: links to files, and a pager for what is longer than the screen."""

import os
import shlex
import signal
import socket
import subprocess
import sys

from ctxrank.indexer.exceptions import CtxrankError

# As git starts it: an answer that fits after all is left on the screen, and colours and links come through.
_LESS = "FRX"
_NO_PAGER = ("", "cat")


def linked(text: str, path: str) -> str:
    """A text that a terminal opens a file by when it is clicked (OSC 8, which other terminals show as plain text)."""
    from urllib.parse import quote  # noqa: PLC0415  only a terminal gets links

    address = f"file://{socket.gethostname()}{quote(os.fsencode(os.path.abspath(path)))}"
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def print_to_a_person(text: str) -> None:
    """Print a text on the terminal, through a pager where it is longer than the screen.

    The pager is CTXRANK_PAGER, else PAGER, else `less`; none where it is empty or `cat`. Raises CtxrankError for one
    that cannot be split into words.
    """
    pager = os.environ.get("CTXRANK_PAGER", os.environ.get("PAGER", "less"))
    if pager.strip() in _NO_PAGER or text.count("\n") < _rows() or not _was_paged(pager, text):
        sys.stdout.write(text)


def _rows() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or sys.maxsize
    except OSError:
        return sys.maxsize


def _was_paged(pager: str, text: str) -> bool:
    try:
        words = shlex.split(pager)
    except ValueError as error:
        raise CtxrankError(
            f"The pager {pager!r} is no command ({error}).", "Set CTXRANK_PAGER=cat for none."
        ) from error
    sys.stdout.flush()
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env={"LESS": _LESS, **os.environ})
    except OSError:
        return False  # it is not installed
    # Ctrl-C is the pager's: it stops a search within the text, and we are waiting anyway.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
