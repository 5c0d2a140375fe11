"""`ctxrank bazinga`: one command, whose words the predecessor's commands read."""

from ctxrank.cli.declare import Command, NoJson, OneOf, argument, by_name
from ctxrank.extensions.bazinga.arguments import COMMANDS as THEIRS

_BAZINGA = Command(
    "bazinga",
    "ctxrank.extensions.bazinga.run:reply",
    """Run one of BAZINGA's commands on this store, with its arguments, JSON and exit codes.

    The store is --db FILE or the one in --project-root DIR, made where it is missing; else the nearest .ctxrank/;
    else a new one in the BAZINGA project around this folder. --quiet omits the '✓' lines. --script prints
    the path of a script that replaces bazinga_db.py. 'help' lists the commands.

    Example: ctxrank bazinga --quiet get-context-packages SESSION AUTH developer 5
    """,
    (argument("command", type=OneOf(tuple(THEIRS)), required=False), argument("arguments", nargs=-1)),
    answer=NoJson("the predecessor's own JSON"),
    exits={0: "done", 1: "as there: wrong arguments, nothing such", 2: "no such command"},
    usage=("[--db FILE]", "[--project-root DIR]", "[--quiet]", "COMMAND", "[ARGS]…"),
)

COMMANDS = by_name(_BAZINGA)
