"""Which rule of the ranking gains what: each is switched off alone, over all sets that a folder holds.

    PYTHONPATH=benchmarks python -m public.ablation --data DATA --kept FOLDER --out FILE.md

Writes a table: how many answers change without a rule, by how much the mean of sets and kinds rises then, of those that
were looked at and those kept unseen, and which fall and rise most. A rule of ablation.tsv is a place of ctxrank.ranking
and what stands, or is answered, there without it; what has no dot is a setting. Each store is made once.
"""

import argparse
import itertools
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from multiprocessing import get_context
from pkgutil import resolve_name
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from public.ours import ask_ours, index_files
from public.run import value_of
from public.sets import chosen, read_sets
from public.shapes import Corpus, Place, PublicSet

from ctxrank.ranking.formulas.tuning import DEFAULT
from ctxrank.ranking.retrieval import file_kinds, questions

_SEED = 33
_UNSEEN = ("semble-drawn", "typed-unseen", "typed-more-unseen", "asked-unseen")
# A rule goes where nothing falls by more than the first without it, and the mean by no more than the second.
_FALL, _MEAN_FALL = 0.002, 0.0005
_Patches = list[AbstractContextManager[object]]
_Found = dict[tuple[str, str, str], list[Place]]  # set, view, question
_HEADING = ("| rule | answers changed | seen | unseen | falls most | rises most | |", "|---|---|---|---|---|---|---|")
_asked: dict[str, Any] = {}  # sets, where they are kept, and what all rules answer: forks have them, too


class _Answers(NamedTuple):
    """The mean of each set and kind, and what was found."""

    means: dict[str, float]
    found: _Found


def rules() -> Iterator[tuple[str, _Patches]]:
    """Each rule by its name, and what switches it off."""
    for kind in (file_kinds.TEST, file_kinds.EXAMPLE, file_kinds.PROSE, file_kinds.DATA, file_kinds.GENERATED):
        yield f"kind: {kind}", _said_instead(file_kinds.kind_of, kind, file_kinds.SOURCE)
    for aim in (questions.USE, questions.EITHER):
        yield f"aim: {aim}", _said_instead(questions.aim_of, aim, questions.CODE)
    with open(__file__.removesuffix("py") + "tsv", encoding="utf-8") as file:
        for rule, place, written in (line.rstrip("\n").split("\t") for line in file):
            given: Any = json.loads(written)
            if "." not in place:
                place, given = "retrieval.search.tuned", DEFAULT._replace(**{place: given})
            place = f"ctxrank.ranking.{place}"
            stands: object = resolve_name(place)
            made: Callable[[Any], object] = {"frozenset": frozenset, "tuple": tuple}.get(
                type(stands).__name__, lambda it: it
            )
            value = made(given)
            yield rule, [patch(place, return_value=value) if callable(stands) else patch(place, value)]


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
    parser.add_argument("--rules", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=60, help="Questions of a set and kind, drawn with a seed.")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    sets = [drawn(one, options.most) for one in chosen(read_sets(os.path.abspath(options.data)), options.only)]
    for one in sets:
        for corpus in one.corpora:
            _index(_folder(options.kept, one, corpus), corpus)
    _asked.update(sets=sets, kept=options.kept)
    _asked.update(everything=_answers())
    names = [name for name, _ in rules() if not options.rules or name in options.rules]
    with (
        ProcessPoolExecutor(options.processes, get_context("fork")) as pool,
        open(options.out, "w", encoding="utf-8") as file,
    ):
        for line in itertools.chain(_HEADING, pool.map(_line_without, names)):
            print(line, file=file, flush=True)


def _line_without(rule: str) -> str:
    """A row of the table: by how much what is seen and unseen rises on the mean without a rule."""
    everything: _Answers = _asked["everything"]
    with ExitStack() as stack:
        for switch in dict(rules())[rule]:
            stack.enter_context(switch)
        without = _answers()
    changed = sum(places != everything.found[key] for key, places in without.found.items())
    shown = [rule, f"{changed / len(everything.found):.1%}"]
    changes = {name: without.means[name] - mean for name, mean in everything.means.items()}
    for is_unseen in (False, True):
        some = [change for name, change in changes.items() if name.startswith(_UNSEEN) == is_unseen]
        shown.append(f"{sum(some) / len(some):+.4f}" if some else "")
    best = sorted(changes, key=changes.__getitem__)
    for names in (best[:2], best[:-3:-1]):
        shown.append(", ".join(f"{name} {changes[name]:+.3f}" for name in names if abs(changes[name]) >= _MEAN_FALL))
    goes = changes[best[0]] >= -_FALL and sum(changes.values()) / len(changes) >= -_MEAN_FALL
    return f"| {' | '.join([*shown, 'gains nothing' if goes else ''])} |"


def drawn(one: PublicSet, most: int) -> PublicSet:
    """A set with at most so many questions of each kind."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for corpus in one.corpora:
        for asked in corpus.questions:
            by_kind[asked.kind].append(asked.id)
    kept = {id_ for ids in by_kind.values() for id_ in Random(_SEED).sample(ids, min(most, len(ids)))}
    corpora = [
        corpus._replace(questions=tuple(asked for asked in corpus.questions if asked.id in kept))
        for corpus in one.corpora
    ]
    return one._replace(corpora=tuple(corpus for corpus in corpora if corpus.questions))


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


def _answers() -> _Answers:
    """By set, view and kind the mean of the set's first measure; issues have projects and no kinds."""
    values: dict[str, list[float]] = defaultdict(list)
    found: _Found = {}
    for one in _asked["sets"]:
        for corpus in one.corpora:
            ranked = ask_ours(_folder(_asked["kept"], one, corpus), corpus.questions, one.views, corpus.source)
            for view in one.views:
                for asked in corpus.questions:
                    found[one.name, view, asked.id] = places = ranked[view][asked.id]
                    kind = "" if "source" in one.views else asked.kind
                    value = value_of(one.measures[0], places, asked, view)
                    for name in {(one.name, view, kind), (one.name, view, "")}:
                        values[" ".join(filter(None, name))].append(value)
    return _Answers({name: round(sum(some) / len(some), 5) for name, some in values.items()}, found)


if __name__ == "__main__":
    main()
