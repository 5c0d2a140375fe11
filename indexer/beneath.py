"""Files beneath a root: the paths that name them, and the one function that opens them.

    with Root("/home/me/shop") as root:
        root.open("artifacts/auth.md")           descriptor and stat of a regular file
        root.read("artifacts/auth.md", 65_536)   its bytes, if they are no more than that

Files of a project's tree and of its `.git`, configuration files and vocabularies are opened by `Root.open`: relative to
the descriptor of a folder that is held open, without waiting (a named pipe would block for ever), and only regular
files. What cannot be read is an OSError: ENXIO for what is no regular file, EFBIG for more bytes than the caller
takes, and whatever the system says.
"""

import errno
import os
import stat

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import TracebackType

# A descriptor to open files by needs no right to list the folder where the system knows O_PATH (Linux).
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_READ_SIZE = 1024 * 1024
_MIN_READ_SIZE = 4096


class OpenFile(NamedTuple):
    """A regular file that is open for reading, and what its stat said when it was opened."""

    descriptor: int
    stat: os.stat_result


class Root:
    """A folder beneath which files are opened.

    The folder of the last file stays open until another one is asked for: files come in path order, so the next one
    is mostly its neighbour.
    """

    def __init__(self, path: str) -> None:
        self.path = path or os.curdir
        self._folder = ""
        self._descriptor = -1

    def __enter__(self) -> "Root":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def open(self, path: str, *, follow_link: bool = False) -> OpenFile:
        """Open a regular file by its path relative to the root; the caller closes it. Raises OSError.

        The last part of the path may be a link only where `follow_link` says so.
        """
        folder, name = os.path.split(path)
        if folder != self._folder or self._descriptor < 0:
            self._hold(folder)
        flags = _FILE_FLAGS if follow_link else _FILE_FLAGS | os.O_NOFOLLOW
        descriptor = os.open(name, flags, dir_fd=self._descriptor)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(errno.ENXIO, "not a regular file", path)
        except BaseException:
            os.close(descriptor)
            raise
        return OpenFile(descriptor, info)

    def read(self, path: str, max_bytes: int, *, follow_link: bool = False) -> bytes:
        """The bytes of a regular file. Raises OSError, EFBIG where there are more of them."""
        file = self.open(path, follow_link=follow_link)
        try:
            return read_open_file(file, max_bytes)
        finally:
            os.close(file.descriptor)

    def close(self) -> None:
        """Let go of the folder that is held open; the next file opens its folder again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _hold(self, folder: str) -> None:
        self.close()
        self._descriptor = os.open(os.path.join(self.path, folder), _FOLDER_FLAGS)
        self._folder = folder


def read_beneath(folder: str, path: str, max_bytes: int, *, follow_link: bool = False) -> bytes:
    """The bytes of one regular file beneath a folder. Raises OSError."""
    with Root(folder) as root:
        return root.read(path, max_bytes, follow_link=follow_link)


def sha256_beneath(folder: str, path: str) -> str:
    """The SHA-256 of a regular file's bytes, however many there are; its last part may be a link. Raises OSError."""
    import hashlib  # noqa: PLC0415  a query asks only for a file whose stat has changed

    with Root(folder) as root, open(root.open(path, follow_link=True).descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_open_file(file: OpenFile, max_bytes: int) -> bytes:
    """The bytes of an open file from its position to its end. Raises OSError, EFBIG where there are more than that."""
    chunks: list[bytes] = []
    size = 0
    # A buffer as large as the file should be: a large one for each small file costs more than reading it.
    buffer_size = min(max(file.stat.st_size + 1, _MIN_READ_SIZE), _READ_SIZE)
    while chunk := os.read(file.descriptor, buffer_size):
        size += len(chunk)
        if size > max_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def contained_path(root: str, path: str) -> str:
    """The path relative to the root, with `/`; the file need not exist.

    Raises UsageError for an absolute path, one that leaves the root (by `..` or through a link), or an
    empty one.
    """
    if not path.strip():
        raise UsageError("The file's path is empty.", "Give a path relative to the root.")
    if _has_hidden_characters(path):
        raise UsageError(
            f"{path!a} is not a path that can be stored.",
            "Rename the file: a name is one line of printable characters in UTF-8.",
        )
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
    if normal == ".." or normal.startswith("../"):
        raise UsageError(f"'{path}' leads out of the root {root}.", "Give a path inside it, without '..'.")
    return normal.replace(os.sep, "/")


def portable_path(path: str) -> str:
    """A path from another store, as it is: what names no file below any root is refused.

    Links are not looked at, as they may lead elsewhere here. Raises UsageError for a path that is absolute, leaves
    by `..`, is empty or is more than one line.
    """
    slashed = path.replace("\\", "/")
    if not path.strip():
        raise UsageError("its path is empty")
    if _has_hidden_characters(path):
        raise UsageError(f"its path {path!a} is not one line of printable characters")
    if slashed.startswith("/") or slashed[1:3] == ":/":
        raise UsageError(f"'{path}' is an absolute path")
    if os.path.normpath(slashed).split("/")[0] in (os.pardir, os.curdir):
        raise UsageError(f"'{path}' leads out of the root")
    return path


def is_inside(folder: str, path: str) -> bool:
    """Whether a real path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _has_hidden_characters(path: str) -> bool:
    """Whether a path has what breaks a line, hides or reorders, or is no UTF-8: Unicode's categories C."""
    if path.isprintable():
        return False
    import unicodedata  # noqa: PLC0415  such names are rare

    return any(unicodedata.category(character)[0] == "C" for character in path)
