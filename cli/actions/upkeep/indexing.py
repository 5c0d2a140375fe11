"""A run of `index`, by whoever calls for one: files, then the step of an extension, then dates.

The step is a port: what is read from a folder of its own, besides the files that a search finds. Where the extension is
absent, the folder is not read, and what a store has of it stays as it was.
"""

from collections.abc import Callable, Sequence

from ctxrank.cli.declare import Extended
from ctxrank.indexer.extensions import INDEX_STEP, is_in_use, provided
from ctxrank.indexer.files.authors import Asked
from ctxrank.indexer.files.git_dates import DateReport, date_documents
from ctxrank.indexer.files.scan import IndexReport, Progress, index_artifacts
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.records.anchor_passes import anchored_files, follow_anchors
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import shell_word

STEP_FOLDER = ".contextia"
# What agents' events call, which know what may be kept of a text: it takes in the notes of a project.
_NOTES = "ctxrank.cli.agents.notes:keep_notes_of_project"


class StepReport(NamedTuple):
    """How many files the folder has, how many were written and removed, how many files of code were read for it."""

    files: int
    written: int
    removed: int
    code_files_read: int


# Brings what is stored of the folder, of a root or of wherever a store has found one, in step with the disk; None where
# there is no such folder. Raises LockedError.
IndexStep = Callable[[Store], StepReport | None]


class Indexed(NamedTuple):
    """What a run found and did; a dry run makes neither linked artifacts nor dates."""

    report: IndexReport
    linked: StepReport | None = None
    dates: DateReport | None = None


def bring_up_to_date(
    store: Store,
    paths: Sequence[str] = (),
    progress: Progress | None = None,
    *,
    is_dry_run: bool = False,
) -> Indexed:
    """Index what is new or changed, with linked artifacts and dates: what `index` does. Raises LockedError."""
    first_seq = store.last_seq()
    stored = anchored_files(store)
    report = index_artifacts(store, paths, is_dry_run=is_dry_run, progress=progress, stored=stored)
    if is_dry_run:
        return Indexed(report)
    linked = cast("IndexStep", provided(INDEX_STEP, "index"))(store) if is_in_use("links") else None
    asked: Asked = {}
    done = Indexed(report, linked, date_documents(store, first_seq, asked))
    if store.location.root == store.location.project:
        provided(_NOTES, "index")(store)
    follow_anchors(store, stored, asked)
    return done


def text_notes(done: Indexed) -> tuple[str, ...]:
    """What the JSON says by its fields."""
    notes = [f"{root} is not there; its artifacts are kept and marked stale." for root in done.report.stale_roots]
    notes += [
        f"{root} was not looked at: the store names it, and you did not. "
        f"'ctxrank index --root {shell_word(root)}' allows it."
        for root in done.report.refused_roots
    ]
    if done.dates is not None and done.dates.reason:
        notes.append(f"some files are dated by their modification, not by their last commit: {done.dates.reason}.")
    return tuple(notes)


def answer_of(done: Indexed, *, dry_run: bool = False) -> Extended:
    """The answer of a run."""
    return Extended(done.report, {"dry_run": dry_run, "linked": done.linked, "dates": done.dates})
