"""The blend where its signals are real: the history of a program, which says what was worked on when.

A commit message looks for the files that the commit changed, among the files as they were before. The files are ranked
by text alone, by the blend of text and what is known of them, and by the same blend with each file given the signals of
another. Known are the days since a file's last change, and whether it lies in the folder most worked in of late, which
stands for the group that asks.

    DATA/history/*     a folder in BEIR's form, with `time` in queries.jsonl and commits.jsonl {"time", "files"}
    a git repository   python benchmarks/history.py REPOSITORY
"""

import json
import os
import random
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from figures import Figure, Findings, table
from workspace import Workspace

from ctxrank.extensions.evaluation.collection import MADE_AT, Collection, JudgedQuery, SourceDocument, read_collections
from ctxrank.extensions.evaluation.evaluate import IndexedCollection, indexed, ndcg
from ctxrank.indexer.light_typing import is_list
from ctxrank.indexer.store.config import Config
from ctxrank.ranking.formulas.blend import TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.static_features import BLENDED, Signals, heuristic
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

MIN_GAIN = 0.02
MAX_LOSS = 0.01
_DAY_S = 86_400
_LATE_COMMITS = 20  # what "of late" means for a folder
_ASKED_COMMITS = 300
_MAX_FILES_CHANGED = 5  # a commit that touches more says little about each
_MAX_FILE_BYTES = 200_000
_SHUFFLES = 3
_NEVER_DAYS = 10**6


class Commit(NamedTuple):
    """A change: when, and which files."""

    time: int
    files: tuple[str, ...]


class History(NamedTuple):
    """Files, the questions that commits ask, when they ask, and all commits in order."""

    name: str
    collection: Collection
    times: dict[str, int]
    commits: list[Commit]


def measure(workspace: Workspace) -> Findings:
    """Every history below DATA/history; nothing, and a note, where there is none."""
    home = os.path.join(workspace.data or "", "history")
    if workspace.data is None or not os.path.isdir(home):
        return Findings([], ["Left out: --data names no folder with history/*."])
    figures: list[Figure] = []
    for name in sorted(os.listdir(home)):
        if os.path.isfile(os.path.join(home, name, "commits.jsonl")):
            figures += measured(read_folder(name, os.path.join(home, name)))
    return Findings(figures, [f"The folder most worked in is that of the last {_LATE_COMMITS} commits."])


def read_folder(name: str, folder: str) -> History:
    """A history that was written down."""
    times = {str(line["_id"]): int(str(line["time"])) for line in _lines(os.path.join(folder, "queries.jsonl"))}
    commits = [
        Commit(int(str(line["time"])), tuple(map(str, _list(line["files"]))))
        for line in _lines(os.path.join(folder, "commits.jsonl"))
    ]
    return History(name, read_collections(folder)[0], times, sorted(commits))


def _lines(path: str) -> Iterator[dict[str, object]]:
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def _list(value: object) -> list[object]:
    assert is_list(value), "files are a list"
    return list(value)


def read_repository(path: str) -> History:
    """The last commits of a git repository ask for their files, among those of the commit before all of them."""
    log = _git(path, "log", "--no-merges", "--reverse", "--name-only", "--format=%x00%H%x01%ct%x01%B%x01")
    commits: list[Commit] = []
    messages: list[tuple[str, str]] = []
    for entry in log.split("\0")[1:]:
        sha, time, message, files = entry.split("\1", 3)
        commits.append(Commit(int(time), tuple(line for line in files.split("\n") if line)))
        messages.append((sha, message.strip()))
    start = max(len(commits) - _ASKED_COMMITS, 1)
    documents = list(_files_at(path, messages[start - 1][0]))
    known = {document.id for document in documents}
    queries: list[JudgedQuery] = []
    times: dict[str, int] = {}
    for commit, (sha, message) in zip(commits[start:], messages[start:], strict=True):
        wanted = known.intersection(commit.files)
        if wanted and len(commit.files) <= _MAX_FILES_CHANGED and message:
            queries.append(JudgedQuery(sha, message, dict.fromkeys(wanted, 1.0)))
            times[sha] = commit.time
    name = os.path.basename(os.path.abspath(path))
    return History(name, Collection("", tuple(documents), tuple(queries)), times, sorted(commits))


