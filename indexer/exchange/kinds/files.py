"""The files that imported records point to: read and prepared outside of any transaction, and counted."""

import os
from collections import Counter, OrderedDict
from collections.abc import Iterator

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.run import ImportRun
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.text.lines import is_one_line

# Packages that share a file are mostly neighbours.
_FILES_REMEMBERED = 32


class Files:
    """The files below the root that records of this store name.

    What comes from another store brings its own texts: no file here is read for it, whatever its path. Where it is not
    known whose the root is (`is_read` false), files count as missing until a scan finds them.
    """

    def __init__(self, run: ImportRun, *, is_read: bool = True) -> None:
        self._run = run
        self._is_read = is_read
        self._root = run.store.location.root
        self._remembered: OrderedDict[str, artifacts.PreparedFile | None] = OrderedDict()
        self._unreadable: dict[str, str] = {}
        self._outside: Counter[str] = Counter()

    def find(self, path: str) -> tuple[str, artifacts.PreparedFile | None]:
        """The path as it is stored, and the file if there is one inside the root that has a text."""
        if self._run.origin.code:
            return self._run.texts.line(path), None
        try:
            inside = contained_path(self._root, path)
        except UsageError:
            self._outside[_why_outside(self._root, path)] += 1
            return self._run.texts.line(path), None
        shown = self._run.texts.line(inside)
        if shown != inside:
            self._unreadable[shown] = "the path holds a secret, or characters that no terminal shows"
            return shown, None
        if not self._is_read:
            self._run.account.files_missing.add(inside)
            return inside, None
        if inside not in self._remembered:
            self._remembered[inside] = self._prepare(inside)
            if len(self._remembered) > _FILES_REMEMBERED:
                self._remembered.popitem(last=False)
        prepared = self._remembered[inside]
        self._run.held_bytes += prepared.file.size_bytes if prepared else 0
        return inside, prepared

    def notes(self) -> Iterator[str]:
        """What a person should know about files that were not indexed."""
        for why, count in sorted(self._outside.items()):
            yield f"{count} {'path' if count == 1 else 'paths'} {why}: imported without their files."
        for reason, count in sorted(Counter(self._unreadable.values()).items()):
            yield f"{count} files are not indexed: {reason}."

    def _prepare(self, path: str) -> artifacts.PreparedFile | None:
        read = read_text_file(self._root, path)
        if isinstance(read, FileText):
            self._run.account.files_indexed.add(path)
            return artifacts.prepare(path, read, self._run.mode)
        if read.reason == "vanished":
            self._run.account.files_missing.add(path)
        else:
            self._unreadable[path] = read.reason
        return None


def _why_outside(root: str, path: str) -> str:
    """Why a path names no file below the root, which is known of it."""
    slashed = path.replace("\\", "/")
    if not path.strip():
        return "empty"
    if not is_one_line(path):
        return "of characters that no path here has"
    if slashed.startswith("/") or os.path.isabs(path) or slashed[1:3] == ":/":
        return "not relative to the root"
    if os.path.normpath(slashed).split("/")[0] in (os.pardir, os.curdir):
        return f"out of {root} by '..'"
    if os.path.realpath(os.path.join(root, slashed)) == os.path.realpath(root):
        return f"of {root} itself"
    return f"out of {root} through links"
