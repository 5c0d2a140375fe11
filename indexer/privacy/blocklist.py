"""What was purged is kept from coming back, and nothing of it is kept for that: digests alone.

    with store.write() as change:
        refuse_path(change.connection, "docs/plan.md")      UsageError, where it or a folder above it was purged
        refuse_text(change.connection, "reasoning", text)

A digest is keyed with the store's uuid, so that equal things look different in two stores. Who knows a purged path
or text can still tell that it was purged: that is what the digest is for.
"""

import functools
from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.store import Change

PATH, SESSION, SECRET = "path", "session", "secret"
TEXT_KINDS = ("reasoning", "error", "strategy", "skill")
_DIGEST_BYTES = 20
_HEAPS = 16
_HINT = "'ctxrank purge --list' shows what is kept out, 'ctxrank purge --allow N' lets it in again."


class KeptOut(NamedTuple):
    """One thing that is kept out: its number, which is all that there is to name it by."""

    number: int
    kind: str
    forgotten_at: int


class ForgottenSecret(NamedTuple):
    """How a purged secret is found in a text without being known: `key` is the store's."""

    digest: str
    length: int
    heap: int
    key: str


class Forgotten:
    """All that a store keeps out; read once for a run, so that a file costs no query."""

    def __init__(self, truth: apsw.Connection) -> None:
        rows = truth.execute("SELECT kind, digest FROM blocklist WHERE kind <> 'secret'").fetchall()
        self._digests = {(str(kind), str(digest)) for kind, digest in rows}
        self._has_paths = any(kind == PATH for kind, _ in self._digests)
        self._secrets = forgotten_secrets(truth)
        self._key = _key(truth) if rows else ""

    def holds_path(self, *paths: str) -> bool:
        """Whether one of these, or a folder above it, was purged, or holds a secret that was."""
        if self._secrets and any(self._holds_secret(path) for path in paths):
            return True
        return self._has_paths and any(
            (PATH, _digest(self._key, PATH, part)) in self._digests for path in paths for part in _and_above(path)
        )

    def _holds_secret(self, text: str) -> bool:
        from ctxrank.indexer.redaction.encoded import stands_anywhere  # only a store that has purged a secret needs it

        return stands_anywhere(text, lambda part: find_forgotten(part, self._secrets))

    def holds(self, kind: str, text: str) -> bool:
        """Whether a session of this name, or a record of this text, was purged."""
        return bool(self._digests) and (kind, _digest(self._key, kind, text)) in self._digests


def refuse_path(truth: apsw.Connection, path: str) -> None:
    """Raises UsageError where the path, or a folder above it, was purged."""
    if Forgotten(truth).holds_path(path):
        raise UsageError("This path was purged: nothing of it is stored again.", _HINT)


def refuse_text(truth: apsw.Connection, kind: str, text: str) -> None:
    """Raises UsageError where a session of this name, or a record of this text, was purged."""
    if Forgotten(truth).holds(kind, text):
        name = "session of this name" if kind == SESSION else f"{kind} of this text"
        raise UsageError(f"The {name} was purged: it is not stored again.", _HINT)


def keep_out(change: Change, kind: str, texts: Iterable[str]) -> list[int]:
    """Let these not come back; returns the numbers by which they can be allowed."""
    key = _key(change.connection)
    return [_insert(change, kind, _digest(key, kind, text), "") for text in dict.fromkeys(texts)]


def keep_out_secrets(change: Change, secrets: Iterable[str]) -> list[int]:
    """Let these be redacted in whatever is stored from now on."""
    key = _key(change.connection)
    return [
        _insert(change, SECRET, _secret_digest(key, secret), f"{len(secret)} {_heap(key, secret[0])}")
        for secret in dict.fromkeys(secrets)
    ]


def _insert(change: Change, kind: str, digest: str, shape: str) -> int:
    row = change.connection.execute(
        """
        INSERT INTO blocklist (kind, digest, prefilter, blocked_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (kind, digest) DO UPDATE SET blocked_at = excluded.blocked_at
        RETURNING id
        """,
        (kind, digest, shape, now_us()),
    ).fetchone()
    assert row is not None, "an upsert returns its row"
    return int(row[0])


def list_kept_out(truth: apsw.Connection) -> list[KeptOut]:
    """What is kept out, the oldest first."""
    return [KeptOut(*row) for row in truth.execute("SELECT id, kind, blocked_at FROM blocklist ORDER BY id")]


def allow(change: Change, numbers: Iterable[int]) -> None:
    """Let these come back. Raises NotFoundError for a number that nothing has; none is allowed then."""
    for number in numbers:
        change.connection.execute("DELETE FROM blocklist WHERE id = ?", (number,))
        if not change.connection.changes():
            raise NotFoundError(f"Nothing is kept out under {number}.", "'ctxrank purge --list' shows the numbers.")


def forgotten_secrets(truth: apsw.Connection) -> tuple[ForgottenSecret, ...]:
    """The purged secrets, as a text is searched for them."""
    rows = truth.execute("SELECT digest, prefilter FROM blocklist WHERE kind = 'secret' ORDER BY id").fetchall()
    if not rows:
        return ()
    key = _key(truth)
    shapes = [(str(digest), [int(number) for number in str(shape).split()]) for digest, shape in rows]
    return tuple(ForgottenSecret(digest, length, heap, key) for digest, (length, heap) in shapes)


def find_forgotten(text: str, secrets: tuple[ForgottenSecret, ...]) -> Iterator[tuple[int, int]]:
    """Where purged secrets stand: at every character of the right heap the digest of as many is compared."""
    for key in {secret.key for secret in secrets}:
        heaps = {char: _heap(key, char) for char in set(text)}
        wanted: dict[tuple[int, int], set[str]] = {}
        for secret in secrets:
            if secret.key == key:
                wanted.setdefault((secret.heap, secret.length), set()).add(secret.digest)
        for (heap, length), digests in wanted.items():
            firsts = {char for char, of in heaps.items() if of == heap}
            seen: dict[str, bool] = {}
            for start in [at for at, char in enumerate(text) if char in firsts]:
                part = text[start : start + length]
                if part not in seen:
                    seen[part] = len(part) == length and _secret_digest(key, part) in digests
                if seen[part]:
                    yield start, start + length


def _and_above(path: str) -> Iterator[str]:
    """The path and every folder above it, as it is compared."""
    path = path.strip("/") if not path.startswith("/") else path.rstrip("/")
    while path:
        yield path
        path = path.rpartition("/")[0]


def _key(truth: apsw.Connection) -> str:
    return str(truth.execute("SELECT uuid FROM store WHERE id = 1").get)


def _digest(key: str, kind: str, text: str) -> str:
    same = text.strip("/") if kind == PATH and not text.startswith("/") else text.rstrip("/") if kind == PATH else text
    return _hash(key, f"{kind}\n{same if kind in (PATH, SESSION) else ' '.join(same.split())}")


def _secret_digest(key: str, secret: str) -> str:
    return _hash(key, f"{SECRET}\n{secret}")


@functools.lru_cache(maxsize=4096)
def _heap(key: str, char: str) -> int:
    return int(_hash(key, f"heap\n{char}")[:2], 16) % _HEAPS


def _hash(key: str, text: str) -> str:
    try:
        from _blake2 import blake2b  # what hashlib gives out, without the OpenSSL that it loads
    except ImportError:
        from hashlib import blake2b
    data = text.encode("utf-8", "surrogatepass")
    return str(blake2b(data, key=key.encode()[:64], digest_size=_DIGEST_BYTES).hexdigest())
