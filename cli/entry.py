"""Where the command `ctxrank` begins: before anything is imported.

Garbage collection runs dozens of times while modules load and finds nothing; a query ends before it would be of use.
Commands that work for long switch it on again.
"""

import gc
import sys

from ctxrank.cli.streams import open_streams, restart_in_utf_8

# Commands with a parser of their own, found by name: loading click would cost twice a bare interpreter's start.
_OWN_PARSER = {"bazinga": "ctxrank.extensions.bazinga.run"}
_OWN_PARSER["hook"] = "ctxrank.cli.agents.hook"  # its exit code is 0, whatever its words are


def main() -> None:
    """Run one call and exit with its code."""
    gc.disable()
    restart_in_utf_8()
    open_streams()
    try:
        _run()
    except KeyboardInterrupt:  # while modules were loading: nothing was begun
        sys.exit(130)


def _run() -> None:
    module = _OWN_PARSER.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if module is not None and sys.argv[2:3] not in (["--help"], ["-h"]):
        try:
            run_by_itself = __import__(module, fromlist=["main"]).main
        except ModuleNotFoundError:
            pass  # not installed: the commands below say so
        else:
            run_by_itself()
    from ctxrank.cli.main import main as run_and_exit  # noqa: PLC0415  after garbage collection is off

    run_and_exit()
