"""An event of a runner, answered by the process that serves the store at a Unix socket, where there is one.

No other user can stand in its way there: the socket is its user's alone, and the user at its other end is asked for.
"""

import os
import socket
from urllib.parse import urlencode

from ctxrank.cli.loopback import peer_uid
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.store.one_process import holder

_CONNECT_S = 0.25
_ANSWER_S = 5.0  # the process goes on with what it keeps
_MAX_ANSWER_BYTES = 1024 * 1024


def answer_of_server(lock: str, data: bytes, runner: str | None) -> str | None:
    """The answer of the process that holds a lock file, '' for nothing to say; None where none can be asked.

    Raises CtxrankError where it was asked and did not answer: what it may have kept is not to be kept twice.
    """
    path = holder(lock).partition(" ")[2]
    if not path.startswith("unix:/"):
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_S)
        try:
            connection.connect(path.removeprefix("unix:"))
            if peer_uid(connection) not in (os.getuid(), None):
                return None
        except OSError:
            return None
        connection.settimeout(_ANSWER_S)
        query = f"?{urlencode({'runner': runner})}" if runner else ""
        head = (
            f"POST /hook{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        try:
            connection.sendall(head.encode("latin-1", "replace") + data)
            answer = connection.makefile("rb").read(_MAX_ANSWER_BYTES)
        except OSError as error:
            raise CtxrankError(f"The process at {path} did not answer: {error}.", "Start it again.") from error
    head, _, body = answer.decode("utf-8", "replace").partition("\r\n\r\n")
    if head.split(" ")[1:2] != ["200"]:
        raise CtxrankError(f"The process at {path} refused an event.", "Start it again.")
    return "" if body == "{}" else body
