"""Files beneath a root: the one function that opens them.

    with Root("/home/me/shop") as root:
        root.open("artifacts/auth.md")           descriptor and stat of a regular file
        root.read("artifacts/auth.md", 65_536)   its bytes, if they are no more than that
        root.open_folder("artifacts")            descriptor to list a folder by

    read_file("/home/me/.config/…", 65_536)      a file that the user named: its path may lead anywhere

A path is opened one name at a time, each from the descriptor of the folder before it and none through a link. A link
where one is allowed is read and followed by the same steps, so that it ends inside the root or not at all: what other
programs exchange meanwhile leads nowhere else (Linux calls this RESOLVE_BENEATH). Nothing is waited for (a named pipe
would block for ever), and only regular files are opened. What cannot be read is an OSError: EXDEV for what leads out of
the root, ENXIO for what is no regular file, EFBIG for more bytes than the caller takes, and whatever the system says.
"""

import errno
import os
import stat

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.systems import FOLDER_ONLY

# How often a path is asked for its place again while other programs exchange its folders with links.
_PLACE_TRIES = 20

_ROOT_FLAGS = FOLDER_ONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER_FLAGS = _ROOT_FLAGS | os.O_NOFOLLOW
_LISTING_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FILE_NOT_LINK_FLAGS = _FILE_FLAGS | os.O_NOFOLLOW
_READ_SIZE = 1024 * 1024
_MIN_READ_SIZE = 4096
_MAX_LINKS = 40  # as many as the system follows
_MAX_HELD = 24  # folders that are held open; the descriptors of a process are few


class OpenFile(NamedTuple):
    """A regular file that is open for reading, and what its stat said when it was opened."""

    descriptor: int
    stat: os.stat_result


