"""How fast files become searchable, beside raw FTS5 over the same files, and over the same passages.

Ours is the command, whole: it walks, reads, hashes, redacts, cuts passages, splits identifiers, counts tokens,
writes the primary database and lets the index follow. Raw FTS5 is one table, filled in one transaction (peer_index.py).
Where there is a second core, the command uses it; CPU time counts both.
"""

import json
import os
import shutil
import sys

from figures import Figure, Findings, figure
from generate import write_tree
from peer_index import PASSAGES
from timing import Run, ratios, run_alone, times
from workspace import Workspace

from ctxrank.indexer import open_store

MIN_SHARE = 0.1  # of raw FTS5's speed, which gets whole files
MAX_OVER_PASSAGES_CPU, MAX_OVER_PASSAGES_WALL = 5.0, 4.0  # times raw FTS5 that gets the passages as we cut them
_PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_index.py")


def measure(workspace: Workspace) -> Findings:
    """Index the same tree by turns, each time from nothing."""
    shape = workspace.sizes.indexed
    ours: list[Run] = []
    raw: list[Run] = []
    same: list[Run] = []
    ours_bytes: list[float] = []
    raw_bytes: list[float] = []
    with workspace.scratch("indexed") as folder:
        tree, raw_database = os.path.join(folder, "tree"), os.path.join(folder, "raw.db")
        passages = os.path.join(folder, f"tree{PASSAGES}")
        if workspace.tree is not None:
            megabytes = _copy_tree(workspace.tree, tree) / 1e6
        else:
            megabytes = write_tree(tree, shape) / 1e6
        for _ in range(workspace.sizes.index_rounds):
            workspace.run("init", "--quiet", cwd=tree)
            ours.append(run_alone(workspace.ctxrank("index"), cwd=tree))
            ours_bytes.append(_size(os.path.join(tree, ".ctxrank")))
            if not os.path.exists(passages):
                _write_passages(tree, passages)
            shutil.rmtree(os.path.join(tree, ".ctxrank"))
            raw.append(run_alone([sys.executable, _PEER, tree, raw_database]))
            raw_bytes.append(os.path.getsize(raw_database))
            os.remove(raw_database)
            same.append(run_alone([sys.executable, _PEER, passages, raw_database]))
            os.remove(raw_database)
    figures: list[Figure] = [
        figure("index, speed by wall", "MB/s", [megabytes / run.wall_ms * 1000 for run in ours]),
        figure("index, speed by CPU", "MB/s", [megabytes / run.cpu_ms * 1000 for run in ours]),
        figure("peer: raw FTS5, speed by wall", "MB/s", [megabytes / run.wall_ms * 1000 for run in raw]),
        figure("peer: raw FTS5, speed by CPU", "MB/s", [megabytes / run.cpu_ms * 1000 for run in raw]),
        figure("index over raw FTS5, by wall", "x", ratios(raw, ours, "wall_ms"), limit=MIN_SHARE, is_minimum=True),
        figure("index over raw FTS5, by CPU", "x", ratios(raw, ours, "cpu_ms"), limit=MIN_SHARE, is_minimum=True),
        figure(
            "index over raw FTS5 with the same passages, by wall",
            "x",
            ratios(ours, same, "wall_ms"),
            limit=MAX_OVER_PASSAGES_WALL,
        ),
        figure(
            "index over raw FTS5 with the same passages, by CPU",
            "x",
            ratios(ours, same, "cpu_ms"),
            limit=MAX_OVER_PASSAGES_CPU,
        ),
        figure("index, whole time", "ms", times(ours, "wall_ms")),
        figure("index, memory", "MB", [run.rss_mb for run in ours]),
        figure("store over text, bytes", "x", [size / 1e6 / megabytes for size in ours_bytes]),
        figure("peer: raw FTS5 over text, bytes", "x", [size / 1e6 / megabytes for size in raw_bytes]),
    ]
    what = "a real tree" if workspace.tree else f"{shape.files:,} files of Markdown, Python and logs"
    return Findings(figures, [f"{megabytes:.1f} MB in {what}."])


def _copy_tree(source: str, tree: str) -> int:
    """A tree without what git and we keep in it; returns its bytes."""
    shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".ctxrank"))
    places = [os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names]
    return sum(os.lstat(place).st_size for place in places)


def _write_passages(tree: str, path: str) -> None:
    with open_store(start=tree) as store, open(path, "w", encoding="utf-8") as file:
        json.dump(store.primary.execute("SELECT path, title, body FROM documents ORDER BY id").fetchall(), file)


def _size(folder: str) -> int:
    """Bytes of the files in a folder."""
    return sum(entry.stat().st_size for entry in os.scandir(folder))
