"""Making anchors, and following them: what findings name of the project, found again after each run of `index`.

    anchor_document(store, ref)      when a finding is saved
    follow_anchors(store)            when the files were indexed

Content decides what has become of a span; git is asked which commit it was, and what another file was before.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from functools import lru_cache
from itertools import chain

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import Engine, PhraseClause, RowQuery, RowText, Statistics
from ctxrank.indexer.files.artifacts import StoredText
from ctxrank.indexer.files.authors import Asked, Commit, last_commits
from ctxrank.indexer.files.git import GitError, commit_of, find_repository, git_on
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import from_index
from ctxrank.indexer.records.anchors import CHANGED, GONE, QUERY, SAME, Anchor, Tree, anchors_of, followed, look_again
from ctxrank.indexer.redaction.engine import RedactionMode, redact
from ctxrank.indexer.store.connection import put_setting, read_column, read_map, read_rows, read_setting
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.facets import Scope, id_list
from ctxrank.indexer.store.ids import DocumentRef, public_id
from ctxrank.indexer.store.rows import Value
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.definitions import names_in
from ctxrank.indexer.text.languages import language_of
from ctxrank.indexer.text.mentions import COMMAND_FILES, Mention, mentions
from ctxrank.indexer.text.spans import SEPARATOR, Before, Fingerprint, Located, Source, Span, is_table, source_of

FINDINGS = ("package", "reasoning", "error")
_IS_FINDING = f"kind IN ({', '.join(map(repr, FINDINGS))})"
_KEY = "anchors"  # of the last pass
_FOLLOWED = Anchor._fields[Anchor._fields.index("state") :]
_MOST = 12  # of one finding
_MAX_ELSEWHERE = 2000  # files that are searched for what is lost
_LEAST_SUCCESSOR = 0.3  # of what a file said, around a span and in all, and of its name, together
_LEAST_AROUND = 1.0  # where no more is known than its own lines, which count twice
_NAME_SHARE, _KIN_SHARE = 0.3, 0.2  # that the words of a name are worth, and the same name in a folder called the same
_LEAST_OF_NEW, _LEAST_DEFINED = 0.1, 0.6  # of the lines of a new file; of a definition that its name does not tell
_LEAST_TAKEN = 0.5  # of a file that is gone, and of the lines around a span, by a file that was there
_LEAST_COMMON = 3  # lines: any two files have an import in common
_MOST_ROWS = 500  # that hold a name: of what is everywhere, nothing says which is meant
_MOST_HOLDERS = _MOST_GROWN = 20  # new files that have a line, or a word in their names; files that grew
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# Of a finding that another process removed meanwhile there is none, and one that it anchored has them.
_ADD = f"""
    INSERT OR IGNORE INTO anchors ({", ".join(Anchor._fields[1:])})
    SELECT {", ".join("?" * len(Anchor._fields[1:]))} WHERE EXISTS (SELECT 1 FROM documents WHERE id = ?1)
"""
_TEXTS = "SELECT body, path FROM documents WHERE id = ?1 OR owner_id = ?1 ORDER BY id"
_INDEXED = """
    FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id WHERE r.path = '.' AND a.state = 'indexed'
"""


class _Pass(NamedTuple):
    """Up to where the last pass went: the change log's number, the time, the newest artifact, the commit."""

    seq: int = 0
    moment: int = 0
    artifact: int = 0
    head: str = ""


def anchor_document(store: Store, ref: DocumentRef) -> None:
    """Note what a finding names of the project, as it is now. Raises LockedError."""
    _anchor(store, Tree(store), [document_id(store.primary, ref)])


def _anchor(store: Store, tree: Tree, ids: list[int]) -> None:
    """Make the anchors of findings: what they still name keeps its anchor, what they no longer name loses it."""
    dropped = {(one.document_id, one.kind, one.name): one for one in anchors_of(store.primary, ids)}
    made: list[tuple[Value, ...]] = []
    commit, moment = commit_of(tree.folder), now_us()
    for id_ in ids:
        texts = read_map(store.primary, _TEXTS, (id_,), str, str)
        named = mentions("\n\n".join(texts))
        known = {one: anchor for one in named if (anchor := dropped.pop((id_, one.kind, one.text), None)) is not None}
        for one, path, span in _resolved(store, tree, named, known)[:_MOST]:
            if one not in known and path not in texts.values() and (source := tree.source(path)):
                was = (id_, one.kind, one.text, path, *span, str(source.fingerprint(span)), commit, moment)
                made.append((*was, SAME, path, *span, 0, "", None, moment, *tree.stamp(path)))
    if dropped or made:
        with store.write() as change:
            gone = ", ".join(str(one.id) for one in dropped.values())
            change.connection.execute(f"DELETE FROM anchors WHERE id IN ({gone})")
            change.connection.executemany(_ADD, (row for row in made if not change.blocklist.holds_path(str(row[3]))))


