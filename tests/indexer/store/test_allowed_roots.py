"""What a store says of folders elsewhere is no permission to read there: its user names them."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from builders import Answer, answer_of, make_store, save
from linked_builders import LINK_TABLES
from predecessor import PredecessorDb

from ctxrank.cli.main import run
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store import known_stores
from ctxrank.indexer.store.allowed_roots import (
    allow,
    allowed_folder,
    is_new_worktree,
    is_removed_worktree,
    note_worktree,
    removed_worktrees,
)
from ctxrank.indexer.store.known_stores import alone_in
from ctxrank.indexer.store.location import MAX_STATE_BYTES, identity_of

KEY = "opensesame walrus"


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A folder of the user's, elsewhere."""
    folder = tmp_path / "home" / "ssh"
    folder.mkdir(parents=True)
    (folder / "id_rsa").write_text(KEY)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    with make_store(folder) as store:
        save(store, "a.md", "a finding")
    monkeypatch.chdir(folder)
    return folder


def call(*words: str) -> Answer:
    return answer_of(lambda: run(list(words)))


def sql(project: Path, statements: str) -> None:
    with closing(apsw.Connection(str(project / ".ctxrank" / "ctxrank.db"))) as connection:
        connection.pragma("foreign_keys", False)
        connection.execute(statements)


def add_artifact(project: Path, root: str, path: str) -> None:
    """Rows as a hostile store has them: an artifact that a package points to, which is looked at wherever it lies."""
    sql(
        project,
        f"""
        INSERT OR IGNORE INTO roots (path) VALUES ('{root}');
        INSERT INTO artifacts (root_id, path, state, reason, size_bytes, mtime_ns, inode, sha256, ruleset, indexed_at)
        SELECT id, '{path}', 'indexed', '', 1, 1, 1, 'x', 1, 1 FROM roots WHERE path = '{root}';
        UPDATE packages SET artifact_id = (SELECT max(id) FROM artifacts);
        """,
    )


def printed(project: Path) -> str:
    """All that a user or an agent is shown of the store."""
    calls = (
        ["index"], ["search", "opensesame"], ["search", "walrus", "--all"], ["show", "package:1"], ["doctor", "--deep"],
        ["assemble", "--session", "S", "--agent", "developer", "--group", "G", "--task", "opensesame walrus"],
        ["purge", "--redact"], ["export"],
    )  # fmt: skip
    answers = [call(*words) for words in calls]
    return "".join(answer.out + answer.err for answer in answers)


def test_a_row_is_no_permission_to_read(project: Path, ssh: Path) -> None:
    add_artifact(project, str(ssh), "id_rsa")
    report = call("--json", "index").json()
    assert report["refused_roots"] == [str(ssh)] and report["changed"] == report["stale_roots"] == []
    assert f"'ctxrank index --root {ssh}' allows it" in call("index").err
    assert KEY not in printed(project)
    with make_store(project) as store:
        assert store.primary.execute("SELECT state FROM artifacts WHERE path = 'id_rsa'").get == "stale"


@pytest.mark.parametrize("path", ["../home/ssh/id_rsa", "{}/id_rsa", "x/../../home/ssh/id_rsa"])
def test_a_path_that_leaves_the_project_is_not_read(project: Path, ssh: Path, path: str) -> None:
    add_artifact(project, ".", path.format(ssh))
    assert KEY not in printed(project)
    with make_store(project) as store:
        query = "SELECT count(*) FROM documents WHERE body LIKE '%opensesame%'"
        assert store.primary.execute(query).get == 0


def test_whether_a_file_elsewhere_changed_is_not_told(project: Path, ssh: Path) -> None:
    """Size, mtime and digest in a row would be three questions about any file of the user's."""
    add_artifact(project, str(ssh), "id_rsa")
    (hit,) = call("--json", "search", "finding").json()["hits"]
    assert hit["file_state"] is None
    sql(project, "UPDATE artifacts SET root_id = 1, path = '../home/ssh/id_rsa' WHERE path = 'id_rsa'")
    (hit,) = call("--json", "search", "finding").json()["hits"]
    assert hit["file_state"] is None


def test_a_tree_of_links_elsewhere_is_not_read(project: Path, tmp_path: Path) -> None:
    spec = tmp_path / "other" / ".contextia" / "system" / "specs" / "spec-a.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("---\nid: SPEC-A\ntitle: Opensesame\n---\nwalrus\n")
    sql(project, f"{LINK_TABLES} INSERT INTO linked_trees (path) VALUES ('{tmp_path / 'other'}')")
    assert "Opensesame" not in printed(project)
    with make_store(project) as store:
        assert store.primary.execute("SELECT count(*) FROM linked_artifacts").get == 0


