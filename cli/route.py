"""The port of what `ctxrank serve` serves next to its own addresses: the pages, for one.

It is a function of a call: what answers every address that the process does not answer itself, with a guard of its own,
for as long as the process runs. It raises UsageError for a missing dependency. Nothing else depends on it: where the
extension is absent, or what it is drawn with, a note says so, and `serve` serves without it.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp


class ServedRoute(NamedTuple):
    """An application, and how a browser is let in: `opening` is the address that takes a ticket, each good once."""

    application: "ASGIApp"
    opening: str
    ticket: "Callable[[], str]"
