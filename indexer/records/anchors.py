"""Anchors: what findings name of the project, and whether it is still there as it was.

    anchors_of(store.primary, [document_id])
    look_again(store, anchors)               before findings are shown: no writing, no git, a few milliseconds

A finding names a file, a line, a function, a line of code. What of that is in the tree becomes an anchor: a span with
checksums of its lines (`anchor_passes.py`). From then on the span is looked for by its content: it is the same, has
moved, has changed, or is gone.
"""

import os
import time
from collections.abc import Callable, Iterable

import apsw

from ctxrank.indexer.beneath import Root
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.location import is_worktree, root_name
from ctxrank.indexer.store.store import Store

if TYPE_CHECKING:
    from ctxrank.indexer.files.artifacts import StoredText
    from ctxrank.indexer.text.spans import Before, Fingerprint, Located, Source

    # Looks for an anchor in other files, where its own has gone or has less of it: the file that has it now, and where.
    Elsewhere = Callable[["Anchor", Fingerprint, Before | None, bool], tuple[Source, Located] | None]

STATES = SAME, MOVED, CHANGED, GONE = "same", "moved", "changed", "gone"
LOST = "lost"  # not at its place, and no other file was searched: no run of `index` says so
LOOK_MS = 10
_MAX_BYTES = 1024 * 1024  # of a file
_MAX_LOOKED_BYTES = 128 * 1024  # of a file that a block looks at


class Anchor(NamedTuple):
    """An anchor as it is stored: see the table in migration_013.sql."""

    id: int
    document_id: int
    kind: str
    name: str
    path: str
    start_line: int
    end_line: int
    fingerprint: str
    commit_id: str
    made_at: int
    state: str
    now_path: str
    now_start: int
    now_end: int
    differing: int
    changed_by: str
    changed_at: int | None
    held_at: int
    size_bytes: int
    mtime_ns: int

    @property
    def wanted(self) -> str:
        """The name that leads to it, '' where only its text does."""
        name = self.name
        return {"name": name.removesuffix("()"), "setting": name, "command": name.rpartition(" ")[2]}.get(self.kind, "")

    def within(self, source: "Source", kept: "Fingerprint", was: "Before | None") -> "Located | None":
        """Where it is in a file; None where nothing of it is."""
        from ctxrank.indexer.text.spans import Located  # noqa: PLC0415  start-up: most files are as they were

        if self.kind == "path":
            return Located(source.whole, source.difference(kept, source.whole))
        return source.find(kept, self.wanted, self.now_start, was)

    def before(self, stored: "StoredText | None") -> "Before | None":
        """Where it was in its file as that is stored (one that was gone: nowhere); None where that is not known."""
        from ctxrank.indexer.text.spans import Before, Span, source_of  # noqa: PLC0415  start-up: most files are as they were

        if stored is None or stored.stamp != (self.size_bytes, self.mtime_ns) or not stored.text:
            return None
        span = Span(0, 0) if self.state == GONE else Span(self.now_start, self.now_end)
        return Before(source_of(self.now_path, stored.text), span)

    def at(self, path: str, span: tuple[int, int], differing: int) -> "Anchor":
        """The same, found in a file with so many differing lines."""
        is_moved = path != self.path or (self.kind in ("line", "quote") and span[0] != self.start_line)
        state = CHANGED if differing else MOVED if is_moved else SAME
        found = self._replace(state=state, now_path=path, now_start=span[0], now_end=span[1], differing=differing)
        return found if differing else found._replace(changed_by="", changed_at=None)


class Tree:
    """The files of the project, or of the worktree of it that asks, each read once."""

    def __init__(self, store: Store, *, is_own: bool = False) -> None:
        project, root = store.location.project, store.location.root
        self.folder = root if is_own and root != project and is_worktree(os.path.realpath(project), root) else project
        self._root, self._primary = Root(self.folder), store.primary
        self._name = root_name(self.folder, project)
        self._sources: dict[str, Source | None] = {}
        self._stored: dict[tuple[str, tuple[int, int]], StoredText] = {}
        self._stamps: dict[str, tuple[int, int]] = {}

    def stamp(self, path: str) -> tuple[int, int]:
        """The size and the date of a file when it was first asked for; (-1, 0) where there was none."""
        if path not in self._stamps:
            try:
                info = self._root.stat(path)
                self._stamps[path] = info.st_size, info.st_mtime_ns
            except OSError:
                self._stamps[path] = -1, 0
        return self._stamps[path]

    def is_as_then(self, path: str, stamp: tuple[int, int]) -> bool:
        """Whether a file is what the project's had this stamp; in a worktree, whether it was read there as the same."""
        if (now := self.stamp(path)) == stamp or self._name == ".":
            return now == stamp
        query = """
            SELECT 1
              FROM roots AS r JOIN artifacts AS here ON here.root_id = r.id AND here.path = ?2
              JOIN roots AS p ON p.path = '.' JOIN artifacts AS there ON there.root_id = p.id AND there.path = ?2
             WHERE r.path = ?1 AND here.sha256 = there.sha256
               AND (here.size_bytes, here.mtime_ns, there.size_bytes, there.mtime_ns) = (?3, ?4, ?5, ?6)
        """
        return self._primary.execute(query, (self._name, path, *now, *stamp)).get is not None

    def source(self, path: str) -> "Source | None":
        """The text of a file; None where there is none to be read."""
        if path not in self._sources:
            from ctxrank.indexer.text.spans import Source  # noqa: PLC0415  start-up: most files are as they were

            try:
                text = self._root.read(path, _MAX_BYTES).decode("utf-8", "replace")
                self._sources[path] = None if "\0" in text else Source(path, text)
            except (OSError, ValueError):
                self._sources[path] = None
        return self._sources[path]

    def stored(self, path: str, stamp: tuple[int, int]) -> "StoredText":
        """What is stored of a file that had this size and date."""
        if (path, stamp) not in self._stored:
            from ctxrank.indexer.files.artifacts import stored_text  # noqa: PLC0415  start-up: most files are as they were

            self._stored[path, stamp] = stored_text(self._primary, path, stamp)
        return self._stored[path, stamp]


