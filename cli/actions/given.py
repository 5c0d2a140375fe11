"""What a command is given: a text, as its argument, from stdin or from a file; and a group, which may be unknown.

Of a text no more is read than fits:

    read_given("-", 1_000_000)               all of stdin, or UsageError where there is more
    read_given_start("task.md", 1_000_000)   what comes first

A file may be a pipe: it was named on purpose. Where a process asks for others, `instead_of_stdin` holds what a caller
would have piped in.
"""

import io
import sys
from collections.abc import Callable, Generator
from contextvars import ContextVar

import apsw

from ctxrank.cli.call import Call
from ctxrank.indexer.bounds import MAX_TEXT_BYTES
from ctxrank.indexer.exceptions import UsageError, refused_by_system
from ctxrank.indexer.light_typing import TYPE_CHECKING, contextmanager
from ctxrank.indexer.records.sessions import find_session, is_session_wide
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import listed, one_line

if TYPE_CHECKING:
    from typing import BinaryIO

Say = Callable[[str], None]
_NAMED_GROUPS = 10

OR_STDIN = "Check the path, or give '-' for stdin."

_instead: "ContextVar[BinaryIO | None]" = ContextVar("instead", default=None)


@contextmanager
def instead_of_stdin(data: bytes) -> Generator[None, None, None]:
    """Let these bytes be stdin for what this thread reads within the block."""
    token = _instead.set(io.BytesIO(data))
    try:
        yield
    finally:
        _instead.reset(token)


def stdin_bytes() -> "BinaryIO":
    """Where '-' is read from."""
    return _instead.get() or sys.stdin.buffer


def or_piped(text: str | None) -> str | None:
    """What was given, '-' for nothing where stdin is no terminal or stands for what a caller gave."""
    is_piped = _instead.get() is not None or not sys.stdin.isatty()
    return "-" if text is None and is_piped else text


def given_text(
    say: Say, argument: str | None, file: str | None = None, option: str | None = None, max_bytes: int = MAX_TEXT_BYTES
) -> str:
    """The argument or option, or for '-' all of stdin, or a file's whole text. Raises UsageError for none or two, and
    for more than `max_bytes` of stdin or the file.

    `say` is called for bytes that are no text: see `readable`.
    """
    if sum(one is not None for one in (argument, file, option)) > 1:
        raise UsageError("The text is given more than once.", "Give it once: as an argument, an option or a file.")
    text = option if argument is None else argument
    name = "-" if text == "-" else file
    if name is None:
        if text is None:
            raise UsageError("There is no text.", "Give it as one argument in quotes, or '-' and the text on stdin.")
        return readable(text, say)
    with refused_by_system(f"{name} cannot be read", OR_STDIN, UsageError):
        data = read_given(name, max_bytes)
    return decoded(data, say)


def read_given(name: str, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """All bytes of a file that the user named, '-' for stdin. Raises UsageError where there are more; OSError."""
    data = read_given_start(name, max_bytes + 1)
    if len(data) > max_bytes:
        what = "stdin holds" if name == "-" else f"{name} holds"
        raise UsageError(f"{what} more than {max_bytes:,} bytes.", "Give the part that matters.")
    return data


def read_given_start(name: str, max_bytes: int) -> bytes:
    """The first bytes of such a file, and no more of it. Raises OSError."""
    if name == "-":
        return stdin_bytes().read(max_bytes)
    with open(name, "rb") as file:
        return file.read(max_bytes)


def decoded(data: bytes, say: Say) -> str:
    """The text of bytes in UTF-8, with or without a byte order mark."""
    return readable(data.decode("utf-8-sig", "surrogateescape"), say)


def readable(text: str, say: Say) -> str:
    """The text with � for each byte that was not UTF-8 and for each zero; `say` gets their number."""
    if text.isascii() and "\0" not in text:
        return text
    import re  # noqa: PLC0415  most texts are ASCII

    clean, strange = re.subn("[\0\ud800-\udfff]", "\ufffd", text)
    if strange:
        count = "1 byte was" if strange == 1 else f"{strange} bytes were"
        say(f"{count} zero or not UTF-8, shown as \ufffd.")
    return clean


def number_of(database: apsw.Connection, text: str, kind: str, example: int) -> int:
    """The row of a record of this kind, `error:3` or 3. Raises UsageError, NotFoundError."""
    ref = local_ref(database, text, kind)
    if ref.kind != kind:
        a = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(f"{ref} is not {a} {kind}.", f"Give {a} {kind}'s id, such as {example} or {kind}:{example}.")
    return ref.number


def others_know(primary: apsw.Connection, table: str, **asked: str | None) -> str:
    """A sentence on what the records of a table have in each column in which none has what was asked; '' for none."""
    said = ""
    for column, value in asked.items():
        # Nothing is read where no value was asked, and no more than the first record that has it.
        is_unknown = f"?1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {table} WHERE {column} = ?1)"
        query = f"SELECT DISTINCT {column} FROM {table} WHERE {is_unknown} AND {column} <> '' ORDER BY 1 LIMIT ?2"
        named = ", ".join(map(one_line, read_column(primary, query, (value, _NAMED_GROUPS), str)))
        said += f" There are some of {column} {named}." * bool(named)
    return said


def note_unknown_group(call: Call, store: Store, session: str | None, group: str | None) -> None:
    """Say that a session, or the whole store, has no such group, and which ones it has; nothing where it has it.

    Raises NotFoundError for a session that is not there.
    """
    id_ = None if session is None else find_session(store.primary, session).id
    query = """
        SELECT name FROM groups WHERE ?1 IS NULL OR session_id = ?1 GROUP BY name ORDER BY min(created_at), min(id)
    """
    names = read_column(store.primary, query, (id_,), str)
    if not (is_session_wide(group) or group in names):
        call.note(f"{session or 'The store'} has no group '{group}'; it has {listed(names, _NAMED_GROUPS) or 'none'}.")
