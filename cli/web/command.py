"""`ctxrank web`: serve the local page and open it in the browser; where `ctxrank serve` runs, it is that one's page."""

import gc
import http.client
import json
import os
import signal
import webbrowser
from types import FrameType

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.loopback import TOKEN_FILE, kept_token, listening
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.store.location import SERVE_LOCK
from ctxrank.indexer.store.one_process import holder

try:
    import jinja2 as _  # noqa: F401  asked before anything is served
    import uvicorn

    from ctxrank.cli.web.application import application
    from ctxrank.cli.web.guard import OPEN, Access
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("ctxrank"):
        raise
    raise UsageError("'ctxrank web' needs the extra web.", "Install it: pip install 'ctxrank[web]'") from error

_ASK_S = 5
_END_S = 3  # what is being answered gets so long when the process is told to end


def web(call: Call, port: int, is_writing: bool, is_quiet: bool) -> Reply:
    """Serve the page until SIGTERM (0) or Ctrl-C (130); open it at once where a process serves it already."""
    with call.open() as store:
        folder = store.location.folder
    if not port and not is_writing and (served := _served_already(folder)):
        where, ticket = served
        call.note(f"the page of {folder}, of the 'ctxrank serve' that runs.")
        _open(f"{where}{OPEN}?ticket={ticket}", is_quiet)
        return Reply()
    gc.enable()  # see cli/entry.py
    access = Access()
    server = uvicorn.Server(
        uvicorn.Config(
            application(call, access, is_writing=is_writing), log_level="warning", access_log=False, lifespan="off",
            timeout_graceful_shutdown=_END_S, server_header=False,
        )
    )  # fmt: skip

    def end(_: int, __: FrameType | None) -> None:
        server.should_exit = True  # also where uvicorn has not begun, or raises the signal again when it has ended

    with listening(port) as listener:
        where = f"http://127.0.0.1:{listener.getsockname()[1]}"
        before = signal.signal(signal.SIGTERM, end)
        try:
            call.note(f"the page of {folder}{', which may change it' if is_writing else ''}; Ctrl-C ends it.")
            _open(f"{where}{OPEN}?ticket={access.ticket()}", is_quiet)
            gc.collect()
            gc.freeze()  # what is loaded by now stays
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)
    return Reply()


def _open(address: str, is_quiet: bool) -> None:
    print(address, flush=True)
    if not is_quiet and not os.environ.get("CTXRANK_NO_BROWSER"):
        webbrowser.open(address)


def _served_already(folder: str) -> tuple[str, str] | None:
    """Where `ctxrank serve` has this store's page, and a ticket for it; None where it has not."""
    where = holder(os.path.join(folder, SERVE_LOCK)).partition(" ")[2]
    if not where.startswith("http://"):
        return None
    try:
        headers = {"Authorization": f"Bearer {kept_token(os.path.join(folder, TOKEN_FILE))}"}
        connection = http.client.HTTPConnection(where.removeprefix("http://"), timeout=_ASK_S)
        try:
            connection.request("POST", "/ticket", headers=headers)
            answer: object = json.loads(connection.getresponse().read())
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException, CtxrankError):
        return None
    return (where, str(answer["ticket"])) if is_dict(answer) and "ticket" in answer else None
