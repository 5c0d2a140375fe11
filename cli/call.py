"""One call of the command line: where the store is, and how answers leave.

stdout is the payload and nothing else; talk goes to stderr.
"""

import os
import sys
from collections.abc import Mapping

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # help opens no database
    from ctxrank.indexer.store.store import Store


def shown(text: str) -> str:
    """Text from outside (a path, a name) on one line, without what a terminal would obey."""
    from ctxrank.indexer.text.lines import one_line

    return one_line(text)


class Call(NamedTuple):
    """The global options, from before or after the command's name."""

    db: str | None = None
    root: str | None = None
    is_json: bool = False
    verbosity: int = 0
    is_colored: bool = True

    @classmethod
    def at_start(cls) -> "Call":
        """Before any option: coloured where a person looks on."""
        return cls(is_colored=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))

    def merged(self, given: Mapping[str, object]) -> "Call":
        """With options given later, by the names of declare.GLOBALS, over those given before."""
        db, root = given.get("db"), given.get("root")
        return Call(
            str(db) if db else self.db,
            str(root) if root else self.root,
            bool(given.get("as_json")) or self.is_json,
            -1 if given.get("quiet") else 1 if given.get("verbose") else self.verbosity,
            self.is_colored and not given.get("no_color"),
        )

    def open(self) -> "Store":
        """The store that this call means. Raises NoStoreError, DamagedError, LockedError."""
        from ctxrank.indexer.opening import open_store

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
