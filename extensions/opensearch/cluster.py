"""The connection to an OpenSearch cluster: HTTP and JSON, over whichever node answers.

A node that is away is passed over; a cluster that says it has too much to do (429, 503) is asked again later, each time
after twice as long, which is counted. Only requests that change nothing when they are sent twice go through here.
With a deadline all of that ends with it.
"""

import base64
import json
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from ctxrank.indexer.deadline import ENDLESS
from ctxrank.indexer.engine import EngineError
from ctxrank.indexer.light_typing import NamedTuple, is_dict

BUSY = (429, 503)
_UNREACHED = (502, 504)  # said by what stands before the nodes
_UNKNOWN, _FORBIDDEN, _MISSING = 401, 403, 404
_ANSWER_S = 60.0  # so long one node may take for one answer, to its last byte
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_MAX_ANSWER_BYTES = 256 * 1024 * 1024


class ClusterError(EngineError):
    """The cluster is away, too busy for too long, or refused; the text says which."""


class ClusterAnswer(NamedTuple):
    """A status and what came with it."""

    status: int
    body: dict[object, object]


class Cluster:
    """The nodes of a cluster, by their addresses, used by one thread."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        login: tuple[str, str] | None = None,
        authority: str | None = None,
        patience_s: float = 60,
        away_s: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`login` is a user with the password; `authority` is the file with the certificate that signed the nodes' own,
        without one the system's count.

        `patience_s` is how long a cluster may be too busy, or away; `away_s` the same for one that has never answered.
        Raises ClusterError for a password that would be sent in the clear.
        """
        self.waits = 0  # how often it was too busy
        self.deadline = ENDLESS  # of all that is asked from now on
        self._urls = [urlsplit(url) for url in urls]
        self._is_encrypted = all(url.scheme == "https" for url in self._urls)
        if login and not self._is_encrypted:
            raise ClusterError("a password is sent to https alone")
        self._tls = ssl.create_default_context(cafile=authority) if self._is_encrypted else None
        self._user = login[0] if login else ""
        encoded = base64.b64encode(":".join(login or ()).encode()).decode()
        self._headers = {"Authorization": f"Basic {encoded}"} if login else {}
        self.patience_s = patience_s  # how long one request may be put off altogether
        self._away_s = patience_s if away_s is None else away_s
        self._has_answered = False
        self._sleep = sleep
        self._connection: HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None) -> ClusterAnswer:
        """Send a value as JSON. Raises ClusterError."""
        encoded = None if body is None else json.dumps(body).encode()
        return self.send(method, path, encoded, "application/json")

    def send(self, method: str, path: str, body: bytes | None, content_type: str) -> ClusterAnswer:
        """Send bytes until a node answers something other than that it is busy. Raises ClusterError."""
        waiting = Waiting(self)
        while True:
            begun = time.monotonic()
            answer = self._once(method, path, body, {**self._headers, "Content-Type": content_type})
            if isinstance(answer, str):  # why there is none
                waiting.waited_s += time.monotonic() - begun
                waiting.wait(f"no node of the cluster answers ({answer})", None if self._has_answered else self._away_s)
                continue
            self._has_answered = True
            if answer.status == _UNKNOWN:
                known = f"refuses the password of {self._user}" if self._user else "wants a user"
                raise ClusterError(f"the cluster {known} ({_UNKNOWN})")
            if answer.status == _FORBIDDEN:
                who = self._user or "without a user one"
                raise ClusterError(f"{who} may not {refusal(method, path, answer)}")
            if answer.status not in BUSY:
                return answer
            waiting.wait(f"the cluster is busy ({answer.status})")

    def required(self, method: str, path: str, body: object = None, *, is_needed: bool = True) -> dict[object, object]:
        """What came back, of a request that must not be refused; {} where what is not needed is missing.

        Raises ClusterError.
        """
        answer = self.ask(method, path, body)
        if answer.status == _MISSING and not is_needed:
            return {}
        if answer.status >= 300:
            raise ClusterError(refusal(method, path, answer))
        return answer.body

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def wait(self, seconds: float) -> None:
        """Wait because it is busy, counted."""
        self.waits += 1
        self.deadline.spend(seconds)
        self._sleep(seconds)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> ClusterAnswer | str:
        """Ask each node in turn; of a cluster of which none answers, what was the matter with the last one."""
        if not self.deadline.left_s:
            raise ClusterError(f"the cluster does not answer within {self.deadline.seconds:g} s")
        why = ""
        left = len(self._urls)
        while left:
            url = self._urls[0]
            kept, self._connection = self._connection, None
            connection = kept or self._connect(url)
            try:
                status, read = self._in_time(connection, left, method, path, body, headers)
            except (OSError, HTTPException) as error:
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise ClusterError(f"the certificate of {url.hostname} is not trusted") from error
                said = str(getattr(error, "strerror", None) or error)  # of the system, or of the protocol
                why = f"{url.netloc}: {said or type(error).__name__}"
                if kept is not None and not isinstance(error, TimeoutError):
                    continue  # it may have been closed since, so the node is connected to once more
            else:
                if status not in _UNREACHED:
                    self._connection = connection
                    return ClusterAnswer(status, _value(url.netloc, status, read))
                connection.close()
                why = f"{url.netloc}: {status}, of what stands before the nodes"
            left -= 1
            self._urls.append(self._urls.pop(0))
        return why

    def _in_time(
        self, connection: HTTPConnection, left: int, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Ask one node, to the last byte; `left` nodes share what is left of a deadline."""

        def exchange() -> tuple[int, bytes]:
            try:
                connection.request(method, path, body, headers)
                with connection.getresponse() as response:  # it holds the socket longer than its connection does
                    read = response.read(_MAX_ANSWER_BYTES + 1)
                if len(read) > _MAX_ANSWER_BYTES:
                    raise HTTPException(f"more than {_MAX_ANSWER_BYTES} bytes")
            except BaseException:
                connection.close()
                raise
            return response.status, read

        try:
            return self.deadline.ask(exchange, min(_ANSWER_S, self.deadline.left_s / left))
        except TimeoutError:
            if connection.sock is not None:  # its thread may still read: it ends now, and closes
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            raise

    def _connect(self, url: SplitResult) -> HTTPConnection:
        made = HTTPConnection if self._tls is None else partial(HTTPSConnection, context=self._tls)
        return made(url.hostname or "", url.port, timeout=_ANSWER_S)


class Waiting:
    """The growing waits of one request."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._next_s = _FIRST_WAIT_S
        self.waited_s = 0.0  # for answers that did not come, too

    def wait(self, why: str, most_s: float | None = None) -> None:
        """Wait twice as long as the last time. Raises ClusterError where patience (or `most_s`) is at its end."""
        left_s = (self._cluster.patience_s if most_s is None else most_s) - self.waited_s
        seconds = min(self._next_s, left_s)
        if left_s <= 0 or self._cluster.deadline.left_s <= seconds:
            raise ClusterError(why)
        self.waited_s += seconds
        self._next_s = min(2 * self._next_s, _LONGEST_WAIT_S)
        self._cluster.wait(seconds)


def refusal(method: str, path: str, answer: ClusterAnswer) -> str:
    """What was asked, and what kind of error came back."""
    return f"{method} {path.partition('?')[0]}: {answer.status} {error_type(answer.body)}".rstrip()


def _value(netloc: str, status: int, read: bytes) -> dict[object, object]:
    """The object of an answer. A refusal may say anything; what is done is said in JSON. Raises ClusterError."""
    try:
        value: object = json.loads(read or b"{}")
    except (ValueError, RecursionError) as error:
        if status < 300:
            raise ClusterError(
                f"{netloc} answers {status} with what is no JSON: it is no node of OpenSearch"
            ) from error
        value = None
    return value if is_dict(value) else {}


def error_type(body: dict[object, object]) -> str:
    """What kind of error an answer names: its reason may quote a document."""
    error = body.get("error")
    return str(error.get("type", "")) if is_dict(error) else ""


def value_at(body: object, *keys: str) -> object:
    """What an answer has below these keys; None where it has not."""
    for key in keys:
        body = body.get(key) if is_dict(body) else None
    return body
