"""The lines of an export file: read one at a time, each an object of a known record or a reason why not."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, TypeVar

from ctxrank.indexer.bounds import MAX_HEADER_BYTES, MAX_LINE_BYTES, MAX_LINE_DEPTH
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.exchange.export import END, FORMAT, VERSION
from ctxrank.indexer.light_typing import NamedTuple, is_dict, object_of
from ctxrank.indexer.text.light_json import is_deep
from ctxrank.indexer.text.lines import is_uuid

Key = TypeVar("Key")

# Lines of one kind that are brought in together hold no more than that, unless one alone does.
BATCH_BYTES = 4_000_000
_HINT = "Give a file that 'ctxrank export' wrote."


class Line(NamedTuple):
    """One record: a line of a file, or a row of another program's store that was read as one.

    `name` is what a report calls a row; a line of a file is called by its number.
    """

    number: int
    record: str
    values: Mapping[str, object]
    size_bytes: int = 0
    name: str = ""

    @property
    def shown(self) -> str:
        """What a report calls it."""
        return self.name or f"line {self.number}"


class BadLine(NamedTuple):
    """A line that is no record, and why."""

    number: int
    reason: str


class LineReader:
    """Reads a file from its header to its end line; `end_counts` is None until that was met."""

    def __init__(self, file: BinaryIO) -> None:
        self.read_bytes = 0
        self.end_counts: Mapping[str, object] | None = None
        self._file = file
        self._number = 0

    def header(self) -> str:
        """The store that the first line names. Raises UsageError for no header, DamagedError for a newer version."""
        self._number += 1
        data = self._file.readline(MAX_HEADER_BYTES + 1)
        self.read_bytes += len(data)
        if not data:
            raise UsageError("The file is empty.", _HINT)
        if len(data) > MAX_HEADER_BYTES:  # and there may be no end of it
            raise UsageError("The first line is not a header of an export: it is too long.", _HINT)
        try:
            values = parse_line(data.removeprefix(b"\xef\xbb\xbf"))
        except ValueError as error:
            raise UsageError(f"The first line is not a header of an export: {error}.", _HINT) from error
        if values.get("format") != FORMAT:
            raise UsageError(f"The first line is not a header: its format is not '{FORMAT}'.", _HINT)
        version, store = values.get("version"), values.get("store")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise UsageError("The header has no version.", _HINT)
        said = f"The export has version {version}; this program knows {VERSION}."
        if version > VERSION:
            raise DamagedError(said, "It was written by a newer ctxrank: upgrade this one.")
        if version < VERSION:
            raise UsageError(said, "Export it again.")
        if not isinstance(store, str) or not is_uuid(store):
            raise UsageError("The header does not name the store that the export was made from.", _HINT)
        return store

    def records(self) -> Iterator[Line | BadLine]:
        """The lines behind the header, without blank ones; what follows the end line is not read."""
        while self.end_counts is None and (data := self._next()):
            if data.isspace():
                continue
            try:
                values = parse_line(data)
            except ValueError as error:
                yield BadLine(self._number, str(error))
                continue
            record = values.get("record")
            if record == END:
                self.end_counts = object_of(values.get("counts"))
            elif isinstance(record, str):
                yield Line(self._number, record, values, len(data))
            else:
                yield BadLine(self._number, "it does not say which record it is")

    def _next(self) -> bytes:
        """The next line, empty at the end of the file; of one that is too long a piece that is no JSON."""
        self._number += 1
        data = self._file.readline(MAX_LINE_BYTES + 1)
        self.read_bytes += len(data)
        if len(data) <= MAX_LINE_BYTES:
            return data
        rest = data
        while rest and not rest.endswith(b"\n"):
            rest = self._file.readline(MAX_LINE_BYTES)
            self.read_bytes += len(rest)
        return data


def batches(lines: Iterable[tuple[Key, Line]], most: int) -> Iterator[tuple[Key, list[Line]]]:
    """Neighbouring lines of one key, at most so many and BATCH_BYTES together unless one alone is larger."""
    batch: list[Line] = []
    size, now = 0, None
    for key, line in lines:
        if now is not None and (key != now or len(batch) >= most or size >= BATCH_BYTES):
            yield now, batch
            batch, size = [], 0
        now = key
        batch.append(line)
        size += line.size_bytes
    if now is not None:
        yield now, batch


def parse_line(data: bytes) -> Mapping[str, object]:
    """The object of a line of an export. Raises ValueError with a reason that can be shown."""
    if len(data) > MAX_LINE_BYTES:
        raise ValueError(f"it is longer than {MAX_LINE_BYTES // (1024 * 1024)} MiB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    if is_deep(text, MAX_LINE_DEPTH):
        raise ValueError("it is nested too deeply")
    try:
        value: object = json.loads(text, parse_constant=int)  # which refuses NaN
    except ValueError as error:
        raise ValueError("it is not JSON") from error
    if not is_dict(value):
        raise ValueError("it is not a JSON object")
    return object_of(value)
