"""Annotations: comments in code that name the artifact a file belongs to.

    # @spec SPEC-BILLING-001.totals          Python, shell, Ruby, YAML
    // @decision DEC-BILLING-001             C, Go, Java, JavaScript, Rust
    -- @norm NORM-SQL-001                    SQL, Lua
    ; @test SPEC-BILLING-001                 Lisp, assembler
    /* @spec SPEC-A-1, SPEC-B-1 */           and ` * @spec …` inside such a comment

They are looked for in the files that `index` would walk, without prose (Markdown and the like), and kept with the
stat of each file, so that a second run reads only what changed.

    trace_path(graph, "src/billing/invoice.py", text)
        SPEC-BILLING-001    via paths: src/billing/**
        NORM-ERROR-001      via scope: src/**
        DEC-BILLING-003     via annotation at line 12
"""

import re

from ctxrank.extensions.links.artifact import ID
from ctxrank.extensions.links.globs import matches
from ctxrank.extensions.links.graph import Graph, Node
from ctxrank.extensions.links.store import (
    Annotation,
    make_tree_id,
    note_looked_through,
    require_tables,
    shown_path,
    tree_id,
)
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.files.stamps import FileStamp, FoundFile, compare_stats
from ctxrank.indexer.files.walk import Unreadable, walk
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store import rows
from ctxrank.indexer.store.blocklist import Blocklist
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import is_one_line

TAGS = ("spec", "decision", "norm", "test")
_PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".html", ".json", ".lock", ".svg", ".csv")
_COMMENT = ("#", "//", "--", ";", "/*")
_CHUNK_FILES = 500
_TYPE_ORDER = ("spec", "norm", "decision", "task", "identity")
_LINE_CHARS = 2000  # a longer line is minified or data
_TAGGED = rf"@({'|'.join(TAGS)})[ \t:(]+({ID}(?:\.[\w-]+)?(?:[ \t]*,[ \t]*{ID}(?:\.[\w-]+)?)*)"


class Governor(NamedTuple):
    """An artifact that governs a file, with every reason; `line` is that of the first annotation, 0 for none."""

    node: Node
    reasons: tuple[str, ...]
    line: int


def find_annotations(path: str, text: str) -> list[Annotation]:
    """The annotations of one file, in the order of its lines."""
    found: list[Annotation] = []
    line, counted = 1, 0  # of generated code each line may have one
    for match in re.finditer(_TAGGED, text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        start = text.rfind("\n", 0, match.start()) + 1
        before = text[start : match.start()] if match.start() - start < _LINE_CHARS else ""
        if not any(mark in before for mark in _COMMENT) and before.strip() != "*":
            continue
        for name, part in re.findall(rf"({ID})(?:\.([\w-]+))?", match[2]):
            found.append(Annotation(path, line, match[1], name, part))
    return found


def trace_path(graph: Graph, path: str, text: str) -> tuple[tuple[Governor, ...], tuple[str, ...]]:
    """Who governs a file of this path and text, by type and id; and the ids it names that do not exist."""
    reasons: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    unknown: dict[str, None] = {}
    for node in graph.nodes.values():
        field = "scope" if node.type == "norm" else "paths"
        if node.type in ("spec", "norm"):
            reasons[node.id] = [f"via {field}: {glob}" for glob in node.globs if matches(glob, path)]
    for annotation in find_annotations(path, text):
        if annotation.id not in graph.nodes:
            unknown[annotation.id] = None
            continue
        kind = "" if annotation.tag == graph.nodes[annotation.id].type else f" (@{annotation.tag})"
        reasons.setdefault(annotation.id, []).append(f"via annotation at line {annotation.line}{kind}")
        lines.setdefault(annotation.id, annotation.line)
    found = [
        Governor(graph.nodes[id_], tuple(dict.fromkeys(said)), lines.get(id_, 0))
        for id_, said in reasons.items()
        if said
    ]
    found.sort(key=lambda one: (one.node.is_retired, _TYPE_ORDER.index(one.node.type), one.node.id))
    return tuple(found), tuple(unknown)


def sync_annotations(store: Store, tree: ArtifactTree, starts: tuple[str, ...] = ()) -> tuple[list[str], int]:
    """Look through the code of a tree, reading only what changed, and remove what is gone.

    `starts` are patterns of the files where annotations are looked for; none means the whole tree. Returns every path
    that was walked, and how many files were read.
    """
    require_tables(store)
    blocklist = Blocklist(store.primary)
    entries = list(walk(tree.folder))
    unseen = [entry.path for entry in entries if isinstance(entry, Unreadable)]
    files = [
        entry
        for entry in entries
        if isinstance(entry, FoundFile)
        and is_one_line(entry.path)
        and not blocklist.holds_path(shown_path(tree, entry.path))
    ]
    code = (
        file
        for file in files
        if not file.path.lower().endswith(_PROSE) and (not starts or any(matches(start, file.path) for start in starts))
    )
    query = "SELECT path, size_bytes, mtime_ns, inode, read_at FROM annotated_files WHERE tree_id = ?"
    rows_of_tree = store.primary.execute(query, (tree_id(store.primary, tree),))
    known = {path: FileStamp(*stamp) for path, *stamp in rows_of_tree}
    to_read, _, missing = compare_stats(code, known, lambda file, stamp: stamp.proves(file))
    # A file that cannot be looked at now is not gone.
    gone = [
        path for path in missing if not any(folder == "." or f"{path}/".startswith(f"{folder}/") for folder in unseen)
    ]
    wanted = [file for file, _ in to_read if without_secret(file.path, RedactionMode.PATTERN_ONLY) == file.path]
    for first in range(0, len(wanted), _CHUNK_FILES):
        with Root(tree.folder) as root:
            drafts = [
                (file.path, file.stamp(now_us()), text)
                for file in wanted[first : first + _CHUNK_FILES]
                if (text := _code(root, file.path)) is not None
            ]
        with store.write() as change:
            number = make_tree_id(change, tree)
            for path, stamp, text in drafts:
                _remove_file(change, number, path)
                file_id = rows.insert(
                    change.connection, "annotated_files", {"tree_id": number, "path": path, **stamp._asdict()}
                )
                change.connection.executemany(
                    "INSERT INTO annotations (file_id, line, tag, name, part) VALUES (?, ?, ?, ?, ?)",
                    [(file_id, one.line, one.tag, one.id, one.part) for one in find_annotations(path, text)],
                )
    if gone:
        with store.write() as change:
            for path in gone:
                _remove_file(change, tree_id(change.connection, tree), path)
    note_looked_through(store, tree)
    return [file.path for file in files], len(wanted)


def _code(root: Root, path: str) -> str | None:
    """A file's text, '' for one that holds no annotation or is no text; None where it cannot be read now."""
    try:
        data = root.read(path, MAX_FILE_BYTES)
    except OSError:
        return None
    is_code = any(b"@" + tag.encode() in data for tag in TAGS) and b"\0" not in data[:8192]
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n") if is_code else ""


def _remove_file(change: Change, tree_number: int, path: str) -> None:
    change.connection.execute("DELETE FROM annotated_files WHERE tree_id = ? AND path = ?", (tree_number, path))
