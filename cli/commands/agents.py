"""`ctxrank hook`, `install` and `uninstall`: what agent runners call, and what makes them call it."""

from ctxrank.cli.declare import Command, NoJson, OneOf, argument, by_name, option

_RUNNERS = ("claude-code", "codex", "agents-md")
_FILES = [{"path": "string", "change": ("made", "changed", "removed", "none"), "diff": "string", "copy": "string?"}]

_HOOK = Command(
    "hook",
    "ctxrank.cli.agents.hook:hook",
    """Answer one hook event of an agent runner, read from stdin; 'ctxrank install' makes a runner call it.

    The exit code is always 0, and nothing is printed where there is nothing to say. 'ctxrank status' shows what
    went wrong.

    Example: ctxrank hook --runner claude-code < event.json
    """,
    (option("--runner", metavar="R", help="claude-code or codex [default: as the event's fields say]."),),
    answer=NoJson("the answer that the runner reads: JSON of its own form, or nothing"),
)
_INSTALL = Command(
    "install",
    "ctxrank.cli.agents.install:install",
    """Make RUNNER use ctxrank: its hooks, and a skill that says when to search and how to save.

    claude-code and codex get entries in their own files; agents-md a paragraph in AGENTS.md, for every other runner.
    What others wrote there stays, a second call changes nothing, and a copy of each changed file is kept beside it.

    Example: ctxrank install claude-code --dry-run
    """,
    (
        argument("runner", type=OneOf(_RUNNERS), metavar="RUNNER"),
        option("--user", "is_user", is_flag=True, help="In the user's own files, for all projects."),
        option("--project", "is_project", is_flag=True, help="In this project's files [default]."),
        option("--mcp", "with_mcp", is_flag=True, help="Also the entry of the MCP server 'ctxrank mcp'."),
        option("--dry-run", is_flag=True, help="Show the diff; write nothing."),
    ),
    answer={"runner": "string", "dry_run": "boolean", "files": _FILES},
)
_UNINSTALL = Command(
    "uninstall",
    "ctxrank.cli.agents.install:uninstall",
    """Take out of RUNNER's files exactly what 'ctxrank install' put there.

    Example: ctxrank uninstall claude-code
    """,
    (
        argument("runner", type=OneOf(_RUNNERS), metavar="RUNNER"),
        option("--user", "is_user", is_flag=True, help="From the user's own files."),
        option("--project", "is_project", is_flag=True, help="From this project's files [default]."),
        option("--dry-run", is_flag=True, help="Show the diff; write nothing."),
    ),
    answer={"runner": "string", "dry_run": "boolean", "files": _FILES},
)

COMMANDS = by_name(_HOOK, _INSTALL, _UNINSTALL)
