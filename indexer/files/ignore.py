"""What ignore files hide: `.gitignore`, `.git/info/exclude` and `.ctxrankignore`, as git understands them.

pathspec translates one pattern into one expression; which pattern wins is decided here. Patterns of specs, norms and
searches are others, without `!` and without an order: text/globs.py.
"""

import os
import re
from collections.abc import Callable, Iterable

from ctxrank.indexer.beneath import read_beneath
from ctxrank.indexer.light_typing import NamedTuple, cast

_MAX_BYTES = 16 * 1024 * 1024

# The ways to write "whatever its name".
_EVERY_NAME = frozenset({"*", "**", "/**", "**/*", "/**/*", "**/**"})

_Search = Callable[[str], re.Match[str] | None]


class IgnoreRules(NamedTuple):
    """The ignore patterns written in one folder, last first, and those of the folders above it."""

    prefix: str
    patterns: list[tuple[_Search, bool]]
    above: "IgnoreRules | None"

    def hides(self, path: str) -> bool:
        """Whether the nearest folder whose patterns say anything about this entry hides it.

        A folder's path ends with a slash. Only the entry itself is asked about: the folders above it have
        been asked already, and what is below an ignored folder is never reached, not even by a `!` (as in git).
        """
        here: IgnoreRules | None = self
        while here is not None:
            name = path[len(here.prefix) :]
            for search, hides in here.patterns:
                # pathspec's expression for `a` also finds the start of `a/b`, and then ends at the slash: that
                # speaks of the folder, which an earlier answer has already let in.
                if (found := search(name)) and found.end() == len(name):
                    return hides
            here = here.above
        return False


def rules_of_repository(root: str) -> IgnoreRules | None:
    """What `.git/info/exclude` says, which yields to every ignore file in the tree.

    In a linked worktree `.git` is a file that names a folder, and that folder's `commondir` names the
    repository which all its worktrees share.
    """
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _first_line(root, ".git").removeprefix("gitdir: "))
        git = os.path.join(git, _first_line(git, "commondir"))
    patterns = _compiled(_lines_of(git, "info/exclude", follow_link=True))
    return IgnoreRules("", patterns, None) if patterns else None


def rules_in_folder(root: str, folder: str, names: Iterable[str], above: IgnoreRules | None) -> IgnoreRules | None:
    """The rules that hold in a folder: those above it, unless its own ignore files, of these names, say more.

    An ignore file that is a link is none (git does not follow one either).
    """
    patterns = _compiled([line for name in names for line in _lines_of(root, folder + name)])
    return IgnoreRules(folder, patterns, above) if patterns else above


def _first_line(folder: str, path: str) -> str:
    return "".join(_lines_of(folder, path, follow_link=True)[:1])


def _lines_of(folder: str, path: str, *, follow_link: bool = False) -> list[str]:
    """A file's lines as git cuts them; none where it cannot be read (reading it as a document says why)."""
    try:
        data = read_beneath(folder, path, _MAX_BYTES, follow_link=follow_link)
    except OSError:
        return []
    return [line.removesuffix("\r") for line in data.decode("utf-8-sig", "surrogateescape").split("\n")]


def _compiled(lines: Iterable[str]) -> list[tuple[_Search, bool]]:
    """What each pattern searches for, and whether it hides that; the last one first, since it wins."""
    wanted = [line for line in lines if line.strip() and line[0] != "#"]
    if not wanted:
        return []
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  25 ms that a tree without patterns does not pay

    compiled: list[tuple[_Search, bool]] = []
    for line in reversed(wanted):
        try:
            spec = GitIgnoreSpec.from_lines([_as_pathspec_reads_it(line)])
        except (ValueError, re.error):
            continue  # git lets a bad line match nothing; here it must not lose the good ones
        for pattern in spec.patterns:
            # pathspec's types leave open whether it matches str or bytes; made from lines of str, it is str.
            regex = cast("re.Pattern[str] | None", pattern.regex)  # pyright: ignore[reportUnknownMemberType]
            if regex is not None and pattern.include is not None:
                compiled.append((regex.search, pattern.include))
    return compiled


def _as_pathspec_reads_it(line: str) -> str:
    """The same pattern in the form that says to pathspec what it says to git.

    pathspec takes `notes/**` for the folder as well as for all that is in it, and `*` for one letter; which
    of the two it is decides whether a later `!notes/keep.md` is ever reached.
    """
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    sign = "!" if line[0] == "!" else ""
    pattern = line.removeprefix("!")
    slash = "/" if pattern.endswith("/") else ""
    if pattern.removesuffix("/") in _EVERY_NAME:
        return sign + "?*" + slash
    return line + "*" + slash if pattern.endswith("/**/") else line + "/*" if pattern.endswith("/**") else line