def _resolved(
    store: Store, tree: Tree, named: list[Mention], known: Mapping[Mention, Anchor]
) -> list[tuple[Mention, str, Span]]:
    """Those of the mentions that are in the tree, each with its file and its span; the known ones where they are.

    A file has none where something in it is named, nor has what lies within a definition that is named.
    """
    paths = {one: _path_of(store, tree, one.wanted) for one in named if one.kind in ("line", "path")}
    files = list(dict.fromkeys(filter(None, paths.values())))
    found: list[tuple[Mention, str, Span]] = []
    for one in named:
        command = one.text.split(" ")[0]
        own = COMMAND_FILES.get(command, "package.json") if one.kind == "command" else paths.get(one)
        if anchor := known.get(one):
            places = [(anchor.now_path, Span(anchor.now_start, anchor.now_end))]
        else:
            places = list(_places(tree, one, files if own is None else [own]))
        if one.kind == "name" and not places:
            definers = _definers(store, tree, one.wanted)
            places = list(_places(tree, one, definers if len(definers) == 1 or SEPARATOR.search(one.wanted) else []))
        if len(places) == 1:
            found.append((one, *places[0]))
            files.append(places[0][0])
    inner = [(path, span) for one, path, span in found if one.kind != "path"]
    outer = [(path, span) for one, path, span in found if one.kind == "name"]

    def is_named_closer(one: Mention, path: str, span: Span) -> bool:
        if one.kind == "path":
            return any(path == other for other, _ in inner)
        around = (path == other and of.start <= span.start <= span.end <= of.end for other, of in outer)
        return one.kind != "name" and any(around)

    return [row for row in found if not is_named_closer(*row)]


def _path_of(store: Store, tree: Tree, named: str) -> str:
    """The file that a text names: below the root, or the only indexed one whose path ends so; '' for none."""
    path = os.path.relpath(os.path.join(tree.folder, named), tree.folder)
    if path.startswith(("..", "/", ".git/", ".ctxrank/")):
        return ""
    if tree.stamp(path)[0] >= 0:
        return path if tree.source(path) else ""
    if not (language_of(path).kind or is_table(path)):
        return ""
    query = f"SELECT a.path {_INDEXED} AND substr(a.path, -length(?1)) = ?1 LIMIT 2"
    found = read_column(store.primary, query, (f"/{path}",), str)
    return found[0] if len(found) == 1 else ""


def _places(tree: Tree, one: Mention, paths: list[str]) -> Iterator[tuple[str, Span]]:
    """Where a mention is in these files; of a definition, in the first of them that has one."""
    for path in dict.fromkeys(paths):
        if not (source := tree.source(path)):
            continue
        if one.kind == "path":
            yield path, source.whole
        elif one.kind == "line":
            span = source.trimmed(Span(one.line, one.end))
            yield from [(path, span)] if source.text_of(span).strip() else ()
        elif one.kind == "quote":
            yield from ((path, span) for span in source.holding(one.wanted))
        elif spans := source.defined(one.wanted):
            yield path, spans[0]
            return


def _definers(store: Store, tree: Tree, name: str) -> list[str]:
    """The files of the tree of which the index knows that they define a name; [] where it cannot answer."""
    own = SEPARATOR.split(name)[-1].rstrip("?!")

    def ask(engine: Engine, _: Statistics) -> list[RowText]:
        query = RowQuery(PhraseClause(own, "identifiers"), Scope())
        return list(engine.texts(engine.row_ids(query, _MOST_ROWS), 0).values())

    paths = {path for *_, path, identifiers in from_index(store, ask) if own in names_in(identifiers)[1].code}
    return sorted(path for path in paths if tree.stamp(path)[0] >= 0)


