"""A token in the place of a name, in any option of a command that stores something, is in no byte of the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank.cli.main import run
from ctxrank.indexer.store.store import Store

TOKEN = "ghp" + "_" + "a1B2" * 9
_SPAWN = ("assemble", "--session", "S", "--task", "x")
_OF_S = ("--session", "S")
_CALLS: tuple[tuple[str, ...], ...] = (
    ("session", "create", TOKEN), ("session", "create", "T", "--project", TOKEN),
    ("group", "create", *_OF_S, TOKEN), ("group", "create", *_OF_S, "g", "--title", TOKEN),
    (*_SPAWN, "--agent", TOKEN), (*_SPAWN, "--agent", "developer", "--group", TOKEN),
    (*_SPAWN, "--agent", "developer", "--model", TOKEN), (*_SPAWN, "--agent", "developer", "--task-id", TOKEN),
    (*_SPAWN, "--agent", "developer", "--lang", TOKEN), (*_SPAWN, "--agent", "developer", "--framework", TOKEN),
    (*_SPAWN, "--agent", "developer", "--project", TOKEN),
    ("strategy", "save", "--topic", "general", "--project", TOKEN, "It works."),
    ("strategy", "save", "--topic", "general", "--lang", TOKEN, "It works well."),
    ("error", "save", "--solution", "s", "--type", TOKEN, "--message", "m", "--hint", TOKEN, "--project", TOKEN),
    ("error", "match", *_OF_S, "--type", "ValueError", "--message", TOKEN, "--project", TOKEN),
    ("reasoning", "save", *_OF_S, "--agent", "developer", "--phase", "risks", "--reference", TOKEN, TOKEN),
    ("skill", "save-output", TOKEN, *_OF_S, "--agent", "developer", "1"),
    ("skill", "save-output", "lint", *_OF_S, "--agent", "developer", f'{{"{TOKEN}": "x"}}'),
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        save(opened, "a.md")
        yield opened


@pytest.mark.parametrize("words", _CALLS, ids=lambda words: " ".join(words).replace(TOKEN, "TOKEN"))
def test_no_name_brings_a_secret_into_the_store(store: Store, words: tuple[str, ...]) -> None:
    assert run(["--db", store.location.primary, *words]) in (0, 1, 2)
    files = [path for path in Path(store.location.folder).iterdir() if path.is_file()]
    assert not [path.name for path in files if TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize("group", ["G", "feature-billing_2026", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"])
def test_a_group_is_found_by_any_name_that_it_may_have(
    store: Store, group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(store, "b.md", group=group, summary="An okapi.")
    assert run(["--db", store.location.primary, *_SPAWN, "--agent", "developer", "--group", group]) == 0
    assert "An okapi." in capsys.readouterr().out
