"""Which files are there: one pass over a tree, in path order, without what the ignore files hide.

    for entry in walk("/home/me/shop"):
        match entry:
            case FoundFile(path=path): ...        # "artifacts/auth/token refresh.md"
            case Skipped(path, reason): ...       # "artifacts/agent.sock", "a socket"
            case Unreadable(path, reason): ...    # "artifacts/private", "Permission denied"

    walk(root, ".contextia/work/tasks", Selection(skipped=frozenset(), ignore_files=(), suffixes=(".md",)))

What `.gitignore`, `.git/info/exclude` and `.ctxrankignore` hide is simply not there. A `Skipped` is
something a person may have expected to be indexed, and the reason why it is not. Ignore files above
the root are not read: the root is where this program's world ends.

Folders are opened one below the other, each from the descriptor of the one above and none that is a link, and what a
folder holds is looked at by its descriptor: a folder that is exchanged with a link meanwhile is not walked.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from operator import itemgetter

from ctxrank.indexer.beneath import Root, is_inside, real_path
from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ctxrank.indexer.files.ignore import IgnoreFiles, IgnoreRules

LINK_OUT = "a link out of the tree"
_NOT_UTF8 = "name is not valid UTF-8"
TOO_LARGE = f"larger than {MAX_FILE_BYTES // (1024 * 1024)} MiB"

# Never entered and never reported, whether or not an ignore file names them: other programs' stores, our own, linked
# artifacts (they have a reader of their own: links/reading.py), and other people's code. `.git` is a plain file in a
# linked worktree, so the kind is not asked.
ALWAYS_SKIPPED = frozenset(
    {".git", ".ctxrank", ".contextia", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"}
)


# All that is in them is written by `ctxrank install`: how to use a store is no finding of it. Nor is a copy of a file
# as it was before an install.
COPY_ENDING = ".before-ctxrank"
_INSTALLED = (
    *(f".{name}/skills/ctxrank/" for name in ("claude", "agents", "gemini", "github", "opencode", "cursor")),
    ".opencode/plugins/ctxrank.js",
)

# What `python -m venv` and its like write into an environment: all in it is other people's code, whatever it is called.
_ENVIRONMENT_MARK = "pyvenv.cfg"


class Skipped(NamedTuple):
    """Something that is there and is not indexed; bytes that are not UTF-8 are `\\xff` in `path`."""

    path: str
    reason: str


class Unreadable(NamedTuple):
    """A folder or file that may not be looked at now: what is known of it, or below it, is not gone."""

    path: str
    reason: str


class Selection(NamedTuple):
    """Which entries a walk meets.

    `skipped` are names of files and folders, `skipped_folders` of folders alone; neither is reported. Of
    `ignore_files` the later one wins, so `!name` in ours brings back what git ignores; with () not even
    `.git/info/exclude` is asked. `suffixes` are the ends of files' names in lower case, () for any.
    """

    skipped: frozenset[str] = ALWAYS_SKIPPED
    skipped_folders: frozenset[str] = frozenset()
    ignore_files: tuple[str, ...] = (".gitignore", ".ctxrankignore")
    is_deep: bool = True
    suffixes: tuple[str, ...] = ()
    max_bytes: int = MAX_FILE_BYTES


Entry = FoundFile | Skipped | Unreadable

_INDEXED = Selection()


def walk(root: str, start: str = "", selection: Selection = _INDEXED) -> Iterator[Entry]:
    """Every file below `start` (a folder or a file, relative to `root`), in the code point order of paths.

    Links are never followed. Raises UsageError where `start` points out of the tree.
    """
    parts = [part for part in start.replace(os.sep, "/").split("/") if part not in ("", ".")]
    if os.path.isabs(start) or ".." in parts:
        raise UsageError(
            f"'{start}' is not a path inside the tree.",
            "Name a file or folder relative to the root, without '..'.",
        )
    with Root(root, max_links=0) as opened:
        yield from _Walk(opened, selection).entries(parts)


def examine(root: str, path: str) -> FoundFile | Skipped:
    """One file by its path, whether or not the ignore files hide it. Raises OSError."""
    return _judge(root, path, os.lstat(os.path.join(root, path)), MAX_FILE_BYTES)


_Entries = list[tuple[str, Entry | None]]
_OpenFolder = tuple[Iterator[tuple[str, Entry | None]], str, "IgnoreRules | None"]


class _NamedEntry(NamedTuple):
    """What a listing says of an entry, of one that is known by its name."""

    name: str
    info: os.stat_result

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return stat.S_ISDIR(self.info.st_mode)

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        return self.info


class _Walk:
    """One walk: the root it goes by, and what it is to meet."""

    def __init__(self, root: Root, selection: Selection) -> None:
        self._root = root
        self._selection = selection
        self._ignore_files: IgnoreFiles | None = None
        if selection.ignore_files:
            from ctxrank.indexer.files import ignore  # noqa: PLC0415  no ignore file hides a linked artifact

            self._ignore_files = ignore.IgnoreFiles(root, selection.ignore_files)

    def entries(self, parts: list[str]) -> Iterator[Entry]:
        """What is below the folder that these names lead to, or the one file they lead to."""
        folder = at = ""
        try:
            rules = self._ignore_files.of_repository() if self._ignore_files is not None else None
            # The folders above are opened only for their ignore files and to see that none of them is a link.
            for depth, name in enumerate(parts):
                rules = self._rules_in(folder, rules)
                at = folder + name
                found, _ = self._chosen(folder, (_NamedEntry(name, self._root.stat(at)),), rules)
                if not found:
                    return
                entry = found[0][1]
                if entry is not None:
                    is_above = isinstance(entry, FoundFile) and depth < len(parts) - 1
                    yield Skipped(entry.path, "not a folder") if is_above else entry
                    return
                folder = f"{at}/"
        except OSError as error:
            yield _out_of_sight(_printable(at) or ".", error)
            return
        yield from self._below(folder, rules)

    def _below(self, top: str, rules: "IgnoreRules | None") -> Iterator[Entry]:
        """The files below one folder; `top` is "" or ends with a slash.

        The stack holds, for each open folder, what is left of it. A loop and not a recursion, so that a deep
        tree costs no stack frames and each file passes through one generator only.
        """
        try:
            stack = [self._open_folder(top, rules)]
        except OSError as error:
            yield _out_of_sight(top.rstrip("/") or ".", error)
            return
        while stack:
            entries, folder, rules = stack[-1]
            for key, entry in entries:
                if entry is not None:
                    yield entry
                    continue
                if not self._selection.is_deep:
                    continue
                try:
                    stack.append(self._open_folder(folder + key, rules))
                    break
                except OSError as error:
                    yield _out_of_sight(folder + key[:-1], error)
            else:
                stack.pop()

    def _open_folder(self, folder: str, rules: "IgnoreRules | None") -> _OpenFolder:
        """A folder's entries in order, None for a folder, and the rules that hold inside it.

        A folder's key ends with a slash, so that the order of entries is the order of whole paths:
        `a.md` comes before `a/b.md`, because `.` comes before `/`.
        """
        entries, has_ignore_file = self._list_folder(folder, rules)
        if has_ignore_file:
            above, rules = rules, self._rules_in(folder, rules)
            if rules is not above:
                entries, _ = self._list_folder(folder, rules)
        entries.sort(key=itemgetter(0))
        return iter(entries), folder, rules

    def _rules_in(self, folder: str, above: "IgnoreRules | None") -> "IgnoreRules | None":
        return self._ignore_files.in_folder(folder, above) if self._ignore_files is not None else None

    def _list_folder(self, folder: str, rules: "IgnoreRules | None") -> tuple[_Entries, bool]:
        """A folder's entries as these rules leave them, and whether it has an ignore file of its own."""
        descriptor = self._root.open_folder(folder.removesuffix("/"))
        try:
            with os.scandir(descriptor) as entries:
                return self._chosen(folder, entries, rules)
        finally:
            os.close(descriptor)

    def _chosen(
        self, folder: str, entries: "Iterable[os.DirEntry[str] | _NamedEntry]", rules: "IgnoreRules | None"
    ) -> tuple[_Entries, bool]:
        """The same of entries of a folder.

        Each is looked at where it is listed: to come back later costs a fifth more.
        """
        found: _Entries = []
        has_ignore_file = False
        selection, root = self._selection, self._root.path
        skipped, suffixes, ignore_files = selection.skipped, selection.suffixes, selection.ignore_files
        max_bytes = selection.max_bytes
        for entry in entries:
            name = entry.name
            if name in skipped:
                continue
            if name == _ENVIRONMENT_MARK and folder and not suffixes:
                return [], False
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                if name in selection.skipped_folders:
                    continue
                name += "/"
            elif suffixes and not name.lower().endswith(suffixes):
                continue
            elif name in ignore_files:
                has_ignore_file = True
            path = folder + name
            if path in _INSTALLED or name.endswith(COPY_ENDING) or (rules is not None and rules.hides(path)):
                continue
            if not name.isascii() and _printable(name) != name:
                found.append((name, Skipped(_printable(path.rstrip("/")), _NOT_UTF8)))
            elif is_folder:
                found.append((name, None))
            else:
                try:
                    seen: Entry = _judge(root, path, entry.stat(follow_symlinks=False), max_bytes)
                except OSError as error:
                    seen = _out_of_sight(path, error)
                found.append((name, seen))
        return found, has_ignore_file