QUERY = f"SELECT {', '.join(Anchor._fields)} FROM anchors"


def anchors_of(primary: apsw.Connection, document_ids: Iterable[int]) -> list[Anchor]:
    """The anchors of some findings, each finding's in the order in which they were made."""
    query = f"{QUERY} WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, id"
    return list(read_rows(primary, query, (id_list(document_ids),), Anchor))


class DriftedFinding(NamedTuple):
    """A finding of which something that it names has changed or is gone; `is_gone`: all of it."""

    document_id: int
    id: str
    title: str
    session_id: str | None
    is_gone: bool
    ruleset: int


def drifted_findings(store: Store, only: int | None = None) -> dict[DriftedFinding, list[Anchor]]:
    """The findings that want a look, the newest change first, with what has become of what they name; superseded ones
    do not. `only` one, with all that it names. A linked worktree is told of its own files.
    """
    from ctxrank.indexer.records.older_rules import cleaner_of  # noqa: PLC0415  start-up: a block asks for no list

    is_worktree = Tree(store, is_own=True).folder != store.location.project
    query = """
        SELECT d.id, d.kind, d.record_id, d.title, s.name, d.ruleset
          FROM anchors AS a JOIN documents AS d ON d.id = a.document_id LEFT JOIN sessions AS s ON s.id = d.session_id
         WHERE d.superseded_by IS NULL AND ?1 IN (d.id, 0)
         GROUP BY d.id HAVING ?1 OR ?2 OR max(a.state IN ('changed', 'gone'))
         ORDER BY max(a.changed_at) DESC, d.id DESC
    """
    rows = list(store.primary.execute(query, (only or 0, is_worktree)))
    anchors = anchors_of(store.primary, [id_ for id_, *_ in rows])
    named: dict[int, list[Anchor]] = {}
    for anchor in look_again(store, anchors, is_bounded=False) if is_worktree else anchors:
        named.setdefault(anchor.document_id, []).append(anchor)
    clean = cleaner_of(store, [ruleset for *_, ruleset in rows])
    found: dict[DriftedFinding, list[Anchor]] = {}
    for id_, kind, number, title, session, ruleset in rows:
        states = {anchor.state for anchor in named[id_]}
        if only or not states <= {SAME, MOVED}:
            finding = DriftedFinding(id_, public_id(kind, number), clean(title), session, states == {GONE}, ruleset)
            found[finding] = named[id_]
    return found


def look_again(store: Store, anchors: list[Anchor], *, is_bounded: bool = True) -> list[Anchor]:
    """Anchors as they are at this moment in the checkout that asks: whether their files are there, and in as many of
    the changed ones as the time allows; other files are not searched.

    Time is that of this thread, which no busy machine uses up, without what the first changed file loads.
    """
    tree, until, seen = Tree(store, is_own=True), float("inf"), list[Anchor]()
    for one in anchors:
        if tree.is_as_then(one.now_path, (one.size_bytes, one.mtime_ns)):
            seen.append(one)
        elif tree.stamp(one.now_path)[0] < 0 and tree.stamp(one.path)[0] < 0:
            seen.append(one if one.state == GONE else one._replace(state=LOST))
        elif time.thread_time() < until:
            seen.append(_as_seen(one, tree))
            until = min(until, time.thread_time() + LOOK_MS / 1000) if is_bounded else until
        else:
            seen.append(one)
    return seen


def _as_seen(anchor: Anchor, tree: Tree) -> Anchor:
    """An anchor as it is at its place or, after another branch was checked out, where it was first."""
    if tree.stamp(anchor.now_path)[0] > _MAX_LOOKED_BYTES:
        return anchor
    known = anchor.size_bytes, anchor.mtime_ns
    seen = followed(anchor, tree.source(anchor.now_path), anchor.before(tree.stored(anchor.now_path, known)))
    if seen.state == GONE and anchor.now_path != anchor.path:
        seen = followed(anchor._replace(now_start=anchor.start_line), tree.source(anchor.path), None)
    return seen._replace(state=LOST) if seen.state == GONE != anchor.state else seen


def followed(
    anchor: Anchor,
    source: "Source | None",
    was: "Before | None",
    elsewhere: "Elsewhere | None" = None,
    *,
    is_looked_for: bool = True,
) -> Anchor:
    """An anchor as it is in its file, if it is looked for there, or where it has gone to; the stamp is as it was."""
    from ctxrank.indexer.text.spans import Fingerprint  # noqa: PLC0415  start-up: most files are as they were

    if was and source and anchor.state != GONE and anchor.kind != "path" and (span := source.carried(was)):
        return anchor.at(source.path, span, anchor.differing)
    kept = Fingerprint.read(anchor.fingerprint)
    located = anchor.within(source, kept, was) if source is not None and is_looked_for else None
    if located is None and elsewhere is not None:
        source, located = elsewhere(anchor, kept, was, source is None) or (source, located)
    if not located or not source:
        return anchor._replace(state=GONE, differing=len(kept.lines))
    return anchor.at(source.path, *located)
