"""Who may ask for a page: the browser that a ticket was given to, from a page of ours, on this machine.

    access = Access()
    access.ticket()            what is sent to `access.opening`; good once
    Guard(application, access)

What protects what:

    Host                      names this machine: a name that is rebound to it (DNS) is refused
    Origin, Referer,          where the browser sends them they are ours: no other page can ask, or submit a form
    Sec-Fetch-Site
    the folder of all pages   has a random name, and is the cookie's Path: a server at another port is sent no cookie
    the cookie                is given for a ticket alone, is HttpOnly, SameSite=Strict, and of no use after the process
    Referrer-Policy           no page that a link leads to learns the folder's name
    Content-Security-Policy   runs and loads our files alone: a text of the store that became markup would do nothing
    the form's token          is in each form of ours (`Access.form_token`): no other POST changes anything
"""

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctxrank.cli.local_server import admit
from ctxrank.cli.loopback import is_local
from ctxrank.cli.request_body import read_body

Headers = Mapping[bytes, str]
MAX_BODY_BYTES = 4 * 1024 * 1024
_METHODS = ("GET", "HEAD", "POST")
_FROM_US = ("same-origin", "none", "")  # none: typed, or opened by a program
_MAX_TICKET_BYTES = 1000
_COOKIE = "ctxrank"
# A SameSite=Strict cookie is not sent on a way that began elsewhere, as in a file: so the way begins anew, here.
_OPENED = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ctxrank</title><meta http-equiv="refresh" content="0; url=./"></head>
<body><a href="./">To the page</a></body></html>
"""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Access:
    """The secrets of one process: tickets that are good once, and the cookie that one is exchanged for."""

    def __init__(self) -> None:
        self._cookie = secrets.token_urlsafe(32)
        self._tickets: set[str] = set()
        self.folder = f"/{secrets.token_urlsafe(32)}"
        self.opening = f"{self.folder}/open"
        self.form_token = secrets.token_urlsafe(32)

    def ticket(self) -> str:
        """A new ticket for the browser that is to see the pages."""
        made = secrets.token_urlsafe(32)
        self._tickets.add(made)
        return made

    def cookie_for(self, ticket: str) -> str | None:
        """The Set-Cookie header for a ticket that was not used yet; None for any other text."""
        known = [one for one in self._tickets if hmac.compare_digest(one.encode(), ticket.encode())]
        if not known:
            return None
        self._tickets.discard(known[0])
        return f"{_COOKIE}={self._cookie}; Path={self.folder}/; HttpOnly; SameSite=Strict"

    def has(self, path: str) -> bool:
        """Whether a path is in the folder of the pages."""
        folder, slash, _ = path[1:].partition("/")
        return bool(slash) and hmac.compare_digest(folder.encode(), self.folder[1:].encode())

    def admits(self, cookies: str) -> bool:
        """Whether a Cookie header has the cookie."""
        for pair in cookies.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == _COOKIE and hmac.compare_digest(value.encode(), self._cookie.encode()):
                return True
        return False

    def is_form_token(self, given: str) -> bool:
        """Whether a form is one of ours."""
        return hmac.compare_digest(given.encode(), self.form_token.encode())


class Guard:
    """Lets a request in, or says in a sentence why not; sets the headers of every answer."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own: list[tuple[bytes, bytes]] = list(message["headers"])
                if not any(name == b"cache-control" for name, _ in own):
                    own.append((b"cache-control", b"no-store"))
                message["headers"] = own + [(name.encode(), text.encode()) for name, text in _HEADERS.items()]
            await send(message)

        headers = {name: text.decode("latin-1") for name, text in scope["headers"]}
        answer = self._refusal(scope, headers)
        if answer is None and scope["path"] == self._access.opening:
            answer = await self._opened(scope, headers, receive)
        if answer is None:
            answer = self._foreign(scope, headers)
        if answer is None:
            admit(scope)
            scope = {**scope, "root_path": self._access.folder}
            body = await read_body(scope, receive, MAX_BODY_BYTES)
            receive = body or receive
            if body is None:
                answer = _refusal(413, f"The request is too long: {MAX_BODY_BYTES:,} bytes are taken.")
        await (answer or self._inner)(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """What is answered to a request that no page of ours can be, and no browser of this machine's user sends."""
        host = headers.get(b"host", "")
        if not is_local(host):
            return _refusal(421, f"{host!a} is not this machine: ask http://127.0.0.1.")
        if scope["method"] not in _METHODS:
            return _refusal(405, "Only GET and POST are answered.")
        return None

    async def _opened(self, scope: Scope, headers: Headers, receive: Receive) -> Response | None:
        """The cookie for a ticket, wherever it is sent from; None for none."""
        given = scope["query_string"].decode("latin-1")
        length = headers.get(b"content-length", "")
        if scope["method"] == "POST" and length.isdecimal() and int(length) <= _MAX_TICKET_BYTES:
            given = (await Request(scope, receive).body()).decode("latin-1")
        cookie = self._access.cookie_for(parse_qs(given).get("ticket", [""])[0])
        if cookie or self._access.admits(headers.get(b"cookie", "")):
            return HTMLResponse(_OPENED, headers={"set-cookie": cookie} if cookie else None)
        return _unknown()

    def _foreign(self, scope: Scope, headers: Headers) -> Response | None:
        """What is answered in place of a page; None where the page may be asked."""
        ours = f"http://{headers[b'host']}"
        referrer, site = headers.get(b"referer", ""), headers.get(b"sec-fetch-site", "")
        origin = headers.get(b"origin", ours)
        # A form of a page without referrers is sent with the origin null, and the browser says whose it is.
        if site not in _FROM_US or (origin != ours and (origin, site) != ("null", "same-origin")):
            return _refusal(403, "Another page may not ask.")
        if referrer and referrer != ours and not referrer.startswith(f"{ours}/"):
            return _refusal(403, "Another page may not lead here: run 'ctxrank web'.")
        if scope["method"] == "POST" and not (b"origin" in headers or referrer):
            return _refusal(403, "A form has to say where it is from.")
        if not (self._access.has(scope["path"]) and self._access.admits(headers.get(b"cookie", ""))):
            return _unknown()
        return None


def _unknown() -> Response:
    return _refusal(401, "This page is for who started it: run 'ctxrank web', which opens it.")


def _refusal(status: int, sentence: str) -> Response:
    return PlainTextResponse(f"{sentence}\n", status)
