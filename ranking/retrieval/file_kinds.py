"""Kinds of files: what a file is worth to a question, by what it is and how it is called.

    prior = kind · (1 + 0.4 · share of the words of its name that the question has)

    kind    source 1 · test, example, benchmark 0.7 · documentation, settings and data, generated 0.4
            in a list of passages each further one of a file of code counts half of the one before it

A question about code has more words in common with a README, a list of changes or a test that describes what the code
does than with the code. So where source is among the best files, what is none counts less; not where a question asks
what was found, and not documentation where it asks how something is used (questions.py); a statement may be about both,
and documentation counts 0.65. What is in a folder that the question names counts in full, and so does a file that alone
has all of a few words. A record (package, reasoning, error …) is no file, and counts in full.

32 repositories with 635 questions about their code (nDCG@10 of files and of passages, 2026-11): .784 and .701 without,
.821 and .734 with the kinds, .850 and .776 with the names, too, and .842 with the halves. Weights from .3 to .6 for
names and from .3 to .4 for documentation differ by .002. Reports of bugs in two further ones (MRR@10): .334 and .641;
questions about their use .477 and .481 (.473 where statements count as questions about code).
"""

from collections.abc import Mapping

from ctxrank.indexer.text.identifiers import split_word
from ctxrank.ranking.retrieval.candidates.candidates import Scorer
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, HitGroup
from ctxrank.ranking.retrieval.hits import Question
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.query import is_pasted
from ctxrank.ranking.retrieval.questions import CODE, EITHER, FINDING, USE, aim_of, is_prose
from ctxrank.ranking.retrieval.rerank import is_test

NAME_SHARE = 0.4
REPEAT_SHARE = 0.5
_FEW_WORDS = 4

RECORD, SOURCE, TEST, EXAMPLE, PROSE, DATA, GENERATED = (
    "", "source", "a test", "an example", "documentation", "settings or data", "generated",
)  # fmt: skip
_ABOUT_CODE = {SOURCE: 1.0, TEST: 0.7, EXAMPLE: 0.7, PROSE: 0.4, DATA: 0.4, GENERATED: 0.4}
_WORTH = {
    CODE: _ABOUT_CODE,
    USE: _ABOUT_CODE | {PROSE: 1.0},
    EITHER: _ABOUT_CODE | {PROSE: 0.65},
}
_EXAMPLES = frozenset(
    ("example examples sample samples demo demos tutorial tutorials playground bench benches benchmark benchmarks fuzz")
    .split()
)  # fmt: skip
_FOREIGN = frozenset({"vendor", "third_party", "node_modules", "dist", "deps", "external"})
_GENERATED_ENDS = (".min.js", ".min.css", "_pb2.py", "_pb2.pyi", ".pb.go", ".g.dart", ".d.ts", ".lock", "-lock.json")
_DATA_EXTENSIONS = frozenset((
    "json yaml yml toml cfg ini conf properties xml csv tsv svg html htm css scss less in plist map snap po pot mod "
    "sum gradle sln csproj props cabal gitignore ipynb patch diff"
).split())  # fmt: skip
_BUILD_NAMES = frozenset(
    ("makefile dockerfile rakefile gemfile setup.py build.zig package.swift noxfile.py tasks.py").split()
)


def kind_of(path: str) -> str:
    """What a file is, by its path; '' is no file."""
    if not path:
        return RECORD
    *folders, name = path.lower().split("/")
    if is_prose(path):
        return PROSE
    if is_test(path):
        return TEST
    if not _EXAMPLES.isdisjoint(folders):
        return EXAMPLE
    if name.endswith(_GENERATED_ENDS) or not _FOREIGN.isdisjoint(folders):
        return GENERATED
    if name in _BUILD_NAMES or name.startswith(".") or name.rpartition(".")[2] in _DATA_EXTENSIONS:
        return DATA
    return SOURCE


class Priors:
    """What the files of one answer are worth to its question.

    `folder` is what it may name, in lower case; `in_full` are documents that count in full whatever they are.
    """

    highest = 1.0 + NAME_SHARE

    def __init__(self, plan: Plan, folder: str, in_full: set[int], *, aim: str, is_by_passage: bool) -> None:
        self._plan, self._folder, self._in_full, self._aim = plan, folder, in_full, aim
        self._stems = {stem for term in plan.terms for stem in term.stems}
        self._is_by_passage = is_by_passage
        self._seen: dict[str, int] = {}

    def of(self, document: int, path: str) -> tuple[float, str]:
        """The factor, and what the file is; of several passages of one file the best is asked for first."""
        kind = kind_of(path)
        if kind == RECORD:
            return 1.0, kind
        folders, _, name = path.rpartition("/")
        is_named = self._folder != "" and self._folder in folders.lower().split("/")
        worth = 1.0 if is_named or document in self._in_full else _WORTH[self._aim][kind]
        spaced = "".join(char if char.isalnum() else " " for char in name.partition(".")[0])
        words = [part for word in spaced.split() for part in split_word(word) or (word,)]
        stems = set(self._plan.engine.tokens(" ".join(words)))
        share = len(stems & self._stems) / len(stems) if stems and (kind == PROSE or self._aim != USE) else 0.0
        factor = worth * (1.0 + NAME_SHARE * share)
        if self._is_by_passage and kind != PROSE:
            factor *= REPEAT_SHARE ** self._seen.get(path, 0)
            self._seen[path] = self._seen.get(path, 0) + 1
        return factor, kind


def priors_of(plan: Plan, question: Question, groups: Mapping[int, HitGroup], most: int) -> Priors | None:
    """The priors of an answer; None where no source is among the `most` best files, or what was found is asked for."""
    text, query = question.request.text, question.query
    aim = CODE if is_pasted(text) else aim_of(query)
    if aim == FINDING:
        return None
    best = sorted(groups, key=lambda id_: (-groups[id_].score, -id_))[:most]
    kinds = {one.id: kind_of(one.path) for one in plan.engine.signals(best)}
    if SOURCE not in kinds.values():
        return None
    in_full: set[int] = set()
    if aim != USE and len(query.terms) <= _FEW_WORDS and set(kinds.values()) - {SOURCE, RECORD}:
        in_full = _holding_all(plan, {id_: groups[id_] for id_ in kinds})
        if any(kinds[id_] == SOURCE for id_ in in_full):
            in_full = set()
    folder = text.strip().strip("/").lower() if len(query.terms) == 1 else ""
    return Priors(plan, folder, in_full, aim=aim, is_by_passage=question.request.is_by_passage)


def _holding_all(plan: Plan, groups: Mapping[int, HitGroup]) -> set[int]:
    """The documents that hold every word of the query in the rows by which they were found."""
    owners = {
        row.rowid: id_
        for id_, group in groups.items()
        for row in (*([group.own] if group.own else []), *group.passages[:SHOWN_PASSAGES])
    }
    rows = plan.engine.rows_of(sorted(owners))
    held: dict[int, set[str]] = {}
    for row, places in zip(rows, Scorer(plan).frequencies(rows), strict=True):
        held.setdefault(owners[row[0]], set()).update(plan.terms[place].text for place in places)
    every = {term.text for term in plan.terms if not term.is_extra}
    return {id_ for id_, words in held.items() if every <= words}
