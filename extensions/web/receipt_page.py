"""A block as it was given: what was asked, what went in and what was left out with why, from its receipt."""

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.blocks_page import left_out
from ctxrank.extensions.web.rendering import address, words_of

_ASKED = words_of("asked")  # of what a receipt keeps of a request, what a person asks about first
_NEAR = 100  # receipts of an agent, among which the one before is looked for
_ABOVE = ("group", "as_of")  # they stand above the receipt


def values(ask: Commands, given: Parameters) -> Json:
    """The receipt of this number, its items with their titles."""
    receipt = ask("receipt show", receipt_id=given.whole("id") or 0).fields["receipt"]
    entries, inputs = receipt["entries"], receipt["inputs"]
    held, omitted = [one for one in entries if one["included"]], [one for one in entries if not one["included"]]
    for one in held:
        one["title"] = ask.title(one["id"])
    titles = {one["id"]: one["title"] for one in held}
    again = address(
        "/blocks", session=receipt["session_id"], group=receipt["group_id"], agent=receipt["agent"],
        task=inputs.get("task"), task_id=inputs.get("task_id"), budget=inputs.get("budget"),
    )  # fmt: skip
    task = address("/links", task=inputs.get("task"), budget=inputs.get("budget"))
    return {
        "receipt": receipt, "before": _before(ask, receipt), "held": held,
        **left_out(ask, omitted, titles, receipt["agent"]),
        "back": address("/receipt", id=receipt["id"]),
        "again": again if receipt["kind"] == "assemble" else task,
        "asked": [(called, inputs[name]) for name, called in _ASKED.items() if inputs.get(name)],
        "others": {name: value for name, value in inputs.items() if name not in (*_ASKED, *_ABOVE)},
    }  # fmt: skip


def _before(ask: Commands, receipt: Json) -> int | None:
    """The number of the block that the same agent was given before, in the same session; None where none is near."""
    if not receipt["agent"]:
        return None
    listed = ask("receipt list", session=receipt["session_id"], agent=receipt["agent"], limit=_NEAR).fields
    return next((one["id"] for one in listed.get("receipts", []) if one["id"] < receipt["id"]), None)
