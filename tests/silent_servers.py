"""Stand-ins on loopback for what accepts and then says too little: each takes a connection, and gets all that comes."""

import contextlib
import socket
import threading
from collections.abc import Callable, Generator

# What is done with one connection, until the event is set.
Manner = Callable[[socket.socket, threading.Event], None]

_TICK_S = 0.05


@contextlib.contextmanager
def standing_in(manner: Manner) -> Generator[int, None, None]:
    """The port of a server whose connections are treated so."""
    is_over = threading.Event()
    threads: list[threading.Thread] = []

    def treat(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            manner(connection, is_over)

    def serve(listener: socket.socket) -> None:
        while not is_over.is_set():
            with contextlib.suppress(TimeoutError):
                threads.append(threading.Thread(target=treat, args=(listener.accept()[0],)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_TICK_S)
        threads.append(threading.Thread(target=serve, args=(listener,)))
        threads[0].start()
        try:
            yield listener.getsockname()[1]
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


def request(connection: socket.socket) -> bytes:
    """One HTTP request without its body's end, or what there is of it."""
    return connection.recv(1 << 16)


def silent(connection: socket.socket, is_over: threading.Event) -> None:
    """Says nothing, be it spoken to in HTTP, TLS or PostgreSQL's protocol."""
    is_over.wait()


def trickling(connection: socket.socket, is_over: threading.Event) -> None:
    """One byte of a head at a time, each long before any single read would be given up."""
    request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not is_over.wait(_TICK_S):
        connection.sendall(b"x")


def endless(connection: socket.socket, is_over: threading.Event) -> None:
    """A body of pieces without an end."""
    request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not is_over.wait(_TICK_S):
        connection.sendall(b"1\r\n \r\n")


def continuing(connection: socket.socket, is_over: threading.Event) -> None:
    """Says again and again that an answer will come."""
    request(connection)
    while not is_over.wait(_TICK_S):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def answering_once(body: bytes) -> Manner:
    """Answers the first request of each connection, and no other."""

    def manner(connection: socket.socket, is_over: threading.Event) -> None:
        request(connection)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        is_over.wait()

    return manner


def falling_silent_as_postgres(connection: socket.socket, is_over: threading.Event) -> None:
    """Admits whoever connects, as a primary does, and answers no statement."""
    request(connection)
    settings = {"server_version": "16.0", "client_encoding": "UTF8", "in_hot_standby": "off"}
    settings["default_transaction_read_only"] = "off"
    said = _message(b"R", b"\0\0\0\0")
    for name, value in settings.items():
        said += _message(b"S", f"{name}\0{value}\0".encode())
    connection.sendall(said + _message(b"Z", b"I"))
    is_over.wait()


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body
