"""The port of a step of `index`: what is read from a folder of its own, besides the files that a search finds.

Where the extension is absent, the folder is not read, and what a store has of it stays as it was.
"""

from ctxrank.indexer.extensions import INDEX_STEP, is_installed, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from typing import Protocol

    from ctxrank.indexer.redaction.ruleset import RedactionMode
    from ctxrank.indexer.store.store import Store

    class IndexStep(Protocol):
        """Reads the folder `STEP_FOLDER` of a root, or of wherever a store has found one."""

        def __call__(self, store: Store, mode: RedactionMode) -> "StepReport | None":
            """Bring what is stored in step with the disk; None where there is no such folder. Raises LockedError."""
            ...


STEP_FOLDER = ".contextia"


class StepReport(NamedTuple):
    """How many files the folder has, how many were written and removed, how many files of code were read for it."""

    files: int
    written: int
    removed: int
    code_files_read: int


def run_step(store: "Store", mode: "RedactionMode") -> StepReport | None:
    """What the step has done; None without the extension."""
    return cast("IndexStep", provided(INDEX_STEP, "index"))(store, mode) if is_installed("links") else None
