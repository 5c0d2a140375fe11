"""What changed in a folder since a moment: the files that a failing command may have been fixed by.

In a git tree the commit and what differed from it are noted when the command fails; later counts what differs from
that commit and was written since. Elsewhere, the files that were written since. Names, and not many; of files that did
not differ when the command failed, also the lines that changed.

Git opens the ignore and attribute files of a checkout and waits for a pipe in the place of one. So ignore files are
read by our own walk, and where an attribute file is no plain one git does not look at the files: any may differ.
"""

import os
import stat
import sys
from collections.abc import Iterator
from itertools import islice

from ctxrank.indexer.errors.failed_commands import TreeState
from ctxrank.indexer.files.git import Git, GitError, Repository, commit_of, find_repository, git_on
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.files.walk import Selection, Skipped, Unreadable, walk
from ctxrank.indexer.light_typing import NamedTuple

MAX_NAMES = 200
_MAX_FILES_SEEN = 20_000
# What a run itself writes, and no person edits.
_SKIPPED_FOLDERS_TEXT = """
    .git .hg .svn .ctxrank node_modules __pycache__ .venv venv target dist build .tox .pytest_cache .mypy_cache
    .ruff_cache .hypothesis .gradle .idea
"""
_SKIPPED_FOLDERS = frozenset(_SKIPPED_FOLDERS_TEXT.split())
# Ignore files are git's, and outside a git tree they say nothing about what a person edits.
_EVERY_FILE = Selection(skipped=frozenset(), skipped_folders=_SKIPPED_FOLDERS, ignore_files=(), max_bytes=sys.maxsize)
_NAMES = ("--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative", "-z")
_DIFF = ("diff", *_NAMES)
_DIFF_OF_INDEX = ("diff-index", "--cached", *_NAMES)
_LINES = (
    *("--literal-pathspecs", "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--relative"),
    *("--no-color", "--no-renames", "--unified=0", "--src-prefix=", "--dst-prefix="),
)
_KNOWN = ("ls-files", "--cached", "-z")
_UNTRACKED = Selection(
    skipped=frozenset({".git"}), skipped_folders=_SKIPPED_FOLDERS, ignore_files=(".gitignore",), max_bytes=sys.maxsize
)
_MAX_WALKED = 200_000
_SKIPPED_ENDS = (".pyc", ".log", ".tmp", ".swp", "~")


class TreeChanges(NamedTuple):
    """Files written or removed in between, by name; `is_complete` is False where more were than are named."""

    names: tuple[str, ...]
    is_complete: bool


def note_tree(root: str, scratch: str) -> TreeState:
    """The folder as it is now; git's own folder for this task is made in `scratch`.

    Files that git does not know are not looked for: the walk costs more than all else at a failure, and those that are
    written later are found later.
    """
    commit = commit_of(root)
    if not commit:
        return TreeState()
    names = _differing(root, commit, scratch, with_new=False)[:MAX_NAMES]
    return TreeState(
        commit, tuple(names), tuple(name for name in names if not os.path.lexists(os.path.join(root, name)))
    )


def changes_between(root: str, tree: TreeState, since_us: int, until_us: int, scratch: str) -> TreeChanges:
    """The files below `root` that were written between two moments, or removed, in order of their names."""
    span = range(since_us * 1000, until_us * 1000 + 1)
    if not tree.commit:
        return _written_in(root, span)
    names = dict.fromkeys([*_differing(root, tree.commit, scratch, with_new=True), *tree.differing])
    found = sorted(
        name
        for name in names
        if _is_of_interest(name) and _is_written(root, name, span, if_gone=name not in tree.missing)
    )
    return TreeChanges(tuple(found[:MAX_NAMES]), len(found) <= MAX_NAMES)


