"""Where the command `ctxrank` begins: before anything is imported.

Garbage collection runs dozens of times while modules load and finds nothing; a query ends before it would be of use.
Commands that work for long switch it on again.
"""

import gc
import sys


def main() -> None:
    """Run one call and exit with its code."""
    gc.disable()
    try:
        _run()
    except KeyboardInterrupt:  # while modules were loading: nothing was begun
        sys.exit(130)


def _run() -> None:
    if sys.argv[1:2] == ["bazinga"] and sys.argv[2:3] not in (["--help"], ["-h"]):
        # Read by a parser of its own: loading click would cost twice a bare interpreter's start.
        from ctxrank.cli.bazinga.run import main as run_bazinga_and_exit  # noqa: PLC0415  after garbage collection is off

        run_bazinga_and_exit()
    from ctxrank.cli.main import main as run_and_exit  # noqa: PLC0415  after garbage collection is off

    run_and_exit()