class Root:
    """A folder beneath which files are opened.

    The folders on the way to the last file stay open until another one is asked for: files come in path order, so the
    next one is mostly a neighbour. The root itself may be reached through links, since the user named it. Beneath it
    at most `max_links` are followed on the way to a file.
    """

    def __init__(self, path: str, *, max_links: int = _MAX_LINKS) -> None:
        self.path = path or os.curdir
        self._max_links = max_links
        self._folder: str | None = None  # as it was asked for; None: nothing is held
        self._descriptor = -1  # of that folder
        self._names: list[str] = []  # where it really is, from the root
        self._held: list[int] = []  # the descriptors of the root and of each of the names; -1 for one that was let go
        self._links = 0

    def __enter__(self) -> "Root":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, path: str, *, follow_link: bool = False) -> OpenFile:
        """Open a regular file by its path relative to the root; the caller closes it. Raises OSError.

        The last part of the path may be a link only where `follow_link` says so; one before it may always be.
        """
        folder, _, name = path.rpartition("/")
        self._go_to(folder)
        try:
            descriptor = os.open(name, _FILE_NOT_LINK_FLAGS, dir_fd=self._descriptor)
        except OSError as error:
            if not follow_link or error.errno != errno.ELOOP:
                raise
            descriptor = self._open_target(name)
        return _regular(descriptor, path)

    def read(self, path: str, max_bytes: int, *, follow_link: bool = False) -> bytes:
        """The bytes of a regular file. Raises OSError, EFBIG where there are more of them."""
        return _whole(self.open(path, follow_link=follow_link), max_bytes)

    def open_folder(self, folder: str) -> int:
        """A descriptor to list a folder by ("" is the root), which the caller closes. Raises OSError."""
        self._go_to(folder)
        return os.open(os.curdir, _LISTING_FLAGS, dir_fd=self._descriptor)

    def stat(self, path: str) -> os.stat_result:
        """What a path is; of a link, the link itself. Raises OSError."""
        folder, _, name = path.rpartition("/")
        self._go_to(folder)
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def close(self) -> None:
        """Let go of the folders that are held open; the next file opens its folder again."""
        self._leave(-1)
        self._folder, self._descriptor = None, -1

    def _go_to(self, folder: str) -> None:
        """Hold a folder and those above it, unless it is held. Raises OSError."""
        if folder == self._folder:
            return
        self._folder = None
        self._links = 0
        if not self._held:
            self._held.append(os.open(self.path, _ROOT_FLAGS))
        self._descriptor = self._step(folder.split("/"), 0)
        self._folder = folder

    def _step(self, path: list[str], depth: int) -> int:
        """Go by these names from the folder at some depth of those that are held, and hold the last one."""
        pending = path[::-1]
        while pending or self._held[depth] < 0:
            if self._held[depth] < 0:  # let go: the same way again from the root
                pending += reversed(self._names[:depth])
                depth = 0
                self._leave(depth)
                continue
            name = pending.pop()
            if name in ("", os.curdir):
                continue
            if name == os.pardir:
                if depth == 0:
                    raise _out_of_the_root("/".join(path))
                depth -= 1
            elif depth < len(self._names) and self._names[depth] == name:
                depth += 1
            else:
                self._leave(depth)
                try:
                    descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=self._held[depth])
                except OSError as error:
                    if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                        raise
                    target = self._target(name, depth)
                    if target is None:
                        raise
                    if target[:1] == [""]:
                        depth = 0
                    pending += reversed(target)
                    continue
                self._names.append(name)
                self._held.append(descriptor)
                depth += 1
                if (far := depth - _MAX_HELD) > 0:
                    os.close(self._held[far])
                    self._held[far] = -1
        self._leave(depth)
        return self._held[depth]

    def _open_target(self, name: str) -> int:
        """The file that a link in the folder at hand leads to. Raises OSError."""
        self._folder = None  # what is held next is the folder of the target
        while True:
            depth = len(self._names)
            target = self._target(name, depth)
            if target is None:  # no link any more
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
            name = target.pop()
            self._descriptor = self._step(target, 0 if target[:1] == [""] else depth)
            try:
                return os.open(name, _FILE_NOT_LINK_FLAGS, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise

    def _target(self, name: str, depth: int) -> list[str] | None:
        """The names that a link leads by, the first '' for one from the root; None for what is no link.

        Raises OSError for one link too many, and for one that leads out of the root by an absolute path.
        """
        try:
            target = os.readlink(name, dir_fd=self._held[depth])
        except OSError:
            return None
        self._links += 1
        if self._links > self._max_links:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if not target.startswith("/"):
            return target.split("/")
        top = os.path.abspath(self.path)
        if not is_inside(top, target):
            top, target = real_path(top), real_path(target)
        if is_inside(top, target):
            return ["", *target[len(top) :].split("/")]
        raise _out_of_the_root(name)

    def _leave(self, depth: int) -> None:
        """Let go of what is deeper; -1 lets go of the root as well."""
        while len(self._held) > depth + 1:
            descriptor = self._held.pop()
            if descriptor >= 0:
                os.close(descriptor)
        del self._names[max(depth, 0) :]


def read_beneath(folder: str, path: str, max_bytes: int, *, follow_link: bool = False) -> bytes:
    """The bytes of one regular file beneath a folder. Raises OSError."""
    with Root(folder) as root:
        return root.read(path, max_bytes, follow_link=follow_link)


def read_file(path: str, max_bytes: int) -> bytes:
    """The bytes of a regular file of the user's own, who may have put a link there. Raises OSError."""
    return _whole(_regular(os.open(path, _FILE_FLAGS), path), max_bytes)


def read_part(path: str, max_bytes: int, *, is_end: bool = False) -> bytes:
    """The first bytes of a regular file of the user's own, or the last ones. Raises OSError."""
    file = _regular(os.open(path, _FILE_FLAGS), path)
    try:
        return os.pread(file.descriptor, max_bytes, max(file.stat.st_size - max_bytes, 0) if is_end else 0)
    finally:
        os.close(file.descriptor)


def read_open_file(file: OpenFile, max_bytes: int) -> bytes:
    """The bytes of an open file from its position to its end. Raises OSError, EFBIG where there are more than that."""
    if file.stat.st_size > max_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
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


def _whole(file: OpenFile, max_bytes: int) -> bytes:
    """The same of a file that is closed then."""
    try:
        return read_open_file(file, max_bytes)
    finally:
        os.close(file.descriptor)


def _regular(descriptor: int, path: str) -> OpenFile:
    """The open file, which is closed again if it is none. Raises OSError."""
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.ENXIO, "not a regular file", path)
    except BaseException:
        os.close(descriptor)
        raise
    return OpenFile(descriptor, info)


def _out_of_the_root(path: str) -> OSError:
    return OSError(errno.EXDEV, "a link out of the tree", path)


def real_path(path: str) -> str:
    """The path without links. Raises OSError where other programs exchange its folders with links without end.

    `os.path.realpath` looks at a name and then reads its link: between the two a link may have become a folder, which
    was an error before Python 3.13.
    """
    for _ in range(_PLACE_TRIES):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    return os.path.realpath(path)


def is_inside(folder: str, path: str) -> bool:
    """Whether a real path is the folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
