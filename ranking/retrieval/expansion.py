"""Words that the index lacks, and the terms of the index that stand in for them.

    getrusae           getrusage             one edit away: every word that one edit makes is looked up, as a stem
    cess_spid          process, spider       the ends of a name that is cut inside its parts
    iddlewar           middleware            a part of a term
    Daten Bank         datenbank             two neighbours that are one word, with or without a linking letter
    datenbank          daten, bank           a word that is two
    getzipimporter     get, zip, importer    a name without what parts it: words that stand so in some document
    StyleE             styleelement          a name that is cut inside its last part

What the index has is never corrected, a number never stands for a word, and digits must be equal. Runs of CJK are left
as they are: their pairs are in the index. `plan.py` gives stand-ins less weight than words that were found.

Source of the lookups: Norvig, How to Write a Spelling Corrector (2007). Of 254 words of one file with one edit, looking
up every edit finds all; a trigram index alone misses what has an edit in the middle of a short word.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from ctxrank.indexer.engine import (
    PATH,
    AnyClause,
    Engine,
    FieldWeights,
    IndexTerm,
    PhraseClause,
    Row,
    RowQuery,
    TermClause,
)
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.identifiers import FIRST_CJK, SEPARATE, split_word, word_with
from ctxrank.ranking.retrieval.query import COMPLETIONS, LINKERS, Token

MOST_STAND_INS = 3  # of one word
MOST_PARTS = 4  # of a name that is written together
MOST_UNKNOWN = 4  # words of one query for which terms are looked for: more are a text, not typing mistakes
TYPO_WEIGHT = 0.7
PART_WEIGHT = 0.7
NAME_WEIGHT = 1.0
JOINED_WEIGHT = 1.5
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Letters that a word has for one edit: shorter ones have neighbours everywhere. Among words that the index has, an
# unknown one may be right and only missing (`amounts` is no `accounts`), so it takes more. Nothing is looked for two
# edits away: of 4,700 questions it answered 14 otherwise, and none better (2026-11).
_LEAST_TYPED, _LEAST_AMONG_KNOWN = 4, 5
_LEAST_INNER = 5  # letters of a part
_LEAST_HALF = 4  # of a word that is two
_LEAST_PART = 3  # of one that is more: `anyone` is no `any one`
_MOST_TRIED = 12  # ways to part a name that are looked for in documents
_MOST_TYPED = 48
_CONTAINING = 32
_BEGINNING = 400
_LEAST_BEGINNING = 2
_ROWS_OF_NAME = 100
_TRIMMED = 3  # letters of a cut word that its ending may have lost to the stemmer
_MAX_CHARS, _ROWS_READ = 6000, 8  # of a text that shows how a stand-in is written, and how many of them
_Way = list[tuple[str, IndexTerm]]  # the words that make one, with their terms
_ONE_EACH = FieldWeights(1.0, 1.0, 1.0, 1.0)


class StandIn(NamedTuple):
    """A term of the index that is searched for in place of what was typed."""

    term: IndexTerm
    weight: float
    position: int  # of the word it stands for
    column: str
    surface: str  # a word whose term it is, real or not: for an engine that tokenises what it is asked
    word: str  # as a document writes it
    forms: tuple[str, ...] = ()  # how it may have been meant


class Expansion(NamedTuple):
    """What was typed, and what stands in for it, the likeliest first."""

    typed: str
    stand_ins: tuple[StandIn, ...]
    parts: str = ""  # the words, where it is a name without what parts them


def expansions_of(
    words: Sequence[Token], together: Mapping[int, Sequence[IndexTerm]], engine: Engine
) -> list[Expansion]:
    """The stand-ins of a query's words, at most MOST_STAND_INS each.

    `together` has the terms that two neighbours are when they are written together, by the position of the first one.
    """
    expander = _Expander(engine, is_alone=not any(word.is_known for word in words))
    found: list[Expansion] = []
    joined: set[int] = set()
    for first, second in pairwise(words):
        # Two words that some document has one after the other are meant as they were typed.
        phrase = PhraseClause(f"{first.surface} {second.surface}", first.key.column)
        terms = together.get(first.position)
        if terms and not engine.row_ids(RowQuery(phrase), 1):
            joined |= {first.position, second.position}
            found.append(expander.expansion(phrase.text, first, terms, JOINED_WEIGHT))
    names: dict[int, list[Token]] = {}
    for word in words:
        names.setdefault(word.typed, []).append(word)
    left = MOST_UNKNOWN
    for name in names.values():
        unknown = [word for word in name if not word.is_known and word.position not in joined]
        if left and (unknown or (len(name) > 1 and name[0].is_name)):
            left -= 1
            found += expander.of_name(name) if len(name) > 1 else [expander.of_word(unknown[0])]
    return [expansion for expansion in found if expansion.stand_ins]


class _Expander:
    """Asks one engine."""

    def __init__(self, engine: Engine, *, is_alone: bool) -> None:
        self._engine = engine
        self._least_typed = _LEAST_TYPED if is_alone else _LEAST_AMONG_KNOWN

    def expansion(
        self,
        typed: str,
        word: Token,
        terms: Sequence[IndexTerm],
        weight: float,
        forms: Mapping[IndexTerm, Sequence[str]] | None = None,
        parts: str = "",
    ) -> Expansion:
        """The terms as stand-ins of a word, which is made of `parts`; `forms` are what they may have been meant as."""
        stand_ins: list[StandIn] = []
        for term in terms[: MOST_PARTS if parts else MOST_STAND_INS]:
            meant = tuple((forms or {}).get(term, ()))
            surface, written = words_of(self._engine, term.term, meant)
            stand_ins.append(StandIn(term, weight, word.position, word.key.column, surface, written, meant))
        return Expansion(typed, tuple(stand_ins), parts)

    def _plain(self, surface: str) -> str:
        """A word without case and accents."""
        return surface.lower() if surface.isascii() else self._engine.unstemmed(surface)

    def of_word(self, word: Token) -> Expansion:
        """The stand-ins of a word that was typed alone."""
        typed = self._plain(word.surface)
        near: dict[IndexTerm, list[str]] = {}
        terms: list[IndexTerm] = []
        weight = PART_WEIGHT
        if not typed.isalnum() or typed[0].isdigit() or max(typed) >= FIRST_CJK:  # a number, a hash, a run of CJK
            return Expansion(word.surface, ())
        if not word.is_known and (parts := split_word(word.surface)):  # its parts are known: getUserById
            terms, weight = self._beginning(typed, parts) or self._containing(typed), NAME_WEIGHT
        elif near := self._one_edit_away(typed):
            terms, weight = [*near], TYPO_WEIGHT
        elif way := self._parts_of(typed):
            together = " ".join(part for part, _ in way)
            return self.expansion(word.surface, word, [term for _, term in way], weight, parts=together)
        else:
            terms = self._containing(typed)
        return self.expansion(word.surface, word, terms, weight, near)

    def of_name(self, name: Sequence[Token]) -> list[Expansion]:
        """The stand-ins of the parts of a name: its ends may be cut, also where what is left is a word of its own."""
        ends = self._cut_ends(name) if name[0].is_name else {}
        found: list[Expansion] = []
        for word in name:
            if word.position in ends:
                found.append(self.expansion(word.surface, word, ends[word.position], NAME_WEIGHT))
            elif not word.is_known:
                found.append(self.of_word(word))
        return found

    def _cut_ends(self, name: Sequence[Token]) -> dict[int, list[IndexTerm]]:
        """By position the terms that complete the first and the last part, found in rows that have all parts as one.

        Nothing where some row has the name as it was typed.
        """
        first, *middle, last = name
        rest = (*(word.surface for word in middle), last.surface)
        is_too_short = len(last.surface) < _LEAST_BEGINNING  # too many terms begin so
        whole = PhraseClause(" ".join((first.surface, *rest)), first.key.column)
        if is_too_short or self._engine.row_ids(RowQuery(whole), 1):
            return {}
        beginning, end = self._plain(first.surface), self._plain(last.surface)
        stems = dict.fromkeys((beginning, *self._engine.tokens(beginning)))
        containing = (term for stem in stems for term in self._engine.terms_containing(stem, _CONTAINING))
        endings = [term for term in containing if term.term.endswith((*stems,))]
        completed = self._engine.tokens(" ".join(end + ending for ending in COMPLETIONS))
        beginnings = self._engine.look_up_prefix(end, completed, _BEGINNING)
        rows: list[Row] = []
        for starts in ([term.term for term in endings] + [first.surface], [""] if middle else []):
            phrases = tuple(
                PhraseClause(" ".join((start, *rest)).strip(), first.key.column, is_prefix=True) for start in starts
            )
            rows = self._engine.rows(RowQuery(AnyClause(phrases)), _ROWS_OF_NAME) if phrases else []
            if rows:
                break
        counts = self._counts(rows, (*endings, *beginnings))
        ends: dict[int, list[IndexTerm]] = {}
        for word, terms in ((first, endings), (last, beginnings)):
            most = max((counts[term.id] for term in terms), default=0)
            best = [term for term in terms if most and counts[term.id] == most]
            if best and all(term.term != word.key.term for term in best):  # else it is the part as it was typed
                ends[word.position] = sorted(best, key=lambda term: term.df)
        return ends

    def _containing(self, part: str) -> list[IndexTerm]:
        """Terms that contain a part; of its end, the stemmer may have left less."""
        for trimmed in range(_TRIMMED + 1):
            inner = part[: len(part) - trimmed]
            if len(inner) < _LEAST_INNER:
                break
            if found := self._engine.terms_containing(inner, MOST_STAND_INS):
                return found
        return []

    def _beginning(self, typed: str, parts: Sequence[str]) -> list[IndexTerm]:
        """Names that begin so, the last part perhaps cut, those that the most rows have first."""
        begun = PhraseClause(" ".join(parts), "identifiers", is_prefix=True)
        rows = self._engine.rows(RowQuery(begun), _ROWS_OF_NAME)
        terms = self._engine.look_up_prefix(typed, (), _BEGINNING) if rows else []
        counts = self._counts(rows, terms)
        return sorted((term for term in terms if counts[term.id]), key=lambda term: (-counts[term.id], term.df))

    def _counts(self, rows: list[Row], terms: Sequence[IndexTerm]) -> Counter[int]:
        """How many of the rows hold each of the terms."""
        counts: Counter[int] = Counter()
        for row in self._engine.frequencies(rows, {term.id for term in terms}, _ONE_EACH):
            counts.update(id_ for id_, _ in row)
        return counts

    def _parts_of(self, typed: str) -> _Way:
        """The words that a word is made of, with their terms: as few as some row has one after the other; or else two,
        of which the rarer one is the most frequent.
        """
        spans = [
            (start, end)
            for start in range(len(typed) - _LEAST_PART + 1)
            for end in range(start + _LEAST_PART, len(typed) + 1)
        ]
        stems = _stems(self._engine, [typed[start:end] for start, end in spans])
        known = {term.term: term for term in self._engine.look_up_any(stems)} if stems else {}
        ends: dict[int, list[tuple[int, IndexTerm]]] = {}
        for (start, end), stem in zip(spans, stems, strict=False):
            if stem in known:
                ends.setdefault(start, []).append((end, known[stem]))
        ways = sorted(_ways(typed, ends), key=lambda way: (len(way), -min(term.df for _, term in way)))
        halves = [way for way in ways if len(way) == 2 and all(len(word) >= _LEAST_HALF for word, _ in way)]
        for way in [*halves, *(way for way in ways if len(way) > 2)][:_MOST_TRIED]:
            if self._engine.row_ids(RowQuery(PhraseClause(" ".join(word for word, _ in way))), 1):
                return way
        return halves[0] if halves else []

    def _one_edit_away(self, typed: str) -> dict[IndexTerm, list[str]]:
        """Terms of words that one edit of a letter makes, with these words."""
        if not self._least_typed <= len(typed) <= _MOST_TYPED:
            return {}
        letters = sorted({*_LETTERS, *filter(str.isalpha, typed)})
        cuts = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
        begun = [cut for cut in cuts if cut[1][:1].isalpha()]
        # One letter more, one replaced or left out, two exchanged.
        edited = [before + letter + after for before, after in cuts for letter in letters]
        edited += [before + letter + after[1:] for before, after in begun for letter in (*letters, "")]
        edited += [before + after[1] + after[0] + after[2:] for before, after in begun if after[1:2].isalpha()]
        forms = [form for form in dict.fromkeys(edited) if form != typed]
        forms_of: dict[str, list[str]] = {}
        for form, stem in zip(forms, _stems(self._engine, forms), strict=False):
            forms_of.setdefault(stem, []).append(form)
        terms = self._engine.look_up_any(forms_of) or self._engine.look_up_any(forms_of, PATH)
        terms.sort(key=lambda term: (all(form[0] != typed[0] for form in forms_of[term.term]), -term.df, term.term))
        return {term: forms_of[term.term] for term in terms}


def _ways(typed: str, ends: Mapping[int, list[tuple[int, IndexTerm]]]) -> list[_Way]:
    """All ways to make a word of two or more known ones, with a linking letter between two halves."""
    length = len(typed)
    ways = [
        [(typed[:end], first), (typed[start:], second)]
        for end, first in ends.get(0, ())
        for linker in LINKERS
        if typed.startswith(linker, end)
        for start in (end + len(linker),)
        for last, second in ends.get(start, ())
        if last == length
    ]
    begun: list[tuple[int, _Way]] = [(0, [])]
    for _ in range(MOST_PARTS):
        begun = [(end, [*way, (typed[at:end], term)]) for at, way in begun for end, term in ends.get(at, ())]
        ways += [way for end, way in begun if end == length and len(way) > 2]
    return ways


def words_of(engine: Engine, term: str, meant: Collection[str] = ()) -> tuple[str, str]:
    """A word that has this term, real or not, and one of the corpus, in lower case: one that may be meant, if the first
    documents that hold the term have it, else as the first of them writes it.
    """
    surfaces = [term + ending for ending in COMPLETIONS]  # words that may have this term
    stems = _stems(engine, surfaces)
    surface = surfaces[stems.index(term)] if term in stems else term
    rows = engine.rows(RowQuery(TermClause((term,), (surface,))), _ROWS_READ)
    texts = ["\n".join(columns) for _, *columns in engine.texts([row[0] for row in rows], _MAX_CHARS).values()]
    known = "\n".join(texts).lower().encode().translate(SEPARATE).split()
    written = (word for text in texts if (word := word_with(engine.tokens_at, term, text)))
    return surface, next((form for form in meant if form.encode() in known), "") or next(written, surface)


def _stems(engine: Engine, words: Sequence[str]) -> list[str]:
    """The term of each word; none at all where the tokenizer makes several of one, or none."""
    stems = engine.tokens(" ".join(words))
    return stems if len(stems) == len(words) else []
