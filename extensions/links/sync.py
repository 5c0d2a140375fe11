"""Bring the stored linked artifacts in step with the disk, reading only files that changed.

    report = sync_tree(store, tree)     # stat of every file; a changed one is read, redacted, parsed, written

A tree that did not change costs one query and a stat for each file: no parser is loaded and nothing is written.
"""

from ctxrank.extensions.links.artifact import LevelTexts, LinkedArtifact, level_texts
from ctxrank.extensions.links.store import (
    KnownFile,
    known_files,
    known_trees,
    make_tree_id,
    record,
    remove,
    require_tables,
    shown_path,
    stored_texts,
    tree_id,
)
from ctxrank.extensions.links.tree import ArtifactTree, find_tree, list_files
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.files.stamps import FileStamp, compare_stats
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store.blocklist import Blocklist
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store

if TYPE_CHECKING:  # loaded where a file has changed
    from ctxrank.cli.actions.upkeep.indexing import StepReport
    from ctxrank.indexer.files.stamps import FoundFile

_CHUNK_FILES = 200
_COUNTED_AT_ONCE = 500


class SyncReport(NamedTuple):
    """What a run found and did; paths are relative to the tree's folder."""

    files: int
    read: tuple[str, ...]
    written: tuple[str, ...]
    removed: tuple[str, ...]


class _Draft(NamedTuple):
    """A file that was read; `artifact` and `texts` are None where its bytes are the known ones."""

    stamp: FileStamp
    sha256: str
    artifact: LinkedArtifact | None
    texts: LevelTexts | None


def index_linked(store: Store) -> "StepReport | None":
    """Bring every tree in step with the disk, and report on the one that the store's root lies in, or holds.

    Its annotations are looked for, and exact token counts are made, too. None where there is no such tree.
    """
    from ctxrank.cli.actions.upkeep.indexing import StepReport  # noqa: PLC0415  `context` reports no step
    from ctxrank.extensions.links.annotations import sync_annotations  # noqa: PLC0415  `context` walks no code
    from ctxrank.extensions.links.config import load_linked_config  # noqa: PLC0415  and needs no configuration of it

    mode = load_config(store).redaction_mode
    tree = find_tree(store.location, store.location.root)
    for other in known_trees(store):
        if other != tree:
            sync_tree(store, other, mode)
    if tree is None:
        return None
    report = sync_tree(store, tree, mode)
    store.catch_up()
    _, code_files_read = sync_annotations(store, tree, load_linked_config(tree).starts)
    count_tokens(store)
    return StepReport(report.files, len(report.written), len(report.removed), code_files_read)


def sync_tree(store: Store, tree: ArtifactTree, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> SyncReport:
    """Read what is new or changed in a tree and remove what is gone. Raises LockedError."""
    require_tables(store)
    blocklist = Blocklist(store.primary)
    files = [file for file in list_files(tree) if not blocklist.holds_path(shown_path(tree, file.path))]
    rules = f"{RULESET_VERSION} {mode.described}"
    number = tree_id(store.primary, tree)
    # What was read by other rules is written again, though its bytes be the same.
    query = "SELECT scan_state FROM linked_trees WHERE id = ?"
    is_read_alike = read_value(store.primary, query, (number,), str) == rules
    known = known_files(store.primary, number)
    to_read, _, gone = compare_stats(files, known, lambda file, row: is_read_alike and row.proves(file))
    if to_read:
        from ctxrank.indexer.files.paths import without_secret  # noqa: PLC0415  an unchanged tree needs no rules

        to_read = [pair for pair in to_read if without_secret(pair[0].path, mode) == pair[0].path]
    written: list[str] = []
    for first in range(0, len(to_read), _CHUNK_FILES):
        chunk = to_read[first : first + _CHUNK_FILES]
        with Root(tree.folder) as root:
            drafts = [_draft(root, file, row.sha256 if row and is_read_alike else None, mode) for file, row in chunk]
        with store.write() as change:
            pairs = zip(drafts, chunk, strict=True)
            written += [file.path for draft, (file, row) in pairs if _apply(change, tree, draft, row)]
    if gone:
        with store.write() as change:
            for row in gone.values():
                remove(change, row.number)
    if written or gone:
        store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    if not is_read_alike and files:
        with store.write() as change:
            update(change.connection, "linked_trees", make_tree_id(change, tree), {"scan_state": rules})
    return SyncReport(len(files), tuple(file.path for file, _ in to_read), tuple(written), tuple(sorted(gone)))


def _draft(root: Root, file: "FoundFile", known_sha256: str | None, mode: RedactionMode) -> _Draft:
    """Read one file; a file that cannot be read is an artifact with a problem, so that `check` names it."""
    from ctxrank.extensions.links.reading import parse_artifact  # noqa: PLC0415  an unchanged tree needs no parser
    from ctxrank.indexer.files.read import FileText, read_changed  # noqa: PLC0415  no reader
    from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  no rules
    from ctxrank.indexer.text.frontmatter import Problem  # noqa: PLC0415  as above

    stamp, sha256, outcome = read_changed(root, file, known_sha256)
    if outcome is None:
        return _Draft(stamp, sha256, None, None)
    if isinstance(outcome, FileText):
        artifact = parse_artifact(file.path, redact(outcome.text, mode).text)
    else:
        artifact = parse_artifact(file.path, "")
        problem = Problem("malformed-frontmatter", 1, f"the file cannot be read: {outcome.reason}")
        artifact = artifact._replace(problems=(problem,) if artifact.type else ())
    return _Draft(stamp, sha256, artifact, level_texts(artifact))


def _apply(change: Change, tree: ArtifactTree, draft: _Draft, known: KnownFile | None) -> bool:
    """Write what was read; False where only the stat was new, or the rules, which found the same."""
    if known is not None and known.sha256 == draft.sha256:
        before = stored_texts(change.connection, [known.number]).get(known.number)
        is_same = known.ruleset == RULESET_VERSION and before is not None and before.texts == draft.texts
        if is_same or draft.texts is None:
            update(change.connection, "linked_artifacts", known.number, draft.stamp._asdict())
            return False
    assert draft.artifact is not None and draft.texts is not None, "the bytes are not those of a row"
    record(change, tree, draft.artifact, draft.texts, draft.stamp, draft.sha256)
    return True


def count_tokens(store: Store) -> None:
    """Count exactly what was only estimated when it was read.

    Without a local vocabulary it does nothing. An artifact that changes meanwhile keeps its estimate.
    """
    from ctxrank.indexer.text.vocabulary import ENCODING, local_counter  # noqa: PLC0415  `context` counts nothing exactly

    query = "SELECT linked_id, meta, summary, full FROM linked_texts WHERE token_counter <> ? LIMIT ?"
    counter = None
    while rows := store.primary.execute(query, (ENCODING, _COUNTED_AT_ONCE)).fetchall():
        counter = counter or local_counter()  # loads the vocabulary, hence not before there is something to count
        if counter is None:
            break
        counts = [
            (" ".join(str(counter.count(str(text))) for text in texts), counter.name, id_, texts[-1])
            for id_, *texts in rows
        ]
        update = "UPDATE linked_texts SET tokens = ?, token_counter = ? WHERE linked_id = ? AND full = ?"
        with store.write() as change:
            change.connection.executemany(update, counts)
