"""Linked artifacts in the primary database: a file's row, the document it is searched by, and annotations in code."""

import os
from collections.abc import Iterable
from math import ceil

import apsw

from ctxrank.extensions.links.artifact import LEVELS, VERSION, LevelTexts, LinkedArtifact
from ctxrank.extensions.links.tree import ArtifactTree, folder_of_tree
from ctxrank.indexer.files.stamps import FileStamp, FoundFile
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import rows
from ctxrank.indexer.store.connection import put_setting, read_column, read_rows, read_setting, read_value
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.tokens import ESTIMATE, cautious_tokens, estimate_tokens

KIND = "linked"
_LOOKED_THROUGH = "annotations looked for "  # a setting, before the name of a tree


class KnownFile(NamedTuple):
    """A row as the next run compares it with the disk."""

    number: int
    stamp: FileStamp
    sha256: str
    ruleset: int

    def proves(self, now: FoundFile) -> bool:
        """Whether a file that looks like this need not be read; one that could not be read is tried again."""
        return self.sha256 != "" and self.stamp.proves(now)


class Annotation(NamedTuple):
    """One named artifact at one line of a file; `path` is relative to the tree's folder."""

    path: str
    line: int
    tag: str
    id: str
    part: str = ""


class StoredTexts(NamedTuple):
    """An artifact's texts with their token counts, and who counted.

    Three estimates are followed by three cautious counts, so that a budget is kept without a look at the texts.
    """

    texts: LevelTexts
    tokens: tuple[int, ...]
    counter: str

    @property
    def priced(self) -> tuple[int, ...]:
        """The counts that a budget is kept by, for each level."""
        return self.tokens[: len(LEVELS)] if self.counter != ESTIMATE else self.tokens[len(LEVELS) :]


def has_tables(database: apsw.Connection) -> bool:
    """Whether a store has the tables, as new as these: they are made with its first tree."""
    return read_value(database, "SELECT version FROM extensions WHERE name = 'links'", (), int) == VERSION


def require_tables(store: Store) -> None:
    """Make the tables where a store has none yet. Raises LockedError."""
    if has_tables(store.primary):
        return
    from ctxrank.extensions.links.tables import OWNER  # noqa: PLC0415  for the first tree of a store alone
    from ctxrank.indexer.owners import make_tables  # noqa: PLC0415  as above

    with store.write() as change:
        make_tables(change.connection, OWNER)


def tree_id(database: apsw.Connection, tree: ArtifactTree) -> int:
    """The id of a tree; 0 for one that the store does not know."""
    return read_value(database, "SELECT id FROM linked_trees WHERE path = ?", (tree.name,), int) or 0


def known_trees(store: Store) -> list[ArtifactTree]:
    """Every tree that the store has read, where its folder can and may be looked at; `.contextia` may be gone."""
    query = "SELECT path FROM linked_trees ORDER BY id"
    names = read_column(store.primary, query, (), str) if has_tables(store.primary) else []
    trees = [ArtifactTree(os.path.realpath(folder), name) for name in names if (folder := folder_of_tree(store, name))]
    return [tree for tree in trees if os.path.isdir(tree.folder)]


def make_tree_id(change: Change, tree: ArtifactTree) -> int:
    """The id of a tree, made on first use."""
    change.connection.execute("INSERT OR IGNORE INTO linked_trees (path) VALUES (?)", (tree.name,))
    return tree_id(change.connection, tree)


def known_files(database: apsw.Connection, tree_number: int) -> dict[str, KnownFile]:
    """All rows of a tree by path."""
    query = """
        SELECT path, id, sha256, ruleset, size_bytes, mtime_ns, inode, read_at FROM linked_artifacts WHERE tree_id = ?
    """
    return {
        path: KnownFile(number, FileStamp(*stamp), sha256, ruleset)
        for path, number, sha256, ruleset, *stamp in database.execute(query, (tree_number,))
    }