def changed_lines(root: str, tree: TreeState, names: tuple[str, ...], scratch: str) -> list[str]:
    """What was taken out of files and put into them since a command failed: lines with - and +, below each one's name.

    Nothing can be said of a file that differed from the commit by then, and of one that git does not know; nothing is
    said of a hidden one.
    """
    given = [name for name in names if name not in tree.differing and "/." not in f"/{name}"]
    if not (tree.commit and given):
        return []
    try:
        repository = find_repository(root)
        if repository is None:
            return []
        with git_on(repository, scratch) as git:
            if not _has_plain_attributes(repository, _names(git, *_KNOWN)):
                return []
            told = b"\0".join(git.records(*_LINES, tree.commit, "--", *given, has_worktree=True))
    except GitError:
        return []
    lines: list[str] = []
    is_head = True
    for line in told.decode("utf-8", "replace").split("\n"):
        if line.startswith("diff --git "):
            is_head = True
        elif line.startswith("@@ "):
            is_head = False
        elif is_head and line[:3] in (3 * "-", 3 * "+"):
            if line[4:] != "/dev/null" and line[4:] not in lines[-1:]:
                lines.append(line[4:])
        elif not is_head and line.startswith(("-", "+")):
            lines.append(line)
    return lines


def _differing(root: str, commit: str, scratch: str, *, with_new: bool) -> list[str]:
    """What differs from a commit, committed since or not, and `with_new` files that git neither knows nor ignores.

    Nothing where git cannot answer.
    """
    names: list[str] = []
    try:
        repository = find_repository(root)
        if repository is not None:
            with git_on(repository, scratch) as git:
                known = _names(git, *_KNOWN)
                if _has_plain_attributes(repository, known):
                    names += _names(git, *_DIFF, commit, "--", os.curdir)
                else:
                    names += [*_names(git, *_DIFF_OF_INDEX, commit, "--", os.curdir), *known]
                names += _untracked(repository, set(known)) if with_new else ()
    except GitError:
        pass
    return names


def _names(git: Git, *words: str) -> list[str]:
    return [os.fsdecode(name) for name in git.records(*words, has_worktree=True)]


def _has_plain_attributes(repository: Repository, names: list[str]) -> bool:
    """Whether git, to compare these files' contents, opens no attribute file that is none."""
    folders, prefix = {""}, repository.prefix
    for folder in {(prefix + name).rpartition("/")[0] for name in names}:
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    for folder in folders:
        try:
            info = os.lstat(os.path.join(repository.top, folder, ".gitattributes"))
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode):
            return False
    return True


def _untracked(repository: Repository, known: set[str]) -> Iterator[str]:
    """Files below the folder that git does not know and no ignore file hides, without those of repositories in it."""
    is_of_another = {"": False}
    prefix = repository.prefix
    for entry in islice(walk(repository.top, prefix.rstrip("/"), _UNTRACKED), _MAX_WALKED):
        name = entry.path.removeprefix(prefix)
        folder = os.path.dirname(name)
        above: list[str] = []
        while folder not in is_of_another:
            above.append(folder)
            folder = os.path.dirname(folder)
        for below in reversed(above):
            has_git = os.path.lexists(os.path.join(repository.folder, below, ".git"))
            is_of_another[below] = has_git or is_of_another[os.path.dirname(below)]
        if not isinstance(entry, Unreadable) and name not in known and not is_of_another[os.path.dirname(name)]:
            yield name


def _is_written(root: str, name: str, span: range, *, if_gone: bool = False) -> bool:
    """Whether a file was written in a span of time, and the answer for one that is no longer there."""
    try:
        return os.lstat(os.path.join(root, name)).st_mtime_ns in span
    except OSError:
        return if_gone


def _written_in(root: str, span: range) -> TreeChanges:
    """By the clock of the file system; what was removed leaves no trace there."""
    found: list[str] = []
    for seen, entry in enumerate(walk(root, selection=_EVERY_FILE), start=1):
        if seen > _MAX_FILES_SEEN or len(found) > MAX_NAMES:
            return TreeChanges(tuple(sorted(found)[:MAX_NAMES]), False)
        if not _is_of_interest(entry.path):
            continue
        if isinstance(entry, Skipped):  # a link has a time of its own
            is_written = not os.path.isdir(os.path.join(root, entry.path)) and _is_written(root, entry.path, span)
        else:
            is_written = isinstance(entry, FoundFile) and entry.mtime_ns in span
        if is_written:
            found.append(entry.path)
    return TreeChanges(tuple(sorted(found)[:MAX_NAMES]), len(found) <= MAX_NAMES)


def _is_of_interest(name: str) -> bool:
    return not name.endswith(_SKIPPED_ENDS) and _SKIPPED_FOLDERS.isdisjoint(name.split("/")[:-1])
