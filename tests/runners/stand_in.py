"""A stand-in for the model: answers a runner's requests on loopback with scripted turns, and keeps what it was sent.

It speaks three protocols as a stream of events: Anthropic's `/v1/messages`, OpenAI's `/v1/responses` and Gemini's
`/v1beta/models/MODEL:streamGenerateContent`. A conversation is known by its first prompt; its next turn is the one
after as many answers as the request already holds.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from ctxrank.indexer.light_typing import is_dict, is_list

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")


class Tool(NamedTuple):
    """A call of a tool, in the words of the runner that is asked."""

    name: str
    arguments: Mapping[str, object]
    namespace: str = ""


Answer = str | Tool  # what the model says at once: a text, which ends its turn, or a call
Turn = Answer | Callable[[str], Answer]  # one that depends on what the model was sent


class Request(NamedTuple):
    """One request of a conversation."""

    prompt: str
    turn: int
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything that the model was sent but the descriptions of tools, as the texts are."""
        names = ("system", "instructions", "messages", "input", "systemInstruction", "contents")
        return "\n".join(text for name in names for text in _texts(self.body.get(name)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_dict(value):
        for one in value.values():
            yield from _texts(one)
    elif is_list(value):
        for one in value:
            yield from _texts(one)


class StandIn:
    """The endpoint: `script` has the turns of each conversation by its first prompt."""

    def __init__(self) -> None:
        self.script: dict[str, Sequence[Turn]] = {}
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "StandIn":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer_to(self, body: dict[str, Any]) -> Answer:
        """The next turn of the conversation that a request is of."""
        beginning, answers = _beginning_and_answers(body)
        for prompt, turns in self.script.items() if body.get("tools") else ():
            if prompt in beginning:
                request = Request(prompt, answers, body)
                self.requests.append(request)
                turn = turns[answers] if answers < len(turns) else "Done."
                return turn(request.text) if callable(turn) else turn
        return "ok"  # what a runner asks for itself, such as a title

    def sent(self, prompt: str) -> list[str]:
        """What the model was sent for each turn of a conversation."""
        by_turn = {one.turn: one.text for one in self.requests if one.prompt == prompt}
        return [text for _, text in sorted(by_turn.items())]


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send(b'{"input_tokens": 1000}', "application/json")
            elif ":streamGenerateContent" in path:
                chunk = json.dumps(_gemini(body, stand_in.answer_to(body)))
                self._send(f"data: {chunk}\n\n".encode(), "text/event-stream")
            elif ":generateContent" in path:
                self._send(json.dumps(_gemini(body, "ok")).encode(), "application/json")
            elif not path.endswith(("/messages", "/responses")):
                self._send(b"{}", "application/json")
            elif not body.get("stream"):
                content = [{"type": "text", "text": "ok"}]
                message = _message(body) | {"content": content, "stop_reason": "end_turn"}
                self._send(json.dumps(message).encode(), "application/json")
            else:
                events = _anthropic if path.endswith("/messages") else _openai
                said = events(body, stand_in.answer_to(body))
                lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in said)
                self._send("".join(lines).encode(), "text/event-stream")

        def _send(self, payload: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    return Handler


def _beginning_and_answers(body: dict[str, Any]) -> tuple[str, int]:
    """(the texts that a conversation began with, how many turns the model has had)."""
    if "contents" in body:
        users = [text for one in body["contents"] if one["role"] == "user" for text in _texts(one["parts"])]
        return "\n".join(users), sum(one["role"] == "model" for one in body["contents"])
    messages = body.get("messages")
    if messages is None:
        items = body.get("input", [])
        users = [text for one in items if one.get("role") == "user" for text in _texts(one["content"])]
        answers = sum(one.get("type") in _CALLS or one.get("role") == "assistant" for one in items)
        return "\n".join(users), answers
    first = next((one["content"] for one in messages if one["role"] == "user"), "")
    return "\n".join(_texts(first)), sum(one["role"] == "assistant" for one in messages)


def _message(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{_beginning_and_answers(body)[1]}_{id(body)}",  # two of one id become one in Claude Code
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }


def _anthropic(body: dict[str, Any], answer: Answer) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message(body)}
    if isinstance(answer, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": answer}
    else:
        block = {"type": "tool_use", "id": f"toolu_{id(body)}", "name": answer.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(dict(answer.arguments))}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": "end_turn" if isinstance(answer, str) else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _gemini(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    part: dict[str, Any] = {"text": answer}
    if not isinstance(answer, str):
        part = {"functionCall": {"id": f"call_{id(body)}", "name": answer.name, "args": dict(answer.arguments)}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": usage}


def _openai(body: dict[str, Any], answer: Answer) -> Iterator[dict[str, Any]]:
    answers = _beginning_and_answers(body)[1]
    response: dict[str, Any] = {"id": f"resp_{answers}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    item: dict[str, Any]
    if isinstance(answer, str):
        content: list[dict[str, Any]] = [{"type": "output_text", "text": answer, "annotations": []}]
        item = {"type": "message", "id": f"msg_{answers}", "role": "assistant", "content": content}
    else:
        named = {"name": answer.name, "arguments": json.dumps(dict(answer.arguments))}
        item = {"type": "function_call", "id": f"fc_{answers}", "call_id": f"call_{answers}", **named}
        if answer.namespace:
            item["namespace"] = answer.namespace
    item["status"] = "completed"
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {
        "type": "response.completed",
        "response": {**response, "status": "completed", "output": [item], "usage": usage},
    }
