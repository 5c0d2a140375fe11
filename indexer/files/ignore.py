"""What ignore files hide: `.gitignore`, `.git/info/exclude` and `.ctxrankignore`, as git understands them.

pathspec translates one pattern into one expression, RE2 matches all of a folder's at once in linear time, and which
pattern wins is decided here. Patterns of searches and of linked artifacts are others, without `!` and without an order.

A folder whose ignore files cannot be read as rules is not read either (IgnoreFileError): what they hide may be
exactly what must not be indexed. What was indexed there before stays, and the report of the run says why.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ctxrank.indexer.beneath import Root, read_beneath, read_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.pattern_sets import PatternSet

# The largest ignore files that people write have a few hundred lines. 10,000 patterns take 0.2 s to compile.
MAX_BYTES = 1024 * 1024
MAX_PATTERNS = 10_000
MAX_PATTERNS_OF_TREE = 100_000
MAX_PATTERN_BYTES = 4096  # as long as a path can be

# What names are matched with step by step, where they are made for it: the text of patterns from their first wildcard
# on. So much of it, in the ignore files from the root to a folder, costs at most 0.1 ms for each byte of a name.
MAX_WILDCARD_BYTES = 8_000

_MAX_MARKER_BYTES = 64 * 1024  # `.git` and `commondir` are one line with a path

# The ways to write "whatever its name".
_EVERY_NAME = frozenset({"*", "**", "/**", "**/*", "/**/*", "**/**"})

# What is no file has no rules. Nor has a link: git does not follow one.
_NO_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


class IgnoreFileError(OSError):
    """An ignore file that cannot be read as rules; `strerror` says why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(errno.EINVAL, f"not read, because its {name} {reason}")


class IgnoreRules(NamedTuple):
    """The ignore patterns written in one folder, those of the folders above it, and what all of them may cost."""

    prefix_bytes: int
    patterns: PatternSet
    hides_by_place: list[bool]
    above: "IgnoreRules | None"
    wildcard_bytes: int

    def hides(self, path: str) -> bool:
        """Whether the nearest folder whose patterns say anything about this entry hides it.

        A folder's path ends with a slash. Only the entry itself is asked about: the folders above it have
        been asked already, and what is below an ignored folder is never reached, not even by a `!` (as in git).
        """
        name = path.encode("utf-8", "surrogateescape")
        here: IgnoreRules | None = self
        while here is not None:
            place = here.patterns.last_match(name[here.prefix_bytes :])
            if place is not None:
                return here.hides_by_place[place]
            here = here.above
        return False


class IgnoreFiles:
    """The ignore files of one tree, of these names, read as a walk comes to them."""

    def __init__(self, root: Root, names: Iterable[str]) -> None:
        self._root = root
        self._names = tuple(names)
        self._patterns_left = MAX_PATTERNS_OF_TREE

    def of_repository(self) -> IgnoreRules | None:
        """What `.git/info/exclude` says, which yields to every ignore file in the tree. Raises IgnoreFileError.

        In a linked worktree `.git` is a file that names a folder, and that folder's `commondir` names the repository
        which all its worktrees share. It lies elsewhere, and so may what `exclude` links to, which git follows, too:
        no line of any of them is ever shown.
        """
        git = os.path.join(self._root.path, ".git")
        if os.path.isfile(git):
            git = os.path.join(self._root.path, _first_line(self._root.path, ".git").removeprefix("gitdir: "))
            git = os.path.join(git, _first_line(git, "commondir"))
        exclude = partial(read_file, os.path.join(git, "info/exclude"), MAX_BYTES)
        return self._rules("", [_patterns_of(".git/info/exclude", exclude)], None)

    def in_folder(self, folder: str, above: IgnoreRules | None) -> IgnoreRules | None:
        """The rules that hold in a folder: those above it, unless its own ignore files say more.

        Raises IgnoreFileError. `folder` is "" or ends with a slash.
        """
        files = [_patterns_of(name, partial(self._root.read, folder + name, MAX_BYTES)) for name in self._names]
        return self._rules(folder, files, above)

    def _rules(
        self, folder: str, files: list[tuple[str, list[bytes]]], above: IgnoreRules | None
    ) -> IgnoreRules | None:
        """The rules of some files, the last of which wins. Raises IgnoreFileError."""
        patterns: list[bytes] = []
        hides: list[bool] = []
        wildcard_bytes = above.wildcard_bytes if above is not None else 0
        for name, lines in files:
            self._patterns_left -= len(lines)
            wildcard_bytes += sum(map(_wildcard_bytes, lines))
            if reason := _why_not(lines, wildcard_bytes, self._patterns_left):
                raise IgnoreFileError(name, reason)
            for pattern, does_hide in _expressions(lines):
                patterns.append(pattern)
                hides.append(does_hide)
        if not patterns:
            return above
        prefix_bytes = len(folder.encode("utf-8", "surrogateescape"))
        return IgnoreRules(prefix_bytes, PatternSet(patterns), hides, above, wildcard_bytes)


