"""Files of a tree that are left alone for their names: those that hold a secret, and the store's own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, write_file

from ctxrank.cli.main import run
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store

TOKEN = "ghp" + "_" + "a1B2" * 9
AWS = "AKIA" + "Q7RT5WXYZ3KLMN4P"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize("name", [f"n-{TOKEN}.md", f"{AWS}/n.md", f"n-{TOKEN}.bin"])
def test_a_file_whose_name_is_a_secret_is_passed_over_in_words(
    store: Store, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(store, name, "# Okapi\n" if name.endswith(".md") else "\0\1\2")
    write_file(store, "b.md", "# Okapi\n")
    secret = AWS if AWS in name else TOKEN
    for words in (["index"], ["--json", "index"], ["index"], ["search", "okapi"], ["status"]):
        capsys.readouterr()
        assert run(["--db", store.location.primary, *words]) == 0
        printed = "".join(capsys.readouterr())
        assert secret not in printed
        if words[-1] == "index":
            assert "its name holds a secret" in printed
    assert secret.encode() not in _bytes_of(Path(store.location.folder))
    assert [row[0] for row in store.primary.execute("SELECT path FROM artifacts")] == ["b.md"]


def test_a_path_that_is_not_there_is_reported_without_its_secret(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    path = os.path.join(store.location.root, f"n-{TOKEN}.md")
    assert run(["--db", store.location.primary, "index", path]) == 2
    printed = "".join(capsys.readouterr())
    assert "never indexed" in printed and TOKEN not in printed


def test_a_link_or_a_pipe_whose_name_is_a_secret_is_reported_without_it(store: Store) -> None:
    top = Path(store.location.root)
    (top / f"{TOKEN}.md").symlink_to("/nowhere")
    os.mkfifo(top / f"p-{TOKEN}.md")
    skipped = index_artifacts(store).skipped
    assert len(skipped) == 2 and TOKEN not in repr(skipped)


def test_no_package_is_saved_of_a_file_whose_name_is_a_secret(store: Store) -> None:
    write_file(store, f"n-{TOKEN}.md", "# Okapi\n")
    new = NewPackage("s", None, "research", f"n-{TOKEN}.md", "developer", "A summary")
    with pytest.raises(UsageError, match="holds a secret") as refused:
        save_package(store, new, create_session=True)
    assert TOKEN not in str(refused.value)
    assert TOKEN.encode() not in _bytes_of(Path(store.location.folder))


def test_a_file_that_is_renamed_to_a_secret_is_not_found_by_it(store: Store) -> None:
    path = write_file(store, "a.md", "# Okapi\n")
    index_artifacts(store)
    path.rename(path.with_name(f"{TOKEN}.md"))
    report = index_artifacts(store)
    assert (report.moved, report.removed) == ((), ("a.md",))
    assert TOKEN not in repr(report)


def _known_by_an_older_rule(store: Store) -> Path:
    path = write_file(store, "a.md", "# Okapi\n")
    index_artifacts(store)
    path = path.rename(path.with_name(f"{TOKEN}.md"))
    for table in ("artifacts", "documents"):
        with store.write() as change:
            change.connection.execute(f"UPDATE {table} SET path = ? WHERE path = 'a.md'", (path.name,))
    return path


def test_a_known_file_whose_name_a_newer_rule_calls_a_secret_is_taken_out_when_it_changes(store: Store) -> None:
    _known_by_an_older_rule(store).write_text("# Okapi and more\n", encoding="utf-8")
    report = index_artifacts(store)
    assert len(report.skipped) == len(report.removed) == 1 and TOKEN not in repr(report)
    assert store.primary.execute("SELECT count(*) FROM artifacts").fetchone() == (0,)


def test_redacting_again_takes_out_files_whose_names_hold_a_secret(store: Store) -> None:
    _known_by_an_older_rule(store)
    assert redact_again(store, RedactionMode.PATTERN_ONLY, is_dry_run=True).redacted == {"artifact": 1}
    assert redact_again(store, RedactionMode.PATTERN_ONLY).redacted == {"artifact": 1}
    assert store.primary.execute("SELECT count(*) FROM artifacts").fetchone() == (0,)
    assert TOKEN.encode() not in _bytes_of(Path(store.location.folder))


@pytest.mark.parametrize("mode", [RedactionMode.PATTERN_ONLY, RedactionMode.BOTH, RedactionMode.ENTROPY])
@pytest.mark.parametrize(
    "name",
    ["docs/password-reset.md", "src/token.py", "secrets/README.md", "dist/app.3f9ac2b17d5e48d0a1.js", "api_key.rb",
     "objects/4b/825dc642cb6eb9a060e54bf8d69288fbee4904", "test_auth_token=refresh.md"],
)  # fmt: skip
def test_ordinary_names_are_no_secrets(name: str, mode: RedactionMode) -> None:
    assert without_secret(name, mode) == name


@pytest.mark.parametrize("folder", ["", "data"])
def test_the_stores_own_files_are_never_indexed(folder: str, tmp_path: Path) -> None:
    """With --db the store lies among the files: an empty log of it looks like a text."""
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    with make_store(tmp_path / "made") as made:
        made.primary.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        name = made.location.primary
    os.rename(name, place / "x.db")
    ours = ["x.db-wal", "x.db-shm", "x.db-journal", "x.index.db-wal", "x.index.db-shm", "index.lock", "follow.lock"]
    ours += [
        "backups/20260101T000000Z/note.md",
        ".trial-17/note.md",
        ".ctxrank-git-0123456789abcdef/config",
        "etilqs_a1b2",
    ]
    theirs = [
        "note.md",
        "y.db-wal",
        "backups/plan.md",
        "git-notes/a.md",
        ".ctxrank-git-notes/a.md",
        "x.db-notes.md",
        "yarn.lock",
    ]
    for path in (*ours, *theirs):
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text("" if path.endswith(("-wal", "-shm", "-journal")) else "okapi\n")
    with open_store(str(place / "x.db"), root=str(tmp_path)) as store:
        found = index_artifacts(store)
        seen = {*found.added, *(one.path for one in found.skipped)}
    inside = f"{folder}/" if folder else ""
    assert not seen & {inside + path for path in ours}, json.dumps(sorted(seen))
    assert {inside + path for path in theirs} <= seen
