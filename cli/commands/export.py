"""`ctxrank export`: the store as JSON Lines."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterable

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


@declare.command()
@declare.option("--session", "sessions", multiple=True, help="Only this session, with its groups.")
@declare.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only package, reasoning, error, strategy, skill, event or artifact.",
)
@declare.option("-o", "--output", metavar="FILE", help="Write to a file, whole or not at all [default: stdout].")
@declare.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(call: Call, sessions: tuple[str, ...], kinds: tuple[str, ...], output: str | None, force: bool) -> None:
    """Print the store as JSON Lines, with the passages of files, for 'ctxrank import jsonl'.

    The first line is a header, the last one an end line with counts. Error patterns, strategies and files
    belong to no session and are left out with --session.

    Example: ctxrank export --session S -o shop.jsonl
    """
    from ctxrank.indexer.beneath import is_inside
    from ctxrank.indexer.exchange.export import export_lines
    from ctxrank.indexer.store.config import load_config

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
            return
        count = _write_file(target, lines)
        is_indexed = is_inside(os.path.realpath(store.location.root), os.path.realpath(target))
    if is_indexed:
        call.note(f"{target} lies below the root: 'ctxrank index' takes it in, unless an ignore file names it.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"file": target, "records": count})
    else:
        print(f"Exported {count} records to {shown(target)}")


def _refuse_to_replace(path: str, *, force: bool) -> None:
    """Raises UsageError where nothing may be written, before anything is read."""
    from ctxrank.indexer.exceptions import UsageError

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
    """Write beside the file and put it in its place when it is whole; returns how many records it has."""
    from tempfile import mkstemp  # readable by its owner alone, as the store is

    place = os.path.realpath(path)
    handle, unfinished = mkstemp(prefix=".ctxrank-export-", dir=os.path.dirname(place))
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
