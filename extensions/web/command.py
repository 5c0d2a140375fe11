"""`ctxrank web`: serve the local page and open it in the browser; where `ctxrank serve` runs, it is that one's page.

Other users of the machine can read what a browser is started with. So it is given the name of a file that its user
alone can read, and the file sends the ticket.
"""

import contextlib
import gc
import http.client
import json
import os
import webbrowser
from pathlib import Path
from string import Template

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.loopback import TOKEN_FILE, kept_token, listening
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.store.known_stores import make_folder_of_ours, write_privately
from ctxrank.indexer.store.location import SERVE_LOCK, state_folder
from ctxrank.indexer.store.one_process import holder
from ctxrank.indexer.text.digests import digest_of

try:
    import jinja2 as _  # noqa: F401  asked before anything is served

    from ctxrank.cli.local_server import ended_by_signal, local_server
    from ctxrank.extensions.web.application import application as application
    from ctxrank.extensions.web.guard import Access as Access
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("ctxrank"):
        raise
    raise UsageError("The pages need the extra web.", "Install it: pip install 'ctxrank[web]'") from error

_ASK_S = 5
_END_S = 3  # what is being answered gets so long when the process is told to end
_FILE = Template("""\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>ctxrank</title></head>
<body><form method="post" action="$address"><input type="hidden" name="ticket" value="$ticket">
<button>Open the page</button></form>
<script>document.forms[0].submit()</script>
</body></html>
""")


def web(call: Call, port: int, is_writing: bool, is_quiet: bool) -> Reply:
    """Serve the page until SIGTERM (0) or Ctrl-C (130); open it at once where a process serves it already."""
    with call.open() as store:
        folder = store.location.folder
    if not port and not is_writing and (served := _served_already(folder)):
        call.note(f"the page of {folder}, of the 'ctxrank serve' that runs.")
        _open(call, folder, *served, is_quiet=is_quiet)
        return Reply()
    access = Access()
    server = local_server(application(call, access, is_writing=is_writing, is_awaited=True), end_s=_END_S)
    with listening(port) as listener, ended_by_signal(server):
        where = f"http://127.0.0.1:{listener.getsockname()[1]}"
        call.note(f"the page of {folder}{', which may change it' if is_writing else ''}; Ctrl-C ends it.")
        file = _open(call, folder, f"{where}{access.opening}", access.ticket(), is_quiet=is_quiet)
        try:
            gc.collect()
            gc.freeze()  # what is loaded by now stays
            server.run(sockets=[listener])
        finally:
            if file:
                with contextlib.suppress(OSError):
                    os.unlink(file)
    return Reply()


def _open(call: Call, folder: str, address: str, ticket: str, *, is_quiet: bool) -> str:
    """Open the page by a file that sends its ticket, and say where; the file's path, '' where it is not opened."""
    if not (is_quiet or os.environ.get("CTXRANK_NO_BROWSER")):
        path = opening_file(folder, address, ticket)
        print(Path(path).as_uri(), flush=True)
        if webbrowser.open(Path(path).as_uri()):
            return path
        call.note("no browser was found: open the address below in one.")
        os.unlink(path)
    print(f"{address}?ticket={ticket}", flush=True)
    return ""


def opening_file(folder: str, address: str, ticket: str) -> str:
    """A file of this user alone that sends a ticket to an address. Raises CtxrankError."""
    pages = os.path.join(state_folder(), "pages")
    path = os.path.join(pages, f"{digest_of(folder, 8)}.html")  # one a store: the ticket of an older one was used
    try:
        make_folder_of_ours(os.path.dirname(pages))
        make_folder_of_ours(pages)
        write_privately(path, _FILE.substitute(address=address, ticket=ticket))
    except OSError as error:
        raise CtxrankError(
            f"The file that opens the page cannot be written in {pages}: {error.strerror}.",
            "Set XDG_STATE_HOME to a folder of yours, or give --no-open and paste the address.",
        ) from error
    return path


def _served_already(folder: str) -> tuple[str, str] | None:
    """The address where `ctxrank serve` opens this store's page, and a ticket for it; None where it has none."""
    where = holder(os.path.join(folder, SERVE_LOCK)).partition(" ")[2]
    if not where.startswith("http://"):
        return None
    try:
        headers = {"Authorization": f"Bearer {kept_token(os.path.join(folder, TOKEN_FILE))}"}
        with contextlib.closing(http.client.HTTPConnection(where.removeprefix("http://"), timeout=_ASK_S)) as asked:
            asked.request("POST", "/ticket", headers=headers)
            answer: object = json.loads(asked.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException, CtxrankError):
        return None
    if not is_dict(answer) or not {"ticket", "opening"} <= answer.keys():
        return None
    return f"{where}{answer['opening']}", str(answer["ticket"])
