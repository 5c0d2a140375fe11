"""Stores of one kind of document and any number of them, and questions to them, the same for the same seed.

    write_store(folder, 1_000_000)          # folder/.ctxrank, indexed; takes about ten minutes
    questions(folder, 200)                  # 4 to 12 words that follow one another in a document

A document has 30 to 60 words by Zipf's law, of a vocabulary as large as real text of that size has; a third of them are
of its group's topic. Each session has 250 documents however many there are: teams do not grow with their past.
"""

import os
import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from language import Language

from ctxrank.indexer.agents import AGENTS, PACKAGE_TYPES
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.packages import Consumer, NewPackage, insert
from ctxrank.indexer.records.sessions import NewSession, create_session, require_group
from ctxrank.indexer.store.store import Store

DOCUMENTS_A_SESSION = 250
GROUPS = ("AUTH", "CHECKOUT", "QUEUE", "SEARCH", "DEPLOY")
_SEED = 6
_VOCABULARY = 300_000
_WORDS = (30, 60)
_PRIORITIES = ("low", "medium", "medium", "medium", "high", "high", "critical")
_TRANSACTION = 5000
_FIRST_DAY_US = 1_735_689_600_000_000  # 2025-01-01
_APART_US = 20_000_000


class Asked(NamedTuple):
    """A question, and where an agent with such a task would ask it."""

    words: str
    session: str
    group: str
    agent: str


def session_name(place: int) -> str:
    """The name of the session at this place."""
    return f"bench_{place:05}"


def write_store(folder: str, documents: int) -> None:
    """Make a store of so many documents, and index it."""
    language = Language(_SEED, _VOCABULARY)
    with create_store(folder) as store:
        store.primary.pragma("synchronous", 0)
        sessions = _write_sessions(store, -(-documents // DOCUMENTS_A_SESSION))
        for first in range(0, documents, _TRANSACTION):
            with store.write() as change:
                for number in range(first, min(first + _TRANSACTION, documents)):
                    new = _package(language, number, place := number // DOCUMENTS_A_SESSION)
                    group = require_group(change, sessions[place], str(new.group))
                    values = {**new._asdict(), "session_id": sessions[place], "group_id": group}
                    consumers = [Consumer(agent, None, None) for agent in new.consumers]
                    insert(change, values, consumers, root=0, prepared=None)
        store.catch_up()


def _write_sessions(store: Store, count: int) -> list[int]:
    with store.write() as change:
        return [
            create_session(
                change,
                NewSession(session_name(place), f"project-{place // 20}", "parallel", created_at=_FIRST_DAY_US + place),
            )
            for place in range(count)
        ]


def _package(language: Language, number: int, place: int) -> NewPackage:
    chance = language.random
    group = chance.randrange(len(GROUPS))
    text = language.sentence(chance.randint(*_WORDS), language.topic(place * len(GROUPS) + group))
    name = "-".join(text.lower().split()[:3])
    return NewPackage(
        session=session_name(place), group=GROUPS[group], type=chance.choice(PACKAGE_TYPES),
        path=f"{session_name(place)}/{name}.md", producer=chance.choice(AGENTS), summary=text,
        priority=chance.choice(_PRIORITIES), scope="group", consumers=tuple(chance.sample(AGENTS, 2)),
        created_at=_FIRST_DAY_US + number * _APART_US,
    )  # fmt: skip


def questions(folder: str, count: int, words: tuple[int, int] = (4, 12)) -> list[Asked]:
    """Runs of words of documents drawn at random, each asked where its document belongs."""
    chance = random.Random(_SEED)
    with open_store(start=folder) as store:
        return list(_questions(store, chance, count, words))


def _questions(store: Store, chance: random.Random, count: int, words: tuple[int, int]) -> Iterator[Asked]:
    (last,) = store.primary.execute("SELECT max(id) FROM documents").fetchone() or (0,)
    query = """
        SELECT d.body, s.name, g.name
          FROM documents AS d JOIN sessions AS s ON s.id = d.session_id JOIN groups AS g ON g.id = d.group_id
         WHERE d.id = ?
    """
    for _ in range(count):
        body, session, group = store.primary.execute(query, (chance.randint(1, int(last)),)).fetchone() or ("", "", "")
        said = str(body).lower().split()
        length = min(chance.randint(*words), len(said))
        start = chance.randint(0, len(said) - length)
        yield Asked(" ".join(said[start : start + length]), str(session), str(group), chance.choice(AGENTS))
