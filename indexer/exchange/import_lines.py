"""The lines of one origin on their way in, kind by kind.

    records = LineImport(run)
    records.bring("reasoning", lines)

Every text is redacted. A line that cannot be used is reported, and the rest comes in.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exchange.kinds import hooks
from ctxrank.indexer.exchange.kinds.artifacts import ARTIFACT, ArtifactImport
from ctxrank.indexer.exchange.kinds.packages import PackageHooks
from ctxrank.indexer.exchange.kinds.records import RecordImport
from ctxrank.indexer.exchange.kinds.usages import USAGE, bring_usages
from ctxrank.indexer.exchange.lines import Key, Line
from ctxrank.indexer.exchange.run import ImportRun
from ctxrank.indexer.fulltext.background import Notify, background_indexer
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

_SHOWN_CHARS = 40
# The index is brought up to date meanwhile, in portions of so many lines: its merges cost less in large ones.
_FOLLOWED_LINES = 5000
# What kinds need beyond their columns.
_HOOKS = {
    "group": hooks.GroupHooks,
    "reasoning": hooks.ReasoningHooks,
    "error": hooks.ErrorHooks,
    "failure": hooks.FailureHooks,
    "package": PackageHooks,
}

Progress = Callable[[int, int], None]
Writer = Callable[[Iterable[Line]], None]


class LineImport:
    """Brings in lines of one origin; `imports` makes what reads and writes a kind's records."""

    def __init__(self, run: ImportRun, imports: type[RecordImport] = RecordImport) -> None:
        self.run = run
        self.writers: dict[str, Writer] = {
            name: imports(run, kind, _HOOKS.get(name, hooks.Hooks)(run, kind)).bring for name, kind in KINDS.items()
        }
        self.writers |= {USAGE: partial(bring_usages, run), ARTIFACT: ArtifactImport(run).bring}

    def bring(self, record: str, lines: list[Line]) -> None:
        """Bring in what is new or changed of some lines of one kind."""
        if record in self.writers:
            self.writers[record](lines)
            return
        name = one_line(record)[:_SHOWN_CHARS]
        for line in lines:
            self.run.account.skip("unknown", line.shown, f"'{name}' is not a record that this program knows")


def bring_batches(
    store: Store,
    lines: Iterable[tuple[Key, list[Line]]],
    bring: Callable[[Key, list[Line]], None],
    done: Callable[[list[Line]], None],
) -> None:
    """Bring in batches of lines, with the index behind; `done` is called with each."""
    with ExitStack() as stack:
        notify: Notify | None = None
        unfollowed = 0
        for key, batch in lines:
            bring(key, batch)
            done(batch)
            unfollowed += len(batch)
            if unfollowed >= _FOLLOWED_LINES:  # so many are worth the start of a second process
                unfollowed = 0
                notify = notify or stack.enter_context(background_indexer(store))
                if notify is not None:
                    notify()
