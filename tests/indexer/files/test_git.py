"""git is run in one module, and a checkout's configuration makes it run nothing else."""

import ast
import os
import subprocess
import time
from pathlib import Path

import pytest
from git_tree import git

from ctxrank.indexer.errors.tree_changes import changes_between, note_tree
from ctxrank.indexer.extensions import EXTENSIONS
from ctxrank.indexer.files.git import MAX_SECONDS, find_repository, git_on

ROOT = Path(__file__).parents[3]
_SOON_S = MAX_SECONDS / 2  # after MAX_SECONDS what waits for a pipe is ended
# Each module that starts a process or becomes another program, and why.
STARTERS = {
    "extensions/mcp/serve.py": "itself, to follow the disk beside what it serves",
    "cli/streams.py": "itself again, in UTF-8, before anything is begun",
    "cli/actions/errors/passthrough.py": "the command that a user gives `error run`",
    "extensions/bazinga/bazinga_db.py": "ctxrank, for a python3 that lacks it",
    "extensions/bazinga/switch/placed_switch.py": "ctxrank, for a python3 of the predecessor's that lacks it",
    "indexer/fulltext/background.py": "itself, to index beside a large import or index run",
    "indexer/store/one_process.py": "itself, to exchange with a team's log or measure a floor while nobody waits",
    "indexer/systems.py": "the list of mounts of macOS, for doctor",
    "indexer/files/git.py": "git, which is not shown what a checkout configures",
}
_STARTING = {
    "subprocess", "multiprocessing", "pty", "popen", "system", "fork", "forkpty", "execv", "execve", "execvp", "execl",
    "execvpe", "execlp", "posix_spawn", "posix_spawnp", "spawnv", "spawnvp", "spawnl", "create_subprocess_exec",
    "create_subprocess_shell",
}  # fmt: skip


def _starts(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(name.name for name in node.names)]
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "asyncio")
        ):
            names = [node.attr]
        if not _STARTING.isdisjoint(part for name in names for part in name.split(".")):
            return True
    return False


@pytest.mark.slow
@pytest.mark.needs(*EXTENSIONS)
def test_no_other_module_starts_a_process() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for top in ("cli", "extensions", "indexer", "ranking")
        for path in (ROOT / top).rglob("*.py")
        if _starts(path)
    }
    assert found == set(STARTERS)


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """A checkout whose configuration runs a program in each way there is; the program leaves a mark."""
    folder, marks = tmp_path / "checkout", tmp_path / "marks"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / "b.bin").write_text("one\n")
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n*.bin filter=long diff=evil\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (tmp_path / "hooks").mkdir()
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marks}'\ncat\n")
    evil.chmod(0o755)
    for hook in ("post-index-change", "fsmonitor-watchman", "query-watchman"):
        (tmp_path / "hooks" / hook).symlink_to(evil)
    settings = {
        "core.fsmonitor": evil, "core.hooksPath": tmp_path / "hooks", "core.pager": evil, "diff.external": evil,
        "diff.evil.command": evil, "diff.evil.textconv": evil, "filter.evil.clean": evil, "filter.evil.smudge": evil,
        "filter.evil.required": "true", "filter.long.process": evil, "log.showSignature": "true", "gpg.program": evil,
        "core.sshCommand": evil, "credential.helper": evil, "core.askPass": evil, "core.editor": evil,
        "remote.origin.url": f"ext::{evil}", "remote.origin.promisor": "true", "extensions.partialClone": "origin",
    }  # fmt: skip
    for name, value in settings.items():
        git(folder, "config", name, str(value))
    return folder, marks


def test_a_checkouts_configuration_runs_nothing(hostile: tuple[Path, Path]) -> None:
    folder, marks = hostile
    (folder / "a.txt").write_text("two\n")
    (folder / "b.bin").write_text("two\n")
    (folder / "new.py").write_text("x = 1\n")
    tree = note_tree(str(folder), str(folder.parent))
    assert tree.commit and set(tree.differing) == {"a.txt", "b.bin"}
    (folder / "a.txt").write_text("three\n")
    assert {"a.txt", "new.py"} <= set(changes_between(str(folder), tree, 0, 2**53, str(folder.parent)).names)
    assert not marks.exists()
    subprocess.run(["git", "-C", str(folder), "diff", "--stat"], capture_output=True, timeout=60)
    assert marks.exists(), "the program would have been run"


