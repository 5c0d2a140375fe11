"""Curves of results/scale.json as PNG, in the peers' environment: scale_curves.py RESULTS FOLDER"""

import importlib
import json
import os
import sys
from typing import Any


def main(results: str, folder: str) -> None:
    """Draw time and memory by documents, and time by words and by results."""
    pyplot: Any = _pyplot()
    with open(results, encoding="utf-8") as file:
        found = json.load(file)
    sizes = found["sizes"]
    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(11, 4))
    for name, label in (
        ("search_ms", "search everywhere"), ("session_ms", "search in a session"), ("assemble_ms", "assemble"),
        ("naive_ms", "naive FTS5"), ("tantivy_ms", "tantivy"),
    ):  # fmt: skip
        rows = [one for one in sizes if name in one]
        line = times.plot([one["documents"] for one in rows], [_at(one[name], 0.5) for one in rows], "o-", label=label)
        upper = [_at(one[name], 0.95) for one in rows]
        times.plot([one["documents"] for one in rows], upper, "o--", color=line[0].get_color())
    _label(times, "documents", "ms; dashed: p95", is_log=True)
    times.legend(fontsize=8)
    memory.plot([one["documents"] for one in sizes], [one["rss_mb"] for one in sizes], "o-")
    memory.set_xscale("log")
    memory.set_ylim(bottom=0)
    memory.set_xlabel("documents")
    memory.set_ylabel("largest resident set of a searching process, MB")
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "scale-documents.png"), dpi=90)
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
    for axis, name, label in zip(axes, ("by_words", "by_limit"), ("words asked", "results asked for"), strict=True):
        lines: dict[int, list[float]] = {int(key): value for key, value in found["largest"][name].items()}
        axis.plot(list(lines), [_at(value, 0.5) for value in lines.values()], "o-", label="p50")
        axis.plot(list(lines), [_at(value, 0.95) for value in lines.values()], "o--", label="p95")
        _label(axis, label, "ms", is_log=False)
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "scale-questions.png"), dpi=90)


def _pyplot() -> Any:
    importlib.import_module("matplotlib").use("Agg")
    return importlib.import_module("matplotlib.pyplot")


def _label(axis: Any, across: str, up: str, *, is_log: bool) -> None:
    axis.set_xscale("log")
    if is_log:
        axis.set_yscale("log")
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.grid(visible=True, alpha=0.3)


def _at(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
