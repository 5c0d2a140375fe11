"""Where the command `ctxrank` begins: before anything is imported.

Garbage collection runs dozens of times while modules load and finds nothing; a query ends before it would be of use.
Commands that work for long switch it on again.
"""

import gc


def main() -> None:
    """Run one call and exit with its code."""
    gc.disable()
    from ctxrank.cli.main import main as run_and_exit

    run_and_exit()
