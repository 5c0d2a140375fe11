"""The port of a team's log: what the core asks of whatever shares a store with other machines.

Nothing is asked for a store that has joined no log (`Config.team_log` is None). Where the extension is absent, a store
that has joined one answers from what it has, and whoever must reach the log is refused in words.
"""

from ctxrank.indexer.extensions import SHARING, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Protocol

    from ctxrank.cli.call import Call, Reply
    from ctxrank.indexer.store.store import Store
    from ctxrank.indexer.store.team_log import TeamState

    class Sharing(Protocol):
        """A log that several stores share."""

        def wake(self, store: Store) -> None:
            """Before a store closes: have what is new here exchanged, without anyone waiting. Never raises."""

        def make_fresh(self, call: Call, store: Store) -> None:
            """Exchange now; of a log that is away a note speaks."""

        def purge_notes(self, call: Call, store: Store) -> tuple[int, int, tuple[str, ...]]:
            """Send a purge's orders: how many of how many machines have not confirmed, and notes; -1 without a log."""
            ...

        def undo(self, store: Store, number: str) -> None:
            """Put back what an order of the log removed here. Raises NotFoundError, CtxrankError."""

        def durably(self, call: Call, act: Callable[[], Reply]) -> Reply:
            """The reply of what writes, once the log has it. Raises UsageError where nothing could acknowledge it."""
            ...

        def watching(self, folder: str, dsn: str) -> AbstractContextManager[None]:
            """Exchange by a thread of this process while the block runs."""
            ...

        def as_json(self, state: TeamState) -> dict[str, object]:
            """How up to date the store is, as the fields of an answer."""
            ...

        def sentence(self, state: TeamState) -> str:
            """The same in words."""
            ...


def sharing(wanted: str) -> "Sharing":
    """The team's log. Raises UsageError where the extension is not installed."""
    return cast("Sharing", provided(SHARING, wanted))
