"""The port of what `ctxrank serve` serves next to its own addresses: the pages, for one.

Nothing else depends on it: where the extension is absent, or what it is drawn with, a note says so, and `serve` serves
without it.
"""

from ctxrank.indexer.extensions import ROUTE, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from starlette.types import ASGIApp

    from ctxrank.cli.call import Call

    class Route(Protocol):
        """Answers every address that the process does not answer itself, with a guard of its own."""

        def served(self, call: Call) -> "ServedRoute":
            """What answers for the store of a call, for as long as the process runs. Raises UsageError for a missing
            dependency."""
            ...


class ServedRoute(NamedTuple):
    """An application, and how a browser is let in: `opening` is the address that takes a ticket, each good once."""

    application: "ASGIApp"
    opening: str
    ticket: "Callable[[], str]"


def route(wanted: str) -> "Route":
    """What serves the pages. Raises UsageError where the extension is not installed."""
    return cast("Route", provided(ROUTE, wanted))
