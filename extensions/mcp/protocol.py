"""The Model Context Protocol over two streams, a JSON message a line: what `ctxrank mcp` speaks, without an SDK.

    Connection({"tools/list": Method(listed)}, {"serverInfo": …}, sys.stdout.buffer).serve(sys.stdin.buffer)

It speaks the revisions that begin with a handshake, and the one in which each request says its own. What is quick is
answered at once; the rest by WORKERS threads, so that `ping` and a cancellation are heard meanwhile. A request that
was cancelled is not answered, and not begun where it still waits. At the end of stdin, what was asked is answered.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from queue import SimpleQueue

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, is_dict, object_of

if TYPE_CHECKING:
    from typing import BinaryIO, TypeGuard

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS_VERSION = "2026-07-28"
WORKERS = 3  # answers are made of Python, one at a time: see serve.py
NO_JSON, NO_REQUEST, NO_METHOD, WRONG_PARAMETERS, INTERNAL, NO_VERSION = -32700, -32600, -32601, -32602, -32603, -32022
_META = "io.modelcontextprotocol/"

Json = dict[str, object]
Say = Callable[[str], None]  # tells whoever waits how far it is


class Refusal(Exception):
    """An error of the protocol, by its code."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @property
    def as_json(self) -> Json:
        """The error as it is sent."""
        return {"code": self.code, "message": str(self), **({"data": self.data} if self.data else {})}


class Method(NamedTuple):
    """Answers the parameters of a request; `say` is None where nobody asked to be told."""

    answer: Callable[[Json, Say | None], Json]
    is_quick: bool = False
    is_kept: bool = False  # a client may keep the answer, and is told for how long


class _Request(NamedTuple):
    id: str | int
    method: Method
    params: Json
    is_stateless: bool


class Connection:
    """One client, from its first line to its last; `described` is what `initialize` answers beside the revision."""

    def __init__(self, methods: Mapping[str, Method], described: Json, answers: "BinaryIO") -> None:
        self._described = described
        self._methods = {
            "initialize": Method(self._initialize, is_quick=True),
            "server/discover": Method(self._discover, is_quick=True, is_kept=True),
            "ping": Method(_pong, is_quick=True),
            **methods,
        }
        self._answers = answers
        self._writing = threading.Lock()
        self._open: set[str | int] = set()  # the ids of requests that wait for an answer
        self._waiting: SimpleQueue[_Request | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []

    def serve(self, lines: Iterable[bytes]) -> None:
        """Answer every line, and return when the last answer has been written."""
        for line in lines:
            if line.strip():
                self._receive(line)
        for _ in self._workers:
            self._waiting.put(None)
        for worker in self._workers:
            worker.join()

    def _receive(self, line: bytes) -> None:
        id_: object = None
        try:
            message = _parsed(line)
            if "method" not in message and ("result" in message or "error" in message):
                return  # an answer: nothing was asked
            id_ = message.get("id")
            method, params = message.get("method"), message.get("params", {})
            if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
                raise Refusal(NO_REQUEST, 'A request has "jsonrpc": "2.0" and a method.')
            if "id" in message:
                self._take(id_, method, params)
            elif method == "notifications/cancelled" and _is_id(cancelled := object_of(params).get("requestId")):
                self._open.discard(cancelled)
        except Refusal as refusal:
            self._send({"id": id_ if _is_id(id_) else None, "error": refusal.as_json})

    def _take(self, id_: object, method: str, params: object) -> None:
        if not _is_id(id_):
            raise Refusal(NO_REQUEST, "The id of a request is a text or a whole number.")
        if method not in self._methods:
            raise Refusal(NO_METHOD, f"There is no method {method!a}. There are {', '.join(self._methods)}.")
        if not is_dict(params):
            raise Refusal(WRONG_PARAMETERS, "The parameters of a request are an object.")
        given = object_of(params)
        request = _Request(id_, self._methods[method], given, _is_stateless(given))
        self._open.add(id_)
        if request.method.is_quick:
            self._answer(request)
            return
        if len(self._workers) < WORKERS:
            self._workers.append(threading.Thread(target=self._work, daemon=True))
            self._workers[-1].start()
        self._waiting.put(request)

    def _work(self) -> None:
        while (request := self._waiting.get()) is not None:
            if request.id in self._open:
                self._answer(request)

    def _answer(self, request: _Request) -> None:
        try:
            answer: Json = {"result": self._result(request)}
        except Refusal as refusal:
            answer = {"error": refusal.as_json}
        except Exception as error:  # whatever happens, a client that waits is told
            answer = {"error": Refusal(INTERNAL, f"Internal error: {type(error).__name__}: {error}").as_json}
        self._send({"id": request.id, **answer}, request.id)

    def _result(self, request: _Request) -> Json:
        result = request.method.answer(request.params, self._progress(request))
        if not request.is_stateless:
            return result
        kept: Json = {"ttlMs": 0, "cacheScope": "private"} if request.method.is_kept else {}
        return {
            **result,
            **kept,
            "resultType": "complete",
            "_meta": {f"{_META}serverInfo": self._described["serverInfo"]},
        }

    def _progress(self, request: _Request) -> Say | None:
        token = object_of(request.params.get("_meta")).get("progressToken")
        if not _is_id(token):
            return None
        steps = 0

        def say(text: str) -> None:
            nonlocal steps
            steps += 1
            params = {"progressToken": token, "progress": steps, "message": text}
            if request.id in self._open:
                self._send({"method": "notifications/progress", "params": params})

        return say

    def _send(self, message: Json, answered: str | int | None = None) -> None:
        """Write a message; the answer to a request that was cancelled is dropped."""
        data = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            if answered is not None:
                if answered not in self._open:
                    return
                self._open.discard(answered)
            with contextlib.suppress(OSError):  # the client has gone: its stdin ends, too
                self._answers.write(data)
                self._answers.flush()

    def _initialize(self, params: Json, _: Say | None) -> Json:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Refusal(WRONG_PARAMETERS, "'initialize' needs protocolVersion.")
        version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        return {"protocolVersion": version, **self._described}

    def _discover(self, _: Json, __: Say | None) -> Json:
        said = {name: one for name, one in self._described.items() if name != "serverInfo"}
        return {"supportedVersions": [STATELESS_VERSION], **said}


def _pong(_: Json, __: Say | None) -> Json:
    return {}


def _parsed(line: bytes) -> Json:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refusal(NO_JSON, "The line is no JSON.") from error
    if not is_dict(found):
        raise Refusal(NO_REQUEST, "A message is an object, one a line.")
    return object_of(found)


def _is_id(value: object) -> "TypeGuard[str | int]":
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_stateless(params: Json) -> bool:
    """Whether a request says its own revision. Raises Refusal for one that is not known."""
    asked = object_of(params.get("_meta")).get(f"{_META}protocolVersion")
    if asked in (None, STATELESS_VERSION):
        return asked is not None
    data: Json = {"supported": [STATELESS_VERSION], "requested": asked}
    raise Refusal(NO_VERSION, f"A request may be of revision {STATELESS_VERSION}.", data)
