"""BLAKE2b and SHA-256, without the OpenSSL that hashlib loads: a fifth of a bare interpreter's start."""

import sys
from _blake2 import blake2b

__all__ = ["blake2b", "digest_of", "sha256_of"]

_DIGEST_BYTES = 12
BLOCKED_BYTES = 20  # of what was purged: for ever, and of any store
_MAX_KEY_BYTES = 64  # of BLAKE2b


def digest_of(text: str, size_bytes: int = _DIGEST_BYTES, *, key: str = "") -> str:
    """BLAKE2b of a text, in hexadecimal; with a key, equal texts look different under another key."""
    data = text.encode("utf-8", "surrogatepass")
    return str(blake2b(data, key=key.encode()[:_MAX_KEY_BYTES], digest_size=size_bytes).hexdigest())


def sha256_of(data: bytes) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    module = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    return str(__import__(module).sha256(data).hexdigest())
