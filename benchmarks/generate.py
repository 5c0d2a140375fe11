"""Stores and file trees to measure on, the same for the same seed.

    write_store(folder, StoreShape(packages=100_000, sessions=400))      # folder/.ctxrank, indexed
    write_tree(folder, TreeShape(size_bytes=64_000_000, files=4000))     # Markdown, Python and logs

Nothing here is real: words, sessions and files are made up, with the frequencies of language.py.
"""

import os
from typing import NamedTuple

from language import Language

from ctxrank.indexer import create_store
from ctxrank.indexer.agents import AGENTS, PACKAGE_TYPES
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.records.packages import Consumer, NewPackage, insert
from ctxrank.indexer.records.sessions import NewSession, create_session, require_group
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store

SEED = 1
GROUPS = ("AUTH", "CHECKOUT", "QUEUE", "SEARCH", "DEPLOY")
_GLOBAL_ONE_IN = 10
_FILE_ONE_IN = 20  # packages whose file is there, with passages
_FILE_BYTES = 8_000
_SUMMARY_WORDS = (20, 28)  # about 150 characters
_PRIORITIES = ("low", "medium", "medium", "medium", "high", "high", "critical")
_CONSUMERS = 3
_SESSIONS_A_PROJECT = 20
_PACKAGES_A_TRANSACTION = 2000
_FIRST_DAY_US = 1_735_689_600_000_000  # 2025-01-01
_PACKAGE_APART_US = 180_000_000
_TASK_WORDS = (8, 30)
_QUERY_WORDS = (2, 6)

_SENTENCES = 4000
_SENTENCE_WORDS = (6, 18)
_KINDS = ("md", "md", "md", "py", "py", "log")
_LOG_FACTOR = 3  # logs are larger than what people write
_LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR")
_FILES_A_FOLDER = 100
_LARGEST_APART_BYTES = 100_000_000


class StoreShape(NamedTuple):
    """How much a store holds; packages are spread evenly over the sessions."""

    packages: int
    sessions: int


class Asked(NamedTuple):
    """What an orchestrator would ask of a store: where, for whom, about what, and a short query for the same."""

    session: str
    group: str
    agent: str
    task: str
    query: str


class TreeShape(NamedTuple):
    """How large a tree is; one file in a hundred megabytes has `largest_bytes`, if that is not 0."""

    size_bytes: int
    files: int
    largest_bytes: int = 0


def write_store(folder: str, shape: StoreShape) -> None:
    """Make a store in `folder` with its files, and index it."""
    language = Language(SEED)
    texts = TextMaker(language)
    with create_store(folder) as store:
        sessions = _write_sessions(store, shape.sessions)
        for first in range(0, shape.packages, _PACKAGES_A_TRANSACTION):
            with store.write() as change:
                root = artifacts.root_id(change, folder, folder)
                for number in range(first, min(first + _PACKAGES_A_TRANSACTION, shape.packages)):
                    place = number * shape.sessions // shape.packages
                    new = _package(language, number, place)
                    text = texts.text("md", _FILE_BYTES) if number % _FILE_ONE_IN == 0 else ""
                    prepared = _prepared(folder, new.path, text) if text else None
                    group = None if new.group is None else require_group(change, sessions[place], new.group)
                    values = {**new._asdict(), "session_id": sessions[place], "group_id": group}
                    consumers = [Consumer(agent, None, None) for agent in new.consumers]
                    insert(change, values, consumers, root=root, prepared=prepared)
        store.catch_up()


def asked(shape: StoreShape, count: int) -> list[Asked]:
    """Questions to a generated store: every other word of them is about the group that asks."""
    language = Language(SEED + 1)
    chance = language.random
    questions: list[Asked] = []
    for _ in range(count):
        place, group = chance.randrange(shape.sessions), chance.randrange(len(GROUPS))
        topic = language.topic(_topic_number(place, group))
        task = language.sentence(chance.randint(*_TASK_WORDS), topic)
        query = " ".join(chance.sample(topic, 1) + language.sentence(chance.randint(*_QUERY_WORDS) - 1, topic).split())
        questions.append(Asked(_session_name(place), GROUPS[group], chance.choice(AGENTS), task, query.lower()))
    return questions


def _session_name(place: int) -> str:
    return f"bench_{place:04}"


def _topic_number(place: int, group: int) -> int:
    return place * len(GROUPS) + group


def _write_sessions(store: Store, count: int) -> list[int]:
    with store.write() as change:
        return [
            create_session(
                change,
                NewSession(
                    _session_name(place), f"project-{place // _SESSIONS_A_PROJECT}", "parallel",
                    created_at=_FIRST_DAY_US + place * _PACKAGE_APART_US,
                ),
            )
            for place in range(count)
        ]  # fmt: skip


