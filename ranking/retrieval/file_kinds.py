"""Kinds of files: what a file is worth to a question, by what it is and how it is called.

    prior = kind · (1 + 0.4 · share of the words of its name that the question has)

    kind    source 1 · test, example, benchmark 0.7 · documentation, settings and data, generated 0.4
            in a list of passages each further one of a file of code counts half of the one before it
            to more than four words ten passages of a source count, not three, and all files but prose 0.77 of this

A question about code has more words in common with a README, a list of changes or a test that describes what the code
does than with the code. So where source is among the best files, what is none counts less; not where three quarters of
the files are documentation, and not documentation where it asks how something is used (questions.py); a statement may
be about both, and documentation counts 0.65. What is in a folder that the question names counts in full, and so does a
file that alone has all of a few words. A record (package, reasoning, error …) is no file, and counts in full.

32 repositories with 635 questions about their code (nDCG@10 of files and of passages, 2026-11): .784 and .701 without,
.821 and .734 with the kinds, .850 and .776 with the names, too, and .842 with the halves. Weights from .3 to .6 for
names and from .3 to .4 for documentation differ by .002. Reports of bugs in two further ones (MRR@10): .334 and .641;
questions about their use .477 and .481 (.473 where statements count as questions about code). With ten passages the 32
are .854 (.848; files), five further ones .852 (.839), 126 issues .722 (.667, Acc@5), 87 unseen questions about use .498
(.484). To few words it loses .03 of three of which one is misspelt; of prose more passages cost paraphrases .11.
"""

from collections.abc import Mapping

from ctxrank.indexer.store.parents import RankingSignals
from ctxrank.indexer.text.identifiers import may_hold_compound, split_word
from ctxrank.ranking.retrieval.candidates.candidates import Scorer
from ctxrank.ranking.retrieval.grouping import PROSE_OWN_SHARE, SHOWN_PASSAGES, HitGroup
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.query import Query, is_pasted
from ctxrank.ranking.retrieval.questions import CODE, EITHER, USE, aim_of, asks_for_prose, is_prose
from ctxrank.ranking.retrieval.rerank import is_test

