"""What nobody foresaw, as a sentence: for the outermost edge of a call."""

import os

from ctxrank.indexer.errors import CtxrankError, DamagedError, UsageError


def explained(error: Exception) -> CtxrankError:
    """The error of ours that says the same; `CTXRANK_TRACEBACK` shows where it came from."""
    if os.environ.get("CTXRANK_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    import apsw

    from ctxrank.indexer.connection import DAMAGED_STEP, translate

    if isinstance(error, apsw.Error):
        return translate(error, "the store")
    if isinstance(error, UnicodeDecodeError):  # every text that comes from outside is decoded forgivingly
        return DamagedError("The store is damaged (a text in it is no UTF-8).", DAMAGED_STEP)
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        # A name that was given in other bytes: no name of a store is like it, and none can be made.
        return UsageError(f"{error.object!a} is not UTF-8.", "Give names and ids in UTF-8.")
    return CtxrankError(
        f"Something went wrong that should not: {type(error).__name__}: {error}",
        "Please report it; CTXRANK_TRACEBACK=1 shows where.",
    )


def _refused(error: OSError) -> CtxrankError:
    """What the system would not do, with what helps against it."""
    import errno

    if isinstance(error, FileNotFoundError) and error.filename is None:
        return CtxrankError("The current folder is not there any more.", "Change to one that is.")
    what = f" {error.filename}" if error.filename else ""
    hint = "Check the path and its permissions."
    if error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "Too many files are open: see 'ulimit -n'."
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "Free some space and try again."
    return CtxrankError(f"The system refused{what}: {error.strerror or error}.", hint)
