"""A progress bar on a terminal, with the time left; none elsewhere: in a log or a transcript it is noise."""

import contextlib
import sys
from collections.abc import Callable, Generator

from ctxrank.cli.call import Call


@contextlib.contextmanager
def progress_bar(label: str, call: Call) -> Generator[Callable[[int, int], None] | None, None, None]:
    """What to call with (done, total) as work goes on; None where stderr is no terminal or output is quiet."""
    if not sys.stderr.isatty() or call.verbosity < 0:
        yield None
        return
    import click  # noqa: PLC0415  only where a person watches

    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def advance(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield advance