NAME_SHARE = 0.4
PROSE_ALONE_SHARE = 0.0
# A question has words of the heading alone. Among records, too, whose own rows have summaries, it stays as it is.
ASKED_SHARE = 0.05
REPEAT_SHARE = 0.5
WHOLE_WORTH = 2.0  # of a file that has all words of a query that any file has, where some word has none
_FEW_WORDS = 4
# What somebody asks in many words is seldom done by one function of a source. The passages of a page are about
# different things, and a record has none: so what sources gain by more of them on the mean is taken off again.
SPREAD_PASSAGES = 10
_SPREAD_WORTH = 0.77
# A manual has some code, too: examples, and what builds it. Paraphrases over two (MRR@10): .416 and .585 without, .441
# and .613 with .75; .436 and .598 if names of files count.
_MANUAL_SHARE = 0.75

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
    """What the files of one answer are worth to its question, of which the best by their words are `known`."""

    def __init__(
        self, plan: Plan, text: str, query: Query, groups: Mapping[int, HitGroup], most: int, *, is_by_passage: bool
    ) -> None:
        self._plan, self._is_by_passage = plan, is_by_passage
        best = sorted([(group.score, id_) for id_, group in groups.items()], reverse=True)[:most]
        self.known = {one.id: one for one in plan.engine.signals([id_ for _, id_ in best])}
        self._stems = {stem for term in plan.terms for stem in term.stems}
        self._seen: dict[str, int] = {}
        self._aim = CODE if is_pasted(text) else aim_of(query)
        kinds = self._kinds = {id_: kind_of(signals.path) for id_, signals in self.known.items()}
        # Where nearly all of the best files are a manual's, all kinds count in full.
        files = [kind for kind in kinds.values() if kind != RECORD]
        self.is_manual = SOURCE not in files or files.count(PROSE) > _MANUAL_SHARE * len(files)
        self._worth = None if self.is_manual else _WORTH[self._aim]
        self.highest = 1.0 if self._worth is None else 1.0 + NAME_SHARE
        if self._worth and not self._is_by_passage and len(query.terms) > _FEW_WORDS:
            self._worth = {kind: worth * (kind == PROSE or _SPREAD_WORTH) for kind, worth in self._worth.items()}
            for group in groups.values():
                group.counted = SPREAD_PASSAGES  # at most, until its kind is known
        # What stands in for a word that nothing has is a guess: the words that there are say more together.
        is_guessed = plan.unknown and len(query.terms) > 1 and not self._is_by_passage
        is_short = len(query.terms) <= _FEW_WORDS and (is_guessed or self._worth)
        holding = _holding_all(plan, {id_: groups[id_] for id_ in kinds}) if is_short else set[int]()
        self._in_full = set[int]() if any(kinds[id_] == SOURCE for id_ in holding) else holding
        self._whole = holding if is_guessed else set[int]()
        self.highest *= WHOLE_WORTH if self._whole else 1.0
        # The heading of prose is its title and that of its passages. Among code it tells a note from the rest.
        self.prose_share, self.is_asked = PROSE_OWN_SHARE, False
        if SOURCE not in kinds.values() and len(query.terms) > _FEW_WORDS:
            self.is_asked = asks_for_prose(query) and RECORD not in kinds.values()
            self.prose_share = ASKED_SHARE if self.is_asked else PROSE_ALONE_SHARE
        self._folder = text.strip().strip("/").lower() if len(query.terms) == 1 else ""  # which it may name

    def give(self, group: HitGroup, signals: RankingSignals) -> None:
        """Give a document its factor and its own share; of several passages of one file the best is given first."""
        kind, path = self._kinds.get(signals.id) or kind_of(signals.path), signals.path
        if kind != SOURCE:
            group.counted = SHOWN_PASSAGES
        if kind == PROSE:
            group.own_share = self.prose_share
        if group.kind:
            return
        if signals.id in self._whole:
            group.kind, group.prior = f"{kind or 'a finding'} with all words that are known", WHOLE_WORTH
        if self._worth is None or kind == RECORD:
            return
        folders, _, name = path.rpartition("/")
        is_named = self._folder != "" and self._folder in folders.lower().split("/")
        group.kind = group.kind or kind
        group.prior *= 1.0 if is_named or signals.id in self._in_full else self._worth[kind]
        group.prior *= 1.0 + NAME_SHARE * self._named_share(name)
        if self._is_by_passage and kind != PROSE:
            group.prior *= REPEAT_SHARE ** self._seen.get(path, 0)
            self._seen[path] = self._seen.get(path, 0) + 1

    def _named_share(self, name: str) -> float:
        """How many of the words of a file's name the query has."""
        words = name.partition(".")[0]
        if not words.isascii() or may_hold_compound(words.encode()):
            spaced = "".join(char if char.isalnum() else " " for char in words)
            words = " ".join([part for word in spaced.split() for part in split_word(word) or (word,)])
        stems = set(self._plan.engine.tokens(words))
        return len(stems & self._stems) / len(stems) if stems else 0.0


def _holding_all(plan: Plan, found: Mapping[int, HitGroup]) -> set[int]:
    """The documents that hold every word of the query in their best rows.

    Where nothing has some word, those that hold what stands in for it, too, or else those that hold the others.
    """
    owners = {row.rowid: id_ for id_, one in found.items() for row in (one.own, *one.passages[:SPREAD_PASSAGES]) if row}
    rows = plan.engine.rows_of(sorted(owners))
    held: dict[int, set[str]] = {}
    frequencies = Scorer(plan).frequencies(rows)
    for row in rows:
        terms = [plan.terms[place] for place in frequencies(row[0])]
        held.setdefault(owners[row[0]], set()).update(term.typed or term.text for term in terms)
    known = {term.text for term in plan.terms if not term.is_extra}
    every = known.union(term.typed for term in plan.terms if term.typed in plan.unknown)
    complete = {id_ for id_, words in held.items() if every <= words}
    return complete or {id_ for id_, words in held.items() if known <= words}
