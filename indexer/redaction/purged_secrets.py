"""Purged secrets are found in a text by digests: the secrets themselves are kept nowhere.

    blocked = BlockedSecret(secret_digest(key, "hunter2!"), 8, hash_bucket(key, "h"), key)
    list(find_purged_secrets("the password is hunter2!", (blocked,)))      [(16, 24)]

A digest is compared only where a character falls into the hash bucket of a secret's first one: of sixteen starts one
is left, and a bucket reveals little about the character.

An order of another store brings its digest and the length of what that is of. A length that lies matches nothing, since
a part of exactly that length is compared; and what an order matches counts only where `purge --secret` would take it.
"""

from collections.abc import Iterator
from functools import lru_cache

from ctxrank.indexer.bounds import LEAST_CHARS, MOST_CHARS
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.digests import BLOCKED_BYTES, digest_of

PURGED_LABEL = "[FORGOTTEN]"
_BUCKETS = 16
# Text that says where a key starts and ends is no secret, and occurs in many.
_BETWEEN_KEYS = "-----"


class BlockedSecret(NamedTuple):
    """How a purged secret is found in a text without being known: `key` is the store's."""

    digest: str
    length: int  # in characters
    bucket: int  # the hash bucket of its first character
    key: str
    is_order: bool = False  # another store's: what it matches has to be what can be purged


def is_between_keys(text: str) -> bool:
    """Whether a line says where a key starts or ends."""
    return text.startswith(_BETWEEN_KEYS)


def can_be_purged(text: str) -> bool:
    """Whether a text is one that `purge --secret` takes: what is shorter or plainer stands in many texts."""
    return (
        LEAST_CHARS <= len(text) <= MOST_CHARS
        and text.splitlines() == [text.strip()]
        and not is_between_keys(text)
        and text.lower() not in PURGED_LABEL.lower()
    )


def secret_digest(key: str, secret: str) -> str:
    """The digest by which a secret is known."""
    return digest_of(f"secret\n{secret}", BLOCKED_BYTES, key=key)


@lru_cache(maxsize=4096)
def hash_bucket(key: str, char: str) -> int:
    """The bucket of a character; which one it is differs from store to store."""
    return int(digest_of(f"bucket\n{char}", BLOCKED_BYTES, key=key)[:2], 16) % _BUCKETS


def find_purged_secrets(text: str, secrets: tuple[BlockedSecret, ...]) -> Iterator[tuple[int, int]]:
    """The places of purged secrets: at every character of the right bucket the digest of as many is compared."""
    for key, is_order in {(secret.key, secret.is_order) for secret in secrets}:
        buckets = {char: hash_bucket(key, char) for char in set(text)}
        wanted: dict[tuple[int, int], set[str]] = {}
        for secret in secrets:
            if (secret.key, secret.is_order) == (key, is_order):
                wanted.setdefault((secret.bucket, secret.length), set()).add(secret.digest)
        for (bucket, length), digests in wanted.items():
            firsts = {char for char, of in buckets.items() if of == bucket}
            seen: dict[str, bool] = {}
            for start in [at for at, char in enumerate(text) if char in firsts]:
                part = text[start : start + length]
                if part not in seen:
                    is_found = len(part) == length and secret_digest(key, part) in digests
                    seen[part] = is_found and (not is_order or can_be_purged(part))
                if seen[part]:
                    yield start, start + length
