"""What a page may change with --write: one command each, with the parameters of its form."""

from ctxrank.extensions.web.answers import Commands, Parameters
from ctxrank.extensions.web.rendering import address
from ctxrank.indexer.exceptions import UsageError


def make(ask: Commands, given: Parameters) -> str:
    """Make the change that a form asks for; the address of the page that shows it.

    Raises UsageError for one that no form of ours has, CtxrankError.
    """
    what, id_ = given("what"), given("id")
    if what in ("confirm", "refute"):
        ask(f"error {what}", error=id_)
    elif what == "supersede":
        ask("package supersede", old_id=id_, new_id=given("by"))
    elif what in ("agree", "decline", "undo"):
        ask("origins", does=what, which=id_)
        return address("/")
    elif what == "end":
        ask("session end", name=given("session"), status=given("status", "completed"))
        return address("/sessions", name=given("session"))
    else:
        raise UsageError(f"{what!a} is not a change that this page makes.", "Use the forms of the pages.")
    return address("/finding", id=id_)
