"""`ctxrank web`: serve the local page and open it in the browser."""

import gc
import os
import signal
import webbrowser
from types import FrameType

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.loopback import listening
from ctxrank.indexer.exceptions import UsageError

try:
    import jinja2 as _  # noqa: F401  asked before anything is served
    import uvicorn

    from ctxrank.cli.web.application import application
    from ctxrank.cli.web.guard import OPEN, Access
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("ctxrank"):
        raise
    raise UsageError("'ctxrank web' needs the extra web.", "Install it: pip install 'ctxrank[web]'") from error

_END_S = 3  # what is being answered gets so long when the process is told to end


def web(call: Call, port: int, is_writing: bool, is_quiet: bool) -> Reply:
    """Serve the page until SIGTERM (0) or Ctrl-C (130)."""
    gc.enable()  # see cli/entry.py
    with call.open() as store:
        folder = store.location.folder
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
            opened = f"{where}{OPEN}?ticket={access.ticket()}"
            print(opened, flush=True)
            if not is_quiet and not os.environ.get("CTXRANK_NO_BROWSER"):
                webbrowser.open(opened)
            gc.collect()
            gc.freeze()  # what is loaded by now stays
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)
    return Reply()
