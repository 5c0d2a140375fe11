"""Public sets that a stranger can repeat: make public DATA=folder [ONLY="semble locomo"].

Each set of the folder is written as files and indexed as a user does; ours and the peers answer the same questions over
the same files in the same run. Writes OUT/<set>.json (figures) and OUT/<set>.found.json (what each found).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from machine import facts
from public.measures import DEPTH, MEASURES
from public.ours import LIMIT, ask_ours, index_files, paths_of
from public.sets import chosen, read_sets
from public.shapes import Corpus, Place, PublicSet, Question, Ranked

from ctxrank.extensions.evaluation.collection import read_collections
from ctxrank.extensions.evaluation.evaluate import evaluate
from ctxrank.extensions.evaluation.sweep import interval
from ctxrank.indexer.store.config import Config

_SETTINGS = {
    "ctxrank": f"init, index, search with default settings, {LIMIT} hits; passages: --passages; source: --path",
    "fts5": "porter unicode61, path and text, any of the words", "trigram": "FTS5 trigram, any of the words",
    "bm25s": "Lucene's BM25, English stems and stop words", "tantivy": "en_stem, any of the words",
    "ripgrep": "different words of the question, then lines", "eval": "ctxrank eval: the collection without files",
}  # fmt: skip
_PEERS = ("fts5", "bm25s", "tantivy", "ripgrep")
_HOME = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Measure the sets that are there, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="The folder with the sets.")
    parser.add_argument("--peers", default="", help="The Python that has the peers; without it ours alone.")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", nargs="*", default=[], help="Names of sets; globs.")
    parser.add_argument("--corpora", nargs="*", default=[], help="Names of repositories or instances of them.")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        # A user's settings and known stores have no part in it.
        os.environ.update(XDG_CONFIG_HOME=f"{home}/config", XDG_STATE_HOME=f"{home}/state")
        measured = 0
        for one in chosen(read_sets(os.path.abspath(options.data)), options.only):
            for reason in one.skipped:
                sys.stdout.write(f"{one.name}: skipped: {reason}\n")
            kept = tuple(corpus for corpus in one.corpora if not options.corpora or corpus.name in options.corpora)
            if kept:
                _measure(one._replace(corpora=kept), options.peers, options.out, home)
                measured += 1
            else:
                sys.stdout.write(f"{one.name}: skipped: none of its trees is here\n")
    if not measured:
        sys.stdout.write(f"{options.data} holds no set; benchmarks/public/README.md says how to get them.\n")


def _measure(one: PublicSet, peers: str, out: str, home: str) -> None:
    started = time.monotonic()
    found: dict[str, Ranked] = defaultdict(lambda: {view: {} for view in one.views})
    versions: dict[str, str] = {}
    for _, corpora in groupby(one.corpora, lambda corpus: corpus.tree or corpus.name):
        with tempfile.TemporaryDirectory(dir=home) as folder:
            for corpus in corpora:
                sys.stderr.write(f"{one.name}: {corpus.name}\n")
                corpus.write(folder)
                paths = index_files(folder)
                answers = {"ctxrank": ask_ours(folder, corpus.questions, one.views, corpus.source)}
                if peers:
                    answers |= _ask_peers(peers, folder, paths, corpus, one, versions)
                for engine, ranked in answers.items():
                    for view in one.views:
                        found[engine][view] |= ranked[view]
    figures = list(_figures(one, found))
    if one.folder:
        values = [query.ndcg_at_10 for query in evaluate(read_collections(one.folder), Config()).queries]
        figures.append(_figure("files", "nDCG@10", "eval", "all", values))
    about = {
        "set": one.name, "machine": facts(), "versions": versions, "settings": _SETTINGS, "skipped": one.skipped,
        "seconds": round(time.monotonic() - started, 1),
        "corpora": {corpus.name: [corpus.commit, len(corpus.questions)] for corpus in one.corpora},
    }  # fmt: skip
    _write(os.path.join(out, f"{one.name}.json"), about | {"figures": figures})
    _write(os.path.join(out, f"{one.name}.found.json"), found)
    for figure in figures:
        if figure["kind"] in ("all", "by corpus"):
            low, high = figure["interval"]
            about_it = f"{one.name:18} {figure['view']:9} {figure['measure']:8} {figure['engine']:8}"
            sys.stdout.write(
                f"{about_it} {figure['kind']:9} {figure['mean']:.3f} ({low:.3f} … {high:.3f}) n={figure['n']}\n"
            )
    sys.stdout.flush()


def _ask_peers(
    python: str, folder: str, paths: Sequence[str], corpus: Corpus, one: PublicSet, versions: dict[str, str]
) -> dict[str, Ranked]:
    request = {
        "folder": folder, "paths": paths, "views": one.views, "source": corpus.source,
        "questions": {question.id: question.text for question in corpus.questions},
        "engines": [*_PEERS, *(["trigram"] if one.name.startswith("typed") else [])],
    }  # fmt: skip
    command = [python, os.path.join(_HOME, "peers.py")]
    done = subprocess.run(command, input=json.dumps(request), check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    versions.update(answer.pop("versions"))
    return {
        engine: {
            view: {id_: [Place(*place) for place in places] for id_, places in asked.items()}
            for view, asked in views.items()
        }
        for engine, views in answer.items()
    }


def _figures(one: PublicSet, found: dict[str, Ranked]) -> Iterator[dict[str, Any]]:
    """Each measure by engine: over all questions, over the corpora's means, and by kind of question."""
    for view in one.views:
        for measure in one.measures:
            for engine, ranked in found.items():
                by_kind: dict[str, list[float]] = defaultdict(list)
                means = list[float]()
                for corpus in one.corpora:
                    values = [
                        value_of(measure, ranked[view][question.id], question, view) for question in corpus.questions
                    ]
                    for question, value in zip(corpus.questions, values, strict=True):
                        by_kind[question.kind].append(value)
                        by_kind["all"].append(value)
                    means.append(sum(values) / len(values))
                if len(means) > 1 and len(means) < len(by_kind["all"]):
                    by_kind["by corpus"] = means
                for kind, values in sorted(by_kind.items()):
                    yield _figure(view, measure, engine, kind, values)


def value_of(measure: str, places: list[Place], question: Question, view: str) -> float:
    """A measure of one answer; but for passages a file counts once."""
    if view != "passages":
        places = [Place(path, 0, 0) for path in paths_of(places)]
        files = dict.fromkeys(wanted._replace(start=0, end=0) for wanted in question.wanted)
        question = question._replace(wanted=tuple(files))
    return MEASURES[measure](places[:DEPTH], question)


def _figure(view: str, measure: str, engine: str, kind: str, values: list[float]) -> dict[str, Any]:
    return {
        "view": view, "measure": measure, "engine": engine, "kind": kind, "n": len(values),
        "mean": round(sum(values) / len(values), 4), "interval": [round(end, 4) for end in interval(values)],
        "values": [round(value, 4) for value in values],
    }  # fmt: skip


def _write(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, sort_keys=True, indent=None)
        file.write("\n")


if __name__ == "__main__":
    main()
