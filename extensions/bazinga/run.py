"""The predecessor's own commands and JSON, on this store.

Everything behind `ctxrank bazinga` is read here and not by click: the predecessor's flags are not ours, and
an orchestrator calls these commands a dozen times for each spawn. Its globals come first, then a command, then
what belongs to that command.

0 done   1 as there: wrong arguments, nothing such   2 no such command   3, 5, 6, 7 as everywhere here
"""

import json
import os
import sys
from importlib import import_module

import apsw

from ctxrank.cli.call import Call, Reply, answered, leave
from ctxrank.extensions.bazinga.arguments import COMMANDS, Declaration, Unknown, leading_options
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json
from ctxrank.extensions.bazinga.place import Place, WrongPlaceError
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.machine import ALL_EXTENSIONS, is_off, refused
from ctxrank.indexer.store.connection import translate
from ctxrank.indexer.text.lines import one_line

__all__ = ["COMMANDS", "ask", "main", "reply", "run"]

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
    code, text, said = ask(arguments, call)
    sys.stdout.write(text)
    sys.stdout.flush()
    sys.stderr.write(said)
    return code


def ask(arguments: tuple[str, ...], call: Call | None = None) -> tuple[int, str, str]:
    """Run one command for another program in this process: (exit code, what it prints, what it says).

    Prints nothing, so that threads may ask at the same time.
    """
    if arguments[:1] == ("--script",):
        return 0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bazinga_db.py") + "\n", ""
    own: BazingaCall | None = None
    sentence = ""
    try:
        if is_off("bazinga", ALL_EXTENSIONS):
            refused()
        place, is_quiet, rest = _globals(call or Call(), arguments)
        own = BazingaCall(place, is_quiet=is_quiet)
        code = _command(own, rest)
    except CtxrankError as error:
        # Whatever is wrong with an argument is 1 there.
        is_argument = own is not None and isinstance(error, UsageError | NotFoundError)
        code = 1 if is_argument and not isinstance(error, WrongPlaceError | _NoCommandError) else error.exit_code
        sentence = _sentence(error)
    text, said = ("", "") if own is None else (own.text, own.said)
    return code, text, said + sentence


class _NoCommandError(UsageError):
    """There is no command, or none of this name: exit code 2."""


def _command(call: BazingaCall, words: tuple[str, ...]) -> int:
    """Run a command with its arguments, if there is one of this name."""
    if not words:
        raise _NoCommandError("There is no command.", "'ctxrank bazinga help' lists them.")
    declaration = COMMANDS.get(words[0])
    if declaration is None:
        raise _NoCommandError(f"Unknown command: {words[0]!a}.", _NOT_CARRIED_OVER)
    code = 0
    try:
        answer = _answer(call, declaration, words[1:])
    except Failed as failed:
        answer, code = failed.answer, failed.code
    except apsw.Error as error:
        raise translate(error, call.store.location.primary) from error
    finally:
        call.close()
    if answer is not None:
        call.answer(answer)
    return code


def _answer(call: BazingaCall, declaration: Declaration, arguments: tuple[str, ...]) -> object:
    module = import_module(f"ctxrank.extensions.bazinga.commands.{declaration.family}")
    try:
        call.read(arguments, declaration)
        return getattr(module, declaration.name.replace("-", "_"))(call)
    except (UsageError, NotFoundError) as error:
        if declaration.unknown is not Unknown.DROPPED or isinstance(error, WrongPlaceError):
            raise
        # The commands about skills say it as JSON on stderr.
        said: Json = {"success": False, "error": error.message}
        call.warn(json.dumps(said, indent=2))
        raise Failed from error


def _fail(error: Exception) -> int:
    from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

    explanation = explained(error)
    sys.stdout.flush()
    sys.stderr.write(_sentence(explanation))
    return explanation.exit_code


def _sentence(error: CtxrankError) -> str:
    return one_line(f"Error: {error.message} {error.hint}".rstrip()) + "\n"


def _globals(call: Call, arguments: tuple[str, ...]) -> tuple[Place, bool, tuple[str, ...]]:
    """The options before the command's name; they win over the options before `bazinga`."""
    given, rest = leading_options(arguments, ("--db", "--project-root"), ("--quiet",))
    if rest and rest[0].startswith("-"):
        hint = "Options before COMMAND are --db, --project-root and --quiet."
        raise UsageError(f"Unknown option {rest[0]!a}.", hint)
    place = Place(given.get("--db", call.db), given.get("--project-root"), call.root)
    return place, "--quiet" in given or call.verbosity < 0, tuple(rest)
