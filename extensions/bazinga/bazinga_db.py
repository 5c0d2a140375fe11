"""A replacement of the predecessor's bazinga_db.py: a script that calls that one works with its path replaced.

    python3 "$(ctxrank bazinga --script)" --quiet get-session SESSION

Run by path, with whatever python3 a script finds: where that one does not know ctxrank, the command `ctxrank` is run.
"""

import os
import sys
from importlib import import_module


def main() -> None:
    """Run `ctxrank bazinga` with this script's arguments, and end with its exit code."""
    here = os.path.dirname(os.path.abspath(__file__))
    # A script's own folder comes first: there `command` and `call` would be ours.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    arguments = ["bazinga", *sys.argv[1:]]
    try:
        for needed in ("apsw", "click"):  # not every python3 that finds ctxrank's files has what it needs
            import_module(needed)
        from ctxrank.cli.entry import main as run_and_exit  # noqa: PLC0415  this python may not have the package
    except ImportError:
        _run_command(here, arguments)
    else:
        sys.argv[:] = ["ctxrank", *arguments]
        run_and_exit()


def _run_command(here: str, arguments: list[str]) -> None:
    """Become the command `ctxrank`: the one installed with these files, else the one on PATH."""
    # PREFIX/lib/python3.11/site-packages/ctxrank/extensions/bazinga
    prefix = here
    for _ in range(6):
        prefix = os.path.dirname(prefix)
    installed = os.path.join(prefix, "bin", "ctxrank")
    if os.access(installed, os.X_OK):
        os.execv(installed, [installed, *arguments])
    try:
        os.execvp("ctxrank", ["ctxrank", *arguments])
    except OSError:
        print(
            "ctxrank is neither installed for this python3 nor on PATH; install it, or add its bin/.", file=sys.stderr
        )
        sys.exit(6)


if __name__ == "__main__":
    main()