def test_a_receipt_of_a_tree_elsewhere_is_not_made_again(project: Path, tmp_path: Path) -> None:
    spec = tmp_path / "other" / ".contextia" / "work" / "tasks" / "task-1.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("---\nid: TASK-1\ntitle: Opensesame\n---\nwalrus\n")
    (project / ".contextia" / "work" / "tasks").mkdir(parents=True)
    (project / ".contextia" / "work" / "tasks" / "task-1.md").write_text("---\nid: TASK-1\ntitle: Mine\n---\nours\n")
    assert call("context", "TASK-1").code == 0
    with make_store(project) as store:
        assert "\ntree\t.\n" in f"\n{store.primary.execute('SELECT inputs FROM receipts').get}\n"
    sql(project, f"UPDATE receipts SET inputs = replace(inputs, 'tree\t.', 'tree\t{tmp_path / 'other'}')")
    for words in (["receipt", "replay", "1"], ["why", "TASK-1", "--receipt", "1"], ["receipt", "show", "1"]):
        answer = call(*words)
        assert "Opensesame" not in answer.out + answer.err
    assert call("search", "opensesame").code == 1  # nothing of it came in, either


def test_a_folder_that_was_named_once_may_be_read_from_then_on(project: Path, ssh: Path) -> None:
    with make_store(project) as store:
        uuid = identity_of(store.primary).uuid
    assert call("index", "--root", str(ssh), "--dry-run").code == 0
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ctxrank" / "roots"
    assert not file.exists()
    assert call("--json", "index", "--root", str(ssh)).json()["added"] == ["id_rsa"]
    assert file.read_text().endswith(f".\n{uuid}\t{ssh}\n") and file.stat().st_mode & 0o777 == 0o600
    before = file.read_text()
    assert call("index", "--root", str(ssh)).code == 0 and file.read_text() == before
    (ssh / "id_rsa").write_text("opensesame otter, at length")
    report = call("--json", "index").json()
    assert (report["changed"], report["refused_roots"]) == ([str(ssh / "id_rsa")], [])
    another = uuid[:-1] + ("1" if uuid.endswith("0") else "0")
    file.write_text(f"# {uuid}\t{ssh}\n{another}\t{ssh}\n{uuid}\t{ssh.parent}\n")
    assert call("--json", "index").json()["refused_roots"] == [str(ssh)]
    file.write_text(f"{uuid}\t{ssh}")  # by hand
    assert call("--json", "index").json()["refused_roots"] == []
    file.chmod(0o666)
    assert call("--json", "index").json()["refused_roots"] == [str(ssh)]


