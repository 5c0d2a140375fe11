"""Ask questions in sentences of whole repositories and of their documentation, beside Lucene over whole files.

python benchmarks/typed/prose.py TREES prose-seen.jsonl [--documentation] [--lucene JARS] [--failures]

TREES/NAME is a public repository as trees.json names it (`git archive COMMIT`), without what is `left_out`: copies of
the documentation for older versions. With --documentation only the folder of its documentation is indexed.

    prose-*    what a user of the program would ask; pages of its documentation answer it
    code-*     bug: what somebody reports who met it, where: what somebody asks who works on it; sources answer it

Each question has one right file, or a few. MRR at 10 is by file. The ranking was changed by what *-seen says; *-unseen
was written before, over other repositories, and asked after.

Lucene's own code is asked where JARS is a folder with lucene-core and lucene-analysis-common (Maven Central) and there
is a `java`; it gets the files that our index has.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from typing import NamedTuple

from ask import as_typed

from ctxrank.indexer import create_store
from ctxrank.indexer.files.scan import index_artifacts

_DEPTH = 10
_RESAMPLES = 5000
_HERE = os.path.dirname(os.path.abspath(__file__))
_PATHS = "SELECT path FROM artifacts WHERE state = 'indexed' ORDER BY path"
_LUCENE = os.path.join(_HERE, "LuceneWholeFiles.java")


class Question(NamedTuple):
    """What a person asks, and the files that answer it."""

    kind: str
    text: str
    wanted: frozenset[str]


def reciprocal_rank(found: list[str], wanted: frozenset[str]) -> float:
    """1 / rank of the first right file among the first ten, 0 where there is none."""
    return next((1 / rank for rank, path in enumerate(found[:_DEPTH], start=1) if path in wanted), 0.0)


def asked(folder: str, questions: list[Question], jars: str) -> tuple[list[list[str]], list[list[str]]]:
    """What `ctxrank search` finds in a store made of this folder, and what Lucene finds in the same files."""
    with create_store(folder) as store:
        index_artifacts(store)
        store.catch_up()
        ask = as_typed(store)
        found = [ask(question.text) for question in questions]
        paths = [str(path) for (path,) in store.primary.execute(_PATHS)]
    return found, lucene(jars, folder, paths, questions) if jars else []


def lucene(jars: str, folder: str, paths: list[str], questions: list[Question]) -> list[list[str]]:
    """What Lucene finds, each file one document."""
    with tempfile.TemporaryDirectory() as home:
        lists: list[str] = []
        for name, lines in (("paths", paths), ("questions", [question.text for question in questions])):
            lists.append(os.path.join(home, name))
            with open(lists[-1], "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
        command = ["java", "-cp", os.path.join(jars, "*"), _LUCENE, folder, *lists]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    return [line.split("\t") for line in done.stdout.split("\n")[:-1]]


def _read_questions(path: str) -> dict[str, list[Question]]:
    by_tree: dict[str, list[Question]] = defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for question in map(json.loads, file):
            one = Question(question["kind"], question["text"], frozenset(question["paths"]))
            by_tree[question["tree"]].append(one)
    return by_tree


def _folder_in(home: str, trees: str, tree: str, documentation: str, left_out: list[str]) -> str:
    """A copy of a repository, or of its documentation alone."""
    whole = os.path.join(trees, tree)
    gone = {os.path.join(whole, path) for path in left_out}
    return shutil.copytree(
        os.path.join(whole, documentation), os.path.join(home, tree), symlinks=True,
        ignore=lambda top, names: [name for name in names if os.path.join(top, name) in gone],
    )  # fmt: skip


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _interval(gains: list[float]) -> tuple[float, float]:
    """The middle 95 % of the mean gain, by drawing questions with replacement."""
    chance = random.Random(0)
    means = sorted(_mean(chance.choices(gains, k=len(gains))) for _ in range(_RESAMPLES))
    return means[round(0.025 * _RESAMPLES)], means[round(0.975 * _RESAMPLES) - 1]


def main() -> None:
    """Print a line a tree and kind: questions, MRR at 10 of ours and of Lucene; and the paired gain over all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees")
    parser.add_argument("questions")
    parser.add_argument("--documentation", action="store_true", help="Index the documentation alone.")
    parser.add_argument("--lucene", default="", metavar="JARS")
    parser.add_argument("--failures", action="store_true", help="List what was not first in place of the table.")
    options = parser.parse_args()
    with open(os.path.join(_HERE, "trees.json"), encoding="utf-8") as file:
        known = json.load(file)
    all_ours: list[float] = []
    all_lucene: list[float] = []
    for tree, questions in _read_questions(options.questions).items():
        pages, left_out = known[tree]["folder"], known[tree].get("left_out", [])
        with tempfile.TemporaryDirectory() as home:
            folder = _folder_in(home, options.trees, tree, pages if options.documentation else "", left_out)
            found, theirs = asked(folder, questions, options.lucene)
        if options.documentation:
            found, theirs = ([[os.path.join(pages, path) for path in one] for one in many] for many in (found, theirs))
        ranks = [reciprocal_rank(paths, one.wanted) for paths, one in zip(found, questions, strict=True)]
        if options.failures:
            for one, paths, rank in zip(questions, found, ranks, strict=True):
                if rank < 1:
                    sys.stdout.write(f"{rank:.2f} {one.text}\n    {sorted(one.wanted)}\n    {paths[:4]}\n")
            continue
        peer = [reciprocal_rank(paths, one.wanted) for paths, one in zip(theirs, questions, strict=bool(theirs))]
        all_ours += ranks
        all_lucene += peer
        for kind in sorted({one.kind for one in questions}):
            of_kind = [at for at, one in enumerate(questions) if one.kind == kind]
            line = f"{tree:10} {kind:6} {len(of_kind):4}  ctxrank {_mean([ranks[at] for at in of_kind]):.3f}"
            sys.stdout.write(line + (f"  lucene {_mean([peer[at] for at in of_kind]):.3f}\n" if peer else "\n"))
    if all_ours:
        sys.stdout.write(f"{'all':17} {len(all_ours):4}  ctxrank {_mean(all_ours):.3f}")
    if all_lucene:
        gains = [mine - peer for mine, peer in zip(all_ours, all_lucene, strict=True)]
        low, high = _interval(gains)
        sys.stdout.write(f"  lucene {_mean(all_lucene):.3f}  gain {_mean(gains):+.3f} [{low:+.3f}, {high:+.3f}]")
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
