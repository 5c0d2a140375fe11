"""Who wrote a file of a checkout: the user, or somebody whose commit came with it.

    foreign_commits(root, {"notes/locks.md"})       {"notes/locks.md": Commit("4f1c…", "Ada")}

A file is the user's own where it is in no commit, or differs from the last one, or that is by their `user.email` and
was made here. What was there when the checkout was cloned came with it, whoever wrote it: the reflog's first line says
when that was.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

from ctxrank.indexer.beneath import read_part
from ctxrank.indexer.files.git import Git, GitError, Repository, find_repository, git_on
from ctxrank.indexer.light_typing import NamedTuple

_MAX_CONFIG_BYTES = 64 * 1024
_MAX_NAME_CHARS = 40
# -c: of a merge what it changed itself: what it brings was written by those whose commits it joins.
_LOG = (
    "log -z -c --raw --abbrev=4 --no-renames --no-ext-diff --no-textconv --no-show-signature --no-notes --no-mailmap"
    " --no-color --format=@%m%H\x01%ct\x01%ae\x01%an"
)
_COMMIT_LINE = re.compile(rb"@([<>])([0-9a-f]+)\x01(-?\d{1,18})\x01([^\x01]*)\x01(.*)", re.S)
_DIFF = "diff -z --name-only --no-ext-diff --no-textconv --ignore-submodules=all --relative"


class Commit(NamedTuple):
    """A commit, and who made it; of `A...B` it may be one that A alone has."""

    id: str
    author: str
    email: str = ""
    seconds: int = 0  # since 1970
    is_left: bool = False


# What git was asked already: the last commits of the files that were touched, by the folder, and since which commit up
# to which one.
Asked = dict[tuple[str, str, str], dict[str, Commit]]


def foreign_commits(root: str, paths: set[str], scratch: str) -> dict[str, Commit]:
    """The last commits of those of the paths, relative to the root, that came with the repository, each with its author
    as letters and digits alone: a person typed it.

    All are the user's own where there is no checkout, or git cannot be asked.
    """
    try:
        repository = find_repository(root)
        if repository is None or not paths:
            return {}
        emails, cloned_at = set(_emails(repository)), _cloned_at(repository)
        found: dict[str, Commit] = {}
        own: set[str] = set()
        with git_on(repository, scratch) as git:
            for path, commit, _ in touches(git, [repository.head], paths):
                is_foreign = commit.email.lower() not in emails or commit.seconds < cloned_at
                if path not in own and is_foreign:
                    words = "".join(char if char.isalnum() else " " for char in commit.author).split()
                    author = " ".join(words)[:_MAX_NAME_CHARS] or "unknown"
                    found.setdefault(path, commit._replace(author=author))
                elif path not in found:
                    own.add(path)
            for path in _edited(git, found):
                del found[path]
    except (GitError, ValueError):
        return {}
    return found


def last_commits(root: str, paths: set[str], scratch: str, since: str, asked: Asked) -> dict[str, Commit]:
    """The last commits since another one that touched the paths, relative to the root, as far as git says them."""
    found: dict[str, Commit] = {}
    try:
        repository = find_repository(root)
        if repository is not None:
            if (known := asked.get((repository.folder, since, repository.head))) is not None:
                return known
            with git_on(repository, scratch) as git:
                for path, commit, _ in touches(git, [repository.head, f"^{since}"], paths):
                    found.setdefault(path, commit)
                    if len(found) == len(paths):
                        break
    except (GitError, ValueError):
        pass  # what was learnt until then is true
    return found


def touches(git: Git, words: list[str], paths: Iterable[str] = ()) -> Iterator[tuple[str, Commit, bool]]:
    """Each path, or each of these, with each of the commits that touched it, the newest first, and whether that removed
    it; relative to the folder that git was asked about, and below it. Raises GitError, ValueError.
    """
    prefix, commit, status = git.repository.prefix, Commit("", ""), b""
    named = [prefix + path for path in paths] or [prefix] * bool(prefix)
    with closing(git.records(*_LOG.split(" "), *words, "--", *named)) as records:
        for record in records:
            if status:
                path = record.decode("utf-8", "surrogateescape")
                if path.startswith(prefix):
                    yield path[len(prefix) :], commit, not status.strip(b"D")
                status = b""
            elif record.startswith((b":", b"\n:")):
                status = record.rpartition(b" ")[2]
            elif (line := _COMMIT_LINE.fullmatch(record.strip(b"\n"))) is not None:
                id_, seconds, email, author = (part.decode("utf-8", "replace") for part in line.groups()[1:])
                commit = Commit(id_, author, email, int(seconds), line[1] == b"<")


def _edited(git: Git, paths: Mapping[str, Commit]) -> list[str]:
    """Those of the paths that differ from the last commit; where git cannot say, none: they count as committed."""
    try:
        words = (*_DIFF.split(" "), git.repository.head, "--", *paths)
        records = list(git.records(*words, has_worktree=True)) if paths else []
    except GitError:
        return []
    return [path for path in (record.decode("utf-8", "replace") for record in records) if path in paths]


def _emails(repository: Repository) -> Iterator[str]:
    """What the repository's and the user's configuration call the user; files that they include are not read."""
    home = os.path.expanduser("~")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield from (email.lower() for name in ("GIT_AUTHOR_EMAIL", "EMAIL") if (email := os.environ.get(name)))
    own, of_user = os.path.join(repository.common, "config"), os.path.join(home, ".gitconfig")
    for path in (own, of_user, os.path.join(folder, "git", "config")):
        section = ""
        for line in _start(path).splitlines():
            line = line.partition("#")[0].partition(";")[0].strip()  # without a comment
            if line.startswith("["):
                section = line.strip("[]").strip().lower()
            name, _, value = line.partition("=")
            if section == "user" and name.strip().lower() == "email":
                yield value.strip().strip('"').lower()


def _cloned_at(repository: Repository) -> int:
    """When the checkout was cloned, in seconds; 0 where it was made here."""
    facts, _, did = _start(os.path.join(repository.common, "logs", "HEAD")).partition("\n")[0].partition("\t")
    moment = facts.split(" ")[-2:][0]
    return int(moment) if did.startswith("clone: ") and moment.isdecimal() else 0


def _start(path: str) -> str:
    try:
        return read_part(path, _MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
