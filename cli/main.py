"""The command `ctxrank`: its commands, and the one place where failures become exit codes.

0 found or done   1 nothing found   2 wrong use   3 no trusted store   4 degraded or stale under --strict
5 damaged         6 the system refused             7 locked     130 Ctrl-C
"""

import sys
from collections.abc import Mapping

from ctxrank.cli.call import answered, given_options, imported, leave, shown
from ctxrank.cli.declare import Declared
from ctxrank.cli.parse import read, run_plain
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import cast

# The everyday ones first: `click_commands.py` says how many of them the first page of help describes.
COMMANDS = {
    "init": ("ctxrank.cli.commands.upkeep", "Make a store here."),
    "save": ("ctxrank.cli.commands.save", "Save a finding: a file, a sentence, or what is piped in."),
    "search": ("ctxrank.cli.commands.search", "Search past findings."),
    "show": ("ctxrank.cli.commands.kinds", "Show one document."),
    "list": ("ctxrank.cli.commands.kinds", "List packages, errors, strategies, sessions, receipts."),
    "index": ("ctxrank.cli.commands.index", "Update the stored artifacts from the disk."),
    "assemble": ("ctxrank.cli.commands.assemble", "Print the context block for one spawn."),
    "why": ("ctxrank.cli.commands.receipts", "Say why a document was in a block, or was not."),
    "error": ("ctxrank.cli.commands.errors", "Recognise failures, say what fixed them, and learn from commands."),
    "package": ("ctxrank.cli.commands.packages", "Save, supersede and consume packages."),
    "reasoning": ("ctxrank.cli.commands.memory", "Save and read what agents thought, and see what is missing."),
    "strategy": ("ctxrank.cli.commands.memory", "Save, count and extract what worked."),
    "session": ("ctxrank.cli.commands.packages", "Create and end sessions."),
    "import": ("ctxrank.cli.commands.exchange", "Import a predecessor's store, or an export."),
    "export": ("ctxrank.cli.commands.exchange", "Print the store as JSON Lines."),
    "purge": ("ctxrank.cli.commands.purge", "Delete records or secrets to the last byte."),
    "status": ("ctxrank.cli.commands.upkeep", "Show the state of the store and its index."),
    "doctor": ("ctxrank.cli.commands.upkeep", "Check the store, and repair it."),
    "install": ("ctxrank.cli.commands.agents", "Make an agent runner use ctxrank."),
    "web": ("ctxrank.extensions.web.commands", "Open the local page in a browser."),
    "trust": ("ctxrank.cli.commands.upkeep", "Use a store that another user made."),
    "skill": ("ctxrank.cli.commands.skills", "Save what skills reported; say which ones an agent must invoke."),
    "group": ("ctxrank.cli.commands.packages", "Create task groups, and say how far they are."),
    "receipt": ("ctxrank.cli.commands.receipts", "Replay and compare what assemblies did."),
    "prune": ("ctxrank.cli.commands.upkeep", "Remove what is older than an age, and count it."),
    "context": ("ctxrank.extensions.links.commands", "Print what a task of .contextia/ reaches."),
    "check": ("ctxrank.extensions.links.commands", "Check the links of .contextia/."),
    "eval": ("ctxrank.extensions.evaluation.commands", "Measure and tune the ranking on known answers."),
    "bazinga": ("ctxrank.extensions.bazinga.command", "Run the predecessor's own commands on this store."),
    "hook": ("ctxrank.cli.commands.agents", "Answer one hook event of an agent runner."),
    "uninstall": ("ctxrank.cli.commands.agents", "Take out what install put into a runner's files."),
    "mcp": ("ctxrank.extensions.mcp.commands", "Serve a runner's MCP client over stdin and stdout."),
    "serve": ("ctxrank.extensions.mcp.commands", "Serve MCP, hooks and commands from one process."),
    "team": ("ctxrank.extensions.team.commands", "Share one memory with other machines."),
    "wide": ("ctxrank.extensions.opensearch.commands", "Search a large store in an OpenSearch cluster."),
    "completion": ("ctxrank.cli.commands.about", "Print a script that completes commands in a shell."),
    "schema": ("ctxrank.cli.commands.about", "Print every command and answer as JSON (Schema)."),
}


def main() -> None:
    """Run one call and exit with its code: freeing every module would cost a fifth of a query."""
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one call; returns its exit code. Nothing that happens in a call leaves here as a traceback."""
    return answered(lambda: _run(arguments), lambda error: _fail(_explained(error, arguments), arguments))


def _run(arguments: list[str]) -> int:
    plain = read(arguments, find_command)
    if plain is not None:
        return run_plain(plain)
    # Loading click would double what a query waits for.
    from ctxrank.cli.names import renamed  # noqa: PLC0415

    words = renamed(arguments)
    if words is not arguments:
        return _run(words)
    from ctxrank.cli.click_commands import run_by_click  # noqa: PLC0415

    return run_by_click(arguments, COMMANDS)


def find_command(name: str) -> Declared | None:
    """The declaration of a command or group; None for none."""
    if name not in COMMANDS:
        return None
    return load_command(name, COMMANDS[name][0])


def load_command(name: str, module: str) -> Declared:
    """The command that a module declares. Raises UsageError where an installation leaves the module's room out."""
    declared = cast("Mapping[str, Declared]", imported(f"{module}:COMMANDS", name))
    return declared[name]


def declared_commands() -> dict[str, Declared]:
    """All declarations; a room that is not installed has none."""
    found: dict[str, Declared] = {}
    for name, (module, _) in COMMANDS.items():
        try:
            found[name] = load_command(name, module)
        except UsageError:
            continue
    return found


def _explained(error: Exception, arguments: list[str]) -> CtxrankError:
    if isinstance(error, CtxrankError):
        return error
    from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

    given = given_options(arguments, ("--db", "--root"))
    return explained(error, given.get("--db"), given.get("--root"))


def _fail(error: CtxrankError, arguments: list[str]) -> int:
    if "--json" in arguments:
        from ctxrank.cli.output.envelope import emit_error  # noqa: PLC0415  text needs no JSON library

        emit_error(error)
    else:
        # Messages name paths and values, which come from anywhere.
        print(f"ctxrank: {shown(f'{error.message} {error.hint}')}", file=sys.stderr)
    return error.exit_code
