"""What nobody foresaw, as a sentence: for the outermost edge of a call."""

import os

from ctxrank.indexer.errors import CtxrankError


def explained(error: Exception) -> CtxrankError:
    """The error of ours that says the same; `CTXRANK_TRACEBACK` shows where it came from."""
    if os.environ.get("CTXRANK_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    import apsw

    from ctxrank.indexer.connection import translate

    if isinstance(error, apsw.Error):
        return translate(error, "the store")
    if isinstance(error, OSError):
        what = f" {error.filename}" if error.filename else ""
        return CtxrankError(
            f"The system refused{what}: {error.strerror or error}.", "Check the path and its permissions."
        )
    return CtxrankError(
        f"Something went wrong that should not: {type(error).__name__}: {error}",
        "Please report it; CTXRANK_TRACEBACK=1 shows where.",
    )
