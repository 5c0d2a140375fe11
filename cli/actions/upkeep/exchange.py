"""`ctxrank import` and `export`: a predecessor's store, and what `ctxrank export` writes as JSON Lines."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from tempfile import mkstemp
from typing import BinaryIO

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.exchange.import_jsonl import import_jsonl as import_lines
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.predecessor.importer import import_bazinga as import_predecessor
from ctxrank.indexer.store.config import load_config

_SHOWN_SKIPPED = 10


def import_bazinga(call: Call, database: str) -> Reply:
    """Bring in a predecessor's database."""
    gc.enable()  # this may take a while: see cli/entry.py
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_predecessor(store, database, mode=load_config(store).redaction_mode, progress=advance)
    reply = _imported(report)
    if not report.files_missing:
        return reply
    missing = (
        f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
        "'ctxrank index --root DIR' brings them in from where they are."
    )
    return reply._replace(notes=(*reply.notes, missing))


def import_jsonl(call: Call, file: str) -> Reply:
    """Bring in the lines of an export; 5 where the file is not whole."""
    gc.enable()  # this may take a while: see cli/entry.py
    with contextlib.ExitStack() as stack:
        source = _opened(file, stack)
        store = stack.enter_context(call.open())
        advance = stack.enter_context(progress_bar("importing", call))
        report = import_lines(store, source, mode=load_config(store).redaction_mode, progress=advance)
    return _imported(report)._replace(exit_code=0 if report.is_complete else DamagedError.exit_code)


def _opened(file: str, stack: contextlib.ExitStack) -> BinaryIO:
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


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None


def _imported(report: ImportReport) -> Reply:
    return Reply(lambda: _as_json(report), _lines(report), text_notes=tuple(_import_notes(report)))


def _as_json(report: ImportReport) -> dict[str, object]:
    return {
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


def _import_notes(report: ImportReport) -> Iterator[str]:
    yield from report.notes
    for row in report.skipped[:_SHOWN_SKIPPED]:
        yield f"skipped {row.kind} {row.key}: {row.reason}"
    if len(report.skipped) > _SHOWN_SKIPPED:
        yield f"and {len(report.skipped) - _SHOWN_SKIPPED} more rows skipped; --json lists them."


def _lines(report: ImportReport) -> Iterator[str]:
    if report.is_noop:
        unchanged = sum(count.unchanged for count in report.counts.values())
        yield f"Nothing new: {unchanged} {'row is' if unchanged == 1 else 'rows are'} here already"
        return
    for kind, count in report.counts.items():
        if any(count):
            yield f"{kind:<14} {count.new} new, {count.updated} updated, {count.unchanged} unchanged"
    yield f"{'files':<14} {report.files_indexed} indexed, {report.files_missing} missing"


def export(call: Call, sessions: tuple[str, ...], kinds: tuple[str, ...], output: str | None, force: bool) -> Reply:
    """Write the lines as they come, to stdout or into a file that is whole or is not there."""
    gc.enable()  # this may take a while: see cli/entry.py
    target = None if output in (None, "-") else output
    if target is not None:
        _refuse_to_replace(target, force=force)
    with call.open() as store:
        wanted = [kind.strip().lower() for kind in kinds]
        lines = export_lines(store, sessions=sessions, kinds=wanted, mode=load_config(store).redaction_mode)
        if target is None:
            for line in lines:
                sys.stdout.write(line)
            return Reply()
        count = _write_file(target, lines)
        is_indexed = is_inside(os.path.realpath(store.location.root), os.path.realpath(target))
    if is_indexed:
        call.note(f"{target} lies below the root: 'ctxrank index' takes it in, unless an ignore file names it.")
    return Reply(lambda: {"file": target, "records": count}, [f"Exported {count} records to {shown(target)}"])


def _refuse_to_replace(path: str, *, force: bool) -> None:
    """Raises UsageError where nothing may be written, before anything is read."""
    if not os.path.lexists(path):
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise UsageError(f"There is no folder {folder}.", "Make it first, or give another name.")
        return
    if not os.path.isfile(path):
        raise UsageError(f"{path} is not a file.", "Give another name; without -o the lines go to stdout.")
    if not force:
        raise UsageError(f"There is a file {path} already.", "Give --force to replace it, or another name.")


def _write_file(path: str, lines: Iterable[str]) -> int:
    """Write next to the file and put it in its place when it is whole; returns how many records it has."""
    place = os.path.realpath(path)
    handle, unfinished = mkstemp(prefix=".ctxrank-export-", dir=os.path.dirname(place))  # its owner alone reads it
    try:
        count = -2  # the header and the end line are none
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    return count
