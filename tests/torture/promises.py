"""What a store was heard to promise, and whether it holds.

Every record that the harness writes carries a word of its own, so that "there exactly once, and whole" is a count of
rows that hold the word. A word is `adding` from the moment its call began until the call returned, then it is `kept`;
`removing` and `gone` are the same for what is taken away. After a fault a word that is adding or removing may be there
whole or not at all; a kept one has to be there, a gone one must not. A word is `forgotten` once a purge has answered 0:
then it is in no byte of the store's files. So is what an earlier purge took away and was killed before it said so.
"""

import re
from collections import Counter
from enum import Enum
from typing import Any, NamedTuple

import apsw

from ctxrank.indexer.records.receipts import KEPT_PER_GROUP


class State(Enum):
    """Where a word stands between its call and its acknowledgement."""

    ADDING = "adding"
    KEPT = "kept"
    REMOVING = "removing"
    GONE = "gone"
    FORGOTTEN = "forgotten"


class Shape(Enum):
    """What a record is, by the rows that hold its word when it is whole."""

    REASONING = "reasoning"
    PACKAGE = "package"
    FILE = "file"
    STRATEGY = "strategy"
    SKILL = "skill output"
    ERROR = "known error"
    COMMAND = "failed command"
    RECEIPT = "receipt"

    @property
    def rows(self) -> dict[str, int]:
        """How many rows of which table."""
        return _ROWS[self]


_ROWS = {
    Shape.REASONING: {"reasoning": 1, "documents": 1},
    Shape.PACKAGE: {"packages": 1, "documents": 3},  # its own document and two passages
    Shape.FILE: {"documents": 2},  # two passages
    Shape.STRATEGY: {"strategies": 1, "documents": 1},
    Shape.SKILL: {"skill_outputs": 1, "documents": 1},
    Shape.ERROR: {"error_patterns": 1, "documents": 1},
    Shape.COMMAND: {"failed_commands": 1},
    Shape.RECEIPT: {"receipts": 1},
}


class Promise(NamedTuple):
    """One word, what it should be in, and how far its call has come.

    `file` is the path of a file's word, or what an import's came from. With a `former` shape the record is changed by
    the call: until the call has returned it is there in the one shape or in the other, and never in none.
    """

    shape: Shape
    state: State
    file: str = ""
    former: Shape | None = None


Promises = dict[str, Promise]

# What stands for the path of a word that goes with a secret: by a rule, or because it was named.
SECRET, NAMED = "secret", "named secret"
SECRETS = (SECRET, NAMED)

# As `builders.word` makes them; a capital or a sign ends one.
_WORD = re.compile(r"q[bcdfghjkmp]+")
_TEXTS = {
    "reasoning": "SELECT content FROM reasoning",
    "packages": "SELECT summary FROM packages",
    "strategies": "SELECT insight FROM strategies",
    "skill_outputs": "SELECT output FROM skill_outputs",
    "error_patterns": "SELECT solution FROM error_patterns",
    "failed_commands": "SELECT command FROM failed_commands",
    "receipts": "SELECT inputs FROM receipts",
    "documents": "SELECT title || ' ' || body FROM documents",
}


def rows_by_word(primary: apsw.Connection) -> dict[str, Counter[str]]:
    """For every word, how many rows of each table hold it."""
    found: dict[str, Counter[str]] = {}
    for table, query in _TEXTS.items():
        for (text,) in primary.execute(query):
            for word in set(_WORD.findall(text)):
                found.setdefault(word, Counter())[table] += 1
    return found


def broken(promises: Promises, primary: apsw.Connection) -> list[str]:
    """A sentence for every promise that does not hold."""
    found = rows_by_word(primary)
    # All of them are of one group, of which the newest are kept.
    is_full_of_receipts = primary.execute("SELECT count(*) FROM receipts").get >= KEPT_PER_GROUP
    troubles: list[str] = []
    for word, promise in promises.items():
        rows = dict(found.get(word, Counter()))
        if promise.shape is Shape.RECEIPT and not rows and is_full_of_receipts:
            continue
        if rows not in _allowed(promise) and not _is_half_purged(promise, rows):
            troubles.append(f"{word} ({promise.shape.name}, {promise.state.value}) is in {rows or 'nothing'}")
    return troubles


def _allowed(promise: Promise) -> list[dict[str, int]]:
    if promise.state is State.KEPT:
        return [promise.shape.rows]
    if promise.state in (State.GONE, State.FORGOTTEN):
        return [{}]
    if promise.former is None:
        # The file of a package that was not saved is a file as any other: `index` takes it in.
        return [promise.shape.rows, {}, *([Shape.FILE.rows] if promise.shape is Shape.PACKAGE else [])]
    # What is changed is there before and after, or, where the new record is made first, in both forms.
    return [promise.shape.rows, promise.former.rows, {**promise.former.rows, **promise.shape.rows}]


def _is_half_purged(promise: Promise, rows: dict[str, int]) -> bool:
    """A purge goes through one table after the other, and the next one ends what it began."""
    is_begun = promise.state is State.REMOVING and promise.file in SECRETS
    return is_begun and rows.items() <= promise.shape.rows.items()


def settled(promises: Promises, primary: apsw.Connection) -> Promises:
    """The promises after a look: what was seen to be there stays, what was seen to be gone stays away."""
    found = rows_by_word(primary)
    after: Promises = {}
    for word, promise in promises.items():
        state = promise.state
        if state is State.ADDING and dict(found.get(word, Counter())) == promise.shape.rows:
            state = State.KEPT
        if state is State.REMOVING and word not in found:
            state = State.GONE
        after[word] = promise._replace(state=state)
    return after


def promise_as_json(promise: Promise) -> list[str]:
    """The promise as it goes through a pipe."""
    return [promise.shape.name, promise.file, promise.former.name if promise.former else ""]


class Ledger:
    """The promises that were heard from writers so far; `is_damaged` until a repair of the store has returned."""

    def __init__(self) -> None:
        self.promises: Promises = {}
        self.kept = 0
        self.is_damaged = False
        self._purged: set[str] = set()

    def hear(self, line: dict[str, Any]) -> None:
        """One line of a writer's: what it begins, or what has returned."""
        for word, (shape, file, former) in line.get("begin", ()):
            self.promises[word] = Promise(Shape[shape], State.ADDING, file, Shape[former] if former else None)
        for word in line.get("removes", ()):
            self._set(word, State.REMOVING)
        for word in line.get("done", ()):
            self._set(word, State.KEPT)
            self.kept += 1
        for word in line.get("removed", ()):
            self._set(word, State.GONE)
        self._purged.update(line.get("purges", ()))
        for word in line.get("forgotten", ()):
            self._set(word, State.FORGOTTEN)
        if line.get("forgotten"):  # a purge also ends what an earlier one began
            for word in self._purged:
                if self.promises[word].state is State.GONE:
                    self._set(word, State.FORGOTTEN)
        self.is_damaged = bool(line.get("is_damaged", self.is_damaged))

    def _set(self, word: str, state: State) -> None:
        self.promises[word] = self.promises[word]._replace(state=state)
