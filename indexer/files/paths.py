"""Paths that name a file in a store: below the root, and one line in which nothing hides.

    contained_path("/home/me/shop", "artifacts/../auth.md")       "auth.md"
    portable_path("C:/auth.md")                                   UsageError: it is absolute

Two names that look the same would be two files that a reader cannot tell apart. So a name cannot be stored if it has
characters that are removed from output: controls, invisible characters, stray selectors.
"""

import os

from ctxrank.indexer.beneath import is_inside, real_path
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.text.lines import is_one_line

UNSHOWN = "its name has characters that no output shows"
SECRET = "its name holds a secret"
MAX_PATH_BYTES = 4096  # what Linux opens at most


def contained_path(root: str, path: str) -> str:
    """The path relative to the root, with `/`; the file need not exist.

    Raises UsageError for an absolute path, one that leaves the root (by `..` or through a link), or an
    empty one.
    """
    if problem := _problem(path):
        hint = f"Give it relative to the root, which is {root}; --root changes it."
        raise UsageError(f"{problem[0].upper()}{problem[1:]}.", hint)
    slashed = path.replace("\\", "/")
    real_root = os.path.realpath(root)
    real = real_path(os.path.join(real_root, slashed))
    normal = os.path.normpath(slashed)
    if not is_inside(real_root, real) or real == real_root or normal.split("/")[0] == os.pardir:
        raise UsageError(
            f"'{path}' leads out of the root {root}.", "Give a path inside it, without '..' or links that leave it."
        )
    return normal.replace(os.sep, "/")


def portable_path(path: str) -> str:
    """A path from another store, as it is: what names no file below any root is refused.

    Links are not looked at, as they may lead elsewhere here. Raises UsageError for a path that is absolute, leaves
    by `..`, is empty or is more than one line.
    """
    if problem := _problem(path):
        raise UsageError(problem)
    if os.path.normpath(path.replace("\\", "/")).split("/")[0] in (os.pardir, os.curdir):
        raise UsageError(f"'{path}' leads out of the root")
    return path


def _problem(path: str) -> str:
    """Why this names no file below any root, whatever its parts are; '' where it may."""
    if not path.strip():
        return "its path is empty"
    if len(path.encode("utf-8", "replace")) > MAX_PATH_BYTES:
        return f"its path is longer than {MAX_PATH_BYTES:,} bytes"
    if not is_one_line(path):
        return f"its path {path!a} is not one line of printable characters"
    slashed = path.replace("\\", "/")
    return f"'{path}' is an absolute path" if slashed.startswith("/") or slashed[1:3] == ":/" else ""


def without_secret(path: str, mode: RedactionMode) -> str:
    """The path as it may be shown: another than it is where its name holds a secret.

    Secrets are known by their form alone here: caches and builds name files by random-looking hashes.
    """
    by_form = RedactionMode.PATTERN_ONLY.with_rules(mode.rules) if mode.sees_randomness else mode
    return redact(path, by_form).text


def unmistakable(path: str) -> str:
    """A path as a report has it that is about the path's characters: what no output shows is written as escapes."""
    return "".join(char if is_one_line(char) else ascii(char)[1:-1] for char in path)
