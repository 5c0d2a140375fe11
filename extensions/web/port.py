"""What `ctxrank serve` asks of the pages (`ctxrank.cli.route`)."""

from ctxrank.cli.call import Call
from ctxrank.cli.route import ServedRoute


def served(call: Call) -> ServedRoute:
    """The pages of `ctxrank web`, read-only, with an access of this process."""
    from ctxrank.extensions.web.command import Access, application  # noqa: PLC0415  raises where the extra is missing

    access = Access()
    return ServedRoute(application(call, access), access.opening, access.ticket)
