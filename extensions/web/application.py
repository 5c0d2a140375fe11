"""The pages as an ASGI application: addresses, and how an answer becomes a response.

    GET  /                  lately, and search           GET  /sessions     a session's timeline
    GET  /finding?id=…      a document                   GET  /errors       known errors; POST: a failure recognised
    GET  /blocks            the block of a spawn         GET  /links        what a task of .contextia/ reaches
    GET  /receipt?id=…      a block as it was given      GET  /failure      a failure as it was seen
    GET  /receipts          all of them, or two compared GET  /palette      what Ctrl+K offers
    GET  /status            the store and this server    POST /change       with --write alone: one change

Each page is a function of what the address holds (`search_page.py` and its neighbours) that asks commands and gives
values; its template shows them. A request with the header `X-Fragment` gets the part that changes as one types.
"""

import contextlib
import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import jinja2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ctxrank.cli.call import Call
from ctxrank.cli.unexpected import explained
from ctxrank.extensions.web import (
    blocks_page,
    changes,
    errors_page,
    failure_page,
    finding_page,
    health_page,
    links_page,
    palette_page,
    receipt_page,
    receipts_page,
    search_page,
    sessions_page,
)
from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.guard import Access, Guard
from ctxrank.extensions.web.rendering import address, environment
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple

READERS = 3  # answers are made of Python, one at a time: more threads only make each of them wait
KEPT_TIMES = 1000
_STATE_FOR_S = 5.0  # how long the line at the top may be old
_MAX_FIELDS = 60
_STATUS = {"usage": 400, "not_found": 404, "no_store": 404, "untrusted": 403, "locked": 503}
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOREVER = {"cache-control": "private, max-age=31536000, immutable"}  # its address has the digest of what it is


class WebPage(NamedTuple):
    """A page: its name in the navigation, its template, and the part of it that changes as one types."""

    name: str
    template: str
    fragment: str
    values: Callable[[Commands, Parameters], Json]


PAGES = {
    "/": WebPage("Search", "search.html", "search_found.html", search_page.values),
    "/finding": WebPage("Search", "finding.html", "finding.html", finding_page.values),
    "/receipt": WebPage("Receipts", "receipt.html", "receipt_held.html", receipt_page.values),
    "/failure": WebPage("Sessions", "failure.html", "failure.html", failure_page.values),
    "/blocks": WebPage("Blocks", "blocks.html", "blocks_made.html", blocks_page.values),
    "/receipts": WebPage("Receipts", "receipts.html", "receipts.html", receipts_page.values),
    "/sessions": WebPage("Sessions", "sessions.html", "sessions_shown.html", sessions_page.values),
    "/errors": WebPage("Errors", "errors.html", "errors.html", errors_page.values),
    "/links": WebPage("Links", "links.html", "links_reached.html", links_page.values),
    "/palette": WebPage("", "palette.html", "palette.html", palette_page.values),
    "/status": WebPage("Health", "health.html", "health_doctor.html", health_page.values),
}
# What other pages lead to.
_NOT_NAMED = ("/finding", "/receipt", "/failure", "/palette")
_NAVIGATION = [(path, page.name) for path, page in PAGES.items() if path not in _NOT_NAMED]
# With a form whose text is too long for an address.
_POSTED = ("/errors",)


def application(call: Call, access: Access, *, is_writing: bool = False, is_awaited: bool = False) -> ASGIApp:
    """The pages of one store, behind their guard; read-only unless `is_writing`.

    Where somebody waits for them, what they need is loaded in a thread while the browser starts.
    """
    pages = _Pages(call, access, is_writing)
    if is_awaited:
        threading.Thread(target=pages.load, daemon=True).start()
    routes = [
        Route("/static/{name}", pages.static, methods=["GET"]),
        Route("/change", pages.change, methods=["POST"]),
        *(Route(path, pages.page, methods=["GET", "POST"] if path in _POSTED else ["GET"]) for path in PAGES),
        Route("/{rest:path}", pages.nothing, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), access)