def _judge(root: str, path: str, info: os.stat_result, max_bytes: int) -> FoundFile | Skipped:
    """What is to be done with something that is not a folder."""
    mode = info.st_mode
    if stat.S_ISREG(mode):
        if not path.isascii() and _printable(path) != path:
            return Skipped(_printable(path), _NOT_UTF8)
        if info.st_size > max_bytes:
            return Skipped(path, TOO_LARGE)
        return FoundFile(path, info.st_size, info.st_mtime_ns, info.st_ino)
    if stat.S_ISLNK(mode):
        return Skipped(path, _why_not_linked(root, path))
    if stat.S_ISSOCK(mode):
        return Skipped(path, "a socket")
    if stat.S_ISFIFO(mode):
        return Skipped(path, "a named pipe")
    return Skipped(path, "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "not a regular file")


def _out_of_sight(path: str, error: OSError) -> Skipped | Unreadable:
    """Something that vanished a moment ago, or that may not be looked at."""
    is_gone = isinstance(error, FileNotFoundError | NotADirectoryError)
    return (Skipped if is_gone else Unreadable)(path, error.strerror or str(error))


def _why_not_linked(root: str, path: str) -> str:
    target = real_path(os.path.join(root, path))
    real_root = os.path.realpath(root)
    if not is_inside(real_root, target):
        return LINK_OUT
    if not os.path.lexists(target) or os.path.islink(target):  # a link still: it leads to itself
        return "a link to nothing"
    return "a link; its target is indexed itself"


def _printable(path: str) -> str:
    """The same where its bytes are UTF-8: what Python smuggles in for others no store or terminal takes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
