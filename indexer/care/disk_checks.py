"""The primary database against the disk: are its files still there, still the same, still where they were?"""

import os
from collections.abc import Iterator

import apsw

from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.care.finding import Finding, find
from ctxrank.indexer.files.artifacts import prepare
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.allowed_roots import allowed_folder
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.freshness import state_on_disk
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.text.lines import listed
from ctxrank.indexer.text.passages import content_digest

_SHOWN = 4


def examine_disk(primary: apsw.Connection, location: Location, mode: RedactionMode) -> Iterator[Finding]:
    """The artifacts' folders and files, and the passages' texts as this mode leaves them."""
    roots = read_map(primary, "SELECT id, path FROM roots WHERE path NOT LIKE '@%' ORDER BY id", (), int, str)
    gone_roots: list[str] = []
    refused: list[str] = []
    known: dict[str, list[tuple[str, str, int, int, int]]] = {}
    query = """
        SELECT path, sha256, size_bytes, mtime_ns, inode
          FROM artifacts WHERE root_id = ? AND state = 'indexed' ORDER BY path
    """
    for id_, path in roots.items():
        files = list(primary.execute(query, (id_,)))
        folder = allowed_folder(location, primary, path)
        if folder is None and os.path.isdir(path):
            refused.append(path)
        elif folder is not None and os.path.isdir(folder):
            known[folder] = files
        elif files:
            gone_roots.append(path)
    case = "gone" if gone_roots else "refused" * bool(refused)
    yield find("artifact-roots", case, folders=listed(gone_roots or refused, _SHOWN), count=len(known))
    states = [(state_on_disk(folder, *file), file[0]) for folder, files in known.items() for file in files]
    gone = [path for state, path in states if state in ("missing", "")]
    changed = [path for state, path in states if state == "changed"]
    by_state = {"gone": gone, "changed": changed}
    parts = "; ".join(f"{len(paths)} {name}: {listed(paths, _SHOWN)}" for name, paths in by_state.items() if paths)
    yield find("artifacts", "other" * bool(parts), states=parts, count=len(states))
    yield _passages(primary, location, mode)


def _passages(primary: apsw.Connection, location: Location, mode: RedactionMode) -> Finding:
    """A passage's key is a digest of its text: a byte that was flipped inside a text shows only here.

    The title of the file is part of the digest, too. Where that is no longer known, the file itself is read. A passage
    that an import has redacted anew, or that was edited on its way, has the key that the import gave it.
    """
    wrong: list[str] = []
    texts: dict[str, set[str]] = {}
    count = 0
    query = """
        SELECT p.id, p.passage_key, p.title, p.body, o.title, p.path
          FROM documents AS p
          JOIN documents AS o ON o.id = p.owner_id
         WHERE p.kind = 'passage' AND p.passage_key <> '' AND p.passage_key NOT GLOB 'import.*'
    """
    for id_, key, title, body, owner_title, path in primary.execute(query):
        count += 1
        digest = key.partition(".")[0]
        if digest not in (content_digest(title, body), content_digest(f"{owner_title} > {title}", body)):
            if path not in texts:
                is_beneath = is_inside(location.project, os.path.normpath(os.path.join(location.project, path)))
                file = read_text_file(location.project, path) if is_beneath else None
                passages = prepare(path, file, mode).passages if isinstance(file, FileText) else ()
                texts[path] = {passage.text for passage in passages}  # as they are now
            if body not in texts[path]:
                wrong.append(f"{public_id('passage', id_)} of {path}")
    return find("passage-texts", "wrong" * bool(wrong), wrong=listed(wrong, _SHOWN), count=len(wrong) or count)
