"""The HTTP server of `ctxrank serve` and of the page, which no other user of the machine can lock its owner out of.

    server = local_server(application, end_s=5)
    with listening(0) as listener, ended_by_signal(server): server.run(sockets=[listener])

Everybody on the machine can connect to a port. So the head of a request has HEAD_S, and of the connections that have
shown no token at most MOST_STRANGERS are open: the oldest is closed for a new one. One that has shown a token (`admit`)
stays. At a Unix socket another user is not heard.
"""

import asyncio
import os
import socket
from contextlib import AbstractContextManager

import h11
import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from ctxrank.cli.loopback import WAITING, peer_uid
from ctxrank.cli.sigterm import at_sigterm

HEAD_S = 5.0
MOST_STRANGERS = 64
# Connections that are taken at once: what those before them have sent is read before MOST_STRANGERS more are there.
_TAKEN_AT_ONCE = 16
_CONNECTION = "ctxrank.connection"


def local_server(application: ASGIApp, *, end_s: int, has_lifespan: bool = False) -> uvicorn.Server:
    """A server of an application; what is being answered when it is told to end gets `end_s` seconds."""
    config = uvicorn.Config(
        application, http=_Connection, ws="none", lifespan="on" if has_lifespan else "off", log_level="warning",
        access_log=False, server_header=False, backlog=_TAKEN_AT_ONCE, timeout_graceful_shutdown=end_s,
    )  # fmt: skip
    return _Server(config)


def ended_by_signal(server: uvicorn.Server) -> AbstractContextManager[None]:
    """SIGTERM ends a server, also where uvicorn has not begun, or raises the signal again when it has ended."""

    def end() -> None:
        server.should_exit = True

    return at_sigterm(end)


def admit(scope: Scope) -> None:
    """The connection of this request has shown a token."""
    connection = scope.get("state", {}).get(_CONNECTION)
    if isinstance(connection, _Connection):
        connection.is_admitted = True


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING)  # the system keeps more of them waiting than are taken at once


class _Connection(H11Protocol):
    """One connection, known to the requests that come over it."""

    is_admitted = False
    since = 0.0
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's is, too
        super().connection_made(transport)
        self.app_state = {**self.app_state, _CONNECTION: self}
        self.since = self.loop.time()
        other = transport.get_extra_info("socket")
        if other.family == socket.AF_UNIX:
            if peer_uid(other) not in (os.getuid(), None):
                transport.abort()
            return
        self._await_head()
        every: list[_Connection] = [one for one in self.connections if isinstance(one, _Connection)]
        strangers = [one for one in every if not (one.is_admitted or one.transport.is_closing())]
        strangers.sort(key=lambda one: one.since)
        for oldest in strangers[:-MOST_STRANGERS]:
            oldest.transport.abort()

    def handle_events(self) -> None:
        """What came in, as far as it is complete; uvicorn calls it for each part, and after each answer."""
        super().handle_events()
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
