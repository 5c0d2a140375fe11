"""Paths of artifacts: always inside the root, stored relative to it with `/`."""

import os

from ctxrank.indexer.errors import UsageError


def contained_path(root: str, path: str) -> str:
    """The path relative to the root, with `/`; the file need not exist.

    Raises UsageError for an absolute path, one that leaves the root (by `..` or through a link), or an
    empty one.
    """
    if not path.strip() or "\0" in path:
        raise UsageError("The file's path is empty.", "Give a path relative to the root.")
    slashed = path.replace("\\", "/")
    if slashed.startswith("/") or os.path.isabs(path) or slashed[1:3] == ":/":
        raise UsageError(
            f"'{path}' is an absolute path.", f"Give it relative to the root, which is {root}; --root changes it."
        )
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(real_root, slashed))
    if not is_inside(real_root, real) or real == real_root:
        raise UsageError(
            f"'{path}' leads out of the root {root}.", "Give a path inside it, without '..' or links that leave it."
        )
    normal = os.path.normpath(slashed)
    if normal.startswith(".."):
        raise UsageError(f"'{path}' leads out of the root {root}.", "Give a path inside it, without '..'.")
    return normal.replace(os.sep, "/")


def is_inside(folder: str, path: str) -> bool:
    """Whether a real path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