def _changed_since_the_commit(folder: Path) -> set[str]:
    return set(
        changes_between(str(folder), note_tree(str(folder), str(folder.parent)), 0, 2**53, str(folder.parent)).names
    )


def test_a_checkouts_configuration_leads_git_to_no_other_folder(tmp_path: Path) -> None:
    folder, private = tmp_path / "checkout", tmp_path / "private"
    for made in (folder / "src", private):
        made.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "src" / "a.py").write_text("x = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (private / "diary.md").write_text("mine\n")
    (folder / "src" / "new.py").write_text("x = 1\n")
    git(folder, "config", "core.worktree", str(private))
    assert _changed_since_the_commit(folder) == {"src/new.py"}


def test_a_git_file_that_leads_into_another_project_is_not_followed(tmp_path: Path) -> None:
    folder, private = tmp_path / "checkout", tmp_path / "private"
    for made in (folder, private):
        made.mkdir()
    git(private, "init", "-q")
    (private / "diary.md").write_text("mine\n")
    git(private, "add", ".")
    git(private, "commit", "-qm", "one")
    (folder / ".git").write_text(f"gitdir: {private / '.git'}\n")
    assert note_tree(str(folder), str(folder.parent)).commit == ""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "src" / "a.py").write_text("x = 1\n")
    (folder / ".gitignore").write_text("ignored/\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.mark.parametrize("place", ["src/.gitignore", "src/.gitattributes", ".gitattributes", ".gitmodules"])
def test_git_waits_for_no_pipe_in_a_checkout(place: str, checkout: Path) -> None:
    os.mkfifo(checkout / place)
    (checkout / "src" / "a.py").write_text("x = 22\n")
    (checkout / "src" / "new.py").write_text("y = 1\n")
    began = time.monotonic()
    assert {"src/a.py", "src/new.py"} <= _changed_since_the_commit(checkout)
    assert time.monotonic() - began < _SOON_S


def test_git_waits_for_no_pipe_in_the_place_of_its_index(checkout: Path) -> None:
    (checkout / ".git" / "index").unlink()
    os.mkfifo(checkout / ".git" / "index")
    began = time.monotonic()
    assert note_tree(str(checkout), str(checkout.parent)).differing == ()
    assert time.monotonic() - began < _SOON_S


def test_untracked_files_are_those_that_git_would_name(checkout: Path) -> None:
    inner = checkout / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    for path in ("ignored/a.py", "inner/a.py", "src/new.py", "odd name.py", "straße.py"):
        (checkout / path).parent.mkdir(exist_ok=True)
        (checkout / path).write_text("y = 1\n")
    listed = subprocess.run(
        ["git", "-C", str(checkout), "ls-files", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    named = {name for name in listed.split("\0") if name and not name.endswith("/")}  # with a slash: a repository
    assert _changed_since_the_commit(checkout) == named == {"src/new.py", "odd name.py", "straße.py"}
    assert _changed_since_the_commit(checkout / "src") == {"new.py"}


def test_one_process_reads_files_of_several_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a folder").mkdir()
    texts = (b"", b"\n", b"one\0\n\ntwo", b"x" * 70_000 + b"\n")
    for number, text in enumerate(texts):
        (tmp_path / "a folder" / "a.py").write_bytes(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", str(number))
    commits = git(tmp_path, "rev-list", "--reverse", "HEAD").split()
    repository = find_repository(str(tmp_path))
    assert repository is not None
    names = [f"{commit}:{path}" for commit in commits for path in ("a folder/a.py", "a folder", "no 7", "a\nb", "a 5")]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with git_on(repository, str(scratch)) as git_:
        assert [text for _, text in git_.files(names)] == list(texts)
    assert not list(scratch.iterdir())
