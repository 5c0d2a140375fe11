"""`ctxrank web`: the local page."""

from ctxrank.cli.declare import Command, NoJson, Whole, by_name, option

_WEB = Command(
    "web",
    "ctxrank.extensions.web.command:web",
    """Open the local page in a browser: search, blocks, sessions, errors, links, health; ends on SIGTERM or Ctrl-C.

    Needs the extra web (pip install 'ctxrank[web]'). Only this machine can ask, and only the browser that is opened, by
    a file that you alone can read. Where 'ctxrank serve' runs, its page is opened.

    Example: ctxrank web
    """,
    (
        option("--port", type=Whole(0, 65535), default=0, show_default=True, help="On 127.0.0.1; 0: any free."),
        option(
            "--write",
            "is_writing",
            is_flag=True,
            help="Also confirm, refute, supersede, end sessions [default: only read].",
        ),
        option("--no-open", "is_quiet", is_flag=True, help="Open no browser; print an address to paste, good once."),
    ),
    answer=NoJson("what is opened: a file of yours, or with --no-open the address, good once"),
)

COMMANDS = by_name(_WEB)
