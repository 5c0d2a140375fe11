"""Purged secrets are found in a text by digests: the secrets themselves are kept nowhere.

    blocked = BlockedSecret(secret_digest(key, "hunter2!"), 8, hash_bucket(key, "h"), key)
    list(find_purged_secrets("the password is hunter2!", (blocked,)))      [(16, 24)]

A digest is compared only where a character falls into the hash bucket of a secret's first one: of sixteen starts one
is left, and a bucket reveals little about the character.
"""

import functools
from collections.abc import Iterator

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.digests import digest_of

DIGEST_BYTES = 20
_BUCKETS = 16


class BlockedSecret(NamedTuple):
    """How a purged secret is found in a text without being known: `key` is the store's."""

    digest: str
    length: int  # in characters
    bucket: int  # the hash bucket of its first character
    key: str


def secret_digest(key: str, secret: str) -> str:
    """The digest by which a secret is known."""
    return digest_of(f"secret\n{secret}", DIGEST_BYTES, key=key)


@functools.lru_cache(maxsize=4096)
def hash_bucket(key: str, char: str) -> int:
    """The bucket of a character; which one it is differs from store to store."""
    return int(digest_of(f"bucket\n{char}", DIGEST_BYTES, key=key)[:2], 16) % _BUCKETS


def find_purged_secrets(text: str, secrets: tuple[BlockedSecret, ...]) -> Iterator[tuple[int, int]]:
    """The places of purged secrets: at every character of the right bucket the digest of as many is compared."""
    for key in {secret.key for secret in secrets}:
        buckets = {char: hash_bucket(key, char) for char in set(text)}
        wanted: dict[tuple[int, int], set[str]] = {}
        for secret in secrets:
            if secret.key == key:
                wanted.setdefault((secret.bucket, secret.length), set()).add(secret.digest)
        for (bucket, length), digests in wanted.items():
            firsts = {char for char, of in buckets.items() if of == bucket}
            seen: dict[str, bool] = {}
            for start in [at for at, char in enumerate(text) if char in firsts]:
                part = text[start : start + length]
                if part not in seen:
                    seen[part] = len(part) == length and secret_digest(key, part) in digests
                if seen[part]:
                    yield start, start + length
