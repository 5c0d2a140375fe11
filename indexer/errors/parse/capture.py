"""The beginning and the end of what may be very long, in bounded memory.

    capture = Capture()
    capture.feed(b"line 1\\n")
    capture.data()        the beginning and the end, cut at line ends; all of it where it is short

A compiler says first what went wrong, a test runner last.
"""

import os
from collections import deque

from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

# What error_units looks at: more would be read and not used.
HEAD_BYTES = 128 * 1024
TAIL_BYTES = 384 * 1024
_CHUNK_BYTES = 64 * 1024


class Capture:
    """Keeps the first HEAD_BYTES and the last TAIL_BYTES of what it is fed."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytearray] = deque()
        self._tail_bytes = 0
        self.size_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size_bytes += len(data)
        room = max(HEAD_BYTES - len(self._head), 0)
        self._head += data[:room]
        data = data[room:]
        if not data:
            return
        if self._tail and len(self._tail[-1]) < _CHUNK_BYTES:
            self._tail[-1] += data  # byte by byte, some commands print
        else:
            self._tail.append(bytearray(data))
        self._tail_bytes += len(data)
        while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())

    def data(self) -> bytes:
        """What was kept. A line that was cut says something else than the whole line, and is left out."""
        tail = b"".join(self._tail)
        if self.size_bytes <= HEAD_BYTES + TAIL_BYTES:
            return bytes(self._head) + tail
        head, tail = bytes(self._head), tail[-TAIL_BYTES:]
        return (head[: head.rfind(b"\n") + 1] or head + b"\n") + tail[tail.find(b"\n", 0, -1) + 1 :]


def capture_stream(stream: "BinaryIO") -> Capture:
    """Read a stream to its end."""
    capture = Capture()
    while chunk := stream.read(_CHUNK_BYTES):
        capture.feed(chunk)
    return capture


def capture_file(path: str) -> Capture:
    """Read a file; of a long one the beginning and the end alone. Raises OSError."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= HEAD_BYTES + 2 * TAIL_BYTES:
            return capture_stream(file)
        capture = Capture()
        capture.feed(file.read(HEAD_BYTES))
        file.seek(size - 2 * TAIL_BYTES)
        # What lies between is counted, not read.
        capture.size_bytes = size - 2 * TAIL_BYTES
        while chunk := file.read(_CHUNK_BYTES):
            capture.feed(chunk)
        return capture
