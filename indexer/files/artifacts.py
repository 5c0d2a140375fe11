"""Artifacts in the primary database: a file's row, and the passages its owners are searched by.

An artifact that packages point to is found as those packages, each of which owns its passages; one that
no package points to is found as itself.
"""

import os
import re

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.files.read import FileText
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION, RedactionMode, redact
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.connection import read_column, read_map, read_row, read_rows, read_value, require_value
from ctxrank.indexer.store.documents import Document
from ctxrank.indexer.store.freshness import ELSEWHERE, TEXT_PATH
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.languages import language_of
from ctxrank.indexer.text.passages import Passage, front_matter_end, markdown_headings, split_passages

_TITLE_SEARCHED_LINES = 40
# The front matter of a note (cli/agents/notes.py). Its package says all of it, and in a passage it would be the best
# one for every question that the summary answers. What is kept in the store alone loses nothing.
_DECLARATION = re.compile(r"^ctxrank[ \t]*:", re.MULTILINE)


class Artifact(NamedTuple):
    """A file that is, or was, indexed; `path` is relative to its root."""

    id: int
    root_id: int
    path: str
    state: str
    reason: str
    size_bytes: int
    mtime_ns: int
    inode: int
    sha256: str
    ruleset: int
    indexed_at: int  # the moment its bytes were read


class PreparedFile(NamedTuple):
    """A file read, redacted and cut into passages: everything that needs no transaction."""

    path: str
    file: FileText
    title: str
    passages: tuple[Passage, ...]
    counts: tuple[documents.TextCount, ...]  # of the passages


class StoredText(NamedTuple):
    """What is stored of a file: its size and date, and its text."""

    stamp: tuple[int, int]
    text: str


class PassageOwner(NamedTuple):
    """The document that a file's passages belong to, and the facets they share with it."""

    document_id: int
    session_id: int
    group_id: int
    agent: str
    type: str
    priority: str
    created_at: int


def prepare(path: str, file: FileText, mode: RedactionMode, known: frozenset[str] = frozenset()) -> PreparedFile:
    """Redact first, then cut: a secret never straddles a passage, and nothing else sees it.

    `known` are secrets that another field of the file's record shows. Its tokens are counted now: others wait to write
    while they are put.
    """
    text = redact(file.text, mode, known).text
    title, hidden = os.path.basename(path), ""
    if language_of(path).kind == "markdown":
        head = text[: front_matter_end(text)]
        top = text[len(head) :].split("\n", _TITLE_SEARCHED_LINES)[:_TITLE_SEARCHED_LINES]
        headings = (one.name for one in markdown_headings("\n".join(("", *top))) if one.level == 1)
        title = next(filter(None, headings), title)
        if _DECLARATION.search(head) and not path.startswith(TEXT_PATH):
            hidden = head
    passages = tuple(split_passages(text[len(hidden) :], path, first_line=1 + hidden.count("\n")))
    return PreparedFile(path, file, title, passages, tuple(documents.count_tokens(one.text for one in passages)))


def root_id(change: Change, root: str, project_root: str) -> int:
    """The id of a root folder, made on first use."""
    name = root_name(root, project_root)
    change.connection.execute("INSERT OR IGNORE INTO roots (path) VALUES (?)", (name,))
    return require_value(change.connection, "SELECT id FROM roots WHERE path = ?", (name,), int)


_ARTIFACT_QUERY = """
    SELECT id, root_id, path, state, reason, size_bytes, mtime_ns, inode, sha256, ruleset, indexed_at
      FROM artifacts
     WHERE root_id = ?
"""


def artifact_at(connection: apsw.Connection, root: int, path: str) -> Artifact | None:
    """The artifact of this machine that a path under a root is."""
    return read_row(connection, f"{_ARTIFACT_QUERY} AND path = ? AND reason <> ?", (root, path, ELSEWHERE), Artifact)


def known_artifacts(connection: apsw.Connection, root: int) -> dict[str, Artifact]:
    """All artifacts of this machine under a root by path, in one query."""
    rows = read_rows(connection, f"{_ARTIFACT_QUERY} AND reason <> ?", (root, ELSEWHERE), Artifact)
    return {artifact.path: artifact for artifact in rows}


