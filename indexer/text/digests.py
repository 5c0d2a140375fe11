"""BLAKE2b of texts, without the OpenSSL that hashlib loads: a fifth of a bare interpreter's start."""

try:
    from _blake2 import blake2b
except ImportError:  # another interpreter than CPython
    from hashlib import blake2b

_DIGEST_BYTES = 12
_MAX_KEY_BYTES = 64  # of BLAKE2b


def digest_of(text: str, size_bytes: int = _DIGEST_BYTES, *, key: str = "") -> str:
    """BLAKE2b of a text, in hexadecimal; with a key, equal texts look different under another key."""
    data = text.encode("utf-8", "surrogatepass")
    return str(blake2b(data, key=key.encode()[:_MAX_KEY_BYTES], digest_size=size_bytes).hexdigest())
