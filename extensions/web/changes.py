"""What a page may change with --write: one command each, with the parameters of its form."""

from ctxrank.extensions.web.answers import Commands, Parameters
from ctxrank.indexer.exceptions import UsageError


def make(ask: Commands, given: Parameters) -> None:
    """Make the change that a form asks for. Raises UsageError for one that no form of ours has, CtxrankError."""
    what, id_ = given("what"), given("id")
    if what == "confirm":
        ask("error confirm", error=id_)
    elif what == "refute":
        ask("error refute", error=id_)
    elif what == "supersede":
        ask("package supersede", old_id=id_, new_id=given("by"))
    elif what == "end":
        ask("session end", name=given("session"), status=given("status", "completed"))
    else:
        raise UsageError(f"{what!a} is not a change that this page makes.", "Use the forms of the pages.")
