"""Which files are there: one pass over a tree, in path order, without what the ignore files hide.

    for entry in walk("/home/me/shop"):
        match entry:
            case FoundFile(path=path): ...        # "artifacts/auth/token refresh.md"
            case Skipped(path, reason): ...       # "artifacts/agent.sock", "a socket"

What `.gitignore`, `.git/info/exclude` and `.ctxrankignore` hide is simply not there. A `Skipped` is
something a person may have expected to be indexed, and the reason why it is not. Ignore files above
the root are not read: the root is where this program's world ends.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, cast

# Nothing that a person wrote is larger; what is (dumps, recordings) costs seconds and crowds out the rest.
MAX_FILE_BYTES = 16 * 1024 * 1024

# Never entered and never reported, whether or not an ignore file names them: other programs' stores, our own, linked
# artifacts (they have a reader of their own: linked/reading.py), and other people's code. `.git` is a plain file in a
# linked worktree, so the kind is not asked.
ALWAYS_SKIPPED = frozenset(
    {".git", ".ctxrank", ".contextia", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"}
)

# In the order in which they speak: the later one wins, so `!name` in ours brings back what git ignores.
IGNORE_FILES = (".gitignore", ".ctxrankignore")

TOO_LARGE = f"larger than {MAX_FILE_BYTES // (1024 * 1024)} MiB"


class FoundFile(NamedTuple):
    """A regular file; `path` is relative to the root, with `/` between its parts."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int


class Skipped(NamedTuple):
    """Something that is there and is not indexed; bytes that are not UTF-8 stand in `path` as `\\xff`."""

    path: str
    reason: str


# The ways to write "whatever its name".
_EVERY_NAME = frozenset({"*", "**", "/**", "**/*", "/**/*", "**/**"})

_Search = Callable[[str], re.Match[str] | None]


class _Rules(NamedTuple):
    """The ignore patterns written in one folder, last first, and those of the folders above it."""

    prefix: str
    patterns: list[tuple[_Search, bool]]
    above: "_Rules | None"


def walk(root: str, start: str = "") -> Iterator[FoundFile | Skipped]:
    """Every file below `start` (a folder or a file, relative to `root`), in the code point order of paths.

    Links are never followed. Raises UsageError where `start` points out of the tree.
    """
    parts = _parts_of(start)
    rules = _exclude_rules(root)
    # The folders above `start` are opened only for their ignore files and to see that none of them is a link.
    folder = ""
    for depth, name in enumerate(parts):
        if name in ALWAYS_SKIPPED:
            return
        rules = _rules_here(root, folder, _ignore_files_in(root, folder), rules)
        path = folder + name
        try:
            info = os.lstat(os.path.join(root, path))
        except OSError as error:
            yield Skipped(_printable(path), error.strerror or str(error))
            return
        is_folder = stat.S_ISDIR(info.st_mode)
        if rules is not None and _is_ignored(path + "/" if is_folder else path, rules):
            return
        if not is_folder:
            is_last = depth == len(parts) - 1
            yield _judge(root, path, info) if is_last or _is_link(info) else Skipped(path, "not a folder")
            return
        if not _is_utf8(name):
            yield Skipped(_printable(path), "name is not valid UTF-8")
            return
        folder = path + "/"
    yield from _walk_folder(root, folder, rules)


def examine(root: str, path: str) -> FoundFile | Skipped:
    """One file by its path, whether or not the ignore files hide it. Raises OSError."""
    return _judge(root, path, os.lstat(os.path.join(root, path)))


def _walk_folder(root: str, top: str, rules: _Rules | None) -> Iterator[FoundFile | Skipped]:
    """The files below one folder; `top` is "" or ends with a slash.

    The stack holds, for each open folder, what is left of it. A loop and not a recursion, so that a deep
    tree costs no stack frames and each file passes through one generator only.
    """
    try:
        stack = [_open_folder(root, top, rules)]
    except OSError as error:
        yield Skipped(top.rstrip("/") or ".", error.strerror or str(error))
        return
    while stack:
        entries, folder, rules = stack[-1]
        for key, entry in entries:
            path = folder + key
            if rules is not None and _is_ignored(path, rules):
                continue
            if not key.isascii() and not _is_utf8(key):
                yield Skipped(_printable(path.rstrip("/")), "name is not valid UTF-8")
                continue
            if key[-1] == "/":
                try:
                    stack.append(_open_folder(root, path, rules))
                except OSError as error:
                    yield Skipped(path[:-1], error.strerror or str(error))
                    continue
                break
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError as error:
                yield Skipped(path, error.strerror or str(error))
                continue
            yield _judge(root, path, info)
        else:
            stack.pop()


_Entries = Iterator[tuple[str, os.DirEntry[str]]]


