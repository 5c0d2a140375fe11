"""The blocklist: what was purged does not come back, and nothing of it is kept for that but digests.

    with store.write() as change:
        change.blocklist.refuse(PATH, "docs/plan.md")      UsageError, where it or a folder above it was purged
        change.blocklist.refuse("reasoning", text)

A digest is keyed with the store's uuid, so that equal things look different in two stores; an order of another store
to forget something is an entry with that store's uuid as its key. Who knows a purged path
or text can still tell that it was purged: that is what the digest is for.
"""

from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.connection import read_rows, read_value, require_value
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.text.digests import BLOCKED_BYTES, digest_of

if TYPE_CHECKING:
    from ctxrank.indexer.redaction.purged_secrets import BlockedSecret

PATH, SESSION, SECRET = "path", "session", "secret"
# Kinds of documents that are blocked by their path; all others are by their text.
_KINDS_BY_PATH = (PATH, "package", "artifact")
_HINT = "'ctxrank purge --list' shows what is kept out, 'ctxrank purge --allow N' lets it in again."


class BlockedEntry(NamedTuple):
    """One entry of the blocklist: its number, which is all that there is to name it by."""

    number: int
    kind: str
    blocked_at: int


class Blocklist:
    """What a store refuses to take again; read once, so that a file costs no query.

    It says what was blocked when it was made: a later transaction asks its own (`Change.blocklist`).
    """

    def __init__(self, connection: apsw.Connection) -> None:
        query = "SELECT kind, digest, origin FROM blocklist WHERE kind <> 'secret'"
        blocked = list(connection.execute(query))
        self._digests = frozenset((kind, digest) for kind, digest, _ in blocked)
        self._has_paths = any(kind == PATH for kind, _, _ in blocked)
        self._secrets = blocked_secrets(connection)
        # An order of another store has that store's uuid as its key.
        self._keys = tuple(origin or own_uuid(connection) for origin in dict.fromkeys(row[2] for row in blocked))

    def holds_path(self, *paths: str) -> bool:
        """Whether one of these, or a folder above it, was purged, or holds a secret that was."""
        if self._secrets and any(self._holds_secret(path) for path in paths):
            return True
        return self._has_paths and any(
            (PATH, digest(key, PATH, part)) in self._digests
            for path in paths
            for part in and_above(path)
            for key in self._keys
        )

    def holds(self, kind: str, text: str) -> bool:
        """Whether a session of this name, or a record of this text, was purged."""
        return any((kind, digest(key, kind, text)) in self._digests for key in self._keys)

    def refuse(self, kind: str, text: str) -> None:
        """Raises UsageError where this was purged: a session's name, a record's text, or the path of a file."""
        if kind in _KINDS_BY_PATH:
            if self.holds_path(text):
                raise UsageError("This path was purged: nothing of it is stored again.", _HINT)
        elif self.holds(kind, text):
            name = "session of this name" if kind == SESSION else f"{kind} of this text"
            raise UsageError(f"The {name} was purged: it is not stored again.", _HINT)

    def _holds_secret(self, text: str) -> bool:
        from ctxrank.indexer.redaction.encoded import (  # noqa: PLC0415  only a store that has purged a secret needs it
            contains_in_any_encoding,
        )
        from ctxrank.indexer.redaction.purged_secrets import find_purged_secrets  # noqa: PLC0415  the same

        return contains_in_any_encoding(text, lambda part: find_purged_secrets(part, self._secrets))


def block(writer: apsw.Connection, kind: str, texts: Iterable[str]) -> list[int]:
    """Let these not come back; returns the numbers by which they can be allowed. `writer` has a transaction open."""
    key = own_uuid(writer)
    return [enter(writer, kind, digest(key, kind, text)) for text in dict.fromkeys(texts)]


def block_here(writer: apsw.Connection, kind: str, texts: Iterable[str]) -> list[int]:
    """The same, and no other store is told."""
    numbers = block(writer, kind, texts)
    writer.executemany("DELETE FROM record_log WHERE kind = 'forget' AND number = ?", [(one,) for one in numbers])
    return numbers


def block_secrets(writer: apsw.Connection, secrets: Iterable[str]) -> list[int]:
    """Let these be redacted in whatever is stored from now on. `writer` has a transaction open."""
    from ctxrank.indexer.redaction.purged_secrets import hash_bucket, secret_digest  # noqa: PLC0415  as above

    key = own_uuid(writer)
    return [
        enter(writer, SECRET, secret_digest(key, secret), f"{len(secret)} {hash_bucket(key, secret[0])}")
        for secret in dict.fromkeys(secrets)
    ]


def is_entered(connection: apsw.Connection, kind: str, digest: str) -> bool:
    """Whether a digest is on the list."""
    query = "SELECT 1 FROM blocklist WHERE kind = ? AND digest = ?"
    return read_value(connection, query, (kind, digest), int) is not None


def enter(writer: apsw.Connection, kind: str, digest: str, prefilter: str = "", origin: str = "") -> int:
    """Enter a digest, which may be an order's of another store; returns its number. `writer` has a transaction open."""
    query = """
        INSERT INTO blocklist (kind, digest, prefilter, blocked_at, origin) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (kind, digest) DO UPDATE SET blocked_at = excluded.blocked_at
        RETURNING id
    """
    return require_value(writer, query, (kind, digest, prefilter, now_us(), origin), int)


def blocked_entries(connection: apsw.Connection) -> list[BlockedEntry]:
    """The entries, the oldest first."""
    return list(read_rows(connection, "SELECT id, kind, blocked_at FROM blocklist ORDER BY id", (), BlockedEntry))


def allow(writer: apsw.Connection, numbers: Iterable[int]) -> None:
    """Let these come back. Raises NotFoundError for a number that no entry has; none is allowed then.

    `writer` has a transaction open.
    """
    for number in numbers:
        writer.execute("DELETE FROM blocklist WHERE id = ?", (number,))
        if not writer.changes():
            raise NotFoundError(f"Nothing is kept out under {number}.", "'ctxrank purge --list' shows the numbers.")


def blocked_secrets(connection: apsw.Connection) -> "tuple[BlockedSecret, ...]":
    """The purged secrets, as a text is searched for them."""
    found = connection.execute("SELECT digest, prefilter, origin FROM blocklist WHERE kind = 'secret' ORDER BY id")
    return tuple(
        secret_of(digest, prefilter, by or own_uuid(connection), is_order=bool(by)) for digest, prefilter, by in found
    )


def secret_of(digest: str, prefilter: str, key: str, *, is_order: bool) -> "BlockedSecret":
    """A purged secret: the prefilter is its length, and the hash bucket of its first character."""
    from ctxrank.indexer.redaction.purged_secrets import BlockedSecret  # noqa: PLC0415  as above

    length, bucket = map(int, prefilter.split())
    return BlockedSecret(digest, length, bucket, key, is_order=is_order)


def and_above(path: str) -> Iterator[str]:
    """The path and every folder above it, as it is compared."""
    path = path.rstrip("/")
    while path:
        yield path
        path = path.rpartition("/")[0]


def same_text(text: str) -> str:
    """A record's text as it is compared: how its words are spaced is no difference."""
    return " ".join(text.split())


def digest(key: str, kind: str, text: str) -> str:
    """The digest of a path, a session's name or a record's text under the uuid of a store."""
    same = text.rstrip("/") if kind == PATH else text if kind == SESSION else same_text(text)
    return digest_of(f"{kind}\n{same}", BLOCKED_BYTES, key=key)
