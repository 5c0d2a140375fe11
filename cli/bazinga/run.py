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

from ctxrank.cli.bazinga.call import BazingaCall
from ctxrank.cli.bazinga.declarations import COMMANDS, declaration_of
from ctxrank.cli.bazinga.place import Place, WrongPlaceError
from ctxrank.cli.call import Call, Reply, answered, leave, shown
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.store.connection import translate

__all__ = ["COMMANDS", "main", "reply", "run"]

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


def _run(call: Call, arguments: tuple[str, ...]) -> int:
    if arguments[:1] == ("--script",):
        print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bazinga_db.py"))
        return 0
    place, is_quiet, rest = _globals(call, arguments)
    if not rest:
        raise UsageError("There is no command.", "'ctxrank bazinga help' lists them.")
    row = COMMANDS.get(rest[0])
    if row is None:
        raise UsageError(f"Unknown command: {rest[0]!a}.", _NOT_CARRIED_OVER)
    declaration = declaration_of(row)
    module, _, function = declaration.command.action.partition(":")
    own = BazingaCall(declaration, rest[1:], place, is_quiet=is_quiet)
    try:
        return int(getattr(import_module(module), function)(own))
    except WrongPlaceError:
        raise
    except (UsageError, NotFoundError) as error:
        return _complain(error, 1)  # whatever is wrong with an argument is 1 there
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
    print(shown(f"Error: {error.message} {error.hint}".rstrip()), file=sys.stderr)
    return code


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
