"""Annotations: comments in code that name the artifact a file belongs to.

    # @spec SPEC-BILLING-001.totals          Python, shell, Ruby, YAML
    // @decision DEC-BILLING-001             C, Go, Java, JavaScript, Rust
    -- @norm NORM-SQL-001                    SQL, Lua
    ; @test SPEC-BILLING-001                 Lisp, assembler
    /* @spec SPEC-A-1, SPEC-B-1 */           and ` * @spec …` inside such a comment

They are looked for in the files that `index` would walk, without prose (Markdown and the like), and kept with the
stat of each file, so that a second run reads only what changed.
"""

import os
import re
from functools import cache

import apsw

from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.artifact import ID
from ctxrank.indexer.links.store import make_tree_id, shown_path, tree_id
from ctxrank.indexer.links.tree import Tree
from ctxrank.indexer.store.store import Change, Store

TAGS = ("spec", "decision", "norm", "test")
_PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".html", ".json", ".lock", ".svg", ".csv")
_COMMENT = ("#", "//", "--", ";", "/*")
_CHUNK_FILES = 500
_LINE_CHARS = 2000  # a longer line is minified or data


class Annotation(NamedTuple):
    """One named artifact at one line of a file; `path` is relative to the tree's folder."""

    path: str
    line: int
    tag: str
    id: str
    part: str = ""


class AnnotationScan(NamedTuple):
    """What a run over the code found: every path that was walked, and how many files were read."""

    paths: tuple[str, ...]
    read: int


def find_annotations(path: str, text: str) -> list[Annotation]:
    """The annotations of one file, in the order of its lines."""
    found: list[Annotation] = []
    if "@" not in text:
        return found
    for match in _tag_pattern().finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        before = text[start : match.start()] if match.start() - start < _LINE_CHARS else ""
        if not any(mark in before for mark in _COMMENT) and before.strip() != "*":
            continue
        line = text.count("\n", 0, match.start()) + 1
        for name, part in re.findall(rf"({ID})(?:\.([\w-]+))?", match[2]):
            found.append(Annotation(path, line, match[1], name, part))
    return found


def sync_annotations(store: Store, tree: Tree, starts: tuple[str, ...] = ()) -> AnnotationScan:
    """Look through the code of a tree, reading only what changed, and forget what is gone.

    `starts` are the folders or files where annotations are looked for; none means the whole tree.
    """
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.files.walk import FoundFile, walk
    from ctxrank.indexer.privacy.blocklist import Forgotten

    forgotten = Forgotten(store.truth)
    known = _known(store.truth, tree_id(store.truth, tree))
    paths: list[str] = []
    pending: list[tuple[str, FileStamp, list[Annotation]]] = []
    unseen = dict(known)
    read = 0
    for entry in walk(tree.folder):
        if not isinstance(entry, FoundFile) or forgotten.holds_path(shown_path(tree, entry.path)):
            continue
        paths.append(entry.path)
        if entry.path.lower().endswith(_PROSE) or not _is_wanted(entry.path, starts):
            continue
        stamp = FileStamp(entry.size_bytes, entry.mtime_ns, entry.inode)
        before = unseen.pop(entry.path, None)
        if before is not None and before.proves(stamp):
            continue
        moment = now_us()
        text = _code(os.path.join(tree.folder, entry.path))
        read += 1
        pending.append((entry.path, stamp._replace(read_at=moment), find_annotations(entry.path, text)))
        if len(pending) == _CHUNK_FILES:
            _write(store, tree, pending)
            pending = []
    if pending:
        _write(store, tree, pending)
    if unseen:
        with store.write() as change:
            change.connection.executemany(
                "DELETE FROM annotated_files WHERE tree_id = ? AND path = ?",
                [(tree_id(store.truth, tree), path) for path in unseen],
            )
    return AnnotationScan(tuple(paths), read)


def stored_annotations(truth: apsw.Connection, tree_number: int) -> tuple[Annotation, ...]:
    """All annotations of a tree, by path and line."""
    query = """
        SELECT f.path, a.line, a.tag, a.name, a.part
          FROM annotations AS a
          JOIN annotated_files AS f ON f.id = a.file_id
         WHERE f.tree_id = ?
         ORDER BY f.path, a.line, a.rowid
    """
    return tuple(Annotation(*row) for row in truth.execute(query, (tree_number,)))


def is_looked_through(truth: apsw.Connection, tree: Tree) -> bool:
    """Whether the code of a tree was ever looked through; code in which nothing was annotated counts."""
    query = "SELECT 1 FROM annotated_files WHERE tree_id = ? LIMIT 1"
    return truth.execute(query, (tree_id(truth, tree),)).fetchone() is not None


def _known(truth: apsw.Connection, tree_number: int) -> dict[str, FileStamp]:
    query = "SELECT path, size_bytes, mtime_ns, inode, read_at FROM annotated_files WHERE tree_id = ?"
    return {row[0]: FileStamp(*row[1:]) for row in truth.execute(query, (tree_number,))}


def _is_wanted(path: str, starts: tuple[str, ...]) -> bool:
    from ctxrank.indexer.links.globs import matches

    return not starts or any(matches(start, path) for start in starts)


def _code(path: str) -> str:
    """A file's text, or '' for one that holds no annotation, is no text or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except OSError:
        return ""
    is_code = any(b"@" + tag.encode() in data for tag in TAGS) and b"\0" not in data[:8192]
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n") if is_code else ""


def _write(store: Store, tree: Tree, files: list[tuple[str, FileStamp, list[Annotation]]]) -> None:
    with store.write() as change:
        number = make_tree_id(change, tree)
        for path, stamp, annotations in files:
            _write_file(change, number, path, stamp, annotations)


def _write_file(change: Change, number: int, path: str, stamp: FileStamp, annotations: list[Annotation]) -> None:
    change.connection.execute("DELETE FROM annotated_files WHERE tree_id = ? AND path = ?", (number, path))
    change.connection.execute(
        "INSERT INTO annotated_files (tree_id, path, size_bytes, mtime_ns, inode, read_at) VALUES (?, ?, ?, ?, ?, ?)",
        (number, path, *stamp),
    )
    file_id = change.connection.last_insert_rowid()
    change.connection.executemany(
        "INSERT INTO annotations (file_id, line, tag, name, part) VALUES (?, ?, ?, ?, ?)",
        [(file_id, one.line, one.tag, one.id, one.part) for one in annotations],
    )


@cache
def _tag_pattern() -> re.Pattern[str]:
    return re.compile(rf"@({'|'.join(TAGS)})[ \t:(]+({ID}(?:\.[\w-]+)?(?:[ \t]*,[ \t]*{ID}(?:\.[\w-]+)?)*)")