def test_the_environment_names_a_folder_for_its_call(project: Path, ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_ROOT", str(ssh))
    assert call("--json", "index").json()["added"] == ["id_rsa"]
    monkeypatch.delenv("CTXRANK_ROOT")
    assert call("--json", "index").json()["refused_roots"] == [str(ssh)]


def test_a_configuration_that_cannot_be_written_is_said(
    project: Path, ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null/nowhere")
    answer = call("index", "--root", str(ssh))
    assert answer.code == 6 and f"CTXRANK_ROOT={ssh}" in answer.err


def test_a_configuration_that_is_nowhere_is_said(project: Path, ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    with make_store(project) as store, pytest.raises(CtxrankError, match="The configuration cannot be written"):
        allow(store.location, store.primary, str(ssh))


def test_a_folder_of_the_project_and_its_worktrees_may_be_read(project: Path, tmp_path: Path, ssh: Path) -> None:
    (project / "part").mkdir()
    (project / "link").symlink_to(ssh)
    linked, claimed = tmp_path / "linked", tmp_path / "claimed"
    for folder, back in ((linked, linked), (claimed, tmp_path / "someone")):
        inside = project / ".git" / "worktrees" / folder.name
        inside.mkdir(parents=True)
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {inside}\n")
        (inside / "gitdir").write_text(f"{back}/.git\n")
    with make_store(project) as store:
        names = [project / "part", linked, claimed, project / "link", tmp_path, project / "link" / "deeper"]
        found = [allowed_folder(store.location, store.primary, str(name)) is not None for name in names]
        assert found == [True, True, False, False, False, False]
        assert allowed_folder(store.location, store.primary, "..") is None
        assert allowed_folder(store.location, store.primary, "") is None


def test_a_worktree_is_forgotten_once_git_has_removed_it_and_nobody_named_it(
    project: Path, tmp_path: Path, ssh: Path
) -> None:
    linked, kept = tmp_path / "linked", project / ".git" / "worktrees" / "linked"
    kept.mkdir(parents=True)
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {kept}\n")
    (kept / "gitdir").write_text(f"{linked}/.git\n")
    with make_store(project) as store:

        def is_removed() -> bool:
            return is_removed_worktree(store.location, store.primary, str(linked))

        assert is_new_worktree(store.location, store.primary, str(linked))
        assert not is_new_worktree(store.location, store.primary, str(ssh))
        store.primary.execute("INSERT INTO roots (path) VALUES (?), (?)", (str(linked), str(ssh)))
        for folder in (linked, tmp_path / "other"):
            note_worktree(store.primary, str(folder))
        assert not is_new_worktree(store.location, store.primary, str(linked)) and not is_removed()
        shutil.rmtree(linked)
        assert not is_removed()  # git lists it still: its disk may come back
        shutil.rmtree(kept)
        assert is_removed() and removed_worktrees(store.location, store.primary) == [str(linked)]
        assert not is_removed_worktree(store.location, store.primary, str(tmp_path / "never noted"))
        odd = kept.parent / "odd"
        odd.mkdir()
        assert not is_removed()  # what git lists cannot be read
        odd.rmdir()
        (project / ".git").rename(project / "git")
        assert not is_removed()
        (project / "git").rename(project / ".git")
        linked.mkdir()
        assert not is_removed()
        linked.rmdir()
        allow(store.location, store.primary, str(linked))
        assert not is_removed()


def test_a_folder_is_allowed_for_one_store(project: Path, ssh: Path, tmp_path: Path) -> None:
    with make_store(project) as mine, make_store(tmp_path / "other") as other:
        allow(mine.location, mine.primary, str(ssh))
        assert allowed_folder(mine.location, mine.primary, str(ssh)) == str(ssh)
        assert allowed_folder(other.location, other.primary, str(ssh)) is None


def test_a_file_of_folders_that_is_full_keeps_what_it_has_and_is_said(project: Path, ssh: Path) -> None:
    with make_store(project) as store:
        allow(store.location, store.primary, str(ssh))
        file = Path(os.environ["XDG_CONFIG_HOME"]) / "ctxrank" / "roots"
        line = f"{identity_of(store.primary).uuid}\t/gone\n"
        file.write_text(file.read_text() + line * (MAX_STATE_BYTES // len(line)))
        before = file.read_text()
        with pytest.raises(UsageError, match="is full"):
            allow(store.location, store.primary, str(ssh.parent))
        assert file.read_text() == before


def test_a_store_that_is_named_gets_no_folder_by_anothers_uuid(project: Path, ssh: Path, tmp_path: Path) -> None:
    with make_store(project) as mine, make_store(tmp_path / "other") as other:
        allow(mine.location, mine.primary, str(ssh))
        other.primary.execute("UPDATE store SET uuid = ?", (identity_of(mine.primary).uuid,))
        assert allowed_folder(other.location, other.primary, str(ssh)) is None
        assert allowed_folder(mine.location, mine.primary, str(ssh)) == str(ssh)


def test_an_import_reads_files_only_where_a_folder_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database of somebody else's may name any file of ours."""
    source = PredecessorDb(tmp_path / "theirs" / "bazinga" / "bazinga.db")
    source.fill()
    with closing(apsw.Connection(str(tmp_path / "theirs" / "bazinga" / "bazinga.db"))) as connection:
        paths = [str(path) for (path,) in connection.execute("SELECT file_path FROM context_packages")]
    for folder in (project, tmp_path / "theirs"):
        for path in paths:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(f"{KEY} of {folder.name}")
    answer = call("--json", "import", "bazinga", str(tmp_path / "theirs" / "bazinga" / "bazinga.db"))
    assert answer.code == 0 and answer.json()["files_indexed"] == 0
    assert "were not looked for" in answer.err and call("search", "opensesame").code == 1
    named = (
        "import",
        "bazinga",
        str(tmp_path / "theirs" / "bazinga" / "bazinga.db"),
        "--root",
        str(tmp_path / "theirs"),
    )
    assert call(*named).code == 0
    assert str(tmp_path / "theirs") in (Path(os.environ["XDG_CONFIG_HOME"]) / "ctxrank" / "roots").read_text()


def test_a_scan_by_name_of_a_root_is_as_before(tmp_path: Path, ssh: Path) -> None:
    with create_store(str(tmp_path / "project"), root=str(ssh)) as store:
        assert index_artifacts(store).added == ("id_rsa",)


@pytest.mark.slow
def test_folders_that_are_named_at_the_same_moment_are_all_written_down(project: Path, tmp_path: Path) -> None:
    folders = [tmp_path / f"folder{number}" for number in range(8)]
    for folder in folders:
        folder.mkdir()
    command = [sys.executable, "-P", "-c", "from ctxrank.cli.entry import main; main()", "--root"]
    begun = [
        subprocess.Popen([*command, str(folder), "index"], cwd=project, stdout=subprocess.DEVNULL) for folder in folders
    ]
    assert [process.wait(60) for process in begun] == [0] * len(folders)
    with make_store(project) as store:
        for folder in folders:
            assert allowed_folder(store.location, store.primary, str(folder)) == str(folder)


def test_a_lock_that_is_never_let_go_ends_in_a_sentence(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    (config / "ctxrank").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.setattr(known_stores, "_MAX_WAIT_S", 0.05)
    with make_store(project) as store, alone_in(str(config / "ctxrank")), pytest.raises(CtxrankError) as refused:
        allow(store.location, store.primary, str(tmp_path))
    assert "CTXRANK_ROOT" in (refused.value.hint or "")