class _Elsewhere:
    """The files that may hold what is not at its place any more: those that were indexed since the last pass.

    A name may have gone to any of them, as the index says which define it; lines to new files, and those of a file that
    is gone to one that grew. What others have as well, or the file had at the last pass, has not moved there.
    """

    def __init__(self, store: Store, tree: Tree, last: _Pass, stored: Mapping[str, StoredText | None]) -> None:
        query = f"SELECT a.path, a.id > ? {_INDEXED} AND a.indexed_at >= ? ORDER BY a.id DESC LIMIT {_MAX_ELSEWHERE}"
        self.paths = read_map(store.primary, query, (last.artifact, last.moment), str, int)
        self._store, self._tree, self._commit, self._stored = store, tree, last.head, stored
        self._new, self._as_then = lru_cache(self._new_of), lru_cache(self._as_then_of)

    def find(
        self, anchor: Anchor, kept: Fingerprint, was: Before | None, is_gone: bool
    ) -> tuple[Source, Located] | None:
        """The file that has an anchor now: what its own has become, where that is gone, if that has something of it;
        else its name and some of its lines or, of an anchor without a name, its very lines.

        A name that begins with a capital is enough where one file alone defines it.
        """
        name = anchor.wanted
        new = self._successor(anchor, kept, was) if is_gone or not name else []
        grown = self._takers(anchor, kept, was) if is_gone and was and anchor.kind in ("line", "quote") else ()
        for one in chain(new, grown):
            if located := anchor.within(one, kept, was) if is_gone else one.exact(kept, 0):
                return one, located
        definers = _definers(self._store, self._tree, name) if anchor.kind == "name" else []
        own_name = SEPARATOR.split(name)[-1]  # a member may have another owner
        found = [one for one in filter(None, map(self._tree.source, definers)) if one.defined(own_name)]
        if len(found) > 1 or not own_name[:1].isupper():
            own = {*filter(None, kept.words)}
            found = [one for one in found if len(own & one.known_words) >= _LEAST_DEFINED * len(own)]
        return self._nearest(anchor._replace(name=own_name), kept, was, found)

    def _successor(self, anchor: Anchor, kept: Fingerprint, was: Before | None) -> list[Source]:
        """The new file that has most of what a file said, around a span and in all, and of the words of its name; what
        several have counts less, and one that is called so in such a folder more. All of a file is no small part.
        """
        around = was.around if was else frozenset(kept.words)
        said, least = (was.source.known_words, _LEAST_SUCCESSOR) if was else (around, _LEAST_AROUND)
        holders, share = self._new(language_of(anchor.now_path).kind), defaultdict[Source, float](float)
        for parts, worth in ((said, 1.0), (around, 1.0), (_words_of(anchor.now_path), _NAME_SHARE)):
            for part in parts:
                for one in (found := holders.get(part, [])):
                    share[one] += worth / (len(found) * len(parts))
        kin = [one for one in share if _end_of(one.path) == _end_of(anchor.now_path)]
        for one in kin:
            share[one] += _KIN_SHARE
        nearest = max(share, key=share.__getitem__, default=None)
        if not nearest or share[nearest] < least:
            return []
        common = len(said & nearest.known_words)
        is_part = anchor.kind == "path" and nearest not in kin and common < _LEAST_OF_NEW * len(nearest.known_words)
        return [] if is_part or common < min(len(said), _LEAST_COMMON) else [nearest]

    def _takers(self, anchor: Anchor, kept: Fingerprint, was: Before) -> Iterator[Source]:
        """The files that grew by half of one that is gone, and have half of the lines around a span, which they had not
        before, nor all of its own. Where many grew so much, none is read.
        """
        language, around = language_of(anchor.now_path).kind, was.around
        least, growth = max(_LEAST_COMMON, _LEAST_TAKEN * len(around)), _LEAST_TAKEN * anchor.size_bytes
        sizes = {path: old.stamp[0] for path, old in self._stored.items() if old and language_of(path).kind == language}
        grown = [path for path, size in sizes.items() if self._tree.stamp(path)[0] - size >= growth]
        for now in filter(None, map(self._tree.source, grown if len(grown) <= _MOST_GROWN else ())):
            then = self._as_then(now.path) if len(around & now.known_words) >= least else None
            if then and not then.known_words.issuperset(filter(None, kept.words)):
                yield from [now] if len(around & now.known_words - then.known_words) >= least else []

    def _new_of(self, language: str) -> dict[object, list[Source]]:
        """The new files of a language that have each line, or a word in their names, but for what many have."""
        paths = [path for path, is_new in reversed(self.paths.items()) if is_new and language_of(path).kind == language]
        holders = defaultdict[object, list[Source]](list)
        for one in filter(None, map(self._tree.source, paths)):
            for part in (*one.known_words, *_words_of(one.path)):
                holders[part].append(one)
        return {part: found for part, found in holders.items() if len(found) <= _MOST_HOLDERS}

    def _nearest(
        self, anchor: Anchor, kept: Fingerprint, was: Before | None, sources: list[Source]
    ) -> tuple[Source, Located] | None:
        """Where an anchor differs least, unless it stood there before."""
        places = {one: located for one in sources if (located := anchor.within(one, kept, was))}
        if not places:
            return None
        source = min(places, key=lambda one: (places[one].changed, self.paths.get(one.path, -1)))
        is_new = self.paths.get(source.path, -1)
        # One that was not touched is as it was.
        before = source if is_new < 0 else None if is_new else self._as_then(source.path)
        return None if before and before.defined(anchor.wanted) else (source, places[source])

    def _as_then_of(self, path: str) -> Source | None:
        """A file as it was stored, or in the commit of the last pass."""
        if (stored := self._stored.get(path)) and stored.text:
            return source_of(path, stored.text)
        return _sources_at(self._store, [(self._commit, path)]).get((self._commit, path))


