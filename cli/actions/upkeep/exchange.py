"""`ctxrank import jsonl` and `export`: a store as JSON Lines."""

import contextlib
import os
import sys
from typing import BinaryIO

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.import_report import import_reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.exceptions import DamagedError, LockedError, UsageError, refused_by_system
from ctxrank.indexer.exchange.exchange import import_jsonl as import_lines
from ctxrank.indexer.exchange.export import export_lines, last_number
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.store.known_stores import trust_as_used
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.systems import whole_file
from ctxrank.indexer.text.lines import one_line


def import_jsonl(call: Call, store: Store, file: str, from_origins: tuple[str, ...], accept: bool) -> Reply:
    """Bring in the lines of an export; 5 where the file is not whole, 7 where orders to forget wait."""
    with _opened(file) as source, progress_bar("importing", call) as advance:
        trust_as_used(store)
        report = import_lines(store, source, progress=advance, from_origins=from_origins, is_accepted=accept)
    code = LockedError.exit_code if report.waiting else 0
    return import_reply(report)._replace(exit_code=code if report.is_complete else DamagedError.exit_code)


def _opened(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """The file for reading bytes; '-' is stdin, which stays open."""
    if file == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    hint = "Give a file that 'ctxrank export' wrote, or - for stdin."
    with refused_by_system(f"{file} cannot be read", hint, UsageError):
        return open(file, "rb")


def export(call: Call, store: Store, kinds: tuple[str, ...], output: str | None, force: bool, **options: Any) -> Reply:
    """Write the lines as they come, to stdout or into a file that is whole or is not there."""
    target = None if output in (None, "-") else output
    if target is not None:
        _refuse_to_replace(target, force=force)
    kinds = tuple(kind.strip().lower() for kind in kinds)
    lines = export_lines(store, kinds=kinds, **options)
    reached = last_number(store.primary)
    with contextlib.closing(lines):  # its snapshot ends before the store is closed
        if target is None:
            for line in lines:
                sys.stdout.write(line)
            return Reply()
        count = -2  # the header and the end line are none
        refusal = refused_by_system(f"{target} cannot be written", "Check its folder, and that its disk has room.")
        with refusal, whole_file(os.path.realpath(target)) as file:
            for line in lines:
                file.write(line.encode())
                count += 1
    if is_inside(os.path.realpath(store.location.root), os.path.realpath(target)):
        call.note(f"{target} lies below the root: 'ctxrank index' takes it in, unless an ignore file names it.")
    return Reply(
        lambda: {"file": target, "records": count, "seq": reached},
        [f"Exported {count} records to {one_line(target)}", f"What comes later: --since {reached}"],
    )


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
