"""Who may ask for a page: the browser that opened the one-time address, from a page of ours, on this machine.

    access = Access()
    access.ticket()            what the opened address carries; good once
    Guard(application, access)

What protects what:

    Host                      names this machine: a name that is rebound to it (DNS) is refused
    Origin, Referer,          where the browser sends them they are ours: no other page can ask, or submit a form
    Sec-Fetch-Site
    the cookie                is given for a ticket alone, is HttpOnly, SameSite=Strict, and of no use after the process
    Content-Security-Policy   runs and loads our files alone: a text of the store that became markup would do nothing
    the form's token          is in each form of ours (`Access.form_token`): no other POST changes anything
"""

import hmac
import secrets
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctxrank.cli.loopback import is_local

MAX_BODY_BYTES = 4 * 1024 * 1024
OPEN = "/open"
_METHODS = ("GET", "HEAD", "POST")
_FROM_US = ("same-origin", "none", "")  # none: typed, or opened by a program

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Access:
    """The secrets of one process: tickets that are good once, and the cookie that one is exchanged for."""

    def __init__(self) -> None:
        self._cookie = secrets.token_urlsafe(32)
        self._tickets: set[str] = set()
        self.cookie_name = f"ctxrank-{secrets.token_hex(4)}"  # cookies do not know ports: two stores need two names
        self.form_token = secrets.token_urlsafe(32)

    def ticket(self) -> str:
        """A new ticket for the address that a browser is sent to."""
        made = secrets.token_urlsafe(32)
        self._tickets.add(made)
        return made

    def cookie_for(self, ticket: str) -> str | None:
        """The Set-Cookie header for a ticket that was not used yet; None for any other text."""
        known = [one for one in self._tickets if hmac.compare_digest(one.encode(), ticket.encode())]
        if not known:
            return None
        self._tickets.discard(known[0])
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def admits(self, cookies: str) -> bool:
        """Whether a Cookie header has the cookie."""
        for pair in cookies.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie_name and hmac.compare_digest(value.encode(), self._cookie.encode()):
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

        answer = self._instead(scope)
        await (self._inner if answer is None else answer)(scope, receive, with_headers)

    def _instead(self, scope: Scope) -> Response | None:
        """What is answered in place of a page; None where the page may be asked."""
        headers = {name: text.decode("latin-1") for name, text in scope["headers"]}
        host = headers.get(b"host", "")
        if not is_local(host):
            return _refusal(421, f"{host!a} is not this machine: ask http://127.0.0.1.")
        ours = f"http://{host}"
        origin, referrer = headers.get(b"origin", ours), headers.get(b"referer", "")
        if origin != ours or headers.get(b"sec-fetch-site", "") not in _FROM_US:
            return _refusal(403, "Another page may not ask.")
        if referrer and referrer != ours and not referrer.startswith(f"{ours}/"):
            return _refusal(403, "Another page may not lead here: open the address that 'ctxrank web' prints.")
        if scope["method"] not in _METHODS:
            return _refusal(405, "Only GET and POST are answered.")
        if scope["method"] == "POST" and not (b"origin" in headers or referrer):
            return _refusal(403, "A form has to say where it is from.")
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return _refusal(413, f"The request is too long: {MAX_BODY_BYTES:,} bytes are taken.")
        is_in = self._access.admits(headers.get(b"cookie", ""))
        if scope["path"] == OPEN:
            ticket = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
            cookie = self._access.cookie_for(ticket)
            if cookie or is_in:
                return RedirectResponse("/", 303, headers={"set-cookie": cookie} if cookie else None)
        if not is_in:
            return _refusal(401, "This page is for who started it: run 'ctxrank web' and open the address it prints.")
        return None


def _refusal(status: int, sentence: str) -> Response:
    return PlainTextResponse(f"{sentence}\n", status)
