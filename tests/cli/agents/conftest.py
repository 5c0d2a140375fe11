"""The log of the hook is the user's, so each test leaves none behind for the next `status`."""

import contextlib
import os
from collections.abc import Iterator

import pytest

from ctxrank.indexer.store.location import state_folder


@pytest.fixture(autouse=True)
def _no_log_for_others() -> Iterator[None]:
    yield
    for name in ("hook.log", "hook.log.1"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(state_folder(), name))
