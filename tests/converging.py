"""Three stores that save, edit, count, take, purge and exchange, and what a user sees of them, to be compared.

What is compared are documents by key, the ten hits of forty questions with their scores, and what was counted. A step
may be an exchange that dies in the middle and is repeated, or comes twice.
"""

import contextlib
import io
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

from builders import make_store, save
from exported import accept, agree
from hypothesis import strategies as st

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.solutions import NewKnownError, confirm, save_error
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.exchange.exchange import import_jsonl
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.privacy.purge import SAID_AGAIN, forget_document, forget_path
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.packages import NewPackage, consume, save_package
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import DocumentRef, digits_of, origin_and_number, origins_of
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

NAMES = "abc"
PATHS = ("plan.md", "notes/locks.md", "api.md")
WORDS = ("zebra", "walrus", "heron", "token", "lock", "queue", "retry", "schema")
ERRORS = ("KeyError: 'port'", "ModuleNotFoundError: No module named 'yaml'")
SECRET = "Kq7vXw2mPz9t"  # nothing but what a purge is asked for
QUESTIONS = tuple(f"{one} {other}" for one in WORDS for other in WORDS)[:40]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
stores = st.sampled_from(NAMES)
steps = st.one_of(
    st.tuples(st.just("save"), stores, st.sampled_from(PATHS), texts),
    st.tuples(st.just("save"), stores, st.sampled_from(PATHS), texts),
    st.tuples(st.just("file"), stores, st.sampled_from(("src/main.py", "README.md")), texts),
    st.tuples(st.just("think"), stores, texts),
    st.tuples(st.just("secret"), stores, st.booleans()),
    st.tuples(st.just("title"), stores, st.sampled_from(WORDS)),
    st.tuples(st.just("move"), stores, st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("error"), stores, st.sampled_from(ERRORS), texts),
    st.tuples(st.just("confirm"), stores, st.integers(0, 9), st.booleans()),
    st.tuples(st.just("consume"), stores, st.integers(0, 9)),
    st.tuples(st.just("purge"), stores, st.integers(0, 9)),
    st.tuples(st.just("purge path"), stores, st.sampled_from(PATHS)),
    st.tuples(st.just("exchange"), stores, stores, st.booleans(), st.integers(0, 20), st.booleans()),
    st.tuples(st.just("exchange"), stores, stores, st.booleans(), st.integers(0, 20), st.booleans()),
)


def mode_of(store: Store) -> RedactionMode:
    """How a store redacts: with what was purged from it."""
    return load_config(store).redaction_mode


class Dies(Exception):
    """An import ends here, as a process does that is killed."""


