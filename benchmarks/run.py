"""Measure everything: `make bench`, or python benchmarks/run.py [--data DIR] [--only NAME]... [--quick] [--out DIR]

Prints a table for each benchmark and writes its raw results to benchmarks/results/NAME.json (with --quick only
where --out says so: small sizes tell nothing about speed). --data is a folder that holds the predecessor's store
(predecessor/bazinga/bazinga.db); without it the fixture store stands in. Exit code 1 means a target was missed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable

import commands
import crowd
import figures
import history
import indexing
import indexing_scale
import machine
import memory
import real_store
import relevance
import rescan
import whole_process
from workspace import FULL, QUICK, Workspace

from ctxrank.indexer.light_typing import is_list

_BENCHMARKS: dict[str, Callable[[Workspace], figures.Findings]] = {
    "whole_process": whole_process.measure,
    "real_store": real_store.measure,
    "commands": commands.measure,
    "crowd": crowd.measure,
    "indexing": indexing.measure,
    "indexing_scale": indexing_scale.measure,
    "rescan": rescan.measure,
    "memory": memory.measure,
    "relevance": relevance.measure,
    "history": history.measure,
}
_RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; returns the exit code."""
    options = _options(arguments)
    facts = machine.facts()
    if not facts["bytecode"]:
        print("The installed package has no compiled bytecode: start-up times are too long.", file=sys.stderr)
    out = options.out or (None if options.quick else _RESULTS)
    is_met = True
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        workspace = Workspace(
            folder, QUICK if options.quick else FULL, options.data, is_offline=options.quick, tree=options.tree
        )
        for name in options.only or _BENCHMARKS:
            started = time.monotonic()
            found = _BENCHMARKS[name](workspace)
            print(f"\n{name} ({time.monotonic() - started:.0f} s)\n\n{figures.table(found.figures)}")
            print("".join(f"  {note}\n" for note in found.notes), end="", flush=True)
            is_met = is_met and all(one.is_met is not False for one in found.figures)
            if out is not None:
                _write(out, name, options, facts, found)
    return 0 if is_met or options.quick else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--data", metavar="DIR", help="folder that holds predecessor/bazinga/bazinga.db, ir/* and history/*"
    )
    parser.add_argument("--only", metavar="NAME", nargs="+", choices=sorted(_BENCHMARKS), help=", ".join(_BENCHMARKS))
    parser.add_argument("--tree", metavar="DIR", help="what 'indexing' indexes instead of a generated tree")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not how fast")
    parser.add_argument("--out", metavar="DIR", help="where raw results go [default: benchmarks/results]")
    options = parser.parse_args(arguments)
    if options.data is not None:
        options.data = os.path.abspath(options.data)
    return options


def _write(out: str, name: str, options: argparse.Namespace, facts: dict[str, object], found: figures.Findings) -> None:
    os.makedirs(out, exist_ok=True)
    command = ["benchmarks/run.py", "--only", name]
    command += ["--data", "DIR"] if options.data else []
    command += ["--quick"] if options.quick else []
    result: dict[str, object] = {
        "benchmark": name, "command": " ".join(command), "machine": facts, "notes": found.notes,
        "figures": [one.as_json() for one in found.figures],
    }  # fmt: skip
    with open(os.path.join(out, f"{name}.json"), "w", encoding="utf-8") as file:
        file.write(_as_lines(result))


def _as_lines(result: dict[str, object]) -> str:
    """JSON with the raw values of a figure on one line, so that a diff shows figures and not numbers."""
    figures_ = result.pop("figures")
    assert is_list(figures_), "figures are a list"
    head = json.dumps(result, indent=2, ensure_ascii=False)
    lines = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in figures_)
    return f'{head[:-2]},\n  "figures": [\n{lines}\n  ]\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
