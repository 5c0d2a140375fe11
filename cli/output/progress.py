"""A progress bar on a terminal, with rate and time left; none elsewhere: in a log or a transcript it is noise."""

import contextlib
import sys
import time
from collections.abc import Callable, Generator

from ctxrank.cli.call import Call


@contextlib.contextmanager
def progress_bar(label: str, call: Call) -> Generator[Callable[[int, int], None] | None, None, None]:
    """What to call with (done, total) as work goes on; None where stderr is no terminal or output is quiet."""
    if not sys.stderr.isatty() or call.verbosity < 0:
        yield None
        return
    import click  # noqa: PLC0415  only where a person watches

    started = time.monotonic()
    rate = ""

    def said(_: int | None) -> str:
        return rate

    with click.progressbar(length=1, label=label, file=sys.stderr, item_show_func=said) as bar:

        def advance(done: int, total: int) -> None:
            nonlocal rate
            rate = f"{done / max(time.monotonic() - started, 0.001):,.0f}/s"
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield advance
