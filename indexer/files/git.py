"""Git, asked about a checkout that anyone may have made: the one module that runs it.

    repository = find_repository("/home/me/shop")     None: no checkout; GitError: one that is not asked, and why
    repository.head                                   the commit, read from files, without a process
    with git_on(repository, store.location.folder) as git:
        for record in git.records("ls-tree", "-r", "-z", commit): ...

A repository's own configuration can make nearly every command of git run a program: hooks, a pager, signatures, file
system monitors, filters, aliases. So git is never shown it. It runs in a private folder that says "an empty
repository", and is given the checkout's objects (and its index, where a command needs it) by name: what `.git/config`
says is not overruled, it is not read. The user's and the system's configuration is off as well, and what a later git
might still start is switched off by name. There is no remote in that folder, so nothing can be fetched.

Reading commits in our own code (or with dulwich) was the alternative: nothing would run at all, but a history of
100,000 commits takes minutes in Python and seconds in git, and packs, deltas and their indexes would be parsed here.
"""

import os
import re
import select
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Mapping

from ctxrank.indexer.beneath import is_inside, read_beneath
from ctxrank.indexer.light_typing import NamedTuple, contextmanager
from ctxrank.indexer.store.location import checkout_of, git_folder, own_ids
from ctxrank.indexer.systems import signal

MAX_SECONDS = 10.0
MAX_OUTPUT_BYTES = 512 * 1024 * 1024
_MAX_RECORD_BYTES = 1024 * 1024
_MAX_SMALL_FILE_BYTES = 16 * 1024 * 1024  # HEAD, a ref, packed-refs, the shallow list
_MAX_OBJECT_FILES = 1_000_000
_MAX_ALLOCATION = "1g"  # of one object: a tree or a commit that claims to be larger is not read
_MAX_REF_DEPTH = 5
_LEFTOVER_SECONDS = 3600
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.05  # between two looks whether it has ended
# What is made in the folder of a store, and removed there by its name: that may be a folder of the user's other files.
_SCRATCH_PREFIX = ".ctxrank-git-"
SCRATCH_NAME = rf"{re.escape(_SCRATCH_PREFIX)}[0-9a-f]{{16}}"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs(?:/(?!\.)[^/\0]+)+")
_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin")

_FLAGS = (
    "--no-pager", "--literal-pathspecs", "--no-optional-locks", "--no-replace-objects",
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
    "-c", "core.pager=cat", "-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null",
    "-c", "core.sshCommand=false", "-c", "core.gitProxy=", "-c", "core.askPass=", "-c", "core.alternateRefsCommand=",
    "-c", "credential.helper=", "-c", "log.showSignature=false", "-c", "log.mailmap=false", "-c", "gpg.program=false",
    "-c", "diff.external=", "-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
)  # fmt: skip
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull, "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_PAGER": "cat",
    "GIT_ALLOC_LIMIT": _MAX_ALLOCATION,
}  # fmt: skip
_OWN_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tpackedGitLimit = 512m\n\tpackedGitWindowSize = 32m\n"
_SHA256_CONFIG = "[extensions]\n\tobjectFormat = sha256\n"


class GitError(Exception):
    """Why git was not asked, or gave no whole answer: the end of a sentence for a person."""


class GitTimeoutError(GitError):
    """The history is too large to be read in the time, or the space, that it may take."""


class Repository(NamedTuple):
    """A checkout: the folder asked about, its top, and where git keeps HEAD and the index, refs and objects."""

    folder: str
    top: str
    own: str  # .git, or the folder of a linked worktree
    common: str  # .git of the main worktree
    head: str = ""  # the commit that is checked out

    @property
    def prefix(self) -> str:
        """The folder within the checkout, '' or with a slash at its end."""
        relative = os.path.relpath(self.folder, self.top)
        return "" if relative == os.curdir else relative.replace(os.sep, "/") + "/"


def find_repository(folder: str) -> Repository | None:
    """The checkout that a folder lies in, if something is committed there, and its refs are in files. Raises GitError
    where it is another user's, or an unusual one.

    A linked worktree is one only if git's own folder names it, too: a `.git` file may say anything.
    """
    folder = os.path.realpath(folder)
    top = checkout_of(folder)
    if top is None:
        return None
    own = common = git_folder(top)
    if own != os.path.join(top, ".git"):
        common, _, name = own.rpartition(os.sep + "worktrees" + os.sep)
        if not name or os.sep in name:
            raise GitError(
                "its .git names no linked worktree, or one that is elsewhere (a submodule has none of its own)"
            )
    for place in (top, own, common, os.path.join(common, "objects")):
        _require_own_folder(place)
    head = _head_commit(own, common)
    return Repository(folder, top, own, common, head) if head else None


