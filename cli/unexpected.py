"""An unexpected exception as a sentence: for the outermost edge of a call."""

import errno
import os
import traceback
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.care.primary_checks import examine_texts, open_to_look
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.extensions import absence
from ctxrank.indexer.store.connection import DAMAGED_STEP, require_value, translate
from ctxrank.indexer.store.location import find_store

_MOST_READ_BYTES = 250_000_000  # two seconds
# Raised for a value of another type than its column: SQLite returns whatever is on a page.
_OF_WRONG_VALUES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


def explained(error: Exception, db: str | None = None, root: str | None = None) -> CtxrankError:
    """The error of ours that says the same; `CTXRANK_TRACEBACK` shows where it came from.

    `db` and `root` are the call's: where its store is found to be damaged, that is why.
    """
    if os.environ.get("CTXRANK_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return absence(error.name, "What was asked for")
    if isinstance(error, apsw.Error):
        return translate(error, "the store")
    if isinstance(error, UnicodeDecodeError):  # every text that comes from outside is decoded forgivingly
        return DamagedError("The store is damaged (a text in it is not UTF-8).", DAMAGED_STEP)
    if isinstance(error, OverflowError):
        return UsageError("A number that was given is larger than any that a store holds.", "Give a smaller one.")
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        # A name that was given in other bytes: no name of a store is like it, and none can be made.
        return UsageError(f"{error.object!a} is not UTF-8.", "Give names and ids in UTF-8.")
    if isinstance(error, _OF_WRONG_VALUES) and (problem := _damage(db, root)):
        return DamagedError(f"The store is damaged ({problem}).", DAMAGED_STEP)
    return CtxrankError(
        f"Internal error: {type(error).__name__}: {error}",
        "Please report it, unless 'ctxrank doctor' finds the store damaged; CTXRANK_TRACEBACK=1 shows where.",
    )


def _refused(error: OSError) -> CtxrankError:
    """What the system would not do, with what helps against it."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return CtxrankError("The current folder no longer exists.", "Change to one that exists.")
    what = f" {error.filename}" if error.filename else ""
    hint = "Check the path and its permissions."
    if error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "Too many files are open: see 'ulimit -n'."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "Free some space and try again."
    return CtxrankError(f"The system refused{what}: {error.strerror or error}.", hint)


def _damage(db: str | None, root: str | None) -> str:
    """What is wrong with the store, as SQLite's quick check or the doctor's of texts says, which read all of it; '' for
    nothing, no store, or one that is too large to be read before an answer.
    """
    try:
        path = find_store(db, root).primary
        if os.path.getsize(path) > _MOST_READ_BYTES:
            return ""
        with closing(open_to_look(path, 0)) as primary:
            found = require_value(primary, "PRAGMA quick_check(1)", (), str)
            texts = examine_texts(primary) if found == "ok" else None
    except apsw.CorruptError as error:
        return str(error)
    except (apsw.Error, CtxrankError, OSError, UnicodeDecodeError):
        return ""
    if texts is None:
        return found.strip().split("\n")[-1]
    return "" if texts.result is Result.OK else texts.evidence
