"""Files that remember every operation on them, so that any instant's disk can be made up afterwards.

record = record_files("/tmp/work/store/.ctxrank")     # from now on, in this process
…
record.note({"done": ["qbc"]})
record.operations                                      # what reached the system, in order
"""

import os
from enum import Enum
from typing import Any, NamedTuple

import apsw
from quiet_connection import QuietConnection


class Kind(Enum):
    """What was asked of the system."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    DELETE = "delete"
    NOTE = "note"


class Operation(NamedTuple):
    """One operation; `name` is the file's, below the folder; a note's is what a writer said."""

    kind: Kind
    name: str
    offset: int = 0  # of a write; the new size where a file is truncated
    data: bytes = b""
    is_folder_synced: bool = False  # of a deletion
    line: Any = None


class Record:
    """The operations on the files of one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "")
        self.operations: list[Operation] = []

    def note(self, line: dict[str, Any]) -> None:
        """Put what a writer says where it belongs between the operations."""
        self.operations.append(Operation(Kind.NOTE, "", line=line))

    def add(self, path: str, operation: Operation) -> None:
        """Remember an operation, if it is on a file of the folder; copies that a repair makes lie below it."""
        name = path.removeprefix(self.folder)
        if name != path and os.sep not in name:
            self.operations.append(operation._replace(name=name))


def record_files(folder: str) -> Record:
    """Make this process, for the rest of its life, remember what it does to the files of this folder."""
    record = Record(folder)
    _alive.append(_RecordedFiles(record))
    apsw.Connection = QuietConnection  # type: ignore[misc]
    return record


_alive: list[apsw.VFS] = []


class _RecordedFiles(apsw.VFS):
    def __init__(self, record: Record) -> None:
        super().__init__("recorded", "unix", makedefault=True)
        self.record = record

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> apsw.VFSFile:
        path = "" if name is None else name if isinstance(name, str) else name.filename()
        # Our own code makes the main files, empty, before SQLite opens them.
        if path and (not os.path.exists(path) or os.path.getsize(path) == 0):
            self.record.add(path, Operation(Kind.CREATE, ""))
        return _RecordedFile(name, path, flags, self.record)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.record.add(filename, Operation(Kind.DELETE, "", is_folder_synced=syncdir))


class _RecordedFile(apsw.VFSFile):
    def __init__(self, name: "str | apsw.URIFilename | None", path: str, flags: list[int], record: Record) -> None:
        super().__init__("unix", name, flags)
        self.path = path
        self.record = record

    def xWrite(self, data: Any, offset: int) -> None:
        self.record.add(self.path, Operation(Kind.WRITE, "", offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.record.add(self.path, Operation(Kind.TRUNCATE, "", newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self.record.add(self.path, Operation(Kind.SYNC, ""))
