"""The disk after a power cut: what was synced is there, and of everything else whatever the disk had got to.

Each file has its durable bytes and the operations since its last sync. At the cut each of those is kept, lost, or (a
write) torn: some of its sectors, or its beginning. Order does not hold within them. A new file's name, and a deletion,
last once the folder was synced, which SQLite does with the first sync of a journal or a write-ahead log it made.
"""

import os
import random

from recorded_files import Kind, Operation

_SECTOR = 512


class File:
    """One file: what is sure to be there, and what may be."""

    def __init__(self) -> None:
        self.durable = bytearray()
        self.pending: list[Operation] = []
        self.has_name = False
        self.was_synced = False

    def sync(self) -> None:
        for operation in self.pending:
            _apply(self.durable, operation)
        self.pending.clear()

    def after_cut(self, rng: random.Random, share: float) -> bytes:
        """The bytes that the disk has, if it got to this share of what was not synced."""
        data = bytearray(self.durable)
        for operation in self.pending:
            if rng.random() < share:
                for part in _torn(operation, rng) if rng.random() < 0.2 else [operation]:
                    _apply(data, part)
        return bytes(data)


class Disk:
    """A folder's files as the operations so far have left them."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self._deleted: dict[str, File] = {}

    def do(self, operation: Operation) -> None:
        """Let one more operation reach the system."""
        name = operation.name
        if operation.kind is Kind.CREATE:
            self._files.setdefault(name, File())
        elif operation.kind is Kind.DELETE:
            self._deleted[name] = self._files.pop(name, File())
            if operation.is_folder_synced:
                self._sync_folder()
        elif operation.kind is Kind.SYNC:
            file = self._files[name]
            file.sync()
            if not file.was_synced and name.endswith(("-wal", "-journal")):
                self._sync_folder()
            file.was_synced = True
        elif operation.kind in (Kind.WRITE, Kind.TRUNCATE):
            self._files[name].pending.append(operation)

    def write_after_cut(self, folder: str, rng: random.Random) -> None:
        """Write the files that are there when the power is back."""
        share = rng.choice((0.0, 0.3, 0.7, 1.0))
        left = {name: file for name, file in self._deleted.items() if file.has_name and rng.random() < 0.5}
        left |= {name: file for name, file in self._files.items() if file.has_name or rng.random() < share}
        for name, file in left.items():
            with open(os.path.join(folder, name), "wb") as target:
                target.write(file.after_cut(rng, share))

    def file(self, name: str) -> File:
        """One of the files that are there."""
        return self._files[name]

    def _sync_folder(self) -> None:
        self._deleted.clear()
        for file in self._files.values():
            file.has_name = True


def _apply(data: bytearray, operation: Operation) -> None:
    offset = operation.offset
    if operation.kind is Kind.TRUNCATE and len(data) > offset:
        del data[offset:]
        return
    if len(data) < offset:
        data.extend(bytes(offset - len(data)))
    data[offset : offset + len(operation.data)] = operation.data


def _torn(operation: Operation, rng: random.Random) -> list[Operation]:
    """The parts of a write that the disk got to: a beginning, or any of its sectors."""
    if operation.kind is not Kind.WRITE:
        return [operation]
    if rng.random() < 0.5:
        return [operation._replace(data=operation.data[: rng.randint(0, len(operation.data))])]
    first = operation.offset - operation.offset % _SECTOR
    parts: list[Operation] = []
    for sector in range(first, operation.offset + len(operation.data), _SECTOR):
        if rng.random() < 0.5:
            begin = max(sector, operation.offset)
            piece = operation.data[begin - operation.offset : sector + _SECTOR - operation.offset]
            parts.append(operation._replace(offset=begin, data=piece))
    return parts
