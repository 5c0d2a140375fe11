"""The worked example of linked artifacts, indexed once and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import copy_store, make_store

from ctxrank.indexer.store.store import Store


@pytest.fixture(scope="session")
def linked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from linked_builders import copy_fixture  # which import what may be deleted

    from ctxrank.extensions.links.sync import index_linked

    folder = tmp_path_factory.mktemp("linked")
    copy_fixture(folder)
    with make_store(folder) as made:
        index_linked(made)
    return folder


@pytest.fixture
def store(linked_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Its store, in the folder that calls are made from."""
    copy_store(linked_once, tmp_path)
    monkeypatch.chdir(tmp_path)
    with make_store(tmp_path) as opened:
        yield opened
