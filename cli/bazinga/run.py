"""The predecessor's own commands and JSON, on this store.

Everything behind `ctxrank bazinga` is read here and not by click: the predecessor's flags are not ours, and
an orchestrator calls these commands a dozen times for each spawn. Its globals come first, then a command, then
what belongs to that command.

0 done   1 as there: wrong arguments, nothing such   2 no such command   3, 5, 6, 7 as everywhere here
"""

import os
import sys
from importlib import import_module

import apsw

from ctxrank.cli.bazinga.call import BazingaCall, Kept
from ctxrank.cli.bazinga.declarations import COMMANDS, declaration_of
from ctxrank.cli.bazinga.place import Place, WrongPlaceError
from ctxrank.cli.call import Call, Reply, answered, leave, shown
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.store.connection import translate

__all__ = ["COMMANDS", "ask", "main", "reply", "run", "run_as_given"]

_NOT_CARRIED_OVER = (
    "It is not one of the commands carried over; 'ctxrank bazinga help' and docs/predecessor.md list them."
)


def main() -> None:
    """Run `ctxrank bazinga …` and exit with its code, without taking the interpreter apart."""
    leave(answered(lambda: run(Call(), tuple(sys.argv[2:])), _fail))


def reply(call: Call, arguments: tuple[str, ...]) -> Reply:
    """Run one command, whose answer has left already."""
    return Reply(exit_code=run(call, arguments))


def run(call: Call, arguments: tuple[str, ...]) -> int:
    """Run one command; `call` is what came before `bazinga`. Returns its exit code."""
    try:
        return _run(call, arguments)
    except CtxrankError as error:
        return _complain(error, error.exit_code)


def run_as_given(arguments: tuple[str, ...]) -> int:
    """Run one command for another program, with this process's streams; whatever breaks is said. Its exit code."""
    return answered(lambda: run(Call(), arguments), _fail)


def ask(project_root: str, arguments: tuple[str, ...]) -> tuple[int, object, str]:
    """Run one command for another program in this process: (exit code, the value it answers or None, what it says).

    Prints nothing, so that threads may ask at the same time.
    """
    kept = Kept([], [])
    try:
        code = _command(Place(project_root=project_root), arguments, is_quiet=False, kept=kept)
    except CtxrankError as error:
        code = 1 if isinstance(error, UsageError | NotFoundError) else error.exit_code
        kept.said.append(_sentence(error))
    return code, kept.answers[-1] if kept.answers else None, "\n".join(kept.said)


def _run(call: Call, arguments: tuple[str, ...]) -> int:
    if arguments[:1] == ("--script",):
        print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bazinga_db.py"))
        return 0
    place, is_quiet, rest = _globals(call, arguments)
    try:
        return _command(place, rest, is_quiet=is_quiet)
    except (WrongPlaceError, _NoCommandError):
        raise
    except (UsageError, NotFoundError) as error:
        return _complain(error, 1)  # whatever is wrong with an argument is 1 there


class _NoCommandError(UsageError):
    """There is no command, or none of this name: exit code 2."""


def _command(place: Place, arguments: tuple[str, ...], *, is_quiet: bool, kept: Kept | None = None) -> int:
    if not arguments:
        raise _NoCommandError("There is no command.", "'ctxrank bazinga help' lists them.")
    row = COMMANDS.get(arguments[0])
    if row is None:
        raise _NoCommandError(f"Unknown command: {arguments[0]!a}.", _NOT_CARRIED_OVER)
    declaration = declaration_of(row)
    module, _, function = declaration.command.action.partition(":")
    own = BazingaCall(declaration, arguments[1:], place, is_quiet=is_quiet, kept=kept)
    try:
        return int(getattr(import_module(module), function)(own))
    except apsw.Error as error:
        raise translate(error, own.store.location.primary) from error
    finally:
        own.close()


def _fail(error: Exception) -> int:
    from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

    explanation = explained(error)
    return _complain(explanation, explanation.exit_code)


def _complain(error: CtxrankError, code: int) -> int:
    sys.stdout.flush()
    print(_sentence(error), file=sys.stderr)
    return code


def _sentence(error: CtxrankError) -> str:
    return shown(f"Error: {error.message} {error.hint}".rstrip())


def _globals(call: Call, arguments: tuple[str, ...]) -> tuple[Place, bool, tuple[str, ...]]:
    """The options before the command's name; they win over the options before `bazinga`."""
    place = Place(call.db, None, call.root)
    is_quiet = call.verbosity < 0
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name, has_value, value = arguments[at].partition("=")
        if name == "--quiet" and not has_value:
            is_quiet = True
            at += 1
            continue
        if name not in ("--db", "--project-root"):
            raise UsageError(
                f"Unknown option {arguments[at]!a}.", "Options before COMMAND are --db, --project-root and --quiet."
            )
        if not has_value:
            if at + 1 == len(arguments):
                raise UsageError(f"{name} needs a value.")
            value = arguments[at + 1]
            at += 1
        place = place._replace(db=value) if name == "--db" else place._replace(project_root=value)
        at += 1
    return place, is_quiet, arguments[at:]
