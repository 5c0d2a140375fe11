"""Stores and file trees to measure on, the same for the same seed.

    write_store("/tmp/s", StoreShape(packages=100_000, sessions=400))     # /tmp/s/.ctxrank, indexed
    write_tree("/tmp/t", TreeShape(size_bytes=64_000_000, files=4000))    # Markdown, Python and logs
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ctxrank.indexer import artifacts, create_store
from ctxrank.indexer.agents import AGENTS
from ctxrank.indexer.packages import PACKAGE_TYPES, NewPackage, insert
from ctxrank.indexer.reading import FileText, read_text_file
from ctxrank.indexer.redaction import RedactionMode
from ctxrank.indexer.sessions import NewSession, create_session
from ctxrank.indexer.store import Change, Store
from language import Language

SEED = 1
GROUPS = ("AUTH", "CHECKOUT", "QUEUE", "SEARCH", "DEPLOY")
_SESSION_WIDE_ONE_IN = 10
_FILE_ONE_IN = 20  # packages whose file is there, with passages
_FILE_BYTES = 8_000
_SUMMARY_WORDS = (16, 26)  # about 150 characters
_PRIORITIES = ("low", "medium", "medium", "medium", "high", "high", "critical")
_CONSUMERS = 3
_SESSIONS_A_PROJECT = 20
_PACKAGES_A_TRANSACTION = 2000
_FIRST_DAY_US = 1_735_689_600_000_000  # 2025-01-01
_PACKAGE_APART_US = 180_000_000

_SENTENCES = 4000
_SENTENCE_WORDS = (6, 18)
_KINDS = ("md", "md", "md", "py", "py", "log")
_LOG_FACTOR = 3  # logs are larger than what people write
_LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR")
_FILES_A_FOLDER = 100


class StoreShape(NamedTuple):
    """How much a store holds; packages are spread evenly over the sessions."""

    packages: int
    sessions: int


class Asked(NamedTuple):
    """What an orchestrator would ask of a store: where, for whom, and about what."""

    session: str
    group: str
    agent: str
    task: str
    words: str  # a short query about the same


class TreeShape(NamedTuple):
    """How large a tree is; one file in a hundred megabytes has `largest_bytes`, if that is not 0."""

    size_bytes: int
    files: int
    largest_bytes: int = 0


def session_name(number: int) -> str:
    """The name of a generated session."""
    return f"bench_{number:04}"


def _topic(number: int, group: str) -> list[str]:
    """What a group of a session is about: its packages and the tasks in it share these words."""
    return Language(hash_free_seed(number, group)).rare_words(40)


def hash_free_seed(number: int, group: str) -> int:
    """A seed that does not depend on Python's randomised string hashes."""
    return SEED + number * len(GROUPS) + GROUPS.index(group)


def write_store(folder: str, shape: StoreShape) -> None:
    """Make a store in `folder` with its files, and index it."""
    language = Language(SEED)
    topics = {
        (number, group): topic
        for number in range(shape.sessions)
        for group, topic in zip(GROUPS, _topics(language, len(GROUPS)), strict=True)
    }
    with create_store(folder) as store:
        ids = _write_sessions(store, shape.sessions)
        for first in range(0, shape.packages, _PACKAGES_A_TRANSACTION):
            with store.write() as change:
                root = artifacts.root_id(change, folder, folder)
                for number in range(first, min(first + _PACKAGES_A_TRANSACTION, shape.packages)):
                    place = number * shape.sessions // shape.packages
                    _write_package(change, language, topics, number, place, ids[place], root=root, folder=folder)
        store.follow()
