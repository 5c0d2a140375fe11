"""Where a tree of linked artifacts is, and which files it holds.

    find_tree(store, "/home/me/shop/src")    Tree(folder="/home/me/shop", name=".")    its .contextia is next to src

A tree is named by the folder that holds `.contextia`; '.' is the project's own folder, so that a project may be
moved. Nothing is followed out of it: a link is not an artifact.
"""

import os
import sys

from ctxrank.extensions.links.artifact import FOLDER
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.files.walk import Selection, Unreadable, walk
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.location import Location, upwards
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import is_one_line

_PLACES = ("system/specs", "system/norms", "system/rationale", "work/tasks")
# An ignore file does not hide an artifact. One that is too large to be read is met, so that `check` names it.
_ALL = Selection(skipped=frozenset(), ignore_files=(), suffixes=(".md", ".markdown"), max_bytes=sys.maxsize)
_DIRECT = _ALL._replace(is_deep=False)


class ArtifactTree(NamedTuple):
    """The folder that holds `.contextia`, absolute, and its name in the store."""

    folder: str
    name: str


def find_tree(location: Location, start: str | None = None) -> ArtifactTree | None:
    """The nearest `.contextia` from `start` (default: here) upwards, else the one under the store's root."""
    above = upwards(os.path.abspath(start or os.getcwd()))
    folder = next(filter(_holds_tree, (*above, location.root)), None)
    if folder is None:
        return None
    real = os.path.realpath(folder)
    return ArtifactTree(real, "." if real == os.path.realpath(location.project) else real)


def require_tree(location: Location, start: str | None = None) -> ArtifactTree:
    """The same. Raises NotFoundError where there is none."""
    tree = find_tree(location, start)
    if tree is None:
        raise NotFoundError(
            f"There is no {FOLDER} folder here, above, or in {location.root}.",
            f"Linked artifacts are Markdown in {FOLDER}/system/ (specs, norms, rationale) and {FOLDER}/work/tasks.",
        )
    return tree


def folder_of_tree(store: Store, name: str) -> str | None:
    """The folder that the store calls a tree by; None where nothing may be read in it."""
    if name == ".":
        return store.location.project
    from ctxrank.indexer.store.allowed_roots import allowed_folder  # noqa: PLC0415  start-up: most trees are '.'

    return allowed_folder(store.location, store.primary, name)


def list_files(tree: ArtifactTree) -> list[FoundFile]:
    """Every file that may be an artifact, in path order. Raises CtxrankError for what may not be looked at."""
    # What lies directly in the two folders is an artifact if it says so.
    starts = [(f"{FOLDER}/{name}", _DIRECT) for name in ("system", "work")]
    starts += [(f"{FOLDER}/{name}", _ALL) for name in _PLACES]
    found: list[FoundFile] = []
    for start, selection in starts:
        for entry in walk(tree.folder, start, selection):
            if isinstance(entry, FoundFile) and is_one_line(entry.path):  # as `index` takes files in
                found.append(entry)
            elif isinstance(entry, Unreadable):  # what cannot be looked at is not gone
                raise CtxrankError(f"{entry.path} cannot be read: {entry.reason}.", "Check its permissions.")
    return sorted(found)


def _holds_tree(folder: str) -> bool:
    place = os.path.join(folder, FOLDER)
    return os.path.isdir(place) and not os.path.islink(place)