def record(
    change: Change, tree: ArtifactTree, artifact: LinkedArtifact, texts: LevelTexts, stamp: FileStamp, sha256: str
) -> None:
    """Write an artifact's row and its document."""
    import json  # noqa: PLC0415  a query writes nothing

    from ctxrank.indexer.store import documents  # noqa: PLC0415  as above

    values: dict[str, rows.Value] = {
        **stamp._asdict(), "sha256": sha256, "ruleset": RULESET_VERSION, "name": artifact.id, "type": artifact.type,
        "title": artifact.title, "status": artifact.status, "superseded_by": artifact.superseded_by,
        "links": json.dumps(artifact.links), "globs": json.dumps(artifact.globs),
        "problems": json.dumps(artifact.problems),
    }  # fmt: skip
    tree_number = make_tree_id(change, tree)
    query = "SELECT id FROM linked_artifacts WHERE tree_id = ? AND path = ?"
    number = read_value(change.connection, query, (tree_number, artifact.path), int)
    if number is None:
        values |= {"tree_id": tree_number, "path": artifact.path}
        number = rows.insert(change.connection, "linked_artifacts", values)
    else:
        rows.update(change.connection, "linked_artifacts", number, values)
    change.connection.execute(
        "INSERT OR REPLACE INTO linked_texts (linked_id, meta, summary, full, tokens, token_counter)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (number, *texts, estimated_counts(texts), ESTIMATE),
    )
    if not artifact.type:
        _remove_document(change, number)
        return
    documents.put(
        change,
        documents.Document(
            kind=KIND, number=number, title=f"{artifact.id} {artifact.title}".strip(),
            body=f"{artifact.id}\n{texts.full}",
            path=shown_path(tree, artifact.path), type=artifact.type, created_at=stamp.mtime_ns // 1000,
            ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip


def estimated_counts(texts: Iterable[str]) -> str:
    """What is stored of the levels' texts before they are counted: estimates, then cautious counts."""
    texts = list(texts)
    return " ".join(str(count) for count in (*map(estimate_tokens, texts), *map(ceil, map(cautious_tokens, texts))))


def remove(change: Change, number: int) -> None:
    """The file is gone, from the primary database and so from the index."""
    _remove_document(change, number)
    change.connection.execute("DELETE FROM linked_artifacts WHERE id = ?", (number,))


def shown_path(tree: ArtifactTree, path: str) -> str:
    """The path of an artifact's document: relative in the project's own tree, absolute in another."""
    return path if tree.name == "." else f"{tree.folder}/{path}"


def stored_texts(database: apsw.Connection, numbers: list[int]) -> dict[int, StoredTexts]:
    """The texts of these rows."""
    query = """
        SELECT linked_id, meta, summary, full, tokens, token_counter
          FROM linked_texts WHERE linked_id IN (SELECT value FROM json_each(?))
    """
    return {
        row[0]: StoredTexts(LevelTexts(*row[1:4]), tuple(map(int, row[4].split())), row[5])
        for row in database.execute(query, (f"[{','.join(map(str, numbers))}]",))
    }


def stored_annotations(database: apsw.Connection, tree_number: int) -> tuple[Annotation, ...]:
    """All annotations of a tree, by path and line."""
    query = """
        SELECT f.path, a.line, a.tag, a.name, a.part
          FROM annotations AS a
          JOIN annotated_files AS f ON f.id = a.file_id
         WHERE f.tree_id = ?
         ORDER BY f.path, a.line, a.rowid
    """
    return tuple(read_rows(database, query, (tree_number,), Annotation))


def is_looked_through(database: apsw.Connection, tree: ArtifactTree) -> bool:
    """Whether the code of a tree was ever looked through; a tree without code, or without annotations, counts."""
    query = "SELECT 1 FROM annotated_files WHERE tree_id = ? LIMIT 1"
    found = read_setting(database, f"{_LOOKED_THROUGH}{tree.name}")
    return (found or read_value(database, query, (tree_id(database, tree),), int)) is not None


def note_looked_through(store: Store, tree: ArtifactTree) -> None:
    """Write down that the code of a tree was looked through, where no file of code says so."""
    if not is_looked_through(store.primary, tree):
        with store.write() as change:
            put_setting(change.connection, f"{_LOOKED_THROUGH}{tree.name}", "true")


def _remove_document(change: Change, number: int) -> None:
    from ctxrank.indexer.store import documents  # noqa: PLC0415  a query removes nothing

    query = "SELECT id FROM documents WHERE kind = ? AND record_id = ?"
    document_id = read_value(change.connection, query, (KIND, number), int)
    if document_id is not None:
        documents.remove(change, document_id)


def documents_named(primary: apsw.Connection, name: str) -> frozenset[int]:
    """The documents of the artifacts of this id, in any case of letters, of all trees."""
    query = """
        SELECT d.id
          FROM linked_artifacts AS l
          JOIN documents AS d ON d.kind = ? AND d.record_id = l.id
         WHERE l.name = ? COLLATE NOCASE
    """
    return frozenset(read_column(primary, query, (KIND, name), int) if has_tables(primary) else ())
