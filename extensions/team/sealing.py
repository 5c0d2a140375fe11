"""Lines of the log, each sealed with a key of its own record: who forgets the key forgets the line, in every backup.

AES-256 in Galois/counter mode (NIST SP 800-38D) of the compressed line. The register that the line is the state of is
authenticated with it, so that no line can stand in another's place.
"""

import hashlib
import hmac
import os
import zlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ctxrank.indexer.bounds import MAX_RECORD_BYTES
from ctxrank.indexer.light_typing import NamedTuple

_SECRET_BYTES, _NONCE_BYTES, _MARK_BYTES = 32, 12, 16


class Register(NamedTuple):
    """What has one line in the log: a record of one store, or what that store says of another's."""

    kind: str
    key: str
    origin: str


class Sealed(NamedTuple):
    """A line as the log has it, the key that opens it, and how many bytes it says that it unpacks to."""

    secret: bytes
    line: bytes
    size: int


def seal(project: str, register: Register, line: bytes) -> Sealed:
    """A line under a new key."""
    secret = os.urandom(_SECRET_BYTES)
    return Sealed(secret, encrypted(secret, line, _place(project, register)), len(line))


def unseal(project: str, register: Register, sealed: Sealed) -> bytes:
    """The line. Raises ValueError for one that was not sealed with this key for this place, or is longer than said."""
    most = min(sealed.size, MAX_RECORD_BYTES)
    try:
        packed = decrypted(sealed.secret, sealed.line, _place(project, register))
        unpacking = zlib.decompressobj()
        line = unpacking.decompress(packed, most + 1)  # a short line may be made to unpack to gigabytes
    except (InvalidTag, ValueError, zlib.error) as error:
        raise ValueError("it was not sealed with its key") from error
    if len(line) > most:
        raise ValueError(f"it is longer than {most} bytes, as it says or may be")
    if not unpacking.eof:
        raise ValueError("it is cut off")
    return line


def encrypted(secret: bytes, data: bytes, place: bytes) -> bytes:
    """Data, packed, under a key, for a place."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(secret).encrypt(nonce, zlib.compress(data), place)


def decrypted(secret: bytes, data: bytes, place: bytes) -> bytes:
    """The packed data. Raises InvalidTag where the key or the place is another."""
    return AESGCM(secret).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], place)


def mark_of(secret: bytes, said: bytes) -> bytes:
    """A digest under the record's key, by which its own machine sees that it has said the same before."""
    return hmac.new(secret, said, hashlib.sha256).digest()[:_MARK_BYTES]


def _place(project: str, register: Register) -> bytes:
    return "\n".join((project, *register)).encode()
