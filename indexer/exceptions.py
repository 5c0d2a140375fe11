"""What can go wrong, as one tree.

    CtxrankError                 exit 6, "refused"       the system refused, or nothing below fits
    ├── UsageError               exit 2, "usage"         a value or a file we were given cannot be used
    ├── NotFoundError            exit 1, "not_found"     a well-formed id that names nothing
    ├── NoStoreError             exit 3, "no_store"      there is no store here
    ├── UntrustedError           exit 3, "untrusted"     there is one that this user neither made nor trusts
    ├── DamagedError             exit 5, "damaged"       a file is not what it should be
    └── LockedError              exit 7, "locked"        another process held the store for too long

A class exists because a caller does something different with it; the message says what was tried and on what, the
hint says what to do next. Exit 4, degraded or stale under --strict, is none of them: there the answer was printed.
"""

from collections.abc import Generator

from ctxrank.indexer.light_typing import contextmanager

_MOST_CHARS = 2_000  # of a message: what it quotes may be of any length


def brief(message: str) -> str:
    """A message; of a very long one its beginning and its end."""
    half = _MOST_CHARS // 2
    return message if len(message) <= _MOST_CHARS else f"{message[:half]} … {message[-half:]}"


class CtxrankError(Exception):
    """Any failure this program explains; `exit_code` and `kind` are promised to callers.

    `hint` says what to do next; `retryable` is true where the same call may work a moment later.
    """

    exit_code = 6
    kind = "refused"
    retryable = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = brief(message)
        self.hint = brief(hint)


class UsageError(CtxrankError):
    """A value or a file we were given cannot be used; the message names what is allowed."""

    exit_code = 2
    kind = "usage"


class NotFoundError(CtxrankError):
    """A well-formed id that names nothing in this store."""

    exit_code = 1
    kind = "not_found"


class NoStoreError(CtxrankError):
    """There is no store where we looked."""

    exit_code = 3
    kind = "no_store"


class UntrustedError(CtxrankError):
    """There is a store, but another user may have made it, or can write to it."""

    exit_code = 3
    kind = "untrusted"


class DamagedError(CtxrankError):
    """A file is not what it should be: not a database, foreign, newer than this program, or damaged."""

    exit_code = 5
    kind = "damaged"


class LockedError(CtxrankError):
    """Another process held the store for longer than we wait."""

    exit_code = 7
    kind = "locked"
    retryable = True


def require_word(word: str, allowed: tuple[str, ...], what: str, plural: str, said: str = "") -> str:
    """The word, if it is one of those that are allowed; else a UsageError names them, and the word as it was `said`."""
    if word not in allowed:
        raise UsageError(f"'{said or word}' is not {what}.", f"{plural} are {', '.join(allowed)}.")
    return word


@contextmanager
def refused_by_system(
    says: str, hint: str = "", kind: type[CtxrankError] = CtxrankError
) -> Generator[None, None, None]:
    """What the system refuses in the block as an error of ours: `says` what could not be done, before the reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{says}: {error.strerror}.", hint) from error
