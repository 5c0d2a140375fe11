"""Which rule of the ranking gains what: each is switched off alone, over all sets that a folder holds.

    PYTHONPATH=benchmarks python -m public.ablation --data DATA --kept FOLDER --out ablation.json

Writes {rule: {"set view kind": mean without it}}; in the rule "" all are on. A rule of ablation.tsv is a place of
`ctxrank.ranking` and what stands, or is answered, there without it; what has no dot is a setting.
"""

import argparse
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pkgutil import resolve_name
from typing import Any, cast
from unittest.mock import patch

from public.ours import ask_ours, index_files
from public.run import value_of
from public.sets import chosen, read_sets
from public.shapes import Corpus, PublicSet

from ctxrank.ranking.formulas.tuning import DEFAULT
from ctxrank.ranking.retrieval import file_kinds, questions

_NOTABLE = 0.0005
_Patches = list[AbstractContextManager[object]]


def _rules() -> Iterator[tuple[str, _Patches]]:
    """Each rule by its name, and what switches it off."""
    yield "", []
    for kind in (file_kinds.TEST, file_kinds.EXAMPLE, file_kinds.PROSE, file_kinds.DATA, file_kinds.GENERATED):
        yield f"kind: {kind}", _said_instead(file_kinds.kind_of, kind, file_kinds.SOURCE)
    for aim in (questions.USE, questions.FINDING, questions.EITHER):
        yield f"aim: {aim}", _said_instead(questions.aim_of, aim, questions.CODE)
    with open(__file__.removesuffix("py") + "tsv", encoding="utf-8") as file:
        for rule, place, written in (line.rstrip("\n").split("\t") for line in file):
            given: Any = json.loads(written)
            value: object = tuple(cast("list[object]", given)) if isinstance(given, list) else given
            if "." not in place:
                place, value = "retrieval.search.tuned", DEFAULT._replace(**{place: given})
            place = f"ctxrank.ranking.{place}"
            yield rule, [patch(place, return_value=value) if callable(resolve_name(place)) else patch(place, value)]


def _said_instead(function: Callable[[Any], str], said: str, instead: str) -> _Patches:
    """What a function of file_kinds answers otherwise."""

    def changed(asked: object) -> str:
        answer = function(asked)
        return instead if answer == said else answer

    return [patch.object(file_kinds, function.__name__, changed)]


def main() -> None:
    """Measure, rule by rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kept", required=True, help="Where the indexed trees stay for the next run.")
    parser.add_argument("--only", nargs="*", default=[], help="Sets.")
    options = parser.parse_args()
    sets = list(chosen(read_sets(os.path.abspath(options.data)), options.only))
    for one in sets:
        for corpus in one.corpora:
            _index(_folder(options.kept, one, corpus), corpus)
    means: dict[str, dict[str, float]] = {}
    for rule, patches in _rules():
        with ExitStack() as stack:
            for switch in patches:
                stack.enter_context(switch)
            means[rule] = _means(sets, options)
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(means, file, indent=1, sort_keys=True)
        _report(rule, means)


def _report(rule: str, means: dict[str, dict[str, float]]) -> None:
    changes = {name: value - means[""][name] for name, value in means[rule].items() if name in means[""]}
    notable = sorted((change, name) for name, change in changes.items() if abs(change) > _NOTABLE)
    shown = ", ".join(f"{name} {change:+.4f}" for change, name in notable)
    print(f"{rule or 'all'}: mean {sum(changes.values()) / len(changes):+.5f}; {shown}", flush=True)


def _folder(kept: str, one: PublicSet, corpus: Corpus) -> str:
    return os.path.join(kept, one.name, corpus.name.replace("/", "+") or "all")


def _index(folder: str, corpus: Corpus) -> None:
    done = f"{folder}.indexed"
    if not os.path.exists(done):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        corpus.write(folder)
        index_files(folder)
        os.mkdir(done)


def _means(sets: Sequence[PublicSet], options: argparse.Namespace) -> dict[str, float]:
    """By set, view and kind the mean of the set's first measure."""
    values: dict[str, list[float]] = defaultdict(list)
    for one in sets:
        for corpus in one.corpora:
            ranked = ask_ours(_folder(options.kept, one, corpus), corpus.questions, one.views, corpus.source)
            for view in one.views:
                for asked in corpus.questions:
                    value = value_of(one.measures[0], ranked[view][asked.id], asked, view)
                    values[" ".join(filter(None, (one.name, view, asked.kind)))].append(value)
    return {name: round(sum(some) / len(some), 5) for name, some in values.items()}


if __name__ == "__main__":
    main()