def _open_folder(root: str, folder: str, rules: _Rules | None) -> tuple[_Entries, str, _Rules | None]:
    """A folder's entries in order, and the rules that hold inside it.

    A folder's key ends with a slash, so that the order of entries is the order of whole paths:
    `a.md` comes before `a/b.md`, because `.` comes before `/`.
    """
    keyed: list[tuple[str, os.DirEntry[str]]] = []
    ignore_files: list[str] = []
    with os.scandir(os.path.join(root, folder)) as entries:
        for entry in entries:
            name = entry.name
            if name in ALWAYS_SKIPPED:
                continue
            if name in IGNORE_FILES and entry.is_file(follow_symlinks=False):
                ignore_files.append(name)
            keyed.append((name + "/" if entry.is_dir(follow_symlinks=False) else name, entry))
    keyed.sort(key=itemgetter(0))
    return iter(keyed), folder, _rules_here(root, folder, ignore_files, rules)


def _judge(root: str, path: str, info: os.stat_result) -> FoundFile | Skipped:
    """What is to be done with something that is not a folder."""
    mode = info.st_mode
    if stat.S_ISREG(mode):
        if not path.isascii() and not _is_utf8(path):
            return Skipped(_printable(path), "name is not valid UTF-8")
        if info.st_size > MAX_FILE_BYTES:
            return Skipped(path, TOO_LARGE)
        return FoundFile(path, info.st_size, info.st_mtime_ns, info.st_ino)
    if stat.S_ISLNK(mode):
        return Skipped(path, _why_not_linked(root, path))
    if stat.S_ISSOCK(mode):
        return Skipped(path, "a socket")
    if stat.S_ISFIFO(mode):
        return Skipped(path, "a named pipe")
    return Skipped(path, "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "not a regular file")


def _why_not_linked(root: str, path: str) -> str:
    target = os.path.realpath(os.path.join(root, path))
    real_root = os.path.realpath(root)
    if target != real_root and not target.startswith(real_root.rstrip(os.sep) + os.sep):
        return "a link out of the tree"
    if not os.path.lexists(target) or os.path.islink(target):  # a link still: it leads to itself
        return "a link to nothing"
    return "a link; its target is indexed itself"


def _is_link(info: os.stat_result) -> bool:
    return stat.S_ISLNK(info.st_mode)


def _parts_of(start: str) -> list[str]:
    parts = [part for part in start.replace(os.sep, "/").split("/") if part not in ("", ".")]
    if os.path.isabs(start) or ".." in parts:
        raise UsageError(
            f"'{start}' is not a path inside the tree.",
            "Name a file or folder relative to the root, without '..'.",
        )
    return parts


def _is_utf8(name: str) -> bool:
    """False where Python had to smuggle raw bytes into the name, which no store or terminal takes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_ignored(path: str, rules: _Rules) -> bool:
    """Whether the nearest folder whose patterns say anything about this entry hides it.

    A folder's path ends with a slash. Only the entry itself is asked about: the folders above it have
    been asked already, and what is below an ignored folder is never reached, not even by a `!` (as in git).
    """
    here: _Rules | None = rules
    while here is not None:
        name = path[len(here.prefix) :]
        for search, hides in here.patterns:
            # pathspec's expression for `a` also finds the start of `a/b`, and then ends at the slash: that
            # speaks of the folder, which an earlier answer has already let in.
            if (found := search(name)) and found.end() == len(name):
                return hides
        here = here.above
    return False


def _rules_here(root: str, folder: str, ignore_files: list[str], above: _Rules | None) -> _Rules | None:
    """The rules that hold in a folder: those above it, unless its own ignore files say more."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        if name in ignore_files:
            lines += _lines_of(os.path.join(root, folder, name))
    patterns = _compile(lines)
    return _Rules(folder, patterns, above) if patterns else above


def _exclude_rules(root: str) -> _Rules | None:
    """What `.git/info/exclude` says, which yields to every ignore file in the tree.

    In a linked worktree `.git` is a file that names a folder, and that folder's `commondir` names the
    repository which all its worktrees share.
    """
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _first_line(git).removeprefix("gitdir: "))
        git = os.path.join(git, _first_line(os.path.join(git, "commondir")))
    patterns = _compile(_lines_of(os.path.join(git, "info", "exclude")))
    return _Rules("", patterns, None) if patterns else None


def _ignore_files_in(root: str, folder: str) -> list[str]:
    """The ignore files of one folder; a link is none (git does not follow one either)."""
    names: list[str] = []
    for name in IGNORE_FILES:
        path = os.path.join(root, folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            names.append(name)
    return names


def _first_line(path: str) -> str:
    return "".join(_lines_of(path)[:1])


def _lines_of(path: str) -> list[str]:
    """A file's lines as git cuts them; none where it cannot be read (reading it as a document says why)."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return [line.removesuffix("\r") for line in file.read().split("\n")]
    except OSError:
        return []


def _compile(lines: Iterable[str]) -> list[tuple[_Search, bool]]:
    """What each pattern searches for, and whether it hides that; the last one first, since it wins."""
    wanted = [line for line in lines if line.strip() and line[0] != "#"]
    if not wanted:
        return []
    from pathspec import GitIgnoreSpec  # 25 ms of start-up that a tree without ignore files does not need

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
