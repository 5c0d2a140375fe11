"""The body of a request, read whole and bounded before anything looks at it, however it is sent.

A Content-Length may be refused at once; a body that is sent in chunks has none, and is counted as it comes.
"""

from starlette.types import Message, Receive, Scope


async def read_body(scope: Scope, receive: Receive, most: int) -> Receive | None:
    """What gives a request's body once more, as one message; None where it has, or announces, more bytes than this."""
    announced = dict[bytes, bytes](scope["headers"]).get(b"content-length", b"0")
    if not announced.isdigit() or int(announced) > most:
        return None
    chunks: list[bytes] = []
    left = most
    message = await receive()
    while message["type"] == "http.request":
        chunks.append(message.get("body", b""))
        left -= len(chunks[-1])
        if left < 0:
            return None
        if not message.get("more_body", False):
            message = {"type": "http.request", "body": b"".join(chunks), "more_body": False}
            break
        message = await receive()
    waiting = [message]  # the whole body, or that the client has gone

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
