"""The command `ctxrank`: its commands, and the one place where failures become exit codes.

0 found or done   1 nothing found   2 wrong use   3 no trusted store   4 degraded or stale under --strict
5 damaged         6 the system refused             7 locked     130 Ctrl-C
"""

import sys

from ctxrank.cli.call import answered, given_options, leave, run_command
from ctxrank.cli.command_table import command_table, rows_of
from ctxrank.cli.declare import Declared
from ctxrank.cli.parse import read
from ctxrank.indexer.exceptions import CtxrankError, UsageError

# Each command, the everyday ones first: its package and its line in the first page of help. How many of them that page
# describes is said in `click_commands.py`.
COMMANDS = {name: (package, text) for name, package, text in rows_of("ctxrank.cli", "commands")}


def main() -> None:
    """Run one call and exit with its code: freeing every module would cost a fifth of a query."""
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one call; returns its exit code. Nothing that happens in a call leaves here as a traceback."""
    return answered(lambda: _run(arguments), lambda error: _failed(error, arguments))


def _run(arguments: list[str]) -> int:
    plain = read(arguments, find_command)
    if plain is not None:
        return run_command(*plain)
    # Loading click would double what a query waits for.
    from ctxrank.cli.names import renamed  # noqa: PLC0415

    words = renamed(arguments)
    if words is not arguments:
        return _run(words)
    from ctxrank.cli.click_commands import run_by_click  # noqa: PLC0415

    return run_by_click(arguments, COMMANDS)


def find_command(name: str) -> Declared | None:
    """The declaration of a command or group; None for none. Raises UsageError where its room is not installed."""
    return command_table(COMMANDS[name][0], name).declared() if name in COMMANDS else None


def declared_commands() -> dict[str, Declared]:
    """All declarations; a room that is not installed has none."""
    found: dict[str, Declared] = {}
    for name, (package, _) in COMMANDS.items():
        try:
            found[name] = command_table(package, name).declared()
        except UsageError:
            continue
    return found


def _failed(error: Exception, arguments: list[str]) -> int:
    if not isinstance(error, CtxrankError):
        from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

        given = given_options(arguments, ("--db", "--root"))
        error = explained(error, given.get("--db"), given.get("--root"))
    if "--json" in arguments:
        from ctxrank.cli.output.envelope import failure, print_json  # noqa: PLC0415  text needs no JSON library

        print_json(failure(error))
    else:
        from ctxrank.indexer.text.lines import one_line  # noqa: PLC0415  start-up

        # Messages name paths and values, which come from anywhere.
        print(f"ctxrank: {one_line(f'{error.message} {error.hint}')}", file=sys.stderr)
    return error.exit_code