class _Pages:
    """What all requests share: the templates, the store's address, the readers' threads, the last answers' times."""

    def __init__(self, call: Call, access: Access, is_writing: bool) -> None:
        self._call = call
        self._ask = Commands(call)
        self._access = access
        self._is_writing = is_writing
        self._readers = anyio.CapacityLimiter(READERS)
        self._turn = anyio.CapacityLimiter(1)
        self._times: deque[float] = deque(maxlen=KEPT_TIMES)  # how long the last answers took, in milliseconds
        self._static = _static_files()
        self._templates = environment(self._ask.called)
        self._state = lru_cache(1)(self._read_state)

    def load(self) -> None:
        """Make the views, of nothing and of a word, so that no first view waits for what is imported for it."""
        word = {"q": "error", "task": "error"}
        for page, given in ((PAGES["/"], {}), *((page, word) for page in PAGES.values())):
            with contextlib.suppress(Exception):  # one needs more; of all else whoever opens the page is told
                self._rendered(page.template, page.values(self._ask, Parameters(given)))

    async def static(self, request: Request) -> Response:
        """A style sheet or a script."""
        found = self._static.get(request.path_params["name"])
        if found is None:
            return Response("There is no such file.\n", 404, media_type="text/plain")
        return Response(found.data, media_type=found.type, headers=_FOREVER)

    async def page(self, request: Request) -> Response:
        """A page, or its part that changes."""
        path = request.scope["path"].removeprefix(request.scope["root_path"])
        is_fragment = "x-fragment" in request.headers
        return await self._answered(request, self._readers, lambda given: self._answer(path, given, is_fragment))

    async def change(self, request: Request) -> Response:
        """One change of the store, where that was allowed at the start; then the page it was asked from."""
        if not self._is_writing:
            error = UsageError("This page only reads.", "Start 'ctxrank web --write' to change what it shows.")
            return await anyio.to_thread.run_sync(self._failed, error, 403)
        return await self._answered(request, self._turn, lambda given: self._change(Parameters(given)))

    async def nothing(self, _: Request) -> Response:
        """No page is there."""
        error = UsageError("There is no such page.", "The pages are named above.")
        return await anyio.to_thread.run_sync(self._failed, error, 404)

    async def _answered(
        self, request: Request, limiter: anyio.CapacityLimiter, answer: Callable[[Mapping[str, str]], Response]
    ) -> Response:
        """What a thread answers to the fields of an address and of a form, which must be one of ours."""
        texts = [request.url.query]
        if request.method == "POST":
            texts.append((await request.body()).decode("utf-8", "replace"))
        try:
            given = dict(pair for text in texts for pair in _fields(text))
            if request.method == "POST" and not self._access.is_form_token(given.get("form", "")):
                raise UsageError("That form was not one of this page.", "Open the page again and send it once more.")
        except UsageError as error:
            return await anyio.to_thread.run_sync(self._failed, error)
        return await anyio.to_thread.run_sync(answer, given, limiter=limiter)

    def _answer(self, path: str, given: Mapping[str, str], is_fragment: bool) -> Response:
        begun = time.perf_counter()
        page = PAGES[path]
        try:
            values = {"page": page.name, **page.values(self._ask, Parameters(given))}
            if page.values is health_page.values:
                values |= health_page.latencies(self._times)
            response = self._rendered(page.fragment if is_fragment else page.template, values)
        except Exception as error:
            template = "failed.html" if is_fragment else "failed_page.html"
            query = {"q": given.get("q", "")} if path == "/" else {}
            return self._failed(self._explained(error), None, template, page=page.name, **query)
        took = (time.perf_counter() - begun) * 1000
        self._times.append(took)
        response.headers["server-timing"] = f"page;dur={took:.1f}"
        return response

    def _change(self, given: Parameters) -> Response:
        try:
            return RedirectResponse(changes.make(self._ask, given), 303)
        except Exception as error:
            return self._failed(self._explained(error))

    def _failed(
        self, error: CtxrankError, status: int | None = None, template: str = "failed_page.html", **values: object
    ) -> Response:
        response = self._rendered(template, {"error": error, **values})
        response.status_code = status or _STATUS.get(error.kind, 500)
        return response

    def _explained(self, error: Exception) -> CtxrankError:
        return error if isinstance(error, CtxrankError) else explained(error, self._call.db, self._call.root)

    def _rendered(self, template: str, values: Json) -> Response:
        common: Json = {"page": "", "is_writing": self._is_writing, "form_token": self._access.form_token}
        common |= {"nav": _NAVIGATION, "static": self._static_address, "address": address}
        common["store_state"] = lambda: self._state(int(time.monotonic() / _STATE_FOR_S))  # a few seconds old at most
        made: jinja2.Template = self._templates.get_template(template)
        return Response(made.render(common | values), media_type="text/html")

    def _read_state(self, _moment: int) -> Json:
        """The line at the top: how much there is, and whether the index is up to date."""
        try:
            found = self._ask("status").fields
        except Exception as error:
            return {"trouble": self._explained(error).message, "documents": 0, "stale": 0}
        total = sum(one for kind, one in found["documents"].items() if kind != "passage")
        return {"trouble": found["index_trouble"], "documents": total, "stale": found["stale"]}

    def _static_address(self, name: str) -> str:
        return f"{address(f'/static/{name}')}?{self._static[name].digest}"


class _StaticFile(NamedTuple):
    data: bytes
    type: str
    digest: str


def _static_files() -> dict[str, _StaticFile]:
    found: dict[str, _StaticFile] = {}
    for file in files("ctxrank.extensions.web").joinpath("static").iterdir():
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            data = file.read_bytes()
            found[file.name] = _StaticFile(data, kind, hashlib.sha256(data).hexdigest()[:12])
    return found


def _fields(text: str) -> list[tuple[str, str]]:
    """The fields of an address or a form. Raises UsageError for very many."""
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise UsageError(f"The request has more than {_MAX_FIELDS} fields.", "A page asks for far fewer.") from error
