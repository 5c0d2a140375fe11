"""A second run of `index` over a tree that has hardly changed: nothing, and then one file of it."""

import os

from figures import Figure, Findings, figure
from generate import TextMaker, write_tree
from language import Language
from timing import Run, run_alone, times
from workspace import Workspace

from ctxrank.indexer import open_store
from ctxrank.indexer.files.scan import index_artifacts

MAX_UNCHANGED_MS = 400.0
MAX_FILES_READ = 1.0
_LINE = "\nA line that was added, in round {}.\n"


def measure(workspace: Workspace) -> Findings:
    """Index once, then time runs over the unchanged tree and, in turns, runs that find one changed file."""
    shape = workspace.sizes.unchanged
    unchanged: list[Run] = []
    changed: list[Run] = []
    with workspace.scratch("unchanged") as tree:
        write_tree(tree, shape)
        changing = os.path.join(tree, "changing.md")
        with open(changing, "w", encoding="utf-8") as file:
            file.write(TextMaker(Language(0)).text("md", shape.size_bytes // shape.files))
        workspace.run("init", "--quiet", cwd=tree)
        workspace.run("index", cwd=tree)
        workspace.run("index", cwd=tree)  # reads again what was written within the clock's resolution of the first
        for number in range(workspace.sizes.rounds):
            unchanged.append(run_alone(workspace.ctxrank("index"), cwd=tree))
            _append(changing, number)
            changed.append(run_alone(workspace.ctxrank("index"), cwd=tree))
        _append(changing, -1)
        with open_store(start=tree) as store:
            report = index_artifacts(store)
    extra = [one.wall_ms - other.wall_ms for one, other in zip(changed, unchanged, strict=True)]
    figures: list[Figure] = [
        figure("index, nothing changed, wall", "ms", times(unchanged, "wall_ms"), limit=MAX_UNCHANGED_MS),
        figure("index, nothing changed, CPU", "ms", times(unchanged, "cpu_ms")),
        figure("index, one file changed, wall", "ms", times(changed, "wall_ms")),
        figure("index, one file changed, wall beyond nothing", "ms", extra),
        figure("files read for one changed file", "files", [float(report.files_read)], limit=MAX_FILES_READ),
        figure("passages written for one changed file", "passages", [float(report.passages_written)]),
        figure("index, nothing changed, memory", "MB", [run.rss_mb for run in unchanged]),
    ]
    return Findings(figures, [f"{shape.files:,} files, {shape.size_bytes / 1e6:.0f} MB."])


def _append(path: str, number: int) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(_LINE.format(number))
