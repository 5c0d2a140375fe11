"""What has changed: the files on disk against the artifacts that the primary database knows, by their stat alone.

    known \\ disk    same stat     other stat    not there    cannot be looked at
    indexed         unchanged     to read       gone         stale
    stale           back          to read       gone         (stays as it is)
    skipped         skipped       to read       gone         (stays as it is)
    missing         to read       to read       -            -
    none            to read       to read

Nothing here opens a file or writes: a second run over an unchanged tree ends here.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from ctxrank.indexer.beneath import is_inside, real_path
from ctxrank.indexer.files.artifacts import Artifact
from ctxrank.indexer.files.stamps import FileStamp, FoundFile, compare_stats
from ctxrank.indexer.files.walk import LINK_OUT, Entry, Skipped, Unreadable, examine
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION

Target = tuple[FoundFile, Artifact | None]  # a file that has to be read, and the artifact that is known of it


class Changes(NamedTuple):
    """What a run has to do in one root, and what it only has to report."""

    to_read: list[Target]
    unchanged: list[str]
    # The new state and its reason: indexed, of a stale one that is there again as it was; stale, of one that is not to
    # be looked at now; skipped, of one that is there, but no longer something with a text.
    marks: list[tuple[Artifact, str, str]]
    gone: list[Artifact]
    skipped: list[Skipped]
    skipped_before: list[str]  # those of `skipped` that an earlier run wrote down with the same reason


def compare(
    root: str, entries: Iterable[Entry], known: dict[str, Artifact], *, followed: set[int], awaited: Iterable[str] = ()
) -> Changes:
    """Compare what a walk yields with the artifacts it might have met.

    Artifacts in `followed` are looked at where the walk does not come: packages point to them, and
    what packages point to often lies in an ignored folder. `awaited` are paths to be taken in for the
    same reason although they are no artifacts yet.
    """
    reported: dict[str, Skipped | Unreadable] = {}
    to_read, same, unseen = compare_stats(_files(entries, reported), known, _is_same)
    changes = Changes(to_read, [], [], [], [], [])
    for found, artifact in same:
        _place_same(changes, found, artifact)
    real_root = os.path.realpath(root)

    @cache
    def is_outside(folder: str) -> bool:
        return not is_inside(real_root, real_path(os.path.join(real_root, folder)))

    for artifact in unseen.values():
        _place_unseen(changes, root, artifact, artifact.id in followed, reported, is_outside)
    for path in sorted(set(awaited).difference(known, (file.path for file, _ in changes.to_read))):
        with contextlib.suppress(OSError):
            entry = examine(root, path)
            if isinstance(entry, FoundFile) and not is_outside(os.path.dirname(path)):
                changes.to_read.append((entry, None))
    changes.skipped.extend(Skipped(*one) for one in reported.values())
    return changes


def _files(entries: Iterable[Entry], reported: dict[str, Skipped | Unreadable]) -> Iterator[FoundFile]:
    """The files among the entries of a walk; what is none goes into `reported`."""
    for entry in entries:
        if isinstance(entry, FoundFile):
            yield entry
        else:
            reported[entry.path] = entry


def _is_same(found: FoundFile, known: Artifact) -> bool:
    """Whether the stat proves that the bytes are the same, and they were redacted by today's rules."""
    stamp = FileStamp(known.size_bytes, known.mtime_ns, known.inode, known.indexed_at)
    return known.state != "missing" and known.ruleset == RULESET_VERSION and stamp.proves(found)


def _place_same(changes: Changes, found: FoundFile, known: Artifact) -> None:
    if known.state == "skipped":
        _place_unfit(changes, known, known.reason)
        return
    changes.unchanged.append(found.path)
    if known.state == "stale":
        changes.marks.append((known, "indexed", ""))


def _place_unseen(
    changes: Changes,
    root: str,
    known: Artifact,
    is_followed: bool,
    reported: dict[str, Skipped | Unreadable],
    is_outside: Callable[[str], bool],
) -> None:
    """An artifact that the walk did not find as a file: deleted, hidden, passed over, or out of sight."""
    was_reported = reported.pop(known.path, None) is not None
    try:
        entry = examine(root, known.path)
    except (FileNotFoundError, NotADirectoryError):
        if known.state != "missing":
            changes.gone.append(known)
        return
    except OSError as error:
        reason = error.strerror or str(error)
        if known.state == "indexed":
            changes.marks.append((known, "stale", reason))
        changes.skipped.append(Skipped(known.path, reason))
        return
    if not (is_followed or was_reported or _is_in_unreadable_folder(known.path, reported)):
        if known.state != "missing":
            changes.gone.append(known)  # hidden by an ignore file that was not there before
    elif is_outside(os.path.dirname(known.path)):
        _place_unfit(changes, known, LINK_OUT)
    elif not isinstance(entry, FoundFile):
        _place_unfit(changes, known, entry.reason)
    elif _is_same(entry, known):
        _place_same(changes, entry, known)
    else:
        changes.to_read.append((entry, known))


def _place_unfit(changes: Changes, known: Artifact, reason: str) -> None:
    if (known.state, known.reason) == ("skipped", reason):
        changes.skipped_before.append(known.path)
    else:
        changes.marks.append((known, "skipped", reason))
    changes.skipped.append(Skipped(known.path, reason))


def _is_in_unreadable_folder(path: str, reported: dict[str, Skipped | Unreadable]) -> bool:
    """Whether the walk could not enter a folder above, or the tree itself."""
    folder = os.path.dirname(path) if reported else ""
    while folder:
        if folder in reported:
            return isinstance(reported[folder], Unreadable)
        folder = os.path.dirname(folder)
    return isinstance(reported.get(os.curdir), Unreadable)
