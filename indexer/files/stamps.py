"""What a stat proves about a file that was read before: that it is still the same, or nothing."""

from ctxrank.indexer.light_typing import NamedTuple

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

    def proves(self, now: "FileStamp") -> bool:
        """Whether the file that was read with this stamp still has the same bytes, if it looks like `now`."""
        if (self.size_bytes, self.mtime_ns, self.inode) != (now.size_bytes, now.mtime_ns, now.inode):
            return False
        # It could have been written again, after it was read, in the same tick of the clock.
        tick_us = CLOCK_TICK_US if self.mtime_ns % 1_000_000_000 else COARSE_CLOCK_TICK_US
        return self.mtime_ns // 1000 + tick_us < self.read_at
