"""How much memory `index` holds at most on a tree that is far larger than that."""

from figures import Findings, figure
from generate import write_tree
from timing import run_alone
from workspace import Workspace

MAX_RSS_MB = 200.0


def measure(workspace: Workspace) -> Findings:
    """Index the tree from nothing, and once more unchanged."""
    shape = workspace.sizes.huge
    with workspace.scratch("huge") as tree:
        written = write_tree(tree, shape) / 1e6
        workspace.run("init", "--quiet", cwd=tree)
        first = run_alone(workspace.ctxrank("index"), cwd=tree)
        second = run_alone(workspace.ctxrank("index"), cwd=tree)
    figures = [
        figure("index of a huge tree, memory", "MB", [first.rss_mb], limit=MAX_RSS_MB),
        figure("index of a huge tree, wall", "s", [first.wall_ms / 1000]),
        figure("index of a huge tree, CPU", "s", [first.cpu_ms / 1000]),
        figure("index of a huge tree, speed", "MB/s", [written / first.wall_ms * 1000]),
        figure("index of a huge tree, unchanged, memory", "MB", [second.rss_mb], limit=MAX_RSS_MB),
    ]
    notes = [
        f"{written:,.0f} MB; the largest file has {shape.largest_bytes / 1e6:g} MB.",
        "Memory is that of the larger of the two processes that index.",
    ]
    return Findings(figures, notes)
