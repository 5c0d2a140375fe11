"""Where a store is found, and how it is said that there is none."""

import os
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.location import (
    at,
    find_store,
    git_folder,
    has_worktree,
    own_files,
    refuse_foreign,
    root_name,
)


def worktree(main: Path, linked: Path, *, gitdir: Path | None = None) -> Path:
    """A linked worktree as git leaves it: a `.git` file that points into the main one's, and a way back."""
    inside = gitdir or main / ".git" / "worktrees" / linked.name
    inside.mkdir(parents=True)
    linked.mkdir(parents=True)
    (inside / "gitdir").write_text(f"{linked / '.git'}\n")
    (linked / ".git").write_text(f"gitdir: {inside}\n")
    return linked


def test_the_nearest_store_upwards_is_the_one(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    make_store(tmp_path / "inner").close()
    deep = tmp_path / "inner" / "src" / "deep"
    deep.mkdir(parents=True)
    assert find_store(start=str(deep)).root == str(tmp_path / "inner")
    assert find_store(start=str(tmp_path)).root == str(tmp_path)


def test_the_projects_own_root_has_one_name_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert root_name(str(tmp_path / "link"), str(tmp_path)) == "."
    assert root_name("/", str(tmp_path)) == "/"


def test_a_folder_without_a_store_in_it_is_passed_over(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    (tmp_path / "inner" / ".ctxrank").mkdir(parents=True)
    assert find_store(start=str(tmp_path / "inner")).root == str(tmp_path)


def test_a_named_store_goes_before_the_environment_and_that_before_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("near", "named", "environment"):
        make_store(tmp_path / name).close()
    near = str(tmp_path / "near")
    monkeypatch.setenv("CTXRANK_DB", str(tmp_path / "environment/.ctxrank/ctxrank.db"))
    assert find_store(start=near).root == str(tmp_path / "environment")
    assert find_store(str(tmp_path / "named/.ctxrank/ctxrank.db"), start=near).root == str(tmp_path / "named")
    monkeypatch.delenv("CTXRANK_DB")
    assert find_store(start=near).root == near


def test_the_stores_folder_names_it_too(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    assert find_store(str(tmp_path / ".ctxrank")).primary == str(tmp_path / ".ctxrank/ctxrank.db")


def test_no_store_says_how_to_make_one(tmp_path: Path) -> None:
    for db in (None, str(tmp_path / "absent.db")):
        with pytest.raises(NoStoreError) as refused:
            open_store(db, start=str(tmp_path))
        assert "ctxrank init" in refused.value.hint
        assert refused.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_a_linked_worktree_shares_the_main_ones_store(tmp_path: Path) -> None:
    make_store(tmp_path / "main").close()
    linked = worktree(tmp_path / "main", tmp_path / "elsewhere" / "feature")
    (linked / "src").mkdir()
    assert find_store(start=str(linked / "src")).primary == str(tmp_path / "main/.ctxrank/ctxrank.db")


def test_files_of_a_linked_worktree_are_its_own(tmp_path: Path) -> None:
    make_store(tmp_path / "main").close()
    linked = worktree(tmp_path / "main", tmp_path / "elsewhere" / "feature")
    location = find_store(start=str(linked))
    assert (location.root, location.project) == (str(linked), str(tmp_path / "main"))


def test_a_worktree_of_its_own_store_keeps_it(tmp_path: Path) -> None:
    make_store(tmp_path / "main").close()
    linked = worktree(tmp_path / "main", tmp_path / "elsewhere" / "feature")
    make_store(linked).close()
    assert find_store(start=str(linked)).root == str(linked)


def test_a_submodule_and_a_bare_repository_share_nothing(tmp_path: Path) -> None:
    make_store(tmp_path / "main").close()
    module = worktree(tmp_path, tmp_path / "module", gitdir=tmp_path / "main/.git/modules/module")
    bare = worktree(tmp_path, tmp_path / "bare", gitdir=tmp_path / "main/repository.git/worktrees/bare")
    for folder in (module, bare):
        with pytest.raises(NoStoreError):
            find_store(start=str(folder))


@pytest.mark.parametrize("back", [None, "", "/elsewhere/.git\n", "\0", "x" * 100_000])
def test_a_git_file_without_a_way_back_is_as_if_absent(tmp_path: Path, back: str | None) -> None:
    """A checkout may hold one that leads to any project of the user's, whose store would be read and written."""
    make_store(tmp_path / "private").close()
    worktree(tmp_path / "private", tmp_path / "linked")
    clone = tmp_path / "clone"
    clone.mkdir()
    inside = tmp_path / "private" / ".git" / "worktrees" / "linked"
    (clone / ".git").write_text(f"gitdir: {inside}\n")
    if back is not None:
        (inside / "gitdir").write_text(back)
    with pytest.raises(NoStoreError):
        find_store(start=str(clone))


@pytest.mark.parametrize("marker", ["", "gitdir:", "gitdir: \0/.git/worktrees/x", "x" * 100_000])
def test_a_git_file_of_anything_is_as_if_absent(tmp_path: Path, marker: str) -> None:
    (tmp_path / ".git").write_text(marker)
    with pytest.raises(NoStoreError):
        find_store(start=str(tmp_path))


def test_a_named_pipe_in_the_place_of_gits_files_is_not_waited_for(tmp_path: Path) -> None:
    linked = worktree(tmp_path / "main", tmp_path / "linked")
    inside = tmp_path / "main" / ".git" / "worktrees" / "linked"
    for path in (inside / "gitdir", linked / ".git"):
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(NoStoreError):
            find_store(start=str(linked))


def test_a_worktree_in_a_submodule_of_another_is_found(tmp_path: Path) -> None:
    """What leads nowhere does not hide what lies above it."""
    make_store(tmp_path / "main").close()
    linked = worktree(tmp_path / "main", tmp_path / "linked")
    module = linked / "module"
    module.mkdir()
    (module / ".git").write_text(f"gitdir: {tmp_path}/main/.git/modules/module\n")
    assert find_store(start=str(module)).project == str(tmp_path / "main")


def test_the_root_is_beside_the_stores_folder_unless_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary = str(tmp_path / ".ctxrank" / "ctxrank.db")
    (tmp_path / "docs").mkdir()
    assert at(primary).root == str(tmp_path)
    monkeypatch.setenv("CTXRANK_ROOT", str(tmp_path / "docs"))
    assert at(primary).root == str(tmp_path / "docs")
    assert at(primary, str(tmp_path)).root == str(tmp_path)


def test_a_root_that_is_no_folder_is_refused_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--root nowhere"):
        at(str(tmp_path / ".ctxrank/ctxrank.db"), "nowhere")
    monkeypatch.setenv("CTXRANK_ROOT", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="CTXRANK_ROOT"):
        at(str(tmp_path / ".ctxrank/ctxrank.db"))


def test_a_store_of_another_name_has_its_index_beside_it(tmp_path: Path) -> None:
    location = at(str(tmp_path / "team.db"))
    assert location.index_file == str(tmp_path / "team.index.db")
    assert location.root == str(tmp_path)


def test_every_path_of_a_location_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    *paths, must_prove = find_store(".ctxrank/ctxrank.db")
    assert all(os.path.isabs(path) for path in paths) and not must_prove


@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "/dev/null"])
def test_what_is_named_and_is_no_file_is_said_and_not_waited_for(what: str, tmp_path: Path) -> None:
    if what == "pipe":
        what = str(tmp_path / what)
        os.mkfifo(what)
    with pytest.raises(CtxrankError, match="is no regular file"):
        open_store(what)


def test_a_folder_that_a_store_was_in_is_named_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path).close()
    home = tmp_path / "below" / ".ctxrank"
    home.mkdir(parents=True)
    assert find_store(start=str(home.parent)).folder == str(tmp_path / ".ctxrank")  # an empty one holds nothing
    (home / "index.db").touch()
    with pytest.raises(NoStoreError, match=r"holds an index, but ctxrank\.db is gone"):
        find_store(start=str(home.parent))

    def is_readable(path: str, _: int) -> bool:
        return path != str(home)

    monkeypatch.setattr(os, "access", is_readable)
    with pytest.raises(CtxrankError, match="cannot be read"):
        find_store(start=str(home.parent))


