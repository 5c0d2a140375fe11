"""`ctxrank serve`: one local process that answers tools and commands, and may follow files. Never required.

    GET  /health            who serves, and since when; needs no token
    POST /mcp               MCP over streamable HTTP: the tools of `tools.tsv`
    POST /api/search        {"query": ["locked"], "limit": 3}: what served.tsv lists, answered as --json answers
    POST /hook              one event of an agent runner, answered as `ctxrank hook` answers it
    POST /ticket            a ticket for the pages, good once, and where it opens them; what `ctxrank web` asks
    GET  /SECRET/…          the pages of `ctxrank web`, read-only, where they are installed (cli/route.py)

It listens on the loopback interface, where each request carries the token, or on a Unix socket that only its user can
open. What a browser sends from elsewhere is refused by Host and Origin; the pages have a guard of their own.
Every request has a store of its own, whose connections stay open for the next one, in one of READERS threads; what
writes waits for its turn in one.
"""

import contextlib
import gc
import hmac
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.loopback import NAMES, TOKEN_FILE, is_local, listening, made_token
from ctxrank.cli.output.envelope import as_json, envelope, failure
from ctxrank.cli.route import ServedRoute
from ctxrank.cli.sharing import sharing
from ctxrank.cli.unexpected import explained
from ctxrank.extensions.mcp.mcp import new_session
from ctxrank.extensions.mcp.store_pool import MAX_IDLE_S, StorePool
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.exceptions import CtxrankError, LockedError, UsageError
from ctxrank.indexer.extensions import ROUTE, provided
from ctxrank.indexer.light_typing import is_dict, object_of
from ctxrank.indexer.store.location import SERVE_LOCK
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.text.tables import rows

try:
    import anyio
    import anyio.to_thread
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ctxrank.cli.local_server import admit, ended_by_signal, local_server
    from ctxrank.cli.request_body import read_body
    from ctxrank.extensions.mcp.sdk import server as mcp_server
except ModuleNotFoundError as error:  # pragma: no cover  the SDK brings them all
    raise UsageError("'ctxrank serve' needs the extra mcp.", "Install it: pip install 'ctxrank[mcp]'") from error

READERS = 3  # answers are made of Python, one at a time: more threads only make each of them wait
MAX_BODY_BYTES = 24 * 1024 * 1024
_END_S = 5  # what is being answered gets so long when the process is told to end

DOES = {name: does for does, name in rows(__file__, "served")}
# The second words of old names, which are answered and listed nowhere: all of them only read.
_OLD = ("list", "show", "outputs", "timeline", "handoffs")
# What this process answers itself; the rest of its addresses are pages.
_SERVED = ("/mcp", "/hook", "/health", "/ticket")
# What HTTP says of a failure; the body says all of it.
_STATUS = {"usage": 400, "not_found": 404, "no_store": 404, "untrusted": 403, "locked": 503}


def serve(call: Call, port: int, socket_path: str | None, is_watching: bool) -> Reply:
    """Serve until SIGTERM (0) or Ctrl-C (130). Raises LockedError where another process serves this store."""
    with call.open() as store:
        folder = store.location.folder
        log = store.config.team_dsn if store.config.team_log is not None else ""
        store.before_close = None  # this process follows the log, and needs no other one for that
    lock = os.path.join(folder, SERVE_LOCK)
    socket_path = socket_path and os.path.abspath(socket_path)  # a hook asks from other folders
    token = "" if socket_path else made_token(os.path.join(folder, TOKEN_FILE))
    pool = StorePool()
    served = app(call._replace(opened=pool.open), token)
    server = local_server(served, end_s=_END_S, has_lifespan=True)
    with listening(port, socket_path) as listener:
        where = f"unix:{socket_path}" if socket_path else f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            ended_by_signal(server),
            only_one(lock, f"{os.getpid()} {where}", _already),
            _watching_files(call) if is_watching else contextlib.nullcontext(),
            sharing("team").watching(folder, log) if log else contextlib.nullcontext(),  # with the log of a team
            _closing(pool),
        ):
            call.note(f"serving {folder} at {where}; Ctrl-C ends it.")
            if token:
                call.note(f"the token is in {os.path.join(folder, TOKEN_FILE)}.")
            gc.collect()
            gc.freeze()  # what is loaded by now stays: a collection that looks at all of it makes an answer wait
            server.run(sockets=[listener])
    return Reply()


