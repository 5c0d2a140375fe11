"""The connection to an OpenSearch cluster: HTTP and JSON, over whichever node answers.

A node that is away is passed over; a cluster that says it has too much to do (429, 503) is asked again later, each time
after twice as long. Both are counted. Only requests that change nothing when they are sent twice go through here.
"""

import base64
import json
import ssl
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from ctxrank.indexer.engine import EngineError
from ctxrank.indexer.light_typing import NamedTuple, is_dict

BUSY = (429, 503)
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0


class ClusterError(EngineError):
    """The cluster is away, too busy for too long, or refused; the text says which."""


class Login(NamedTuple):
    """Who asks."""

    user: str
    password: str


class Answer(NamedTuple):
    """A status and what came with it."""

    status: int
    body: dict[object, object]


class Cluster:
    """The nodes of a cluster, by their addresses, used by one thread."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        login: Login | None = None,
        authority: str | None = None,
        patience_s: float = 60,
        timeout_s: float = 60,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`authority` is the file with the certificate that signed the nodes' own; without one the system's count.

        `timeout_s` is how long one node may take for one answer, `patience_s` how long a cluster may be too busy, or
        away. Raises ClusterError for a password that would be sent in the clear.
        """
        self.waits = 0  # how often it was too busy
        self.waited_s = 0.0
        self.lost = 0  # how often a node did not answer
        self._urls = [urlsplit(url) for url in urls]
        self._is_encrypted = all(url.scheme == "https" for url in self._urls)
        if login and not self._is_encrypted:
            raise ClusterError("a password is sent to https alone")
        self._tls = ssl.create_default_context(cafile=authority) if self._is_encrypted else None
        self._headers = {"Authorization": _basic(login)} if login else {}
        self.patience_s = patience_s  # how long one request may be put off altogether
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._connection: HTTPConnection | None = None

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Send a value as JSON. Raises ClusterError."""
        encoded = None if body is None else json.dumps(body).encode()
        return self.send(method, path, encoded, "application/json")

    def send(self, method: str, path: str, body: bytes | None, content_type: str) -> Answer:
        """Send bytes until a node answers something other than that it is busy. Raises ClusterError."""
        waiting = Waiting(self)
        while True:
            answer = self._once(method, path, body, {**self._headers, "Content-Type": content_type})
            if answer is not None and answer.status not in BUSY:
                return answer
            waiting.wait(
                "no node of the cluster answers" if answer is None else f"the cluster is busy ({answer.status})"
            )

    def required(self, method: str, path: str, body: object = None) -> dict[object, object]:
        """What came back, of a request that must not be refused. Raises ClusterError."""
        answer = self.ask(method, path, body)
        if answer.status >= 300:
            raise ClusterError(f"{method} {path.partition('?')[0]}: {answer.status} {error_type(answer.body)}")
        return answer.body

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def wait(self, seconds: float) -> None:
        """Wait because it is busy, counted."""
        self.waits += 1
        self.waited_s += seconds
        self._sleep(seconds)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer | None:
        """Ask each node in turn; None where none answers."""
        for _ in range(len(self._urls) + 1):  # the first may be a connection that was closed since
            connection = self._connection or self._connect()
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                value: object = json.loads(response.read() or b"{}")
            except (OSError, HTTPException, ValueError) as error:
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise ClusterError(f"the certificate of {self._urls[0].hostname} is not trusted") from error
                self.lost += 1
                self.close()
                self._urls.append(self._urls.pop(0))
            else:
                self._connection = connection
                return Answer(response.status, value if is_dict(value) else {})
        return None

    def _connect(self) -> HTTPConnection:
        url = self._urls[0]
        if self._tls is not None:
            return HTTPSConnection(url.hostname or "", url.port, timeout=self._timeout_s, context=self._tls)
        return HTTPConnection(url.hostname or "", url.port, timeout=self._timeout_s)


class Waiting:
    """The growing waits of one request."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._next_s = _FIRST_WAIT_S
        self._left_s = cluster.patience_s

    def wait(self, why: str) -> None:
        """Wait twice as long as the last time. Raises ClusterError where patience is at its end."""
        if self._left_s <= 0:
            raise ClusterError(why)
        seconds = min(self._next_s, self._left_s)
        self._left_s -= seconds
        self._next_s = min(2 * self._next_s, _LONGEST_WAIT_S)
        self._cluster.wait(seconds)


def error_type(body: dict[object, object]) -> str:
    """What kind of error an answer names: its reason may quote a document."""
    error = body.get("error")
    return str(error.get("type", "")) if is_dict(error) else ""


def value_at(body: object, *keys: str) -> object:
    """What an answer has below these keys; None where it has not."""
    for key in keys:
        body = body.get(key) if is_dict(body) else None
    return body


def _basic(login: Login) -> str:
    return "Basic " + base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
