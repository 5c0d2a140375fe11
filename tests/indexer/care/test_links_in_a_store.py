"""Links in the place of a store's files: nothing is read or written through one, and what is wrong is said."""

import os
from pathlib import Path

import pytest
from builders import Answer, answer_of, make_store, save

from ctxrank.cli.main import run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store; the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    with make_store(folder) as store:
        save(store, "a.md", "walrus")
    monkeypatch.chdir(folder)
    return folder


def call(*words: str) -> Answer:
    return answer_of(lambda: run(list(words)))


def test_no_store_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir(mode=0o755)
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / ".ctxrank").symlink_to(tmp_path / "victim")
    answer = call("init", str(tmp_path / "clone"))
    assert answer.code == 6 and "is a link" in answer.err
    assert list((tmp_path / "victim").iterdir()) == [] and (tmp_path / "victim").stat().st_mode & 0o777 == 0o755


def test_a_store_that_is_reached_through_a_link_is_not_found(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / ".ctxrank").symlink_to(project / ".ctxrank")
    monkeypatch.chdir(tmp_path / "clone")
    for words in (["search", "walrus"], ["init"], ["index"]):
        answer = call(*words)
        assert answer.code == 6 and "is a link" in answer.err and "Remove the link" in answer.err, words
    assert call("--db", ".ctxrank/ctxrank.db", "search", "walrus").code == 0  # a folder that is named may be one


def test_a_database_that_is_a_link_is_refused_under_any_name(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(project / ".ctxrank" / "ctxrank.db")
    answer = call("--db", str(tmp_path / "link.db"), "search", "walrus")
    assert answer.code == 6 and f"--db {project}/.ctxrank/ctxrank.db" in answer.err
    assert [path.name for path in tmp_path.glob("link*")] == ["link.db"]


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_that_is_a_link_is_said_and_doctor_reports_it(project: Path, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "precious").write_text("mine")
    (project / ".ctxrank" / f"ctxrank.db{suffix}").symlink_to(tmp_path / "precious")
    answer = call("search", "walrus")
    assert answer.code == 6 and f"ctxrank.db{suffix} is a link" in answer.err and "Remove the link" in answer.err
    found = {finding["id"]: finding for finding in call("--json", "doctor").json()["findings"]}
    assert found["links"]["result"] == "fail" and found["links"]["evidence"] == f"ctxrank.db{suffix} is a link"
    assert call("doctor").code == call("doctor", "--repair", "apply").code == 5
    assert (tmp_path / "precious").read_text() == "mine"
    (project / ".ctxrank" / f"ctxrank.db{suffix}").unlink()
    assert call("search", "walrus").code == 0


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_an_index_that_is_a_link_is_removed_and_made_anew(project: Path, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "precious").write_text("mine")
    path = project / ".ctxrank" / f"index.db{suffix}"
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "precious")
    answer = call("--json", "search", "walrus").json()
    assert (answer["outcome"], answer["engine"], answer["total"]) == ("matched", "fts5", 1)
    assert not path.is_symlink() and (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", ["backups", "index.lock", "follow.lock"])
def test_doctor_names_links_that_nothing_was_written_through(project: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / ".ctxrank" / name).unlink(missing_ok=True)
    (project / ".ctxrank" / name).symlink_to(tmp_path / "elsewhere" / "file")
    answer = call("doctor")
    assert answer.code == 5 and f"{name} is a link" in answer.out
    for words in (["index"], ["search", "walrus"], ["rebuild"]):
        assert call(*words).code == 0
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_repair_writes_no_copy_through_a_link(project: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    (victim / "notes.txt").write_text("mine")
    (victim / "notes.txt").chmod(0o644)
    (project / ".ctxrank" / "backups").symlink_to(victim)
    index = project / ".ctxrank" / "index.db"
    os.truncate(index, 5000)
    (project / ".ctxrank" / ".trial-999999999").mkdir()
    answer = call("doctor", "--repair", "apply")
    assert answer.code == 6 and "backups is a link" in answer.err and "Remove the link" in answer.err
    assert [path.name for path in victim.iterdir()] == ["notes.txt"]
    assert (victim / "notes.txt").stat().st_mode & 0o777 == 0o644 and victim.stat().st_mode & 0o777 == 0o755
