"""A project's lines in a file, for a new machine: sealed as they are in the log, which alone has the keys.

Any member may write one and carry it anywhere: without the log nothing in it can be read, and what is forgotten later
is forgotten in it, too. Whoever takes one in asks the log for digests and keys and believes no line that differs.

    ctxrank-snapshot 1\\n  then for each line: 4 bytes of length of its head, the head as JSON, the sealed line
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from ctxrank.extensions.team.log import LogLine, TeamLog
from ctxrank.extensions.team.sync import advance, bring
from ctxrank.indexer.bounds import MAX_RECORD_BYTES
from ctxrank.indexer.exceptions import UsageError, refused_by_system
from ctxrank.indexer.exchange.exchange import Exchange
from ctxrank.indexer.exchange.lines import parse_line
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.systems import whole_file

_FIRST_LINE = b"ctxrank-snapshot 1\n"
_LENGTH_BYTES, _MAX_HEAD_BYTES = 4, 1000
_BATCH_LINES, _BATCH_BYTES = 5000, 32 * 1024 * 1024
_NOBODY = "00000000-0000-0000-0000-000000000000"


class Taken(NamedTuple):
    """How many lines were taken from a snapshot, and how many were refused: changed since, forgotten, or forged."""

    taken: int
    refused: int


def write_snapshot(log: TeamLog, path: str) -> tuple[int, int]:
    """Write all lines of the project; returns how many, and up to which change. Raises CtxrankError."""
    head = log.head()
    if os.path.lexists(path):
        raise UsageError(f"There is a file {path} already.", "Give another name.")
    count = after = 0
    with (
        refused_by_system(f"{path} cannot be written", "Check the folder."),
        whole_file(os.path.realpath(path)) as file,
    ):
        file.write(_FIRST_LINE)
        while lines := log.lines(head.id, after, _NOBODY):
            for line in lines:
                if line.n > head.n:
                    break
                described = json.dumps({"n": line.n, "bytes": len(line.line)}).encode()
                file.write(len(described).to_bytes(_LENGTH_BYTES, "big") + described + line.line)
                count += 1
            after = lines[-1].n
            if after >= head.n:
                break
    return count, head.n


def bring_snapshot(store: Store, log: TeamLog, path: str, told: Callable[[int, int], None] | None) -> Taken:
    """Bring in the lines that are as the log has them. Those that are not come with the next exchange.

    `told` is called with how many bytes of how many are read. Raises UsageError for a file that is none, CtxrankError.
    """
    head, own = log.head(), own_uuid(store.primary)
    exchange = Exchange(store, own, door="log")
    taken = refused = 0
    missing_from = head.n  # the first change that the snapshot does not have as the log has it
    with refused_by_system(f"{path} cannot be read", "Give one that 'team snapshot' wrote.", UsageError):
        file = open(path, "rb")  # noqa: SIM115  the error is of opening alone
    with file:
        size = os.fstat(file.fileno()).st_size
        stored = _lines(file, path)
        here = next(stored, None)
        batch: list[LogLine] = []
        held = 0
        for row in log.keys(head.id, head.n):
            while here is not None and here[0] < row.n:
                refused += 1  # by now the record has a later change, or it is none of the log's
                here = next(stored, None)
            if here is not None and here[0] == row.n and hashlib.sha256(here[1]).digest() == row.line:
                taken += 1
                if row.register.origin != own:
                    batch.append(row._replace(line=here[1]))
                    held += len(here[1])
                here = next(stored, None)
            else:
                missing_from = min(missing_from, row.n - 1)
            if len(batch) >= _BATCH_LINES or held >= _BATCH_BYTES:
                bring(exchange, log.project, batch, lambda n: None)
                if told is not None:
                    told(file.tell(), size)
                batch, held = [], 0
        bring(exchange, log.project, batch, lambda n: None)
    exchange.finish()
    advance(store, head.history, applied=missing_from)
    return Taken(taken, refused)


def _lines(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """The lines, each with its number, in the order of their changes. Raises UsageError for a file that is none."""
    if file.read(len(_FIRST_LINE)) != _FIRST_LINE:
        raise UsageError(f"{path} is no snapshot.", "Give one that 'team snapshot' wrote.")
    while len(length := file.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        size = int.from_bytes(length, "big")
        described: Mapping[str, object] = {}
        if size <= _MAX_HEAD_BYTES:
            with contextlib.suppress(ValueError):
                described = parse_line(file.read(size))
        n, count = described.get("n"), described.get("bytes")
        if not isinstance(n, int) or not isinstance(count, int) or not 0 <= count <= MAX_RECORD_BYTES:
            raise UsageError(f"{path} is damaged.", "Write it again: 'ctxrank team snapshot'.")
        line = file.read(count)
        if len(line) == count:
            yield n, line
