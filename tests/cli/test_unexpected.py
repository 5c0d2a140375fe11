"""What nobody foresaw is told in a sentence, with its exit code and what helps against it."""

import errno
import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from builders import make_store
from damage import PAGE, closed
from tables import each_row

from ctxrank.cli import unexpected
from ctxrank.cli.unexpected import explained
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, UsageError

_SPACE, _PERMISSIONS = "Free some space and try again.", "Check the path and its permissions."


def _refusal(number: int, name: str | None = "/a") -> OSError:
    return OSError(number, os.strerror(number), name)


@each_row(
    "error, kind, message, hint",
    [
        (_refusal(errno.EACCES), CtxrankError, "The system refused /a: Permission denied.", _PERMISSIONS),
        (_refusal(errno.EIO, None), CtxrankError, "The system refused: Input/output error.", _PERMISSIONS),
        (OSError("odd"), CtxrankError, "The system refused: odd.", _PERMISSIONS),
        (_refusal(errno.ENOENT), CtxrankError, "The system refused /a: No such file or directory.", _PERMISSIONS),
        (
            _refusal(errno.ENOENT, None),
            CtxrankError,
            "The current folder no longer exists.",
            "Change to one that exists.",
        ),
        *(
            (_refusal(one), CtxrankError, f"The system refused /a: {os.strerror(one)}.", _SPACE)
            for one in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        ),
        *(
            (
                _refusal(one),
                CtxrankError,
                f"The system refused /a: {os.strerror(one)}.",
                "Too many files are open: see 'ulimit -n'.",
            )
            for one in (errno.EMFILE, errno.ENFILE)
        ),
        (
            UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "no"),
            UsageError,
            r"'a\udcff' is not UTF-8.",
            "Give names and ids in UTF-8.",
        ),
        (
            OverflowError("int too big to convert"),
            UsageError,
            "A number that was given is larger than any that a store holds.",
            "Give a smaller one.",
        ),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
            DamagedError,
            "The store is damaged (a text in it is not UTF-8).",
            None,
        ),
        (apsw.BusyError("locked"), LockedError, None, None),
        (ModuleNotFoundError("x", name="mcp"), CtxrankError, None, None),
        *(
            (
                error,
                CtxrankError,
                f"Internal error: {type(error).__name__}: {error}",
                "Please report it, unless 'ctxrank doctor' finds the store damaged; CTXRANK_TRACEBACK=1 shows where.",
            )
            for error in (
                ValueError("odd"),
                RuntimeError("odd"),
                ModuleNotFoundError("odd"),
                UnicodeEncodeError("ascii", "\u00fc", 0, 1, "no"),
            )
        ),
    ],
)
def test_each_kind_of_trouble_has_a_sentence_and_a_step(
    here: Path, error: Exception, kind: type[CtxrankError], message: str | None, hint: str | None
) -> None:
    told = explained(error, str(here / ".ctxrank" / "ctxrank.db"))
    assert type(told) is kind or (message is None and isinstance(told, kind))
    assert (message in (None, told.message), hint in (None, told.hint)) == (True, True), told
    assert not (message is None and told.message.startswith("Internal error"))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a store that is well."""
    closed(make_store(tmp_path))
    return tmp_path


def test_a_wrong_value_out_of_a_damaged_store_is_its_damage_and_no_mistake_of_ours(here: Path) -> None:
    primary = here / ".ctxrank" / "ctxrank.db"
    whole = primary.read_bytes()
    primary.write_bytes(whole[: 2 * PAGE] + b"\xff" * PAGE + whole[3 * PAGE :])
    told = explained(TypeError("a number was expected"), str(primary))
    assert type(told) is DamagedError and told.message.startswith("The store is damaged (")
    assert explained(RuntimeError("odd"), str(primary)).message == "Internal error: RuntimeError: odd"
    primary.write_bytes(b"no database at all" * 400)
    assert explained(TypeError("odd"), str(primary)).message == "Internal error: TypeError: odd"
    assert explained(TypeError("odd"), str(here / "none.db")).message == "Internal error: TypeError: odd"


def test_a_text_that_is_no_json_is_damage_wherever_it_is_met(here: Path) -> None:
    primary = here / ".ctxrank" / "ctxrank.db"
    with closing(apsw.Connection(str(primary))) as connection:
        connection.execute("INSERT INTO sessions (name, created_at, metadata) VALUES ('S', 1, '{')")
        for error in (ValueError("odd"), apsw.SQLError("malformed JSON")):
            told = explained(error, str(primary))
            assert (type(told), told.exit_code) == (DamagedError, 5)
    assert explained(ValueError("odd"), str(primary)).message == (
        "The store is damaged (texts are no longer JSON, or JSON of another type: 1 in sessions.metadata)."
    )


def test_a_store_that_is_large_is_not_read_before_an_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    primary = here / ".ctxrank" / "ctxrank.db"
    with closing(apsw.Connection(str(primary))) as connection:
        connection.execute("INSERT INTO sessions (name, created_at, metadata) VALUES ('S', 1, '{')")
    monkeypatch.setattr(unexpected, "_MOST_READ_BYTES", primary.stat().st_size - 1)
    told = explained(ValueError("odd"), str(primary))
    assert told.message == "Internal error: ValueError: odd" and "'ctxrank doctor'" in told.hint
    monkeypatch.setattr(unexpected, "_MOST_READ_BYTES", primary.stat().st_size)
    assert type(explained(ValueError("odd"), str(primary))) is DamagedError


def test_where_it_came_from_is_shown_on_request_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explained(RuntimeError("odd"))
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("CTXRANK_TRACEBACK", "1")
    explained(RuntimeError("odd"))
    assert capsys.readouterr().err == "RuntimeError: odd\n"
