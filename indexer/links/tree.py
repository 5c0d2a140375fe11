"""Where a tree of linked artifacts is, and which files it holds.

    find_tree(store, "/home/me/shop/src")    Tree(folder="/home/me/shop", name=".")    its .contextia is beside src

A tree is named by the folder that holds `.contextia`; '.' is the project's own folder, so that a project may be
moved. Nothing is followed out of it: a link is not an artifact.
"""

import os
import stat

from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.artifact import FOLDER
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.store import Store

_PLACES = ("system/specs", "system/norms", "system/rationale", "work/tasks")
_MARKDOWN = (".md", ".markdown")


class Tree(NamedTuple):
    """The folder that holds `.contextia`, absolute, and its name in the store."""

    folder: str
    name: str


class TreeFile(NamedTuple):
    """A file that may be an artifact; `path` is relative to the tree's folder, with `/`."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int

    @property
    def stamp(self) -> FileStamp:
        """What its stat says."""
        return FileStamp(self.size_bytes, self.mtime_ns, self.inode)


def find_tree(location: Location, start: str | None = None) -> Tree | None:
    """The nearest `.contextia` from `start` (default: here) upwards, else the one under the store's root."""
    here = os.path.abspath(start or os.getcwd())
    while True:
        if _holds_tree(here):
            return tree_at(location, here)
        parent = os.path.dirname(here)
        if parent == here:
            break
        here = parent
    return tree_at(location, location.root) if _holds_tree(location.root) else None


def require_tree(location: Location, start: str | None = None) -> Tree:
    """The same. Raises NotFoundError where there is none."""
    tree = find_tree(location, start)
    if tree is None:
        raise NotFoundError(
            f"There is no {FOLDER} folder here, above, or in {location.root}.",
            f"Linked artifacts are Markdown in {FOLDER}/system/ (specs, norms, rationale) and {FOLDER}/work/tasks.",
        )
    return tree


def tree_at(location: Location, folder: str) -> Tree:
    """A folder that holds `.contextia` as the store names it."""
    real = os.path.realpath(folder)
    return Tree(real, "." if real == os.path.realpath(location.project) else real)


def known_trees(store: Store) -> list[Tree]:
    """Every tree that the store has read, where its folder can be looked at now; `.contextia` may be gone from it."""
    names = [str(name) for (name,) in store.truth.execute("SELECT path FROM linked_trees ORDER BY id")]
    trees = [Tree(os.path.realpath(store.location.project) if name == "." else name, name) for name in names]
    return [tree for tree in trees if os.path.isdir(tree.folder)]


def list_files(tree: Tree) -> list[TreeFile]:
    """Every file that may be an artifact, in path order."""
    top = f"{FOLDER}/"
    found: list[TreeFile] = []
    for folder in ("system", "work"):  # what lies beside the places is an artifact if it says so
        _list_folder(tree.folder, f"{top}{folder}", found, is_deep=False)
    for place in _PLACES:
        _list_folder(tree.folder, f"{top}{place}", found, is_deep=True)
    return sorted(found)


def _holds_tree(folder: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(os.path.join(folder, FOLDER)).st_mode)
    except OSError:
        return False


def _list_folder(root: str, folder: str, found: list[TreeFile], *, is_deep: bool) -> None:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            place = os.path.join(root, here)
            if os.path.islink(place):
                continue
            with os.scandir(place) as entries:
                for entry in entries:
                    name = entry.name
                    # No UTF-8, or what a terminal would obey, is no name for an artifact.
                    is_named = name.lower().endswith(_MARKDOWN) and name.isprintable()
                    if is_named and entry.is_file(follow_symlinks=False):
                        info = entry.stat(follow_symlinks=False)
                        found.append(TreeFile(f"{here}/{name}", info.st_size, info.st_mtime_ns, info.st_ino))
                    elif is_deep and entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{here}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:  # what cannot be looked at is not gone
            raise CtxrankError(f"{here} cannot be read: {error.strerror}.", "Check its permissions.") from error
