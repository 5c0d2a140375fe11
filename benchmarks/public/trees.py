"""A commit of a git repository as plain files: no checkout, so no filter, hook or attribute has a say.

`export-ignore` would leave out tests, which are what a search has to tell from sources. Links and submodules are left
out; each file has the commit's time.
"""

import os
import subprocess
from pathlib import Path


class NoSuchTree(Exception):
    """The repository or the commit is not in the folder of repositories; the message names it."""


def repository_of(data: str, slug: str) -> str:
    """The git directory of owner/name: DATA/git/owner+name. Raises NoSuchTree."""
    path = os.path.join(data, "git", slug.replace("/", "+"))
    if not os.path.isdir(path):
        raise NoSuchTree(f"{slug} is not in git/")
    return path


def check_commit(repository: str, commit: str) -> None:
    """Raises NoSuchTree where the repository lacks the commit."""
    if subprocess.run(
        ["git", "-C", repository, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True
    ).returncode:
        raise NoSuchTree(f"{os.path.basename(repository).replace('+', '/')} has no commit {commit[:12]}")


def write_tree(repository: str, commit: str, folder: str, below: str = "") -> int:
    """Write the files of a commit (those `below` a folder of it) and say how many of them the repository lacks.

    A folder that holds another commit of it is made the same: what is equal stays as it is.
    """
    check_commit(repository, commit)
    git = ["git", "-C", repository]
    moment = int(subprocess.check_output([*git, "show", "-s", "--format=%ct", commit]))
    listed = subprocess.check_output([*git, "ls-tree", "-r", "-z", commit, "--", *([below] if below else [])])
    entries = [line.split(b"\t", 1) for line in listed.split(b"\0") if line.startswith(b"100")]
    asked = b"".join(head.split()[2] + b"\n" for head, _ in entries)
    content = subprocess.run([*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True).stdout
    at, lacking = 0, 0
    stale = {os.path.join(top, name) for top, _, names in os.walk(os.fsencode(folder)) for name in names}
    stale -= {os.path.join(os.fsencode(folder), name) for _, name in entries}
    for path in stale:
        if b"/.ctxrank/" not in path:
            os.unlink(path)
    for _, name in entries:
        head = content[at : content.index(b"\n", at)]
        at += len(head) + 1
        if head.endswith(b" missing"):
            lacking += 1
            continue
        size = int(head.split()[2])
        path = os.path.join(os.fsencode(folder), name)
        text, at = content[at : at + size], at + size + 1
        if not (os.path.isfile(path) and Path(os.fsdecode(path)).read_bytes() == text):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text)
            os.utime(path, (moment, moment))
    return lacking
