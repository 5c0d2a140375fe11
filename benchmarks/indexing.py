"""How fast files become searchable, beside raw FTS5 over the same files.

Ours is the command, whole: it walks, reads, hashes, redacts, cuts passages, splits identifiers, counts tokens,
writes the primary database and lets the index follow. Raw FTS5 is one table, filled in one transaction (peer_index.py).
Where there is a second core, the command uses it; CPU time counts both.
"""

import os
import shutil
import sys

from figures import Figure, Findings, figure
from generate import write_tree
from timing import Run, ratios, run_alone, times
from workspace import Workspace

MIN_SHARE = 0.1  # of raw FTS5's speed
_PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_index.py")


def measure(workspace: Workspace) -> Findings:
    """Index the same tree by turns, each time from nothing."""
    shape = workspace.sizes.indexed
    ours: list[Run] = []
    raw: list[Run] = []
    ours_bytes: list[float] = []
    raw_bytes: list[float] = []
    with workspace.scratch("indexed") as folder:
        tree, raw_database = os.path.join(folder, "tree"), os.path.join(folder, "raw.db")
        megabytes = write_tree(tree, shape) / 1e6
        for _ in range(workspace.sizes.index_rounds):
            workspace.run("init", "--quiet", cwd=tree)
            ours.append(run_alone(workspace.ctxrank("index"), cwd=tree))
            ours_bytes.append(_size(os.path.join(tree, ".ctxrank")))
            shutil.rmtree(os.path.join(tree, ".ctxrank"))
            raw.append(run_alone([sys.executable, _PEER, tree, raw_database]))
            raw_bytes.append(os.path.getsize(raw_database))
            os.remove(raw_database)
    figures: list[Figure] = [
        figure("index, speed by wall", "MB/s", [megabytes / run.wall_ms * 1000 for run in ours]),
        figure("index, speed by CPU", "MB/s", [megabytes / run.cpu_ms * 1000 for run in ours]),
        figure("peer: raw FTS5, speed by wall", "MB/s", [megabytes / run.wall_ms * 1000 for run in raw]),
        figure("peer: raw FTS5, speed by CPU", "MB/s", [megabytes / run.cpu_ms * 1000 for run in raw]),
        figure("index over raw FTS5, by wall", "x", ratios(raw, ours, "wall_ms"), limit=MIN_SHARE, is_minimum=True),
        figure("index over raw FTS5, by CPU", "x", ratios(raw, ours, "cpu_ms"), limit=MIN_SHARE, is_minimum=True),
        figure("index, whole time", "ms", times(ours, "wall_ms")),
        figure("index, memory", "MB", [run.rss_mb for run in ours]),
        figure("store over text, bytes", "x", [size / 1e6 / megabytes for size in ours_bytes]),
        figure("peer: raw FTS5 over text, bytes", "x", [size / 1e6 / megabytes for size in raw_bytes]),
    ]
    return Findings(figures, [f"{megabytes:.0f} MB in {shape.files:,} files of Markdown, Python and logs."])


def _size(folder: str) -> int:
    """Bytes of the files in a folder."""
    return sum(entry.stat().st_size for entry in os.scandir(folder))
