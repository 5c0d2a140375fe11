"""What `ctxrank serve` asks of the pages (`ctxrank.cli.route`)."""

from ctxrank.cli.call import Call
from ctxrank.cli.route import ServedRoute
from ctxrank.indexer.exceptions import UsageError


def served(call: Call) -> ServedRoute:
    """The pages of `ctxrank web`, read-only, with an access of this process."""
    try:
        from ctxrank.extensions.web.application import application  # noqa: PLC0415  needs the extra web
        from ctxrank.extensions.web.guard import Access  # noqa: PLC0415  as above
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("ctxrank"):
            raise
        raise UsageError("The pages need the extra web.", "Install it: pip install 'ctxrank[web]'") from error
    access = Access()
    return ServedRoute(application(call, access), access.opening, access.ticket)
