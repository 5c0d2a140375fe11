"""A file's text and the hash of its bytes, taken in one look that saw the file at rest.

    match read_text_file("/home/me/shop", "artifacts/auth.md"):
        case FileText(text=text, sha256=sha256): ...     # text with "\\n" between its lines
        case ReadSkip(reason): ...                       # "binary", "vanished", "permission denied", …

Nothing here raises for what a file is or does: one unreadable file among ten thousand is a value with
a reason, and the run goes on.
"""

import codecs
import errno
import hashlib
import os

from ctxrank.indexer.beneath import Root, read_open_file
from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.files.stamps import FileStamp, FoundFile
from ctxrank.indexer.files.walk import TOO_LARGE
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.tables import rows

# How often a file that changes under our eyes is read before we leave it to the next run.
MAX_TRIES = 3

# Where a byte of zero is looked for, and unusual characters are counted. Agents' logs say who they are early.
SAMPLE_SIZE = 8192

# Coloured logs stay below this even though escape is not counted; object code is far above it.
MAX_CONTROL_SHARE = 0.05

# Western text has an accent here and there. Cyrillic or Japanese in an old encoding is mostly high bytes,
# and would be read as letters that are not in it.
MAX_HIGH_SHARE = 0.3

# So many well-formed characters for each broken one make a file UTF-8 with a wound (a log cut inside a
# character, two programs writing to one file) and not another encoding.
SOUND_PER_BROKEN = 4

# UTF-32 before UTF-16: the little-endian mark of one begins with that of the other.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_HIGH_BYTES = bytes(range(0x80, 0x100))
# All below the space but what texts have: backspace, tab, line and form feeds, return, escape.
_CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"


class FileText(NamedTuple):
    """What a file says. `sha256` and `stamp` are of its bytes as they lie on the disk.

    `encoding` is Python's name of the codec; in `utf-8-replace`, U+FFFD replaces what was broken UTF-8.
    It was stamped before the first byte was read: what is written later may not be in the text.
    """

    text: str
    sha256: str
    stamp: FileStamp
    encoding: str


class ReadSkip(NamedTuple):
    """Why a file has no text for us; with the hash of its bytes where these could be read."""

    reason: str
    sha256: str = ""


# A file that was read again: its stamp; the SHA-256 of its bytes, '' where they could not be read; and what came of it,
# None where its bytes are those that were known.
Reading = tuple[FileStamp, str, FileText | ReadSkip | None]


def read_text_file(folder: str, path: str) -> FileText | ReadSkip:
    """Read one file beneath a folder; a link is refused, and a file that keeps changing is left to the next run."""
    with Root(folder) as root:
        return read_text(root, path)


def read_text(root: Root, path: str) -> FileText | ReadSkip:
    """The same for one of many files beneath a root. Opened again for each try: the file may have been replaced."""
    for _ in range(MAX_TRIES):
        read_at = now_us()
        try:
            file = root.open(path)
            try:
                data = read_open_file(file, MAX_FILE_BYTES)
                info = os.fstat(file.descriptor)
            finally:
                os.close(file.descriptor)
        except OSError as error:
            return ReadSkip(_REASONS.get(error.errno or 0) or error.strerror or str(error))
        if file.stat.st_size == info.st_size == len(data) and file.stat.st_mtime_ns == info.st_mtime_ns:
            sha256 = hashlib.sha256(data).hexdigest()
            decoded = _decode(data)
            if isinstance(decoded, str):
                return ReadSkip(decoded, sha256)
            text, encoding = decoded
            # A zero behind the sample is a hole that a cut log leaves; SQLite would take it for the text's end.
            text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
            return FileText(text, sha256, FileStamp(len(data), info.st_mtime_ns, info.st_ino, read_at), encoding)
    return ReadSkip("kept changing while it was read")


_REASONS = {getattr(errno, name): reason for name, reason in rows(__file__, "refusals")} | {errno.EFBIG: TOO_LARGE}


def read_changed(root: Root, found: FoundFile, known_sha256: str | None) -> Reading:
    """Read a file that a walk found, and say whether its bytes are the known ones (None: it was never read)."""
    read_at = now_us()
    outcome = read_text(root, found.path)
    stamp = outcome.stamp if isinstance(outcome, FileText) else found.stamp(read_at)
    return stamp, outcome.sha256, None if outcome.sha256 == known_sha256 else outcome


def _decode(data: bytes) -> tuple[str, str] | str:
    """The text and its encoding, or why it is none.

    A mark at the start decides; else UTF-8 if it fits; else a Western encoding if it reads like one.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data[:SAMPLE_SIZE]:
        return "binary"
    try:
        decoded = data.decode(encoding), encoding
    except UnicodeDecodeError:
        guess = _wounded_utf8(data) or _western(data) if encoding in ("utf-8", "utf-8-sig") else None
        if guess is None:
            return "encoding not recognised"
        decoded = guess
    # Whether it starts full of what no text holds; judged by characters, so alike for every encoding.
    sample = decoded[0][:SAMPLE_SIZE].encode()
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    return "binary" if b"\0" in sample or controls > MAX_CONTROL_SHARE * len(sample) else decoded


def _wounded_utf8(data: bytes) -> tuple[str, str] | None:
    """UTF-8 with a few broken characters, or None where most of what is not ASCII is broken."""
    text = data.decode("utf-8-sig", "replace")
    broken = text.count("\ufffd")
    not_ascii = len(text) - len(data.translate(None, _HIGH_BYTES))
    return (text, "utf-8-replace") if not_ascii - broken >= SOUND_PER_BROKEN * broken else None


def _western(data: bytes) -> tuple[str, str] | None:
    """Western European text as Windows wrote it, or None where it would be letters that are not in the file.

    Latin-1 needs no try of its own: what it adds to this code page is control characters.
    """
    sample = data[:SAMPLE_SIZE]
    high = len(sample) - len(sample.translate(None, _HIGH_BYTES))
    if high > MAX_HIGH_SHARE * len(sample):
        return None
    try:
        return data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return None
