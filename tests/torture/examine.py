"""Looking at a store after a fault: it opens, it is whole, its index agrees, and what was promised holds."""

import os
import random
import re
from pathlib import Path

import apsw
from index_contents import has_no_ghosts, index_contents
from promises import SECRETS, Ledger, Promises, Shape, State, broken

from ctxrank.indexer.engine import INDEX_READ_ERRORS, IndexHealth
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.fulltext.catch_up import rebuild
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

_SEARCHED = 4
# What may lie in a store's folder; anything else was left behind by somebody who was killed.
_FILES = {".gitignore", "config.yaml", "index.lock", "follow.lock", "backups"} | {
    name + suffix for name in ("ctxrank.db", "index.db") for suffix in ("", "-wal", "-shm")
}
_WORD = re.compile(rb"q[bcdfghjkmp]+")  # as in promises.py
_OWN_TABLES = {
    "package": "packages", "reasoning": "reasoning", "strategy": "strategies", "skill": "skill_outputs",
    "error": "error_patterns",
}  # fmt: skip
_KIND_OF = {
    Shape.REASONING: "reasoning", Shape.PACKAGE: "package", Shape.STRATEGY: "strategy", Shape.SKILL: "skill",
    Shape.ERROR: "error", Shape.FILE: "artifact",
}  # fmt: skip


def mended(folder: str, ledger: Ledger) -> list[str]:
    """Repair a store that was damaged on purpose, as a person would who was interrupted; what is wrong with that."""
    from acts import call_command

    if not ledger.is_damaged:
        return []
    ledger.is_damaged = False
    db = os.path.join(folder, ".ctxrank", "ctxrank.db")
    called = call_command("--db", db, "--root", folder, "doctor", "--deep", "--repair", "apply")
    return [] if called.code == 0 else [f"the repair exits with {called.code}: {called.stdout} {called.stderr}"]


def troubles_of(folder: str, promises: Promises, rng: random.Random, *, is_thorough: bool = False) -> list[str]:
    """A sentence for everything that is wrong with the store in this folder; no step of ours repairs anything.

    `is_thorough` also builds the index anew and compares the two.
    """
    try:
        with open_store(os.path.join(folder, ".ctxrank", "ctxrank.db"), root=folder) as store:
            troubles = _wrong_answers(store, promises, rng)
            troubles += _damage(store.primary)
            troubles += broken(promises, store.primary)
            troubles += index_troubles(store, is_thorough=is_thorough)
    except (CtxrankError, *INDEX_READ_ERRORS) as error:  # values of torn rows are of any type
        return [f"{type(error).__name__}: {error}"]
    troubles += _bytes_left(folder, {word for word, one in promises.items() if one.state is State.FORGOTTEN})
    strange = set(os.listdir(os.path.join(folder, ".ctxrank"))) - _FILES
    return troubles + ([f"left behind: {sorted(strange)}"] if strange else [])


def _bytes_left(folder: str, forgotten: set[str]) -> list[str]:
    """In which files a forgotten word is, copies of the store among them. No connection may be open by now."""
    found = {
        (word.decode(), path.name)
        for path in Path(folder, ".ctxrank").rglob("*")
        if forgotten and path.is_file()
        for word in _WORD.findall(path.read_bytes())
        if word.decode() in forgotten
    }
    return [f"{word} is forgotten, and in {name}" for word, name in sorted(found)]


def _wrong_answers(store: Store, promises: Promises, rng: random.Random) -> list[str]:
    """Searches come first, as a user's would: nothing has caught up or been mended by then."""
    known = [
        (word, promise)
        for word, promise in promises.items()
        if promise.state in (State.KEPT, State.GONE, State.FORGOTTEN)
        and promise.shape in _KIND_OF
        and promise.file not in SECRETS
    ]
    troubles: list[str] = []
    for word, promise in rng.sample(known, min(_SEARCHED, len(known))):
        answer = search(store, SearchRequest(f'"{word}"', is_syntax=True))  # as a phrase: nothing stands in for it
        kinds = [hit.kind for hit in answer.hits]
        wanted = [_KIND_OF[promise.shape]] if promise.state is State.KEPT else []
        if kinds != wanted and answer.outcome in ("matched", "no_match"):
            troubles.append(f"a search for {word} answers {kinds} instead of {wanted}, outcome {answer.outcome}")
        if answer.outcome not in ("matched", "no_match"):
            troubles.append(f"a search is {answer.outcome}: {answer.reason}, {answer.stale} changes behind")
    return troubles


def _damage(primary: apsw.Connection) -> list[str]:
    """What SQLite's checks and our own rules between tables say about the primary database."""
    troubles = [str(row[0]) for row in primary.execute("PRAGMA integrity_check") if row[0] != "ok"]
    troubles += [f"foreign key: {row}" for row in primary.execute("PRAGMA foreign_key_check")]
    for kind, table in _OWN_TABLES.items():
        troubles += [
            f"{kind}:{row[0]} has no document"
            for row in primary.execute(
                f"SELECT o.id FROM {table} AS o LEFT JOIN documents AS d ON d.kind = ? AND d.record_id = o.id"
                " WHERE d.id IS NULL",
                (kind,),
            )
        ]
        troubles += [
            f"document {row[0]} is of {kind}:{row[1]}, which is not there"
            for row in primary.execute(
                f"SELECT d.id, d.record_id FROM documents AS d LEFT JOIN {table} AS o ON o.id = d.record_id"
                " WHERE d.kind = ? AND o.id IS NULL",
                (kind,),
            )
        ]
    last, top, marked = primary.execute(
        """
        SELECT (SELECT seq FROM store),
               max((SELECT coalesce(max(seq), 0) FROM documents), (SELECT coalesce(max(seq), 0) FROM tombstones)),
               (SELECT coalesce(max(seq), 0) FROM history_checkpoints)
        """
    ).get
    if top > last or marked != last:
        troubles.append(f"the counter is at {last}, the feed at {top}, the marks at {marked}")
    return troubles


def index_troubles(store: Store, *, is_thorough: bool) -> list[str]:
    """What is wrong with the index, which may catch up first; `is_thorough` as above."""
    missing = store.catch_up()
    index = index_of(store)
    if missing or index.health != IndexHealth.OK:
        return [f"the index lacks {missing} changes: {index.health or 'no trouble'}"]
    if not has_no_ghosts(store):
        return ["the index does not hold the documents of the truth"]
    if not is_thorough:
        return []
    index.connection.execute("INSERT INTO main.fts (fts) VALUES ('integrity-check')")
    before = index_contents(store)
    rebuild(fts5_of(store))
    return [] if index_contents(store) == before else ["the index is not what a rebuild makes"]
