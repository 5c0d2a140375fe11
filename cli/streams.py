"""The three standard streams of a call: whatever they lead to, and whatever they can write, an answer ends in words.

    stdout is                       what happens
    ----------------------------    ------------------------------------------------------------------
    a pipe whose reader has gone    a normal end: 0, and nothing is said
    closed                          the call runs, its answer goes nowhere, its exit code is as ever
    on a full disk                  6, and a sentence on stderr
    of an encoding without ☃        `\\u2603` in its place, which JSON reads back and a person can look up

`answered` in `call.py` makes the exit code of it. What cannot be said on stderr is not said: it changes no answer.
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


def begin_in_utf_8() -> None:
    """Begin anew where Python took the locale's word for it that paths are ASCII or Latin-1: a store has them in UTF-8.

    Python itself takes LC_ALL=C for UTF-8, so this is for PYTHONUTF8=0 and for locales of another encoding alone.
    """
    if sys.getfilesystemencoding() not in _UTF_8 and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def open_streams() -> None:
    """Make the streams usable, before anything else of a call. For the outermost edge alone."""
    codecs.register_error(_AS_JSON, _escaped)
    # None is a stream that was closed. Each old wrapper lives on in sys.__stdout__, so that its file is not closed.
    if sys.stdin is None:
        sys.stdin = _nowhere(0, "r")
    sys.stdout = _as(Answer, sys.stdout) if sys.stdout is not None else _nowhere(1, "w")
    sys.stderr = _as(Talk, sys.stderr) if sys.stderr is not None else _nowhere(2, "w")


class Answer(TextIOWrapper):
    """stdout, whose failures name it: a full disk may be that of the store or that of the answer."""

    def write(self, text: str, /) -> int:
        """Write the text. Raises OSError, whose file name is `<stdout>`."""
        try:
            return super().write(text)
        except OSError as error:
            error.filename = STDOUT
            raise

    def flush(self) -> None:
        """Pass on what was written. Raises OSError, whose file name is `<stdout>`."""
        try:
            super().flush()
        except OSError as error:
            error.filename = STDOUT
            raise


class Talk(TextIOWrapper):
    """A stream for what is said beside an answer, which goes on where it cannot be said."""

    def write(self, text: str, /) -> int:
        """Write what can be written."""
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Pass on what can be passed on."""
        try:  # noqa: SIM105  contextlib would be loaded for this
            super().flush()
        except (OSError, ValueError):
            pass


def _as(kind: type[TextIOWrapper], stream: "TextIO") -> "TextIO":
    """The same stream as one of ours, which can write any character in its encoding."""
    if not isinstance(stream, TextIOWrapper):
        return stream
    errors = stream.errors if stream.encoding.lower() in _UTF_8 else _AS_JSON
    return kind(
        cast("TextIO", stream).buffer,
        stream.encoding,
        errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _nowhere(number: int, mode: str) -> "TextIO":
    """A stream in place of one that is closed: the next file that is opened would get its number otherwise."""
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
    """What an encoding lacks, as JSON escapes it: `\\u00e9`, and two of them beyond the first 65,536 characters."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (int.from_bytes(lacking[at : at + 2], "big") for at in range(0, len(lacking), 2))
    return "".join(f"\\u{unit:04x}" for unit in units), error.end
