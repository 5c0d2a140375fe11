"""Making anchors, and following them: what findings name of the project, found again after each run of `index`.

    anchor_document(store, ref)      when a finding is saved
    follow_anchors(store)            when the files were indexed

No history decides what has become of a span; git is asked only which commit it was.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from difflib import unified_diff

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import INDEX_READ_ERRORS, PhraseClause, RowQuery
from ctxrank.indexer.files.authors import Commit, last_commits
from ctxrank.indexer.files.git import GitError, find_repository, git_on, head_commit
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.anchors import CHANGED, GONE, QUERY, SAME, Anchor, Tree, anchors_of, followed, look_again
from ctxrank.indexer.redaction.engine import RedactionMode, redact
from ctxrank.indexer.store import rows
from ctxrank.indexer.store.connection import put_setting, read_column, read_rows, read_setting
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.facets import Scope, id_list
from ctxrank.indexer.store.ids import DocumentRef, public_id
from ctxrank.indexer.store.rows import Value
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.definitions import names_in
from ctxrank.indexer.text.mentions import COMMAND_FILES, Mention, mentions
from ctxrank.indexer.text.spans import Fingerprint, Located, Source, Span

FINDINGS = ("package", "reasoning", "error")
_KEY = "anchors"  # of the last pass: up to which change, and when
_MOST = 12  # of one finding
_MAX_ELSEWHERE = 2000  # files that are searched for what is lost
_TELLING_CHARS = 32  # of one or two lines that are found in another file
_LEAST_LIKENESS = 0.25  # of a file that is gone and its successor
_LEAST_LINES = 3  # that both have
_MOST_ROWS = 500  # that hold a word of a name: of a word that is everywhere, nothing says which is meant
_SEPARATOR = re.compile(r"::|->|[.#]")
_INDEXED = """
    SELECT a.path FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id WHERE r.path = '.' AND a.state = 'indexed'
