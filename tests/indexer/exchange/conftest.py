"""The stores that tell each other what they hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.store.store import Store


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path / "anna") as opened:
        yield opened


@pytest.fixture
def ben(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path / "ben") as opened:
        yield opened


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path / "stranger") as opened:
        yield opened
