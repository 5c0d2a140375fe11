"""A server of this machine alone: where it listens, and which requests name this machine.

with listening(0) as listener: server.run(sockets=[listener])
is_local("127.0.0.1:8733")      True
made_token("…/serve.token")     what requests to `ctxrank serve` carry
"""

import contextlib
import os
import secrets
import socket
import stat
import struct
import sys
from collections.abc import Generator

from ctxrank.indexer.beneath import read_file
from ctxrank.indexer.exceptions import CtxrankError, refused_by_system

NAMES = ("127.0.0.1", "localhost", "[::1]")
TOKEN_FILE = "serve.token"
_ANOTHER = "Give another --port (0: any) or --socket."
WAITING = 1024  # connections that the system keeps until they are taken; one more waits for a second


def is_local(host: str) -> bool:
    """Whether a Host header, or an Origin without its scheme, names this machine: another name may be rebound to it."""
    name, _, port = host.rpartition(":")
    return host in NAMES or (name in NAMES and port.isdecimal())


@contextlib.contextmanager
def listening(port: int, path: str | None = None) -> Generator[socket.socket, None, None]:
    """A socket on the loopback interface, or at a path that only its user can open. Raises CtxrankError."""
    listener = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        with refused_by_system(f"{path or f'port {port}'} cannot be listened at", _ANOTHER):
            if path is None:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", port))
            else:
                _bind_privately(listener, path)
            listener.listen(WAITING)  # who reads where we are may ask at once
        try:
            yield listener
        finally:
            if path is not None:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _bind_privately(listener: socket.socket, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode) and not _is_answering(path):
            os.unlink(path)
    before = os.umask(0o177)  # the socket is 0600 from its first moment
    try:
        listener.bind(path)
    finally:
        os.umask(before)


def _is_answering(path: str) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1)
        return probe.connect_ex(path) == 0


def peer_uid(connection: "socket.socket") -> int | None:
    """The user at the other end of a Unix socket; None where the system does not say."""
    if sys.platform == "linux":
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    if sys.platform == "darwin":  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred
        return int(struct.unpack("2I", connection.getsockopt(0, 1, 76)[:8])[1])
    return None


def made_token(path: str) -> str:
    """The token, made once and kept, so that a runner's configuration stays valid; only its user can read it."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return kept_token(path)
    with open(descriptor, "w", encoding="ascii") as file:
        token = secrets.token_urlsafe(32)
        file.write(f"{token}\n")
    return token


def kept_token(path: str) -> str:
    """The token that was made. Raises CtxrankError for a file that others can read, or that holds none."""
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise CtxrankError(f"{path} is not a file of yours alone.", "Remove it: the next start makes a new one.")
    token = read_file(path, 200).decode("ascii", "replace").strip()
    if len(token) < 32 or not token.isprintable():
        raise CtxrankError(f"{path} holds no token.", "Remove it: the next start makes a new one.")
    return token