def test_a_store_is_opened_by_the_name_of_its_own_file(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    primary = tmp_path / ".ctxrank" / "ctxrank.db"
    (tmp_path / "other.db").symlink_to(primary)
    with pytest.raises(CtxrankError, match="is a link, and a store is opened by the name"):
        find_store(str(tmp_path / "other.db"))
    (tmp_path / "home").symlink_to(tmp_path / ".ctxrank")
    with pytest.raises(CtxrankError, match="is a link, and a store that is found through one"):
        refuse_foreign(str(tmp_path / "home" / "ctxrank.db"))
    refuse_foreign(str(primary))
    os.mkfifo(f"{primary}-journal", 0o600)
    for refuse in (refuse_foreign, find_store):
        with pytest.raises(CtxrankError, match="-journal is no regular file"):
            refuse(str(primary))


def test_what_is_neither_a_folder_nor_a_file_holds_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o600)
    with pytest.raises(CtxrankError, match="file is no folder"):
        refuse_foreign(str(tmp_path / "file" / "ctxrank.db"))
    (tmp_path / "home" / "ctxrank.db").mkdir(parents=True)
    (tmp_path / "home").chmod(0o700)
    with pytest.raises(CtxrankError, match=r"ctxrank\.db is no file"):
        refuse_foreign(str(tmp_path / "home" / "ctxrank.db"))


def test_git_keeps_a_folder_for_a_checkout_and_a_list_of_its_worktrees(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    assert git_folder(str(main)) == "" and not has_worktree(str(main), str(linked))
    worktree(main, linked)
    own = main / ".git" / "worktrees" / "linked"
    assert git_folder(str(main)) == str(main / ".git") and git_folder(str(linked)) == str(own)
    assert has_worktree(str(main), str(linked)) and not has_worktree(str(main), str(main))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / ".git").symlink_to(main / ".git")
    assert git_folder(str(tmp_path / "copy")) == ""


def test_the_files_of_a_store_are_those_in_its_own_folder(tmp_path: Path) -> None:
    location = at(str(tmp_path / ".ctxrank" / "ctxrank.db"))
    names = {os.path.relpath(path, tmp_path / ".ctxrank") for path in own_files(location)}
    assert {"ctxrank.db", "ctxrank.db-wal", "index.db", "watch.lock", "serve.lock"} <= names
    assert not any(os.sep in name for name in names)