"""


def anchor_document(store: Store, ref: DocumentRef) -> None:
    """Note what a finding names of the project, as it is now. Raises LockedError."""
    _anchor(store, Tree(store), [document_id(store.primary, ref)])


def _anchor(store: Store, tree: Tree, ids: Iterable[int]) -> None:
    """Make the anchors of findings: what they still name keeps its anchor, what they no longer name loses it."""
    query = "SELECT body FROM documents WHERE id = ?1 OR owner_id = ?1 ORDER BY id"
    dropped: list[int] = []
    made: list[dict[str, Value]] = []
    commit, moment = _commit(tree.folder), now_us()
    for id_ in ids:
        known = {(one.kind, one.name): one.id for one in anchors_of(store.primary, [id_])}
        own: str = store.primary.execute("SELECT path FROM documents WHERE id = ?", (id_,)).get
        named = mentions("\n\n".join(read_column(store.primary, query, (id_,), str)))
        dropped += [known[key] for key in known.keys() - {(one.kind, one.text) for one in named}]
        for one, source, span in _resolved(store, tree, named)[:_MOST]:
            if (one.kind, one.text) not in known and source.path != own:
                place, sketch = (source.path, *span), " ".join(f"{line:x}" for line in source.sketch)
                was = (id_, one.kind, one.text, *place, str(source.fingerprint(span)), sketch, commit, moment)
                row = (*was, SAME, *place, 0, "", None, moment, *tree.stamp(source.path))
                made.append(dict(zip(Anchor._fields[1:], row, strict=True)))
    if dropped or made:
        with store.write() as change:
            change.connection.execute(f"DELETE FROM anchors WHERE id IN ({', '.join(map(str, dropped))})")
            for values in made:
                rows.insert(change.connection, "anchors", values)


def _commit(folder: str) -> str:
    """The commit that is checked out, '' for none."""
    try:
        repository = find_repository(folder)
        return "" if repository is None else head_commit(repository)
    except GitError:
        return ""


def _resolved(store: Store, tree: Tree, named: list[Mention]) -> list[tuple[Mention, Source, Span]]:
    """Those of the mentions that are in the tree, each with its file and its span.

    A file has none where something in it is named, nor has what lies within a definition that is named.
    """
    paths = {one: _path_of(store, tree, one.wanted) for one in named if one.kind in ("line", "path")}
    files = list(dict.fromkeys(filter(None, paths.values())))
    found: list[tuple[Mention, Source, Span]] = []
    for one in named:
        own = paths.get(one)
        if one.kind == "command":
            own = COMMAND_FILES.get(one.text.split(" ")[0], "package.json")
        places = list(_places(tree, one, files if own is None else [own]))
        if one.kind == "name" and not places:
            places = list(_places(tree, one, _definers(store, one.wanted)))
        if len(places) == 1:
            found.append((one, *places[0]))
            files.append(places[0][0].path)
    inner = [(source.path, span) for one, source, span in found if one.kind != "path"]
    outer = [(source.path, span) for one, source, span in found if one.kind == "name"]

    def is_named_closer(one: Mention, source: Source, span: Span) -> bool:
        if one.kind == "path":
            return any(path == source.path for path, _ in inner)
        around = (path == source.path and of.start <= span.start <= span.end <= of.end for path, of in outer)
        return one.kind != "name" and any(around)

    return [row for row in found if not is_named_closer(*row)]


def _path_of(store: Store, tree: Tree, named: str) -> str:
    """The file that a text names: below the root, or the only indexed one whose path ends so; '' for none."""
    if os.path.isabs(named):
        named = os.path.relpath(named, tree.folder)
    path = os.path.normpath(named)
    if path.startswith(("..", "/", ".git/", ".ctxrank/")):
        return ""
    if tree.stamp(path)[0] >= 0:
        return path if tree.source(path) is not None else ""
    query = f"{_INDEXED} AND substr(a.path, -length(?1)) = ?1 LIMIT 2"
    found = read_column(store.primary, query, (f"/{path}",), str)
    return found[0] if len(found) == 1 else ""


def _places(tree: Tree, one: Mention, paths: list[str]) -> Iterator[tuple[Source, Span]]:
    """Where a mention is in these files; of a definition, in the first of them that has one."""
    for path in dict.fromkeys(paths):
        source = tree.source(path)
        if source is None:
            continue
        if one.kind == "path":
            yield source, source.whole
        elif one.kind == "line":
            span = Span(one.line, one.end)
            yield from [(source, span)] if source.fingerprint(span).lines else ()
        elif one.kind == "quote":
            yield from ((source, span) for span in source.holding(one.wanted))
        elif spans := source.defined(one.wanted):
            yield source, spans[0]
            return


def _definers(store: Store, name: str) -> list[str]:
    """The files of which the index knows that they define a name; [] where there are several, or it cannot answer."""
    own, engine = _SEPARATOR.split(name)[-1], engine_of(store)
    try:
        if not engine.make_ready(0).is_usable:
            return []
        with engine.snapshot():
            ids = engine.row_ids(RowQuery(PhraseClause(own, "identifiers"), Scope(kinds=("artifact",))), _MOST_ROWS)
            texts = engine.texts(ids, 0).values()
    except INDEX_READ_ERRORS:
        return []
    paths = {path for *_, path, identifiers in texts if own in names_in(identifiers)[1].code}
    return sorted(paths) if len(paths) == 1 or own != name else []


class _Elsewhere:
    """The files that may hold what is not at its place any more: those that were indexed since a moment."""

    def __init__(self, store: Store, tree: Tree, since: int) -> None:
        query = f"{_INDEXED} AND a.indexed_at >= ? ORDER BY a.indexed_at DESC LIMIT {_MAX_ELSEWHERE}"
        paths = read_column(store.primary, query, (since,), str)
        self._sources = (source for path in paths if (source := tree.source(path)) is not None)
        self._read: list[Source] | None = None
        self._successors: dict[str, Source | None] = {}

    @property
    def sources(self) -> list[Source]:
        """These files, read when they are asked for first."""
        if self._read is None:
            self._read = list(self._sources)
        return self._read

    def successor(self, anchor: Anchor) -> Source | None:
        """The file that the file of an anchor, which is gone, is now: the one with the most of its lines."""
        if anchor.now_path not in self._successors:
            sketch = [int(line, 16) for line in anchor.sketch.split()]
            suffix = os.path.splitext(anchor.now_path)[1]
            alike = (source for source in self.sources if source.path.endswith(suffix))
            likest = max(alike, key=lambda source: source.likeness(sketch), default=None)
            is_like = (
                likest is not None
                and bool(sketch)
                and likest.likeness(sketch) >= max(_LEAST_LIKENESS, _LEAST_LINES / len(sketch))
            )
            self._successors[anchor.now_path] = likest if is_like else None
        return self._successors[anchor.now_path]

    def find(self, anchor: Anchor, kept: Fingerprint) -> tuple[Source, Located] | None:
        """The file that has a span now: its very lines, or its name and some of its lines.

        A name that is a member's or begins with a capital is enough where one file alone defines it.
        """
        name, found = anchor.wanted, list[tuple[int, int, Source, Located]]()
        others = (source for source in self.sources if source.path != anchor.now_path)
        for at, source in enumerate(others):
            if not name and source.has_some(kept) and (located := source.exact(kept, 0, _TELLING_CHARS)):
                return source, located
            if name and source.defined(name):
                located = source.find(kept, name, 0)
                assert located is not None, "what is defined is found"
                found.append((located.changed, at, source, located))
        is_telling = len(found) == 1 and (_SEPARATOR.search(name) is not None or name[:1].isupper())
        found = [row for row in found if is_telling or row[2].has_some(kept)]
        return min(found)[2:] if found else None


def follow_anchors(store: Store) -> None:
    """Make the anchors of new findings, and follow all of them. Raises LockedError."""
    noted: dict[str, int] = json.loads(read_setting(store.primary, _KEY) or "{}")
    seq, moment, tree = store.last_seq(), now_us(), Tree(store)
    new = "SELECT coalesce(owner_id, id) FROM documents WHERE seq > ?1"
    query = f"""
        SELECT id FROM documents WHERE id IN ({new}) AND superseded_by IS NULL
           AND kind IN ({", ".join(f"'{kind}'" for kind in FINDINGS)})
    """
    _anchor(store, tree, read_column(store.primary, query, (noted.get("seq", 0),), int))
    elsewhere = _Elsewhere(store, tree, noted.get("moment", 0))
    changed: list[Anchor] = []
    for anchor in list(read_rows(store.primary, f"{QUERY} ORDER BY now_path, id", (), Anchor)):
        stamp = tree.stamp(anchor.now_path)
        if stamp == (anchor.size_bytes, anchor.mtime_ns) and anchor.state != GONE:
            continue
        now = followed(anchor, tree.source(anchor.now_path), stamp, elsewhere)
        size_bytes, mtime_ns = tree.stamp(now.now_path)
        changed.append(now._replace(size_bytes=size_bytes, mtime_ns=mtime_ns))
    with store.write() as change:
        for anchor in _with_commits(store, changed):
            rows.update(change.connection, "anchors", anchor.id, anchor._asdict())
        held = "UPDATE anchors SET held_at = ? WHERE state IN ('same', 'moved') AND held_at < ?"
        change.connection.execute(held, (moment, moment - moment % DAY_US))
        put_setting(change.connection, _KEY, json.dumps({"seq": seq, "moment": moment}))


def differences(store: Store, anchors: Iterable[Anchor], mode: RedactionMode) -> dict[int, str]:
    """What differs of anchors that have changed, by their numbers, where git has what they were."""
    found: dict[int, str] = {}
    tree = Tree(store)
    for anchor in anchors:
        now = tree.source(anchor.now_path) if anchor.state == CHANGED else None
        was = _source_at(store, anchor) if now is not None and anchor.commit_id else None
        located = None if was is None else was.exact(Fingerprint.read(anchor.fingerprint), anchor.start_line, 0)
        if now is not None and was is not None and located is not None:
            old = was.lines[located.span.start - 1 : located.span.end]
            new = now.lines[anchor.now_start - 1 : anchor.now_end]
            found[anchor.id] = redact("\n".join([*unified_diff(old, new, lineterm="")][2:]), mode).text
    return found


def _source_at(store: Store, anchor: Anchor) -> Source | None:
    """The file of an anchor as it was in the commit that was checked out when it was made."""
    try:
        repository = find_repository(store.location.project)
        if repository is None:
            return None
        with git_on(repository, store.location.folder) as git:
            pieces = git.records("cat-file", "blob", f"{anchor.commit_id}:{repository.prefix}{anchor.path}")
            return Source(anchor.path, b"\0".join(pieces).decode("utf-8", "replace"))
    except GitError:
        return None


def replaceable(store: Store, ref: DocumentRef) -> list[str]:
    """The findings of the same session that say something of the same code, which has changed since or is gone."""
    own = document_id(store.primary, ref)
    query = f"""
        {QUERY} WHERE id IN (
            SELECT a.id FROM anchors AS a JOIN anchors AS mine ON mine.now_path = a.now_path AND mine.name = a.name
              JOIN documents AS d ON d.id = a.document_id JOIN documents AS o ON o.id = mine.document_id
             WHERE o.id = ?1 AND d.id <> ?1 AND d.kind = o.kind AND d.session_id = o.session_id
               AND d.superseded_by IS NULL)
    """
    known = list(read_rows(store.primary, query, (own,), Anchor))
    ids = {one.document_id for one in look_again(store, known) if one.state in (CHANGED, GONE)}
    query = "SELECT kind, record_id FROM documents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return [public_id(kind, number) for kind, number in store.primary.execute(query, (id_list(ids),))]


def _with_commits(store: Store, anchors: list[Anchor]) -> Iterator[Anchor]:
    """Anchors with the last commits of the files of those that have changed or are gone."""
    lost = [anchor for anchor in anchors if anchor.state in (CHANGED, GONE) and anchor.commit_id]
    commits: dict[str, Commit] = {}
    if lost:
        since = min(lost, key=lambda anchor: anchor.made_at).commit_id
        paths = {anchor.now_path for anchor in lost}
        commits = last_commits(store.location.project, paths, store.location.folder, since)
    for anchor in anchors:
        commit = commits.get(anchor.now_path) if anchor.state in (CHANGED, GONE) else None
        moment = None if commit is None else commit.seconds * 1_000_000
        yield anchor._replace(changed_by="" if commit is None else commit.id, changed_at=moment)
