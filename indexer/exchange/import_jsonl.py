"""Bringing in what `ctxrank export` wrote: whole, or what is new or changed since the last time.

    with open("shop.jsonl", "rb") as file:
        import_jsonl(store, file)

The file may have been edited by hand: every text is redacted again, and a line that cannot be used is reported with
its number. See `exchange` for how records come in.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from ctxrank.indexer.exchange.exchange import Exchange
from ctxrank.indexer.exchange.import_lines import Progress
from ctxrank.indexer.exchange.lines import Line, LineReader
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

_SHOWN_CHARS = 40


def import_jsonl(
    store: Store,
    file: BinaryIO,
    *,
    mode: RedactionMode = RedactionMode.PATTERN_ONLY,
    progress: Progress | None = None,
    from_origins: Sequence[str] = (),
) -> ImportReport:
    """Bring in an export from a binary file, which is read once from its current position.

    `from_origins` are the first digits of the uuids of the stores whose records are wanted, without any all.
    `progress` is called after each batch with how many bytes of how many are read, where that is known. Raises
    UsageError for a file that is no export or of another version (nothing is written then), LockedError.
    """
    lines = LineReader(file)
    sender = lines.header()
    size = _size(file)

    def tell(batch: list[Line]) -> None:
        if progress is not None and size:
            progress(lines.read_bytes, size)

    exchange = Exchange(store, sender, mode, from_origins)
    exchange.bring(lines.records(), tell)
    return exchange.finish(_losses(lines, exchange.read))


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
