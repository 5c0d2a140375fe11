"""`ctxrank list KIND`: the list of that kind, with the options that it has."""

from ctxrank.cli.call import Call, Reply, act
from ctxrank.cli.command_table import CORE, command_table
from ctxrank.indexer.exceptions import UsageError


def list_(call: Call, kind: str, **given: object) -> Reply:
    """Read a page of one kind. Raises UsageError for an option that it does not have, and for one that it needs."""
    table = command_table(CORE, "list")
    command = table.command(kind)
    takes = {one.name: one for one in command.parameters}
    words = {one.name: one.on_words[-1] for one in table.command("list").parameters if one.is_option}
    chosen = {name: value for name, value in given.items() if value not in (None, False)}
    for name in [one for one in chosen if one not in takes]:
        has = ", ".join(words[known] for known in takes if known in words)
        raise UsageError(f"'list {kind}' has no {words[name]}.", f"It has {has}.")
    for name, one in takes.items():
        if one.required and name not in chosen:
            raise UsageError(f"'list {kind}' needs --{name}.", "'ctxrank list sessions' names them.")
    return act(command, call, {name: chosen.get(name, one.nothing_given) for name, one in takes.items()})
