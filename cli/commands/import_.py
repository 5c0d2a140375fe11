"""`ctxrank import`: a predecessor's store, or what `ctxrank export` wrote."""

import contextlib
import gc
import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from ctxrank.indexer.exchange.run import ImportReport

_SHOWN_SKIPPED = 10


@declare.group()
def command() -> None:
    """Bring in what another store knows: a BAZINGA database, or an export of ours."""


@command.command()
@declare.argument("database", metavar="DB")
def bazinga(call: Call, database: str) -> None:
    """Bring in a BAZINGA database (schema 6 to 19), whole or what changed since.

    Artifacts are looked for from --root [default: PROJECT, where DB is PROJECT/bazinga/bazinga.db]. The database
    is opened read-only, and everything is redacted on the way in. A second run brings only what is new.

    Example: ctxrank import bazinga ../app/bazinga/bazinga.db --root ../app
    """
    from ctxrank.cli.bazinga.database.importer import import_bazinga
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.indexer.store.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode, progress=advance)
    if call.is_json:
        _print_json(report)
    else:
        _print_text(call, report)
    if report.files_missing:
        call.note(
            f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
            "'ctxrank index --root DIR' brings them in from where they are."
        )


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
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.indexer.exceptions import DamagedError
    from ctxrank.indexer.exchange.import_jsonl import import_jsonl
    from ctxrank.indexer.store.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    with contextlib.ExitStack() as stack:
        source = _opened(file, stack)
        store = stack.enter_context(call.open())
        advance = stack.enter_context(progress_bar("importing", call))
        report = import_jsonl(store, source, mode=load_config(store).redaction_mode, progress=advance)
    if call.is_json:
        _print_json(report)
    else:
        _print_text(call, report)
    return 0 if report.is_complete else DamagedError.exit_code


def _opened(file: str, stack: contextlib.ExitStack) -> "BinaryIO":
    """The file for reading bytes; '-' is stdin."""
    from ctxrank.indexer.exceptions import CtxrankError, UsageError

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


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    import os

    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None


def _print_json(report: "ImportReport") -> None:
    from ctxrank.cli.output.envelope import emit_json

    emit_json(
        {
            "schema": report.schema,
            "complete": report.is_complete,
            "is_noop": report.is_noop,
            "counts": {kind: count._asdict() for kind, count in report.counts.items()},
            "skipped": [row._asdict() for row in report.skipped],
            "files_indexed": report.files_indexed,
            "files_missing": report.files_missing,
            "recounted": report.recounted,
            "notes": list(report.notes),
        }
    )


def _print_text(call: Call, report: "ImportReport") -> None:
    for note in report.notes:
        call.note(note)
    for row in report.skipped[:_SHOWN_SKIPPED]:
        call.note(f"skipped {row.kind} {row.key}: {row.reason}")
    if len(report.skipped) > _SHOWN_SKIPPED:
        call.note(f"and {len(report.skipped) - _SHOWN_SKIPPED} more rows skipped; --json lists them.")
    if report.is_noop:
        unchanged = sum(count.unchanged for count in report.counts.values())
        print(f"Nothing new: {unchanged} {'row is' if unchanged == 1 else 'rows are'} here already")
        return
    for kind, count in report.counts.items():
        if any(count):
            print(f"{kind:<14} {count.new} new, {count.updated} updated, {count.unchanged} unchanged")
    print(f"{'files':<14} {report.files_indexed} indexed, {report.files_missing} missing")
