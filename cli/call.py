"""One call of the command line: where the store is, and how answers leave.

stdout is the payload and nothing else; talk goes to stderr.
"""

import sys
from typing import TYPE_CHECKING

from ctxrank.indexer.records import NamedTuple

if TYPE_CHECKING:  # help opens no database
    from ctxrank.indexer.store import Store


def shown(text: str) -> str:
    """Text from outside (a path, a name) on one line, without what a terminal would obey."""
    from ctxrank.indexer.lines import one_line

    return one_line(text)


class Call(NamedTuple):
    """The global options, from before or after the command's name."""

    db: str | None = None
    root: str | None = None
    is_json: bool = False
    verbosity: int = 0
    is_colored: bool = True

    def open(self) -> "Store":
        """The store that this call means. Raises NoStoreError, DamagedError, LockedError."""
        from ctxrank.indexer.store import open_store

        return open_store(self.db, root=self.root)

    def note(self, text: str) -> None:
        """Talk to the person: on stderr, unless --quiet."""
        if self.verbosity >= 0:
            print(f"ctxrank: {shown(text)}", file=sys.stderr)

    def bold(self, text: str) -> str:
        """The text emphasised where a terminal shows it."""
        return f"\x1b[1m{text}\x1b[0m" if self.is_colored else text

    def dim(self, text: str) -> str:
        """The text toned down where a terminal shows it."""
        return f"\x1b[2m{text}\x1b[0m" if self.is_colored else text
