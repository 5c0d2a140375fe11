"""Whose a file of a checkout is: the user's own, or of a commit that came with it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from git_tree import git

from ctxrank.indexer.files.authors import Commit, foreign_commits, last_commits
from ctxrank.indexer.files.git import commit_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of Me@Example.org: mine.md is by them, hers.md by Ada, both.md by Ada after them."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    with open(folder / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(
            '[user] # me\n\tname = Me\n\temail = "Me@Example.org" ; at work\n[other]\n\temail = ada@example.org\n'
        )
    for number, (email, names) in enumerate((("me@example.org", "mine both"), ("ada@example.org", "hers both")), 1):
        for name in names.split():
            (folder / f"{name}.md").write_text(f"{name} {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x", name="Ada <x>", email=email, at=1000 * number)
    return folder


_ALL = {"mine.md", "hers.md", "both.md", "never.md"}


def test_what_another_one_committed_last_is_theirs(checkout: Path, tmp_path: Path) -> None:
    found = foreign_commits(str(checkout), _ALL, str(tmp_path))
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert {path: (one.id, one.author, one.email, one.seconds) for path, one in found.items()} == dict.fromkeys(
        ("hers.md", "both.md"), (head, "Ada x", "ada@example.org", 2000)
    )
    assert foreign_commits(str(checkout), {"hers.md"}, str(tmp_path)).keys() == {"hers.md"}
    assert foreign_commits(str(checkout), set(), str(tmp_path)) == {}


def test_what_differs_from_the_last_commit_is_the_users_own(checkout: Path, tmp_path: Path) -> None:
    (checkout / "hers.md").write_text("mine now\n")
    assert foreign_commits(str(checkout), _ALL, str(tmp_path)).keys() == {"both.md"}


@pytest.mark.parametrize("name", ["GIT_AUTHOR_EMAIL", "EMAIL"])
def test_the_environment_names_the_user_too(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "ADA@example.org")
    assert foreign_commits(str(checkout), _ALL, str(tmp_path)) == {}


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config"])
def test_so_does_the_users_configuration(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    path = tmp_path / "home" / place
    path.parent.mkdir(parents=True)
    path.write_text("[user]\nEmail=ada@example.org\n")
    assert foreign_commits(str(checkout), _ALL, str(tmp_path)) == {}


@pytest.mark.parametrize(("size", "is_read"), [(64 * 1024, True), (64 * 1024 + 1, False)])
def test_the_first_64_kib_of_a_configuration_are_read(checkout: Path, tmp_path: Path, size: int, is_read: bool) -> None:
    path = tmp_path / "home" / ".gitconfig"
    path.parent.mkdir(parents=True, exist_ok=True)
    own = "[user]\nemail=ada@example.org"
    path.write_text(f"#{'x' * (size - len(own) - 2)}\n{own}")
    assert (foreign_commits(str(checkout), _ALL, str(tmp_path)) == {}) == is_read


@pytest.mark.parametrize(
    ("cloned_at", "did", "paths"),
    [
        (1500, "clone: from https://x", {"mine.md", "hers.md", "both.md"}),
        (1000, "clone: from https://x", {"hers.md", "both.md"}),
        (1500, "commit (initial): x", {"hers.md", "both.md"}),
    ],
)
def test_what_was_there_when_the_checkout_was_cloned_came_with_it(
    checkout: Path, tmp_path: Path, cloned_at: int, did: str, paths: set[str]
) -> None:
    log = checkout / ".git" / "logs" / "HEAD"
    log.write_text(f"{'0' * 40} {'1' * 40} Me <me@example.org> {cloned_at} +0100\t{did}\n{log.read_text()}")
    assert foreign_commits(str(checkout), _ALL, str(tmp_path)).keys() == paths


def test_where_git_cannot_be_asked_all_is_the_users_own(checkout: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert (
        foreign_commits(str(plain), _ALL, str(tmp_path))
        == last_commits(str(plain), _ALL, str(tmp_path), "a" * 40, {})
        == {}
    )
    no_folder = str(tmp_path / "none")  # in which git's own could be made, as on a disk that is full
    assert foreign_commits(str(checkout), _ALL, no_folder) == {}
    assert last_commits(str(checkout), _ALL, no_folder, "a" * 40, {}) == {}
    shutil.rmtree(checkout / ".git" / "objects")
    assert foreign_commits(str(checkout), _ALL, str(tmp_path)) == {}
    assert last_commits(str(checkout), _ALL, str(tmp_path), "a" * 40, {}) == {}


def test_no_more_of_a_history_is_read_than_is_asked_for(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touches(*_: object) -> Iterator[tuple[str, Commit, bool]]:
        yield "both.md", Commit("c", "a"), False
        raise AssertionError("every path has its commit")

    monkeypatch.setattr("ctxrank.indexer.files.authors.touches", touches)
    assert last_commits(str(checkout), {"both.md"}, str(tmp_path), "a" * 40, {}).keys() == {"both.md"}


def test_the_last_commits_since_another_one_below_a_folder(checkout: Path, tmp_path: Path) -> None:
    first = git(checkout, "rev-parse", "HEAD~1").strip()
    found = last_commits(str(checkout), _ALL, str(tmp_path), first, {})
    assert found.keys() == {"hers.md", "both.md"} and {one.seconds for one in found.values()} == {2000}
    assert last_commits(str(checkout), {"both.md"}, str(tmp_path), first, {}).keys() == {"both.md"}
    (checkout / "sub").mkdir()
    (checkout / "sub" / "a.md").write_text("x")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "x", email="eve@example.org", name="?!", at=3000)
    below = foreign_commits(str(checkout / "sub"), {"a.md", "hers.md"}, str(tmp_path))
    assert {path: one.author for path, one in below.items()} == {"a.md": "unknown"}


def test_the_commit_that_is_checked_out_is_read_from_files(checkout: Path) -> None:
    head, own = git(checkout, "rev-parse", "HEAD").strip(), checkout / ".git"
    assert commit_of(str(checkout)) == head
    git(checkout, "pack-refs", "--all")
    packed = (own / "packed-refs").read_text()
    (own / "packed-refs").write_text("".join(f"{'0' * 40} refs/heads/a{at:03}\n" for at in range(999)) + packed)
    assert not (own / "refs" / "heads" / "main").exists() and commit_of(str(checkout)) == head
    for text, found in (
        (head, head),
        (f"{head}\n", head),
        (head[:39], ""),
        ("ref: refs/heads/none", ""),
        ("ref: HEAD", ""),
        ("ref: refs/../HEAD", ""),
        ("ref: refs/heads/.x", ""),
        ("", ""),
        ("x" * 40, ""),
        (head + "a" * 24, head + "a" * 24),
    ):
        (own / "HEAD").write_text(text)
        assert commit_of(str(checkout)) == found, text
    for depth, found in ((4, head), (5, "")):
        for number in range(depth):
            (own / "refs" / f"r{number}").write_text(f"ref: refs/r{number + 1}" if number + 1 < depth else head)
        (own / "HEAD").write_text("ref: refs/r0")
        assert commit_of(str(checkout)) == found, depth