@lru_cache(maxsize=1 << 12)
def _end_of(path: str) -> list[str]:
    """The name of a file, without its suffix, and that of its folder."""
    return os.path.splitext(path)[0].split("/")[-2:]


@lru_cache(maxsize=1 << 12)
def _words_of(path: str) -> frozenset[str]:
    """The words of a file's path, as camel case, underscores and digits part them, in lower case."""
    return frozenset(map(str.lower, _WORD.findall(os.path.splitext(path)[0])))


def anchored_files(store: Store) -> dict[str, StoredText | None]:
    """The files that have anchors, for `index_artifacts` to say what they were before it."""
    return dict.fromkeys(read_column(store.primary, "SELECT DISTINCT now_path FROM anchors", (), str))


def follow_anchors(store: Store, stored: Mapping[str, StoredText | None], asked: Asked) -> None:
    """Make the anchors of new findings, and follow those of files that have changed. Raises LockedError.

    `stored` says what these files were before the run of `index`; what that has asked of git is not asked again.
    """
    last, tree = _Pass(*json.loads(read_setting(store.primary, _KEY) or "[]")), Tree(store)
    artifact: int = store.primary.execute("SELECT coalesce(max(id), 0) FROM artifacts").get
    this = _Pass(store.last_seq(), now_us(), artifact, commit_of(tree.folder))
    query = f"""
        SELECT id FROM documents WHERE id IN (SELECT coalesce(owner_id, id) FROM documents WHERE seq > ?)
           AND superseded_by IS NULL AND {_IS_FINDING}
           AND EXISTS (SELECT 1 FROM documents WHERE {_IS_FINDING} AND record_id IS NOT NULL)
    """
    _anchor(store, tree, read_column(store.primary, query, (last.seq,), int))
    elsewhere = _Elsewhere(store, tree, last, stored)
    query = f"""
        SELECT DISTINCT now_path, size_bytes, mtime_ns FROM anchors AS o WHERE NOT EXISTS (
            SELECT 1 {_INDEXED} AND a.path = o.now_path AND a.size_bytes = o.size_bytes AND a.mtime_ns = o.mtime_ns)
         ORDER BY now_path
    """
    touched = {path for path, *stamp in store.primary.execute(query) if tree.stamp(path) != tuple(stamp)}
    query = f"""
        {QUERY} WHERE now_path IN (SELECT value FROM json_each(?)) OR state = 'gone' AND ?
                   OR state IN ('changed', 'gone') AND changed_by = '' AND ? ORDER BY now_path, id
    """
    values = json.dumps([*touched]), bool(elsewhere.paths), this.head != last.head
    changed: list[Anchor] = []
    for anchor in list(read_rows(store.primary, query, values, Anchor)):
        path = anchor.now_path
        if path in touched or anchor.state == GONE:
            was = anchor.before(stored.get(path))
            anchor = followed(anchor, tree.source(path), was, elsewhere.find, is_looked_for=path in touched)
            anchor = Anchor(*anchor[:-2], *tree.stamp(anchor.now_path))
        changed.append(anchor)
    if this.head != last.head:
        changed = list(_with_commits(store, changed, last.head, asked))
    with store.write() as change:
        written = ((*anchor[-len(_FOLLOWED) :], anchor.id) for anchor in changed)
        change.connection.executemany(f"UPDATE anchors SET {' = ?, '.join(_FOLLOWED)} = ? WHERE id = ?", written)
        held = "UPDATE anchors SET held_at = ? WHERE state IN ('same', 'moved') AND held_at < ?"
        change.connection.execute(held, (this.moment, this.moment - this.moment % DAY_US))
        put_setting(change.connection, _KEY, json.dumps(this))


