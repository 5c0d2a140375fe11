"""What indexed files cost a block: tasks cut from running text, with files and without, in a store of many passages.

    python benchmarks/block_files.py PROJECT [--tasks N] [--rounds N]

PROJECT is a folder with a store and many indexed files. Its store gets one session, `block-files`, with one package.
"""

import argparse
import os
import random
import re
import sys
import time

from timing import interleaved, percentile, ratios

from ctxrank import open_store, save_package
from ctxrank.indexer import Store
from ctxrank.ranking import AssembleRequest, assemble

_SESSION = "block-files"
_WORDS = (4, 12)
_SEED = 18


def main() -> None:
    """Print the middle and the tail of both, in one process, and whole commands over a bare start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("project")
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    with open_store(start=options.project) as store:
        save_package(
            store, title="Where to begin", text="The files are indexed.", session=_SESSION, type="research",
            producer="developer", summary="The files are indexed.", create_session=True,
        )  # fmt: skip
        tasks = _tasks(store, options.tasks)
        _in_process(store, tasks)
    ctxrank = os.path.join(os.path.dirname(sys.executable), "ctxrank")
    command = [ctxrank, "assemble", "--session", _SESSION, "--agent", "developer", "--no-mark", "--task"]
    runs = interleaved(
        {
            "bare": lambda _: [sys.executable, "-c", "pass"],
            "with files": lambda round_: [*command, tasks[round_]],
            "without": lambda round_: [*command, tasks[round_], "--no-files"],
        },
        options.rounds,
        cwd=options.project,
    )
    for name in ("with files", "without"):
        print(f"whole process, {name}: {percentile(ratios(runs[name], runs['bare'], 'cpu_ms'), 0.5):.2f} bare starts")


def _in_process(store: Store, tasks: list[str]) -> None:
    passages = store.primary.execute("SELECT count(*) FROM documents WHERE kind = 'passage'").get
    spent: dict[bool, list[float]] = {True: [], False: []}
    shown = left_out = 0
    for task in tasks:
        for with_files in (True, False):
            request = AssembleRequest(
                _SESSION, "developer", task=task, is_marking=False, is_explained=False, with_files=with_files
            )
            start = time.thread_time_ns()
            block = assemble(store, request)
            spent[with_files].append((time.thread_time_ns() - start) / 1e6)
            if with_files:
                shown += bool(block.files)
                left_out += any(one.id == "files" for one in block.omitted)
    print(f"{passages:,} passages; of {len(tasks)} tasks {shown} get files, the class is left out of {left_out}")
    for with_files, times in spent.items():
        name = "with files" if with_files else "without"
        print(f"in process, {name}: p50 {percentile(times, 0.5):.1f}, p95 {percentile(times, 0.95):.1f} ms of CPU")


def _tasks(store: Store, count: int) -> list[str]:
    """Words that follow one another in passages."""
    chance = random.Random(_SEED)
    ids = [int(id_) for (id_,) in store.primary.execute("SELECT id FROM documents WHERE kind = 'passage'")]
    tasks: list[str] = []
    while len(tasks) < count:
        body = store.primary.execute("SELECT body FROM documents WHERE id = ?", (chance.choice(ids),)).get
        words = re.findall(r"[^\W_]+", str(body))
        length = chance.randint(*_WORDS)
        if len(words) >= length:
            first = chance.randrange(len(words) - length + 1)
            tasks.append(" ".join(words[first : first + length]))
    return tasks


if __name__ == "__main__":
    main()