def _why_not(lines: list[bytes], wildcard_bytes: int, patterns_left: int) -> str:
    """Why these patterns are not taken as rules; '' where they are."""
    if len(lines) > MAX_PATTERNS:
        return f"has more than {MAX_PATTERNS:,} patterns"
    if patterns_left < 0:
        return f"is one too many: the tree's have more than {MAX_PATTERNS_OF_TREE:,} patterns"
    if any(len(line) > MAX_PATTERN_BYTES for line in lines):
        return f"has a pattern of more than {MAX_PATTERN_BYTES:,} bytes"
    if wildcard_bytes > MAX_WILDCARD_BYTES:
        return f"and those above it have more than {MAX_WILDCARD_BYTES:,} bytes of patterns with wildcards"
    return ""


def _wildcard_bytes(line: bytes) -> int:
    """How much of a pattern comes after its first wildcard, with it."""
    wildcards = [at for sign in b"*?[" if (at := line.find(sign)) >= 0]
    return len(line) - min(wildcards) if wildcards else 0


def _patterns_of(name: str, read: Callable[[], bytes]) -> tuple[str, list[bytes]]:
    """An ignore file's patterns, one a line as git cuts them, behind its name; none of one that is not there.

    Raises IgnoreFileError for one that could not be read.
    """
    data = b""
    try:
        data = read()
    except ValueError:
        pass  # a path with a zero in it is no path
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise IgnoreFileError(name, f"is larger than {MAX_BYTES // (1024 * 1024)} MiB") from error
        if error.errno not in _NO_FILE:
            raise IgnoreFileError(name, f"cannot be read: {error.strerror}") from error
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return name, [line.removesuffix(b"\r") for line in lines if line.strip() and not line.startswith(b"#")]


def _first_line(folder: str, path: str) -> str:
    try:
        data = read_beneath(folder, path, _MAX_MARKER_BYTES, follow_link=True)
    except (OSError, ValueError):
        return ""
    return os.fsdecode(data).partition("\n")[0].removesuffix("\r")


def _expressions(lines: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The expression for each pattern, and whether what it matches is hidden."""
    if not lines:
        return
    from pathspec.patterns.gitignore.spec import (  # noqa: PLC0415  25 ms that a tree without patterns does not pay
        GitIgnoreSpecPattern,
    )

    for line in lines:
        # A byte that is not ASCII is one character, as for git, and none that pathspec takes for a blank.
        text = _as_pathspec_reads_it(line.decode("ascii", "surrogateescape"))
        try:
            expression, hides = GitIgnoreSpecPattern.pattern_to_regex(text)
        except ValueError:
            continue  # git lets a bad line match nothing; here it must not lose the good ones
        if expression is not None and hides is not None:
            yield expression.encode("ascii", "surrogateescape"), hides


def _as_pathspec_reads_it(line: str) -> str:
    """The same pattern in the form that says to pathspec what it says to git.

    pathspec takes `notes/**` for the folder as well as for all that is in it, and `*` for one letter; which
    of the two it is decides whether a later `!notes/keep.md` is ever reached. `**/**` means `**`.
    """
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    sign = "!" if line[:1] == "!" else ""
    names = line.removeprefix("!").split("/")
    pattern = "/".join(name for name, after in zip(names, [*names[1:], ""], strict=True) if not name == after == "**")
    slash = "/" if pattern.endswith("/") else ""
    if pattern.removesuffix("/") in _EVERY_NAME:
        return sign + "?*" + slash
    if pattern.endswith("/**"):
        pattern += "/*"
    elif pattern.endswith("/**/"):
        pattern += "*/"
    return sign + pattern