def stored_text(connection: apsw.Connection, path: str, stamp: tuple[int, int]) -> StoredText:
    """What is stored of a file of the project that has this size and date; '' where that is nothing."""
    query = """
        SELECT p.start_line, p.body FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id AND r.path = '.'
          JOIN documents AS d ON d.kind = 'artifact' AND d.record_id = a.id
            OR d.kind = 'package' AND d.record_id = (SELECT max(id) FROM packages WHERE artifact_id = a.id)
          JOIN documents AS p ON p.owner_id = d.id
         WHERE a.path = ? AND a.size_bytes = ? AND a.mtime_ns = ? ORDER BY p.start_line
    """
    text, line = "", 1
    for start_line, body in connection.execute(query, (path, *stamp)):
        text += "\n" * (start_line - line) + body
        line = start_line + body.count("\n")
    return StoredText(stamp, text)


def packaged_ids(connection: apsw.Connection) -> set[int]:
    """The artifacts that a package points to."""
    query = "SELECT DISTINCT artifact_id FROM packages WHERE artifact_id IS NOT NULL"
    return set(read_column(connection, query, (), int))


# What another store exported, or was saved without a file, has its own text: its file is not this machine's.
_FILE_IS_HERE = f"path NOT LIKE '{TEXT_PATH}%' AND id > 0"


def awaited_paths(connection: apsw.Connection) -> set[str]:
    """The paths of current packages whose file could not be indexed yet."""
    query = (
        f"SELECT DISTINCT path FROM packages WHERE artifact_id IS NULL AND superseded_by IS NULL AND {_FILE_IS_HERE}"
    )
    return set(read_column(connection, query, (), str))


def record(change: Change, root: int, path: str, file: FileText, skipped: str = "") -> int:
    """Write the artifact's row as the file is now; returns its id. Its passages are put by its owners.

    A file that has no text for us is `skipped` for a reason, so that it is not read again while it stays as it is.
    """
    row: dict[str, int | str] = {
        "root_id": root, "path": path, "sha256": file.sha256, "encoding": file.encoding, "ruleset": RULESET_VERSION,
        **_columns(file.stamp, skipped),
    }  # fmt: skip
    query = f"""
        INSERT INTO artifacts ({", ".join(row)}) VALUES ({", ".join("?" * len(row))})
            ON CONFLICT (root_id, path) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in row)}
        RETURNING id
    """
    return int(change.connection.execute(query, tuple(row.values())).get)


def _columns(stamp: FileStamp, skipped: str = "") -> dict[str, int | str]:
    stat = zip(("size_bytes", "mtime_ns", "inode", "indexed_at"), stamp, strict=True)
    return {**dict(stat), "state": "skipped" if skipped else "indexed", "reason": skipped}


def restamp(change: Change, artifact_id: int, stamp: FileStamp) -> None:
    """The same bytes with another stat, or read again: nothing that can be found has changed."""
    rows.update(change.connection, "artifacts", artifact_id, _columns(stamp))


def mark(change: Change, artifact: Artifact, state: str, reason: str) -> None:
    """What was found out about a file without reading it; what is known of a stale one stays findable."""
    if state == "skipped":  # there is no file for us: whatever takes its place differs
        withdraw(change, artifact.id)
        unread = FileText("", "", FileStamp(-1, -1, -1, now_us()), "")
        record(change, artifact.root_id, artifact.path, unread, reason)
    else:
        rows.update(change.connection, "artifacts", artifact.id, {"state": state, "reason": reason})


def mark_root_stale(change: Change, root: int, reason: str) -> None:
    """A whole root cannot be looked at now; what is known of it stays findable."""
    query = "UPDATE artifacts SET state = 'stale', reason = ? WHERE root_id = ? AND state = 'indexed'"
    change.connection.execute(query, (reason, root))


def move(change: Change, artifact_id: int, old_path: str, new_path: str) -> None:
    """Give an artifact, its packages and its anchors the file's new path; passages follow when put."""
    change.connection.execute("UPDATE artifacts SET path = ? WHERE id = ?", (new_path, artifact_id))
    change.connection.execute("UPDATE anchors SET now_path = ?, mtime_ns = 0 WHERE now_path = ?", (new_path, old_path))
    change.connection.execute("UPDATE packages SET path = ? WHERE artifact_id = ?", (new_path, artifact_id))
    query = """
        SELECT d.id, d.title
          FROM packages AS p
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE p.artifact_id = ?
    """
    old_name, new_name = os.path.basename(old_path), os.path.basename(new_path)
    for document_id, title in read_map(change.connection, query, (artifact_id,), int, str).items():
        documents.move(change, document_id, path=new_path, title=new_name if title == old_name else title)


def give_to_packages(change: Change, artifact_id: int, prepared: PreparedFile) -> None:
    """Let the packages that were saved before their file could be indexed point to it."""
    change.connection.execute(
        "UPDATE packages SET artifact_id = ?, size_bytes = ?"
        f" WHERE artifact_id IS NULL AND path = ? AND superseded_by IS NULL AND {_FILE_IS_HERE}",
        (artifact_id, prepared.file.stamp.size_bytes, prepared.path),
    )
    if change.connection.changes():
        release(change, artifact_id)


