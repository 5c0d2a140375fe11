"""What a stat proves about a file that was read before: that it still has the same bytes, or nothing.

    compare_stats(found, known, is_same)     found  = FoundFile(path, size, mtime, inode) of a walk
                                             known  = what is stored of each path
                                             answer = which to read, which are unchanged, which are gone

Nothing here opens a file: of an unchanged tree only the stats are looked at.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    Known = TypeVar("Known")

# Two writes within one tick of the file system's clock leave the same mtime. The kernel's tick is 1 to
# 10 ms; FAT's is 2 s, and such a file system shows no part of a second.
CLOCK_TICK_US = 20_000
COARSE_CLOCK_TICK_US = 2_000_000


class FileStamp(NamedTuple):
    """Size, mtime and inode of a file, and the moment before it was read (0: it was not)."""

    size_bytes: int
    mtime_ns: int
    inode: int
    read_at: int = 0

    def proves(self, now: "FoundFile | FileStamp") -> bool:
        """Whether the file that was read with this stamp still has the same bytes, if it looks like `now`."""
        # It could have been written again, after it was read, in the same tick of the clock.
        tick = CLOCK_TICK_US if self.mtime_ns % 1_000_000_000 else COARSE_CLOCK_TICK_US
        is_alike = self[:3] == (now.size_bytes, now.mtime_ns, now.inode)
        return is_alike and self.mtime_ns // 1000 + tick < self.read_at


class FoundFile(NamedTuple):
    """A regular file; `path` is relative to the root, with `/` between its parts."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int

    def stamp(self, read_at: int = 0) -> FileStamp:
        """What is kept of a file that looked like this and was read at a moment (0: it was not)."""
        return FileStamp(self.size_bytes, self.mtime_ns, self.inode, read_at)


def compare_stats(
    found: "Iterable[FoundFile]", known: "Mapping[str, Known]", is_same: "Callable[[FoundFile, Known], bool]"
) -> "tuple[list[tuple[FoundFile, Known | None]], list[tuple[FoundFile, Known]], dict[str, Known]]":
    """Compare what a walk found with what is known of each path: (to read, unchanged, not found).

    What has to be read comes with what is known of it, None for a new file.
    """
    to_read: list[tuple[FoundFile, Known | None]] = []
    unchanged: list[tuple[FoundFile, Known]] = []
    unseen = dict(known)
    for file in found:
        before = unseen.pop(file.path, None)
        if before is not None and is_same(file, before):
            unchanged.append((file, before))
        else:
            to_read.append((file, before))
    return to_read, unchanged, unseen