def _require_own_folder(path: str) -> None:
    """Raises GitError for what is no real folder of this user: the rule of git's own `safe.directory`."""
    try:
        info = os.lstat(path)
    except OSError as error:
        raise GitError(f"{os.path.basename(path)} cannot be read: {error.strerror}") from error
    if not stat.S_ISDIR(info.st_mode):
        raise GitError(f"{os.path.basename(path)} is not a folder")
    if info.st_uid not in own_ids():
        raise GitError("it belongs to another user")


def _small_file(folder: str, path: str) -> str:
    """The text of a small file of a repository, '' where there is none."""
    try:
        return read_beneath(folder, path, _MAX_SMALL_FILE_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _head_commit(own: str, common: str) -> str:
    """The commit that is checked out, '' where there is none yet, or git keeps its refs in another form."""
    text = _small_file(own, "HEAD").strip()
    for _ in range(_MAX_REF_DEPTH):
        if _COMMIT.fullmatch(text):
            return text
        name = text.removeprefix("ref:").strip()
        if not text.startswith("ref:") or not _REF.fullmatch(name) or ".." in name:
            return ""
        text = (_small_file(own, name) or _small_file(common, name)).strip()
        if not text:
            packed = _small_file(common, "packed-refs")
            at = packed.find(f" {name}\n")
            commit = packed[packed.rfind("\n", 0, at) + 1 : at] if at >= 0 else ""
            return commit if _COMMIT.fullmatch(commit) else ""
    return ""


def commit_of(folder: str) -> str:
    """The commit that is checked out in a folder, '' for none, and where git cannot be asked."""
    try:
        repository = find_repository(folder)
    except GitError:
        return ""
    return "" if repository is None else repository.head


@contextmanager
def git_on(repository: Repository, scratch: str) -> Generator["Git", None, None]:
    """Git on the objects of a checkout, for one task: all its calls together take no longer than MAX_SECONDS.

    Its private folder is made in `scratch`, a folder that is the user's alone. Raises GitError.
    """
    deadline = time.monotonic() + MAX_SECONDS
    program = _program(repository.top)
    _check_objects(os.path.join(repository.common, "objects"))
    _sweep(scratch)
    folder = os.path.join(scratch, f"{_SCRATCH_PREFIX}{os.urandom(8).hex()}")
    try:
        try:
            os.mkdir(folder, 0o700)
            _fill(folder, repository)
        except OSError as error:  # a disk that is full, a store that cannot be written
            raise GitError(f"a folder for git cannot be made: {error.strerror}") from error
        yield Git(repository, folder, program, deadline)
    finally:
        _remove(folder)


class Git(NamedTuple):
    """A private folder in which git may run, until a deadline."""

    repository: Repository
    folder: str
    program: str
    deadline: float

    def records(
        self, *words: str, has_worktree: bool = False, end: bytes = b"\0", given: str = os.devnull
    ) -> Generator[bytes, None, None]:
        """What a command prints, one record for each NUL or other end; the process ends with the iteration. Raises
        GitError.

        With `has_worktree` it runs in the folder and knows the index and the files; it reads the `given` file.
        """
        repository = self.repository
        environment = {
            **_ENVIRONMENT,
            "HOME": self.folder,
            "XDG_CONFIG_HOME": self.folder,
            "GIT_DIR": self.folder,
            "GIT_OBJECT_DIRECTORY": os.path.join(repository.common, "objects"),
        }
        if has_worktree:
            index = os.path.join(repository.own, "index")
            if os.path.lexists(index) and not stat.S_ISREG(os.lstat(index).st_mode):
                raise GitError("its index is no plain file")  # git would wait for a pipe
            environment["GIT_WORK_TREE"] = repository.top
            environment["GIT_INDEX_FILE"] = index
        folder = repository.folder if has_worktree else self.folder
        with _Process((self.program, "-C", folder, *_FLAGS, *words), environment, given) as process:
            yield from self._pieces(process.output, end)
            if process.wait(self.deadline):
                raise GitError("git could not read the history (objects may be missing, as in a partial clone)")

    def files(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the names, each a commit, a colon and a path, that are files, and what these hold: one process reads
        all of them. Raises GitError.
        """
        asked = [name for name in names if "\n" not in name]
        _write(self.folder, "asked", "\n".join((*asked, "")))
        lines = self.records("cat-file", "--batch", end=b"\n", given=os.path.join(self.folder, "asked"))
        for name in asked:
            _, kind, size = (b"  " + next(lines)).rsplit(b" ", 2)
            if size.isdigit():  # else it says what is missing
                found, left = [next(lines)], int(size)
                while (left := left - len(found[-1]) - 1) >= 0:
                    found.append(next(lines))
                if kind == b"blob":
                    yield name, b"\n".join(found)

    def _pieces(self, output: int, end: bytes) -> Iterator[bytes]:
        rest, size = b"", 0
        poll = select.poll()
        poll.register(output, select.POLLIN)
        while poll.poll(1000 * max(self.deadline - time.monotonic(), 0)):
            chunk = os.read(output, 1 << 16)
            if not chunk:
                if rest:
                    yield rest
                return
            size += len(chunk)
            *pieces, rest = (rest + chunk).split(end)
            if size > MAX_OUTPUT_BYTES or len(rest) > _MAX_RECORD_BYTES:
                raise GitTimeoutError("its history is too large")
            yield from pieces
        raise _too_long()


def _too_long() -> GitTimeoutError:
    return GitTimeoutError(f"its history takes longer than {MAX_SECONDS:g} s to read")


def _fill(folder: str, repository: Repository) -> None:
    """Make the private folder a repository, with what is no configuration of the checkout's own."""
    is_sha256 = len(repository.head) > 40
    os.mkdir(os.path.join(folder, "refs"))
    os.mkdir(os.path.join(folder, "info"))
    texts = {
        "HEAD": "ref: refs/heads/none\n",
        "config": _OWN_CONFIG.format(version=int(is_sha256)) + (_SHA256_CONFIG if is_sha256 else ""),
        "shallow": _small_file(repository.common, "shallow"),
        "info/exclude": _small_file(repository.common, "info/exclude"),
    }
    for name, text in texts.items():
        if text:
            _write(folder, name, text)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "xb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def _remove(folder: str) -> None:
    """Remove the private folder; what cannot be removed is swept another time."""
    try:
        for place, folders, files in os.walk(folder, topdown=False):
            for name in files:
                os.unlink(os.path.join(place, name))
            for name in folders:
                os.rmdir(os.path.join(place, name))
        os.rmdir(folder)
    except OSError:
        pass  # another time


class _Process:
    """A command in a group of its own, which ends with the block.

    `subprocess`, with all that it loads, takes longer to load than a bare start.
    """

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str], given: str) -> None:
        self.output, written = os.pipe()
        actions = (
            (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, written, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        )
        passed = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and git is to be ended by them
        try:
            self._pid = os.posix_spawn(
                command[0], command, environment, file_actions=actions, setpgroup=0, setsigdef=passed
            )
        except OSError as error:
            os.close(self.output)
            raise GitError(f"git cannot be started: {error.strerror}") from error
        finally:
            os.close(written)
        self._code: int | None = None

    def wait(self, deadline: float) -> int:
        """Its exit code. Raises GitTimeoutError."""
        pause = _SHORTEST_PAUSE_S
        while self._code is None:
            ended, status = os.waitpid(self._pid, os.WNOHANG)
            if ended:
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise _too_long()
            else:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
        return self._code

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *_: object) -> None:
        """Let nothing of it go on."""
        os.close(self.output)
        if self._code is None:
            try:  # noqa: SIM105  start-up: contextlib
                os.killpg(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself
            os.waitpid(self._pid, 0)


def _program(top: str) -> str:
    """Git's absolute path, outside the checkout: what lies in it, or in a relative folder of PATH, is not git."""
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *_PLACES):
        path = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.access(path, os.X_OK):
            real = os.path.realpath(path)
            if os.path.isfile(real) and not is_inside(top, real) and not is_inside(top, os.path.realpath(folder)):
                return path
    raise GitError("git is not installed")


def _check_objects(folder: str) -> None:
    """Raises GitError for objects that lie elsewhere, or in what would never end: a link, a pipe, a device."""
    if _small_file(folder, "info/alternates").strip():
        raise GitError("it borrows objects of another repository")
    seen, folders = 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False) or seen > _MAX_OBJECT_FILES:
                        raise GitError("its objects are not plain files, or too many")
        except OSError as error:
            raise GitError(f"its objects cannot be read: {error.strerror}") from error


def _sweep(scratch: str) -> None:
    """Remove what a process that was killed has left behind."""
    try:
        with os.scandir(scratch) as entries:
            for entry in entries:
                is_ours = re.fullmatch(SCRATCH_NAME, entry.name) and entry.is_dir(follow_symlinks=False)
                if is_ours and time.time() - entry.stat(follow_symlinks=False).st_mtime > _LEFTOVER_SECONDS:
                    _remove(entry.path)
    except OSError:
        pass  # another time
