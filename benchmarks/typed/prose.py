"""Ask questions in prose over documentation, beside Lucene over whole files.

python benchmarks/typed/prose.py TREES prose-seen.jsonl [--lucene JARS] [--failures]

TREES/NAME is a folder of a public repository as trees.json names it (`git archive COMMIT FOLDER`, without the leading
folder). The questions are paraphrases as a person would ask; each has one right file, or a few. MRR at 10 is by file.
What was changed in the ranking was judged by prose-seen.jsonl; prose-unseen.jsonl was written before and asked after.

Lucene's own code is asked for where JARS is a folder with lucene-core and lucene-analysis-common (Maven Central) and
there is a `java`.
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
_TEXTS = (".md", ".rst", ".txt")
_LUCENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "LuceneWholeFiles.java")


class Question(NamedTuple):
    """What a person asks, and the files that answer it."""

    text: str
    wanted: frozenset[str]


def reciprocal_rank(found: list[str], wanted: frozenset[str]) -> float:
    """1 / rank of the first right file among the first ten, 0 where there is none."""
    return next((1 / rank for rank, path in enumerate(found[:_DEPTH], start=1) if path in wanted), 0.0)


def ours(folder: str, questions: list[Question]) -> list[list[str]]:
    """What `ctxrank search` finds in a store made of this folder."""
    with tempfile.TemporaryDirectory() as home:
        copy = shutil.copytree(folder, os.path.join(home, os.path.basename(folder)))
        with create_store(copy) as store:
            index_artifacts(store)
            store.catch_up()
            ask = as_typed(store)
            return [ask(question.text) for question in questions]


def lucene(jars: str, folder: str, questions: list[Question]) -> list[list[str]]:
    """What Lucene finds, each file one document."""
    paths = sorted(
        os.path.relpath(os.path.join(top, name), folder)
        for top, _, names in os.walk(folder)
        for name in names
        if name.endswith(_TEXTS)
    )
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
            by_tree[question["tree"]].append(Question(question["text"], frozenset(question["paths"])))
    return by_tree


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _interval(gains: list[float]) -> tuple[float, float]:
    """The middle 95 % of the mean gain, by drawing questions with replacement."""
    chance = random.Random(0)
    means = sorted(_mean(chance.choices(gains, k=len(gains))) for _ in range(_RESAMPLES))
    return means[round(0.025 * _RESAMPLES)], means[round(0.975 * _RESAMPLES) - 1]


def main() -> None:
    """Print a line a tree: questions, MRR at 10 of ours and of Lucene; and the paired gain over all questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees")
    parser.add_argument("questions")
    parser.add_argument("--lucene", default="", metavar="JARS")
    parser.add_argument("--failures", action="store_true", help="List what was not first in place of the table.")
    options = parser.parse_args()
    all_ours: list[float] = []
    all_lucene: list[float] = []
    for tree, questions in _read_questions(options.questions).items():
        folder = os.path.join(options.trees, tree)
        found = ours(folder, questions)
        ranks = [reciprocal_rank(paths, one.wanted) for paths, one in zip(found, questions, strict=True)]
        if options.failures:
            for one, paths, rank in zip(questions, found, ranks, strict=True):
                if rank < 1:
                    sys.stdout.write(f"{rank:.2f} {one.text}\n    {sorted(one.wanted)}\n    {paths[:4]}\n")
            continue
        all_ours += ranks
        line = f"{tree:10} {len(questions):4}  ctxrank {_mean(ranks):.3f}"
        if options.lucene:
            theirs = lucene(options.lucene, folder, questions)
            peer = [reciprocal_rank(paths, one.wanted) for paths, one in zip(theirs, questions, strict=True)]
            all_lucene += peer
            line += f"  lucene {_mean(peer):.3f}"
        sys.stdout.write(line + "\n")
    if all_ours:
        sys.stdout.write(f"{'all':10} {len(all_ours):4}  ctxrank {_mean(all_ours):.3f}")
    if all_lucene:
        gains = [mine - peer for mine, peer in zip(all_ours, all_lucene, strict=True)]
        low, high = _interval(gains)
        sys.stdout.write(f"  lucene {_mean(all_lucene):.3f}  gain {_mean(gains):+.3f} [{low:+.3f}, {high:+.3f}]")
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