def refresh_owners(change: Change, artifact_id: int, prepared: PreparedFile) -> int:
    """Put the file's passages under every current package that points to it, or under the artifact itself.

    Returns how many passages were written.
    """
    owners = package_owners(change.connection, artifact_id)
    if not owners:
        moment = prepared.file.stamp.mtime_ns // 1000
        document = Document("artifact", artifact_id, prepared.title, "", moment, RULESET_VERSION, path=prepared.path)
        owners = [PassageOwner(documents.put(change, document), 0, 0, "", "", "", moment)]
    return sum(put_passages(change, owner, prepared) for owner in owners)


def package_owners(connection: apsw.Connection, artifact_id: int) -> list[PassageOwner]:
    """The documents of the current packages that point to an artifact."""
    query = """
        SELECT d.id, d.session_id, d.group_id, d.agent, d.type, d.priority, d.created_at
          FROM packages AS p
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE p.artifact_id = ? AND p.superseded_by IS NULL
         ORDER BY p.id
    """
    return list(read_rows(connection, query, (artifact_id,), PassageOwner))


class _KeptPassage(NamedTuple):
    """A passage as it is stored."""

    key: str
    id: int
    path: str
    start_line: int
    ruleset: int
    created_at: int


def put_passages(change: Change, owner: PassageOwner, prepared: PreparedFile) -> int:
    """Make an owner's passages those of the file; the ones whose text is still there keep their rows.

    A kept passage whose lines only moved, or whose file is newer now, is no entry of the change log: the index holds
    neither.
    Returns how many were written.
    """
    moved = 0
    moment = owner.created_at
    new: list[Document] = []
    query = "SELECT passage_key, id, path, start_line, ruleset, created_at FROM documents WHERE owner_id = ?"
    kept = {row.key: row for row in read_rows(change.connection, query, (owner.document_id,), _KeptPassage)}
    shared = moment, RULESET_VERSION, prepared.path, *owner[:6]
    for (key, heading, start_line, end_line, text), counted in zip(prepared.passages, prepared.counts, strict=True):
        known = kept.pop(key, None)
        if known is not None and known.path == prepared.path:
            if known[3:] != (start_line, RULESET_VERSION, moment):
                change.connection.execute(
                    "UPDATE documents SET start_line = ?, end_line = ?, ruleset = ?, created_at = ? WHERE id = ?",
                    (start_line, end_line, RULESET_VERSION, moment, known.id),
                )
            continue
        # The file's title is a field of its owner. Said again in every passage it would outweigh their own words.
        title = heading.removeprefix(f"{prepared.title} > ")
        document = Document._make(("passage", None, title, text, *shared, key, start_line, end_line, None, counted))
        if known is None:
            new.append(document)
        else:
            documents.replace(change, known.id, document)
            moved += 1
    for gone in kept.values():
        documents.remove(change, gone.id)
    documents.put_all(change, new)
    return len(new) + moved


def release(change: Change, artifact_id: int) -> None:
    """Remove the document an artifact has of its own, with its passages: a package owns them from now on."""
    query = "SELECT id FROM documents WHERE kind = 'artifact' AND record_id = ?"
    document_id = read_value(change.connection, query, (artifact_id,), int)
    if document_id is not None:
        documents.remove(change, document_id)


def withdraw(change: Change, artifact_id: int) -> None:
    """Remove every passage of a file, of all its owners. Packages that point to it keep their summaries."""
    release(change, artifact_id)
    for owner in package_owners(change.connection, artifact_id):
        documents.remove_owned(change, owner.document_id)


def remove_empty_root(change: Change, root_id: int | None) -> None:
    """Forget a folder that is gone, where nothing is known of it any more."""
    query = "DELETE FROM roots WHERE id = ? AND id NOT IN (SELECT root_id FROM artifacts)"
    change.connection.execute(query, (root_id,))


def remove(change: Change, artifact_id: int) -> None:
    """The file is gone: no passage of it stays findable."""
    withdraw(change, artifact_id)
    change.connection.execute(
        "UPDATE artifacts SET state = 'missing', reason = 'the file is gone', sha256 = '', indexed_at = ?"
        " WHERE id = ? AND EXISTS (SELECT 1 FROM packages WHERE artifact_id = artifacts.id)",
        (now_us(), artifact_id),
    )
    if not change.connection.changes():
        change.connection.execute("DELETE FROM artifacts WHERE id = ?", (artifact_id,))