def _files_at(path: str, sha: str) -> Iterator[SourceDocument]:
    for name in _git(path, "ls-tree", "-r", "-z", "--name-only", sha).split("\0"):
        if name:
            data = subprocess.run(["git", "-C", path, "show", f"{sha}:{name}"], check=False, capture_output=True).stdout
            if data and b"\0" not in data and len(data) <= _MAX_FILE_BYTES:
                yield SourceDocument(name, name, data.decode("utf-8", "replace"))


def _git(path: str, *words: str) -> str:
    done = subprocess.run(["git", "--no-optional-locks", "-C", path, *words], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


class _Known:
    """What is known of each file at a moment."""

    def __init__(self, history: History) -> None:
        self._files = [document.id for document in history.collection.documents]
        self._commits = history.commits
        self._commit_times = [commit.time for commit in history.commits]
        self._changes: dict[str, list[int]] = {}
        for commit in history.commits:
            for file in commit.files:
                self._changes.setdefault(file, []).append(commit.time)

    def at(self, time: int) -> dict[str, Signals]:
        """By file, from commits before this moment."""
        end = bisect_left(self._commit_times, time)
        late = self._commits[max(end - _LATE_COMMITS, 0) : end]
        worked = Counter(folder for commit in late for folder in {os.path.dirname(file) for file in commit.files})
        folder = max(worked, key=lambda name: (worked[name], name)) if worked else None
        return {
            file: Signals("medium", os.path.dirname(file) == folder, False, self._days(file, time))
            for file in self._files
        }

    def _days(self, file: str, time: int) -> int:
        changes = self._changes.get(file, [])
        place = bisect_left(changes, time)
        return (time - changes[place - 1]) // _DAY_S if place else _NEVER_DAYS


def _text_scores(one: IndexedCollection, query: JudgedQuery) -> dict[str, float]:
    """T of every document that matches, without what is known of it, by the corpus' ids."""
    request = SearchRequest(
        query.text, len(one.collection.documents), as_of=MADE_AT, is_by_passage=one.loaded.is_of_passages,
        is_plain=True, has_snippets=False,
    )  # fmt: skip
    hits = search(one.store, request, Config(ranking={"text": 1.0})).hits
    return {one.loaded.ids[hit.id]: hit.score or 0.0 for hit in hits if hit.id in one.loaded.ids}


def measured(history: History) -> Iterator[Figure]:
    """nDCG@10 by text alone, and what the blend gains with real and with shuffled signals."""
    queries = history.collection.queries
    with indexed(history.collection, Config()) as one:
        texts = {query.id: _text_scores(one, query) for query in queries}
    known = _Known(history)
    signals = {query.id: known.at(history.times[query.id]) for query in queries}

    def quality(known_of: dict[str, dict[str, Signals]], weight: float) -> list[float]:
        values: list[float] = []
        for query in queries:
            text = texts[query.id]
            scores = {
                file: blended(text.get(file, 0.0), heuristic(facts, BLENDED).total, weight)
                for file, facts in known_of[query.id].items()
            }
            values.append(ndcg(sorted(scores, key=lambda file: (-scores[file], file)), query.grades))
        return values

    alone = quality(signals, 1.0)
    real = quality(signals, TEXT_WEIGHT)
    losses: list[float] = []
    for seed in range(_SHUFFLES):
        chance = random.Random(seed)
        foreign = {query.id: _shuffled(signals[query.id], chance) for query in queries}
        losses.append(_mean(alone) - _mean(quality(foreign, TEXT_WEIGHT)))
    gains = [new - old for new, old in zip(real, alone, strict=True)]
    yield Figure(f"{history.name}, text alone, nDCG@10", "", _mean(alone), tuple(alone))
    yield Figure(f"{history.name}, text and signals, nDCG@10", "", _mean(real), tuple(real))
    yield Figure(f"{history.name}, gain by signals", "", _mean(gains), tuple(gains), MIN_GAIN, is_minimum=True)
    yield Figure(f"{history.name}, loss by shuffled signals", "", _mean(losses), tuple(losses), MAX_LOSS)


def _shuffled(signals: dict[str, Signals], chance: random.Random) -> dict[str, Signals]:
    values = list(signals.values())
    chance.shuffle(values)
    return dict(zip(signals, values, strict=True))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    print(table(list(measured(read_repository(sys.argv[1])))))
