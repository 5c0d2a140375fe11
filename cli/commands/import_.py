"""`ctxrank import`: another program's store, or what `ctxrank export` wrote."""

import contextlib
import gc
import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.cli.main import load_command
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

# Commands that are found by name: each in a room of its own, which an installation may leave out.
_ELSEWHERE = {"bazinga": "ctxrank.cli.bazinga.import_command"}


@declare.group()
def command() -> None:
    """Bring in what another store knows: a BAZINGA database, or an export of ours."""


def _found(name: str, module: str) -> declare.Command:
    """The command in a module; where that is not installed, one that says so."""
    try:
        found = load_command(f"import {name}", module)
    except UsageError as error:
        return _absent(name, error)
    assert isinstance(found, declare.Command)
    return found


def _absent(name: str, error: UsageError) -> declare.Command:
    @declare.command(name)
    @declare.argument("words", nargs=-1)
    def absent(call: Call, words: tuple[str, ...]) -> None:
        """Not installed."""
        raise error

    return absent


for _name, _module in _ELSEWHERE.items():
    command.add(_found(_name, _module))


@command.command()
@declare.argument("file", metavar="FILE")
def jsonl(call: Call, file: str) -> int:
    """Bring in a file that 'ctxrank export' wrote ('-' for stdin), whole or what changed since.

    Sessions and groups are joined by name, and everything is redacted on the way in. A file below --root speaks
    for itself; of one that is not there the exported passages are kept until 'ctxrank index' finds it. A line
    that cannot be used is reported with its number. A second run brings only what is new. The exit code is 5 for
    a file that was cut off or edited; what there was came in.

    Example: ctxrank import jsonl shop.jsonl
    """
    from ctxrank.cli.output.import_report import print_report
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.indexer.exchange.import_jsonl import import_jsonl
    from ctxrank.indexer.store.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    with contextlib.ExitStack() as stack:
        source = _opened(file, stack)
        store = stack.enter_context(call.open())
        advance = stack.enter_context(progress_bar("importing", call))
        report = import_jsonl(store, source, mode=load_config(store).redaction_mode, progress=advance)
    print_report(call, report)
    return 0 if report.is_complete else DamagedError.exit_code


def _opened(file: str, stack: contextlib.ExitStack) -> "BinaryIO":
    """The file for reading bytes; '-' is stdin."""
    if file == "-":
        return sys.stdin.buffer
    try:
        return stack.enter_context(open(file, "rb"))
    except FileNotFoundError as error:
        raise UsageError(
            f"There is no file {file}.", "Give one that 'ctxrank export' wrote, or - for stdin."
        ) from error
    except OSError as error:
        raise CtxrankError(
            f"{file} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