def app(call: Call, token: str) -> "ASGIApp":
    """The application. An empty token admits everybody: for a socket that only its user can open."""
    made = mcp_server(call, new_session())
    turn = anyio.CapacityLimiter(1)
    readers = anyio.CapacityLimiter(READERS)
    since = format_us(now_us())

    async def health(_: Request) -> Response:
        return _json({"serving": True, "pid": os.getpid(), "since": since})

    async def api(request: Request) -> Response:
        name = str(request.path_params["command"]).replace("/", " ")
        body = await request.body()
        if name not in DOES and name.partition(" ")[2] not in _OLD:
            return _failed(UsageError(f"{name!a} is not served.", f"These are: {', '.join(sorted(DOES))}."))
        limiter = turn if DOES.get(name) == "writes" else readers
        return await anyio.to_thread.run_sync(_answer, call, name, body, limiter=limiter)

    async def hook(request: Request) -> Response:
        body = await request.body()
        runner = request.query_params.get("runner")
        text = await anyio.to_thread.run_sync(answer_of, body, runner, call, limiter=readers)
        return Response(text or "{}", media_type="application/json")

    hosts = [*NAMES, *(f"{name}:*" for name in NAMES)]
    application = made.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )  # fmt: skip
    application.router.routes += [
        Route("/health", health, methods=["GET"]),
        Route("/hook", hook, methods=["POST"]),
        Route("/api/{command:path}", api, methods=["POST"]),
    ]
    if not token:  # no browser opens a Unix socket
        return _Guard(application, token)
    try:
        pages: ServedRoute = provided(ROUTE, "the page")(call)
    except UsageError as error:
        call.note(f"no pages are served: {error.message} {error.hint}")
        return _Guard(application, token)

    async def ticket(_: Request) -> Response:
        return _json({"opening": pages.opening, "ticket": pages.ticket()})

    application.router.routes.append(Route("/ticket", ticket, methods=["POST"]))
    return _Guard(application, token, pages.application)


class _Guard:
    """Lets a request in: from this machine by its Host and Origin, with the token, and no longer than the limit."""

    def __init__(self, inner: Starlette, token: str, pages: ASGIApp | None = None) -> None:
        self._inner = inner
        self._token = token.encode()
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        path: str = scope["path"]
        if self._pages is not None and path not in _SERVED and not path.startswith("/api/"):
            await self._pages(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        reason = self._refusal(path, headers)
        if reason is not None:
            await _failed(*reason)(scope, receive, send)
            return
        if path != "/health":
            admit(scope)
        body = await read_body(scope, receive, MAX_BODY_BYTES)
        too_long = UsageError("The request is too long.", f"{MAX_BODY_BYTES:,} bytes are taken.")
        await (_failed(too_long, 413) if body is None else self._inner)(scope, body or receive, send)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[CtxrankError, int] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if self._token and not is_local(host):
            return UsageError(f"{host!a} is not this machine.", "Ask http://127.0.0.1."), 421
        if origin and not is_local(origin.partition("://")[2]):
            return UsageError(f"A page of {origin!a} may not ask.", "Ask from a page of this machine."), 403
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        if self._token and path != "/health" and not hmac.compare_digest(given, self._token):
            hint = f"Send 'Authorization: Bearer' and what .ctxrank/{TOKEN_FILE} holds."
            return UsageError("The token is missing or wrong.", hint), 401
        return None


def _answer(call: Call, name: str, body: bytes) -> Response:
    """The answer of a command to the parameters in a body; `stdin` in it is what '-' means."""
    try:
        given = _parameters(body)
        stdin = given.pop("stdin", "")
        if not isinstance(stdin, str):
            raise UsageError("'stdin' is a text.", "It is what the command would read from '-'.")
        asked = ask(call, name, given, stdin.encode("utf-8", "replace"))
    except Exception as error:
        return _failed(error if isinstance(error, CtxrankError) else explained(error, call.db, call.root))
    fields = envelope(asked.payload, outcome=asked.outcome, engine=asked.engine)
    return _json(fields | ({"said": list(asked.notes)} if asked.notes else {}))


def _parameters(body: bytes) -> dict[str, object]:
    hint = "Send an object of parameters by name."
    try:
        found: object = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise UsageError("The request is no JSON.", hint) from error
    if not is_dict(found):
        raise UsageError("The request is no JSON object.", hint)
    return object_of(found)


def _failed(error: CtxrankError, status: int | None = None) -> Response:
    return _json(failure(error), status or _STATUS.get(error.kind, 500))


def _json(value: object, status: int = 200) -> Response:
    return Response(as_json(value) + "\n", status, media_type="application/json")


def _already(says: str) -> CtxrankError:
    pid, _, where = says.partition(" ")
    who = f"Process {pid} serves this store already, at {where}." if where else "Another process serves this store."
    return LockedError(who, "One is enough: it serves any number of clients.")


@contextlib.contextmanager
def _closing(pool: StorePool) -> Generator[None, None, None]:
    """What nobody asks for is closed meanwhile, and all at the end."""
    has_ended = threading.Event()

    def close_idle() -> None:
        while not has_ended.wait(MAX_IDLE_S):
            pool.close_idle()

    thread = threading.Thread(target=close_idle, name="idle stores", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
        pool.close()


@contextlib.contextmanager
def _watching_files(call: Call) -> Generator[None, None, None]:
    """`ctxrank index --watch` beside this process, ended with it."""
    if importlib.util.find_spec("watchfiles") is None:
        raise UsageError("'serve --watch' needs watchfiles.", "Install it: pip install 'ctxrank[watch]'")
    given = [*(("--db", call.db) if call.db else ()), *(("--root", call.root) if call.root else ())]
    command = [sys.executable, "-m", "ctxrank.cli", "index", "--watch", *given]
    follower = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        follower.terminate()
        try:
            follower.wait(_END_S)
        except subprocess.TimeoutExpired:
            follower.kill()
            follower.wait()
