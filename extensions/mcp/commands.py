"""`ctxrank mcp` and `serve`: what agent runners talk to."""

from ctxrank.cli.declare import Command, NoJson, Path, Whole, by_name, option

_MCP = Command(
    "mcp",
    "ctxrank.extensions.mcp.mcp:serve_stdio",
    """Serve a runner's MCP client over stdin and stdout: search, read, context, errors, saving.

    Needs the extra mcp (pip install 'ctxrank[mcp]'). The store is the one of the folder it is started in.

    Example: ctxrank mcp
    """,
    (option("--session", help="The session that it saves into [default: a new one a start]."),),
    answer=NoJson("the protocol"),
)

_SERVE = Command(
    "serve",
    "ctxrank.extensions.mcp.serve:serve",
    """Serve MCP, hooks and commands to programs of this machine from one process; ends on SIGTERM or Ctrl-C.

    Needs the extra mcp. Requests carry the token of .ctxrank/serve.token; with --socket only you can connect.

    Example: ctxrank serve --watch
    """,
    (
        option("--port", type=Whole(0, 65535), default=8733, show_default=True, help="On 127.0.0.1; 0: any free."),
        option("--socket", "socket_path", type=Path(), metavar="FILE", help="A Unix socket instead, for you alone."),
        option("--watch", "is_watching", is_flag=True, help="Also follow the disk, as 'index --watch' does."),
    ),
    answer=NoJson("nothing; --watch prints a line for each batch of changes"),
)

COMMANDS = by_name(_MCP, _SERVE)