def differences(store: Store, anchors: Iterable[Anchor], mode: RedactionMode) -> dict[int, str]:
    """What differs of anchors that have changed, by their numbers, where git has what they were."""
    found, tree = dict[int, str](), Tree(store, is_own=True)
    changed = [anchor for anchor in anchors if anchor.state == CHANGED]
    sources = _sources_at(store, [(anchor.commit_id, anchor.path) for anchor in changed])
    for anchor in changed:
        now, was = tree.source(anchor.now_path), sources.get((anchor.commit_id, anchor.path))
        located = was and was.exact(Fingerprint.read(anchor.fingerprint), anchor.start_line)
        if now and was and located:
            start, end = located.span  # of a long one only the first lines were located
            old = was.lines[start - 1 : max(end, start + anchor.end_line - anchor.start_line)]
            new = now.lines[anchor.now_start - 1 : anchor.now_end]
            found[anchor.id] = redact("\n".join([*unified_diff(old, new, lineterm="")][2:]), mode).text
    return found


def _sources_at(store: Store, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Source]:
    """Those of some files, each of a commit, that it has, as they were in it."""
    found = dict[tuple[str, str], Source]()
    with suppress(GitError):
        repository = find_repository(store.location.project)
        if repository and (names := {f"{one[0]}:{repository.prefix}{one[1]}": one for one in wanted if one[0]}):
            with git_on(repository, store.location.folder) as git:
                for name, text in git.files(names):
                    found[names[name]] = Source(names[name][1], text.decode("utf-8", "replace"))
    return found


def fingerprints_without_secrets(store: Store, mode: RedactionMode) -> dict[int, str]:
    """Fingerprints of anchors, by their numbers, that have checksums of lines which may have held a secret, without
    these: a line that is not in its file any more may have, and so may one that is not in it when that is redacted.
    """
    found, tree, clean = dict[int, str](), Tree(store), Source("", "")
    for anchor in read_rows(store.primary, f"{QUERY} ORDER BY now_path", (), Anchor):
        if clean.path != anchor.now_path:
            source = tree.source(anchor.now_path)
            clean = Source(anchor.now_path, redact("\n".join(source.lines), mode).text if source else "")
        if (kept := str(clean.known(Fingerprint.read(anchor.fingerprint)))) != anchor.fingerprint:
            found[anchor.id] = kept
    return found


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


def _with_commits(store: Store, anchors: list[Anchor], since: str, asked: Asked) -> Iterator[Anchor]:
    """Anchors with the last commits since one, or since the first was made, of files of which something is lost."""
    lost = [anchor for anchor in anchors if anchor.state in (CHANGED, GONE) and anchor.commit_id]
    paths, commits = {anchor.now_path for anchor in lost}, dict[str, Commit]()
    if lost:
        since = since or min(lost, key=lambda anchor: anchor.made_at).commit_id
        commits = last_commits(store.location.project, paths, store.location.folder, since, asked)
    for anchor in anchors:
        commit = commits.get(anchor.now_path) if anchor.state in (CHANGED, GONE) else None
        yield anchor if commit is None else anchor._replace(changed_by=commit.id, changed_at=commit.seconds * 1_000_000)
