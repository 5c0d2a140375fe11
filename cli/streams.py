"""The three standard streams of a call: a stream that cannot be written to ends in a message, not a traceback.

    stdout is                       what happens
    ----------------------------    ------------------------------------------------------------------
    a pipe whose reader has gone    a normal end: 0, and nothing is said
    closed                          the call runs, its answer is dropped, its exit code is the usual one
    on a full disk                  6, and a sentence on stderr
    of an encoding without ☃        `\\u2603` in its place, which JSON reads back and a person can look up

`answered` in `call.py` chooses the exit code. A message that cannot be written to stderr is dropped.
"""

import codecs
import os
import sys
from io import TextIOWrapper

from ctxrank.indexer.light_typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import TextIO

STDOUT = "<stdout>"
_UTF_8 = ("utf-8", "utf8", "utf_8")
_AS_JSON = "ctxrank.as_json"


def restart_in_utf_8() -> None:
    """Restart Python in UTF-8 mode where the locale has another encoding for paths: a store has them in UTF-8.

    Python itself uses UTF-8 under LC_ALL=C, so this is only for PYTHONUTF8=0 and for locales of another encoding.
    """
    if sys.getfilesystemencoding() not in _UTF_8 and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def open_streams() -> None:
    """Make the streams usable, before anything else of a call. Called once, by the entry point."""
    codecs.register_error(_AS_JSON, _escaped)
    # None is a stream that was closed. Each old wrapper lives on in sys.__stdout__, so that its file is not closed.
    if sys.stdin is None:
        sys.stdin = _nowhere(0, "r")
    sys.stdout = _as(NamedStdout, sys.stdout) if sys.stdout is not None else _nowhere(1, "w")
    sys.stderr = _as(Messages, sys.stderr) if sys.stderr is not None else _nowhere(2, "w")


class NamedStdout(TextIOWrapper):
    """stdout. Its errors name it, because a full disk may be that of the store or that of stdout."""

    def write(self, text: str, /) -> int:
        """Write the text. Raises OSError, whose file name is `<stdout>`."""
        try:
            return super().write(text)
        except OSError as error:
            self._failed(error)
            return len(text)

    def flush(self) -> None:
        """Pass on what was written. Raises OSError, whose file name is `<stdout>`."""
        try:
            super().flush()
        except (OSError, ValueError) as error:
            self._failed(error)

    def _failed(self, error: OSError | ValueError) -> None:
        if isinstance(error, OSError):
            error.filename = STDOUT
        raise error


class Messages(NamedStdout):
    """stderr. A message that cannot be written is dropped, and the call goes on."""

    def _failed(self, error: OSError | ValueError) -> None:
        pass


def _as(kind: type[TextIOWrapper], stream: "TextIO") -> "TextIO":
    """The same stream as one of these classes; a character that its encoding does not have is escaped."""
    if not isinstance(stream, TextIOWrapper):
        return stream
    errors = stream.errors if stream.encoding.lower() in _UTF_8 else _AS_JSON
    lines, through = stream.line_buffering, stream.write_through
    return kind(cast("TextIO", stream).buffer, stream.encoding, errors, line_buffering=lines, write_through=through)


def _nowhere(number: int, mode: str) -> "TextIO":
    """A stream that replaces a closed one; otherwise the next file that is opened would get its number."""
    try:
        os.fstat(number)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        os.set_inheritable(number, True)  # for the command of `error run`
    return cast("TextIO", open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters missing from an encoding, escaped as in JSON: `\\u00e9`, and two escapes beyond U+FFFF."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from ctxrank.indexer.text.lines import json_escape  # noqa: PLC0415  a terminal of another encoding

    return json_escape(error.object[error.start : error.end]), error.end
