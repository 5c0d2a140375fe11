"""Indexing many small documents: speed, size and memory from nothing, and one change at a time afterwards.

A document has 30 to 60 words, a third of them about its topic. Ours is bulk_put.py, raw FTS5 one table filled in one
transaction (peer_index.py), both from the same file of lines. The figures of single changes are whole: redaction, a
transaction that waits for the disk, and the index that follows (save_each.py).
"""

import json
import os
import shutil
import subprocess
import sys

from figures import Figure, Findings, figure
from language import Language
from timing import Run, clean_environment, percentile, ratios, run_alone
from workspace import Workspace

MIN_SHARE = 0.2  # of raw FTS5's speed
MAX_SIZE = 1.1  # of the text's bytes, the index file alone
MAX_RSS_MB = 500.0
MAX_CHANGE_MS = 20.0
_HOME = os.path.dirname(os.path.abspath(__file__))
_SEED = 6
_WORDS = (30, 60)
_TOPICS = 2000
_SHARE_WITH_VALUES = 0.5
_QUERY = "retry the database lock when a session token expires"


def measure(workspace: Workspace) -> Findings:
    """Each size by itself; the largest is the one with targets for speed and size."""
    figures: list[Figure] = []
    notes: list[str] = []
    for count in workspace.sizes.scales:
        with workspace.scratch(f"scale-{count}") as folder:
            lines, more = os.path.join(folder, "lines"), os.path.join(folder, "more")
            size = write_lines(lines, count, _SEED)
            write_lines(more, workspace.sizes.changes + 1, _SEED + 1)
            is_largest = count == max(workspace.sizes.scales)
            figures += _bulk(workspace, folder, lines, f"{count:,} documents", size, is_largest=is_largest)
            figures += _changes(folder, more, f"{count:,} documents", workspace.sizes.changes)
            notes.append(f"{count:,} documents: {size / 1e6:.1f} MB of text.")
    return Findings(figures, notes)


def write_lines(path: str, count: int, seed: int) -> int:
    """A text on each line; returns their bytes."""
    language = Language(seed)
    chance = language.random
    topics = [language.topic(number) for number in range(_TOPICS)]
    with open(path, "w", encoding="utf-8") as file:
        return sum(
            file.write(language.sentence(chance.randint(*_WORDS), chance.choice(topics)) + "\n") for _ in range(count)
        )


def _bulk(workspace: Workspace, folder: str, lines: str, name: str, size: int, *, is_largest: bool) -> list[Figure]:
    ours: list[Run] = []
    raw: list[Run] = []
    raw_database = os.path.join(folder, "raw.db")
    raw_bytes = 0
    for _ in range(1 if is_largest else workspace.sizes.index_rounds):
        shutil.rmtree(os.path.join(folder, ".ctxrank"), ignore_errors=True)
        ours.append(run_alone([sys.executable, os.path.join(_HOME, "bulk_put.py"), lines, folder]))
        raw.append(run_alone([sys.executable, os.path.join(_HOME, "peer_index.py"), lines, raw_database]))
        raw_bytes = os.path.getsize(raw_database)
        os.remove(raw_database)
    index_bytes = os.path.getsize(os.path.join(folder, ".ctxrank", "index.db"))
    searching = run_alone(workspace.ctxrank("search", _QUERY), cwd=folder)
    share = MIN_SHARE if is_largest else None
    return [
        figure(f"{name}, speed by wall", "MB/s", [size / 1e3 / run.wall_ms for run in ours]),
        figure(f"{name}, speed by CPU", "MB/s", [size / 1e3 / run.cpu_ms for run in ours]),
        figure(f"peer: raw FTS5, {name}, speed by wall", "MB/s", [size / 1e3 / run.wall_ms for run in raw]),
        figure(f"peer: raw FTS5, {name}, speed by CPU", "MB/s", [size / 1e3 / run.cpu_ms for run in raw]),
        figure(f"{name} over raw FTS5, by wall", "x", ratios(raw, ours, "wall_ms"), limit=share, is_minimum=True),
        figure(f"{name} over raw FTS5, by CPU", "x", ratios(raw, ours, "cpu_ms")),
        figure(f"{name}, index file over text", "x", [index_bytes / size], limit=MAX_SIZE if is_largest else None),
        figure(f"peer: raw FTS5, {name}, file over text", "x", [raw_bytes / size]),
        figure(f"{name}, memory of indexing", "MB", [run.rss_mb for run in ours], limit=MAX_RSS_MB),
        figure(f"{name}, memory of a search", "MB", [searching.rss_mb], limit=MAX_RSS_MB),
    ]


def _changes(folder: str, more: str, name: str, count: int) -> list[Figure]:
    command = [sys.executable, os.path.join(_HOME, "save_each.py"), folder, more, str(count)]
    answered = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=clean_environment())
    answer = json.loads(answered.stdout)
    figures: list[Figure] = []
    for kind, took in answer["took"].items():
        wall, cpu = [one[0] for one in took], [one[1] for one in took]
        figures += [  # the raw values stand once, with the first figure of each kind
            _of(f"{name}, one {kind}, p50", wall, 0.5, limit=MAX_CHANGE_MS),
            _of(f"{name}, one {kind}, p95", wall, 0.95, limit=MAX_CHANGE_MS),
            _of(f"{name}, one {kind}, p99", wall, 0.99),
            _of(f"{name}, one {kind}, longest", wall, 1.0),
            _of(f"{name}, one {kind}, p50 of CPU", cpu, 0.5),
            _of(f"{name}, one {kind}, p95 of CPU", cpu, 0.95, limit=MAX_CHANGE_MS),
            _of(f"{name}, one {kind}, longest of CPU", cpu, 1.0),
        ]
    figures.append(figure(f"{name}, changes that the index had not followed", "changes", [answer["behind"]]))
    return figures


def _of(name: str, values: list[float], share: float, *, limit: float | None = None) -> Figure:
    """A percentile."""
    value = percentile(values, share)
    return Figure(name, "ms", value, tuple(values) if share == _SHARE_WITH_VALUES else (value,), limit)