class Machines:
    """Three stores, and how far each has told each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores = {name: make_store(folder / name) for name in NAMES}
        self.told: dict[tuple[str, str], int] = {}
        self.asking = set[Store]()  # those that were told to ask for whole exports

    def take(self, step: tuple[Any, ...]) -> None:
        """One step; what a store refuses (a purged path, a repeated text) it refuses."""
        what, name, *rest = step
        store = self.stores[name]
        with contextlib.suppress(CtxrankError):
            getattr(self, f"_{what.replace(' ', '_')}")(store, *([name] if what == "exchange" else []), *rest)

    def _save(self, store: Store, path: str, text: str) -> None:
        save(store, path, f"# {path}\n\n{text}\n", summary=text)

    def _file(self, store: Store, path: str, text: str) -> None:
        target = Path(store.location.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{text}\n", encoding="utf-8")
        index_artifacts(store)

    def _title(self, store: Store, text: str) -> None:
        title = f"The {SECRET} of the {text}"
        new = NewPackage("S", None, "research", "", "developer", title, title=title)
        save_package(store, new, text=title, create_session=True)

    def _move(self, store: Store, path: str, to: str) -> None:
        here, there = (Path(store.location.root) / one for one in (path, to))
        if here.exists() and not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            here.rename(there)
            index_artifacts(store)

    def _think(self, store: Store, text: str) -> None:
        new = NewReasoning("S", "G", "developer", "decisions", text)
        save_reasoning(store, new, create_session=True)

    def _secret(self, store: Store, is_purge: bool) -> None:
        if is_purge:
            forget_secrets(store, [SECRET], mode_of(store))
        else:
            self._think(store, f"The word is {SECRET} for the queue.")

    def _error(self, store: Store, message: str, solution: str) -> None:
        failure = read_failure_text(message.encode(), RedactionMode.PATTERN_ONLY)
        save_error(store, NewKnownError(failure.text, solution))

    def _confirm(self, store: Store, which: int, has_helped: bool) -> None:
        ids = self._ids(store, "error_patterns")
        if ids:
            confirm(store, ids[which % len(ids)], has_helped=has_helped)

    def _consume(self, store: Store, which: int) -> None:
        ids = self._ids(store, "packages")
        if ids:
            consume(store, ids[which % len(ids)], "developer", which)

    def _purge(self, store: Store, which: int) -> None:
        query = "SELECT kind, record_id FROM documents WHERE record_id IS NOT NULL ORDER BY id"
        refs = [DocumentRef(str(kind), int(number)) for kind, number in store.primary.execute(query)]
        if refs:
            self._heed(store, forget_document(store, refs[which % len(refs)]).notes)

    def _heed(self, store: Store, notes: tuple[str, ...]) -> None:
        if SAID_AGAIN in notes:
            self.asking.add(store)

    def _purge_path(self, store: Store, path: str) -> None:
        forget_path(store, path)

    def _exchange(self, store: Store, name: str, other: str, is_whole: bool, dies_at: int, is_relay: bool) -> None:
        if name != other:
            self.tell(name, other, is_whole=is_whole, dies_at=dies_at, all_origins=is_relay)

    def tell(
        self, name: str, other: str, *, is_whole: bool = False, dies_at: int = 0, all_origins: bool = False
    ) -> None:
        """Export from one and import into the other; a death leaves the cursor where it was."""
        target = self.stores[other]
        since = 0 if is_whole or target in self.asking else self.told.get((name, other), 0)
        lines = list(export_lines(self.stores[name], since=since, all_origins=all_origins))
        if dies_at:
            self._bring_and_die(target, lines, dies_at)
        self.bring(target, lines)
        self.told[name, other] = int(json.loads(lines[0])["seq"])

    def bring(self, target: Store, lines: list[str]) -> None:
        """Import lines."""
        data = "".join(lines).encode()
        accept(target, data)
        self._heed(target, import_jsonl(target, io.BytesIO(data)).notes)
        self._heed(target, agree(target))

    def _bring_and_die(self, target: Store, lines: list[str], dies_at: int) -> None:
        """Import until so many transactions are in, then no further."""
        write, left = target.write, dies_at

        def counted() -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Dies
            return write()

        target.write = counted  # type: ignore[method-assign]
        try:
            self.bring(target, lines)
        except Dies:
            pass
        finally:
            del target.write

    def settle(self) -> None:
        """Tell everything to everybody, until orders have been carried out and told, too."""
        for number in range(4):
            for name, other in itertools.permutations(NAMES, 2):
                if number < 3 or self.stores[other] in self.asking:
                    self.tell(name, other)

    def _ids(self, store: Store, table: str) -> list[int]:
        return [int(number) for (number,) in store.primary.execute(f"SELECT id FROM {table} ORDER BY abs(id), id")]

    def close(self) -> None:
        """Close the stores."""
        for store in self.stores.values():
            store.close()


class Seen(NamedTuple):
    """What a user sees of a store, without what only this machine calls it."""

    documents: list[tuple[Any, ...]]
    counts: list[tuple[Any, ...]]
    taken: list[tuple[Any, ...]]
    groups: list[tuple[Any, ...]]
    answers: list[list[tuple[Any, ...]]]


def key(store: Store, kind: str, number: int) -> tuple[str, str, int | str]:
    """The key of a record that is the same everywhere; of what all stores have one of, its natural key."""
    if kind == "error":
        query = "SELECT project || pattern_hash FROM error_patterns WHERE id = ?"
        return ("", kind, str(store.primary.execute(query, (number,)).get))
    code, there = origin_and_number(number)
    return (digits_of(origins_of(store.primary)[code]), kind, there)


def seen(store: Store, as_of: int) -> Seen:
    """Everything that has to be the same."""
    query = """
        SELECT d.kind, d.record_id, o.kind, o.record_id, d.title, d.body, d.path, d.passage_key, d.type, d.priority,
               d.agent, d.superseded_by, d.created_at
          FROM documents AS d LEFT JOIN documents AS o ON o.id = d.owner_id
    """
    documents: list[tuple[Any, ...]] = []
    rows: list[list[Any]] = [list(row) for row in store.primary.execute(query)]
    for kind, number, owner_kind, owner, *rest in rows:
        of = key(store, str(owner_kind), int(owner)) if kind == "passage" else key(store, str(kind), int(number))
        if rest[-2] is not None:
            rest[-2] = key(store, "package", int(rest[-2]))
        documents.append((str(kind), of, *rest))
    query = """
        SELECT project, pattern_hash, occurrences, confirmations, refutations, state, solution FROM error_patterns
    """
    counts = sorted(store.primary.execute(query).fetchall())
    query = "SELECT package_id, agent, iteration, consumed_at FROM package_consumers"
    taken = sorted(
        [(key(store, "package", int(number)), *rest) for number, *rest in store.primary.execute(query)], key=repr
    )
    query = """
        SELECT s.project, s.name, s.created_at, g.name, g.title, g.status FROM sessions AS s
          LEFT JOIN groups AS g ON g.session_id = s.id
    """
    groups = sorted(store.primary.execute(query).fetchall(), key=repr)
    answers: list[Any] = []
    for question in QUESTIONS:
        result = search(store, SearchRequest(question)._replace(limit=10, as_of=as_of))
        answers.append([(hit_key(store, hit.id), round(hit.score or 0.0, 6)) for hit in result.hits])
    return Seen(sorted(documents, key=repr), counts, taken, groups, answers)


def hit_key(store: Store, id_: str) -> tuple[Any, ...]:
    """The key of a hit, by what it prints."""
    from ctxrank.indexer.store.ids import local_ref

    ref = local_ref(store.primary, id_)
    return key(store, ref.kind, ref.number)


def compare(machines: Machines) -> None:
    """All stores are the same, and so is one that is made of their exports."""
    as_of = now_us()
    views = {name: seen(store, as_of) for name, store in machines.stores.items()}
    for name in NAMES[1:]:
        for field in Seen._fields:
            assert getattr(views[name], field) == getattr(views["a"], field), f"{field} of {name}"
    with make_store(machines.folder / "rebuilt") as rebuilt:
        for store in machines.stores.values():
            machines.bring(rebuilt, list(export_lines(store)))
        view = seen(rebuilt, as_of)
    for field in Seen._fields:
        assert getattr(view, field) == getattr(views["a"], field), f"{field} of the rebuilt one"
