"""Bringing in what `ctxrank export` wrote: whole, or what is new or changed since the last time.

    with open("shop.jsonl", "rb") as file:
        import_jsonl(store, file)

Sessions and groups are joined by name, everything else by the ledger (see `import_ledger`), one for each
store that an export was made from. Every text is redacted again: the file may have been edited by hand.
A line that cannot be used is reported with its number, and the run goes on.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.artifacts import ArtifactImport
from ctxrank.indexer.exchange.lines import BadLine, Line, LineReader
from ctxrank.indexer.exchange.packages import PackageImport
from ctxrank.indexer.exchange.records import RecordImport
from ctxrank.indexer.exchange.run import CHUNK_ROWS, ImportReport, ImportRun
from ctxrank.indexer.exchange.sessions import SessionImport
from ctxrank.indexer.predecessor.package_import import Files
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.token_backfill import backfill_counts
from ctxrank.indexer.text.lines import one_line

SOURCE = "jsonl"

# Lines of one kind that are brought in together hold no more than that, unless one alone does.
_BATCH_BYTES = 4_000_000
_SHOWN_CHARS = 40

Progress = Callable[[int, int], None]


def import_jsonl(
    store: Store,
    file: BinaryIO,
    *,
    mode: RedactionMode = RedactionMode.PATTERN_ONLY,
    progress: Progress | None = None,
) -> ImportReport:
    """Bring in an export from a binary file, which is read once from where it stands.

    `progress` is told after each batch how many bytes of how many are read, where that is known. Raises
    UsageError for a file that is no export or a newer one (nothing is written then), LockedError.
    """
    lines = LineReader(file)
    header = lines.header()
    run = ImportRun(store, f"{SOURCE}:{header.store}", mode)
    arrivals = Arrivals(run)
    files = Files(run)
    sessions, packages, records = SessionImport(arrivals), PackageImport(arrivals, files), RecordImport(arrivals)
    bring = {
        "session": sessions.bring_sessions, "group": sessions.bring_groups, "package": packages.bring,
        "reasoning": records.bring_reasoning, "error": records.bring_errors, "failure": records.bring_failures,
        "strategy": records.bring_strategies, "skill": records.bring_skills, "event": records.bring_events,
        "artifact": ArtifactImport(arrivals, files).bring,
    }  # fmt: skip
    read: dict[str, int] = {}
    size = _size(file)
    for batch in _batches(lines, arrivals, read):
        known = bring.get(batch[0].record)
        if known is None:
            for line in batch:
                name = one_line(line.record)[:_SHOWN_CHARS]
                arrivals.skip(line.number, "unknown", f"'{name}' is not a record that this program knows")
        else:
            known(batch)
        if progress is not None and size:
            progress(lines.read_bytes, size)
    packages.bring_links()
    sessions.bring_references(packages.keys)
    recounted = backfill_counts(store)
    store.follow()
    losses = tuple(_losses(lines, read))
    return ImportReport(
        schema=header.version,
        counts=run.counts(),
        skipped=run.skipped(),
        files_indexed=len(files.indexed),
        files_missing=len(files.missing),
        recounted=recounted,
        notes=(*run.notes, *records.notes(), *files.notes(), *_unreported(arrivals), *losses),
        is_complete=not losses,
    )


def _batches(lines: LineReader, arrivals: Arrivals, read: dict[str, int]) -> Iterator[list[Line]]:
    """Neighbouring lines of one kind; the lines of each kind are counted in `read`, bad ones are reported."""
    batch: list[Line] = []
    size = 0
    for line in lines.records():
        if isinstance(line, BadLine):
            arrivals.skip(line.number, "unreadable", line.reason)
            continue
        read[line.record] = read.get(line.record, 0) + 1
        if batch and (line.record != batch[0].record or len(batch) == CHUNK_ROWS or size >= _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line.size_bytes
    if batch:
        yield batch


def _unreported(arrivals: Arrivals) -> Iterator[str]:
    if arrivals.unreported:
        yield f"{arrivals.unreported} more lines were skipped."


def _losses(lines: LineReader, read: Mapping[str, int]) -> Iterator[str]:
    """What of the export is not in the file."""
    if lines.end_counts is None:
        yield "The file has no end line: it is cut off, and what was behind the cut is missing."
        return
    for record, count in lines.end_counts.items():
        if count != read.get(record, 0):
            shown = one_line(f"{count} {record}")[:_SHOWN_CHARS]
            yield f"The end line counts {shown}, and {read.get(record, 0)} were there: the file was edited."


def _size(file: BinaryIO) -> int | None:
    """How large a regular file is; None for a pipe."""
    try:
        info = os.fstat(file.fileno())
    except OSError:  # a file in memory has no descriptor
        return None
    return info.st_size if stat.S_ISREG(info.st_mode) else None
