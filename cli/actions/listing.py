"""`ctxrank list KIND`: the list of that kind, with the options that it has."""

from ctxrank.cli.call import Call, Reply, act
from ctxrank.cli.commands.kinds import LISTS, OPTIONS
from ctxrank.indexer.exceptions import UsageError


def list_(call: Call, kind: str, **given: object) -> Reply:
    """Read a page of one kind. Raises UsageError for an option that it does not have, and for one that it needs."""
    takes = {one.name: one for one in LISTS[kind].parameters}
    values = {name: one.nothing_given for name, one in takes.items()}
    for name, value in given.items():
        if value in (None, False):
            continue
        if name not in takes:
            has = ", ".join(OPTIONS[known].on_words[-1] for known in takes)
            raise UsageError(f"'list {kind}' has no {OPTIONS[name].on_words[-1]}.", f"It has {has}.")
        values[name] = value
    for name, one in takes.items():
        if one.required and values[name] is None:
            raise UsageError(f"'list {kind}' needs --{name}.", "'ctxrank list sessions' names them.")
    return act(LISTS[kind], call, values)
