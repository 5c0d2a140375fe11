"""What the core asks of a team's log (`ctxrank.cli.sharing.Sharing`); each answer loads what it needs."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import TeamState


class TeamLogPort:
    """The log on PostgreSQL."""

    def wake(self, store: Store) -> None:
        """Start the process that exchanges, if there is something for it."""
        from ctxrank.extensions.team.wake import wake  # noqa: PLC0415  every command of a team's store ends with it

        wake(store)

    def make_fresh(self, call: Call, store: Store) -> None:
        """Exchange before a search that asked for it."""
        from ctxrank.extensions.team.actions import make_fresh  # noqa: PLC0415  loads the client of PostgreSQL

        make_fresh(call, store)

    def purge_notes(self, call: Call, store: Store) -> tuple[int, int, tuple[str, ...]]:
        """Send the orders of a purge."""
        from ctxrank.extensions.team.actions import purge_notes  # noqa: PLC0415  as above

        return purge_notes(call, store)

    def durably(self, call: Call, act: Callable[[], Reply]) -> Reply:
        """Reply when the log has what was written."""
        from ctxrank.extensions.team.actions import durably  # noqa: PLC0415  as above

        return durably(call, act)

    def watching(self, folder: str, dsn: str) -> AbstractContextManager[None]:
        """Follow the log by a thread."""
        from ctxrank.extensions.team.daemon_thread import watched  # noqa: PLC0415  as above

        return watched(folder, dsn)

    def as_json(self, state: TeamState) -> dict[str, object]:
        """The fields of an answer."""
        from ctxrank.extensions.team.label import as_json  # noqa: PLC0415  every command of a team's store ends here

        return as_json(state)

    def sentence(self, state: TeamState) -> str:
        """The same in words."""
        from ctxrank.extensions.team.label import sentence  # noqa: PLC0415  as above

        return sentence(state)


TEAM_LOG = TeamLogPort()