def _package(language: Language, number: int, place: int) -> NewPackage:
    chance = language.random
    group = chance.randrange(len(GROUPS))
    summary = language.sentence(chance.randint(*_SUMMARY_WORDS), language.topic(_topic_number(place, group)))
    name = "-".join(summary.lower().split()[:3])
    return NewPackage(
        session=_session_name(place),
        group=None if number % _GLOBAL_ONE_IN == 1 else GROUPS[group],
        type=chance.choice(PACKAGE_TYPES),
        path=f"artifacts/{_session_name(place)}/{number}-{name}.md",
        producer=chance.choice(AGENTS),
        summary=summary,
        priority=chance.choice(_PRIORITIES),
        scope="global" if number % _GLOBAL_ONE_IN == 1 else "group",
        consumers=tuple(chance.sample(AGENTS, _CONSUMERS)),
        created_at=_FIRST_DAY_US + number * _PACKAGE_APART_US,
    )


def _prepared(folder: str, path: str, text: str) -> artifacts.PreparedFile:
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)
    read = read_text_file(folder, path)
    assert isinstance(read, FileText), "the file was just written, as text"
    return artifacts.prepare(path, read, RedactionMode.PATTERN_ONLY)


def write_tree(folder: str, shape: TreeShape) -> int:
    """Write a tree of about this size; returns its bytes."""
    texts = TextMaker(Language(SEED))
    chance = texts.language.random
    mean_bytes = shape.size_bytes / shape.files
    factor = len(_KINDS) / sum(_LOG_FACTOR if kind == "log" else 1 for kind in _KINDS)
    written = number = next_largest = 0
    while written < shape.size_bytes:
        kind = chance.choice(_KINDS)
        size = int(mean_bytes * factor * chance.uniform(0.3, 1.7) * (_LOG_FACTOR if kind == "log" else 1))
        if shape.largest_bytes and written >= next_largest:
            kind, size = "log", shape.largest_bytes
            next_largest += _LARGEST_APART_BYTES
        path = os.path.join(folder, f"part-{number // _FILES_A_FOLDER:04}", f"{number:06}-{texts.name()}.{kind}")
        if number % _FILES_A_FOLDER == 0:
            os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            written += file.write(texts.text(kind, size))
        number += 1
    return written


class TextMaker:
    """Writes files of a kind, fast enough for gigabytes: sentences come from a pool, and each piece of text
    beside them has names, numbers and ids of its own, as real files have."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._sentences = [language.sentence(language.random.randint(*_SENTENCE_WORDS)) for _ in range(_SENTENCES)]
        self._identifiers = [language.identifier() for _ in range(_SENTENCES)]

    def name(self) -> str:
        """A file's name without its extension."""
        return self.language.random.choice(self._identifiers)

    def text(self, kind: str, size: int) -> str:
        """Text of about `size` characters, all ASCII, of the kind that an extension stands for."""
        make = {"md": self._markdown, "py": self._python, "log": self._log}[kind]
        pieces: list[str] = []
        length = 0
        while length < size:
            piece = make()
            pieces.append(piece)
            length += len(piece)
        return "".join(pieces)[:size].rstrip() + "\n"

    def _markdown(self) -> str:
        chance, sentences = self.language.random, self._sentences
        body = [". ".join(chance.choices(sentences, k=4)) for _ in range(chance.randint(1, 4))]
        items = [f"- `{chance.choice(self._identifiers)}`: {chance.choice(sentences).lower()}" for _ in range(3)]
        marks = chance.choice(("#", "##", "##", "###"))
        return "\n\n".join((f"{marks} {chance.choice(sentences)}", *body, "\n".join(items))) + "\n\n"

    def _python(self) -> str:
        chance, names = self.language.random, self._identifiers
        lines = [f"def {chance.choice(names)}_{chance.randrange(10**6)}({', '.join(chance.choices(names, k=2))}):"]
        lines.append(f'    """{chance.choice(self._sentences)}."""')
        for _ in range(chance.randint(3, 12)):
            one, other, third = chance.choices(names, k=3)
            lines.append(f"    {one} = {other}({third}, {chance.randrange(1000)})")
        lines.append(f"    return {chance.choice(names)}\n\n\n")
        return "\n".join(lines)

    def _log(self) -> str:
        chance, number = self.language.random, self.language.random.getrandbits(64)
        lines: list[str] = []
        for place in range(20):
            stamp = f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:{place:02}Z"
            level, name = chance.choice(_LEVELS), chance.choice(self._identifiers)
            lines.append(f"{stamp} {level} {name} request={number:016x} {chance.choice(self._sentences).lower()}\n")
            if place % 5 == 0:
                number = chance.getrandbits(64)
        return "".join(lines)
