"""Bring the stored linked artifacts in step with the disk, reading only files that changed.

    report = sync_tree(store, tree)     # stat of every file; a changed one is read, redacted, parsed, written

A tree that did not change costs one query and a stat for each file: no parser is loaded and nothing is written.
"""

import os

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.links.store import (
    KnownFile,
    forget,
    known_files,
    make_tree_id,
    record,
    remember_files,
    restamp,
    seen_files,
    shown_path,
    stored_texts,
    tree_id,
)
from ctxrank.indexer.links.tree import Tree, TreeFile, list_files
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store

if TYPE_CHECKING:  # loaded where a file has changed
    from ctxrank.indexer.files.read import FileText, ReadSkip
    from ctxrank.indexer.links.artifact import LinkedArtifact
    from ctxrank.indexer.links.text import LevelTexts

_CHUNK_FILES = 200


class SyncReport(NamedTuple):
    """What a run found and did; paths are relative to the tree's folder."""

    files: int
    read: tuple[str, ...]
    written: tuple[str, ...]
    removed: tuple[str, ...]


class _Read(NamedTuple):
    """A file that was read; `artifact` is None where its bytes are the known ones."""

    path: str
    stamp: FileStamp
    sha256: str
    artifact: "LinkedArtifact | None"
    texts: "LevelTexts | None"


class _Memory(NamedTuple):
    """What is kept of a tree between runs: as it was, its first line alone, and the whole of it."""

    before: str
    rules: str
    seen: str


def sync_tree(store: Store, tree: Tree, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> SyncReport:
    """Read what is new or changed in a tree and forget what is gone. Raises LockedError."""
    from ctxrank.indexer.privacy.blocklist import Forgotten

    forgotten = Forgotten(store.truth)
    files = [file for file in list_files(tree) if not forgotten.holds_path(shown_path(tree, file.path))]
    rules = f"{RULESET_VERSION} {mode.described}"
    seen, before = _described(rules, files), seen_files(store.truth, tree)
    if seen == before:
        return SyncReport(len(files), (), (), ())
    known = known_files(store.truth, tree_id(store.truth, tree))
    is_read_alike = before.partition("\n")[0] == rules
    to_read = [file for file in files if not is_read_alike or not _is_known(file, known.get(file.path))]
    gone = known.keys() - {file.path for file in files}
    written: list[str] = []
    for first in range(0, len(to_read), _CHUNK_FILES):
        looked = [
            # What was read by other rules is written again, though its bytes be the same.
            _look(tree, file, known.get(file.path) if is_read_alike else None, mode)
            for file in to_read[first : first + _CHUNK_FILES]
        ]
        with store.write() as change:
            number = make_tree_id(change, tree)
            written += [one.path for one in looked if _apply(change, tree, number, one, known.get(one.path))]
    if gone:
        with store.write() as change:
            for path in gone:
                forget(change, known[path].number)
    if written or gone:
        store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    _remember(store, tree, files, _Memory(before, rules, seen))
    return SyncReport(len(files), tuple(file.path for file in to_read), tuple(written), tuple(sorted(gone)))


def _remember(store: Store, tree: Tree, files: list[TreeFile], memory: _Memory) -> None:
    """Keep by which rules the files were read, and what they look like if that proves that none need be read again."""
    known = known_files(store.truth, tree_id(store.truth, tree))
    is_proof = all(_is_known(file, known.get(file.path)) for file in files)
    text = memory.seen if is_proof else memory.rules
    if not known or text == memory.before:
        return
    # It only saves time: nobody waits for a lock to have it.
    store.truth.set_busy_timeout(0)
    try:
        with store.write() as change:
            remember_files(change, tree, text)
    except CtxrankError:
        pass
    finally:
        store.truth.set_busy_timeout(store.busy_ms)


def _described(rules: str, files: list[TreeFile]) -> str:
    """All that decides whether a file is read again, in one text: comparing it costs no query for each file."""
    lines = [f"{path}\0{size} {mtime} {inode}" for path, size, mtime, inode in files]
    return "\n".join([rules, *lines])


def _is_known(file: TreeFile, known: KnownFile | None) -> bool:
    """Whether a file need not be read; one that could not be read is tried again."""
    return (
        known is not None and known.sha256 != "" and known.ruleset == RULESET_VERSION and known.stamp.proves(file.stamp)
    )


def _look(tree: Tree, file: TreeFile, known: KnownFile | None, mode: RedactionMode) -> _Read:
    """Read one file; a file that cannot be read is an artifact with a problem, so that `check` names it."""
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.files.read import FileText
    from ctxrank.indexer.links.frontmatter import Problem
    from ctxrank.indexer.links.reading import parse_artifact
    from ctxrank.indexer.links.text import level_texts
    from ctxrank.indexer.redaction.engine import redact

    read_at = now_us()
    outcome = read_tree_file(os.path.join(tree.folder, file.path))
    if isinstance(outcome, FileText):
        stamp = FileStamp(outcome.size_bytes, outcome.mtime_ns, outcome.inode, outcome.read_at)
        if known is not None and known.sha256 == outcome.sha256 and known.ruleset == RULESET_VERSION:
            return _Read(file.path, stamp, outcome.sha256, None, None)
        artifact = parse_artifact(file.path, redact(outcome.text, mode).text)
        return _Read(file.path, stamp, outcome.sha256, artifact, level_texts(artifact))
    stamp, sha256 = file.stamp._replace(read_at=read_at), outcome.sha256 or ""
    if known is not None and known.sha256 == sha256:
        return _Read(file.path, stamp, sha256, None, None)
    artifact = parse_artifact(file.path, "")
    problem = Problem("malformed-frontmatter", 1, f"the file cannot be read: {outcome.reason}")
    artifact = artifact._replace(problems=(problem,) if artifact.type else ())
    return _Read(file.path, stamp, sha256, artifact, level_texts(artifact))


def read_tree_file(path: str) -> "FileText | ReadSkip":
    """The one place where a file of a tree is opened."""
    from ctxrank.indexer.files.read import read_text_file  # an unchanged tree needs no reader

    return read_text_file(path)


def _apply(change: Change, tree: Tree, tree_number: int, read: _Read, known: KnownFile | None) -> bool:
    """Write what was read; False where only the stat was new, or the rules, which found the same."""
    is_same = read.artifact is None or read.texts is None
    if known is not None and known.sha256 == read.sha256 and known.ruleset == RULESET_VERSION and not is_same:
        before = stored_texts(change.connection, [known.number]).get(known.number)
        is_same = before is not None and before.texts == read.texts
    if read.artifact is None or read.texts is None or is_same:
        assert known is not None, "the bytes were compared with those of a row"
        restamp(change, known.number, read.stamp)
        return False
    record(change, tree, tree_number, read.artifact, read.texts, read.stamp, read.sha256)
    return True
