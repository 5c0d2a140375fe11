"""Folding: on a page, what is nearly the same as a better hit is listed below it.

    J = common words / all words        of the best passages of two hits

A hit folds under a better one where J is at least

    SAME_TITLE    for the same title that is no file's name: versions of one text
    SAME_NAME     for the same file name: copies in several folders
    OTHER_NAME    for any other

and the better one holds every term of the query that it holds: what the query tells apart stays apart. Of a file that
is here and a copy of another checkout or machine the one here is shown, if it holds as many. A hit also folds
where their paths differ by the folder of a language alone: `docs/de/setup.md` and `docs/fr/setup.md`.

Only hits that share one of their longest words are compared, of each word the last ones (what is alike scores alike),
and only those on the page: about 0.03 ms a hit.
"""

from collections.abc import Iterable
from os.path import splitext

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.tables import rows
from ctxrank.ranking.retrieval.hits import Foldable, FoldedHit, Hit
from ctxrank.ranking.retrieval.snippets import is_code

SAME_TITLE = 0.6
SAME_NAME = 0.9  # the examples of a framework are all index.js, and .7 alike
OTHER_NAME = 0.95  # small tests of one subject differ by one word of twenty
MIN_WORDS = 8  # of fewer, J says nothing: such texts fold where they are equal
_LONGEST_WORDS = 8
_MOST_OF_WORD = 16  # hits that share one: of a few thousand words, each is in all texts
_LANGUAGES = frozenset(code for (line,) in rows(__file__, "translations") for code in line.split())


class _KeptHit(NamedTuple):
    """A hit that stays, and what is folded under it."""

    foldable: Foldable
    words: frozenset[str]
    folded: list[FoldedHit]


def folded_page(ranked: Iterable[Foldable], limit: int) -> list[Hit]:
    """The best `limit` hits that are not nearly the same as one before them. Fewer where `ranked` has no more."""
    kept: list[_KeptHit] = []
    by_word: dict[str, list[int]] = {}  # a word → the hits that it is one of the longest words of
    by_place: dict[str, int] = {}  # a path without its language → the hit
    for one in ranked:
        if len(kept) == limit:
            break
        words = frozenset(one.text.split())
        longest = sorted(sorted(words), key=len, reverse=True)[:_LONGEST_WORDS]  # equal ones stay by the alphabet
        near = sorted({at for word in longest for at in by_word.get(word, ())[-_MOST_OF_WORD:]})
        place = _without_language(one.hit.path)
        best = next((at for at in near if _is_like(kept[at], one, words)), None)
        if best is None and place in by_place and kept[by_place[place]].foldable.hit.path != one.hit.path:
            best = by_place[place]
        if best is not None:
            better, _, folded = kept[best]
            if _is_elsewhere(better.hit) > _is_elsewhere(one.hit) and better.terms() <= one.terms():
                kept[best], one = _KeptHit(one, words, folded), better
            folded.append(FoldedHit(one.hit.id, one.hit.path))
            continue
        for word in longest:
            by_word.setdefault(word, []).append(len(kept))
        if place:
            by_place.setdefault(place, len(kept))
        kept.append(_KeptHit(one, words, []))
    return [one.foldable.hit._replace(folded=tuple(one.folded)) for one in kept]


def _is_elsewhere(hit: Hit) -> bool:
    """Whether its file is in another checkout, or on another machine."""
    return bool(hit.checkout) or hit.file_state == "elsewhere"


def _is_like(better: _KeptHit, other: Foldable, words: frozenset[str]) -> bool:
    if min(len(words), len(better.words)) < MIN_WORDS:
        is_like = other.hit.title == better.foldable.hit.title and other.text == better.foldable.text
    else:
        common = len(words & better.words)
        first, second = better.foldable.hit, other.hit
        least = SAME_NAME if second.path.rpartition("/")[2] == first.path.rpartition("/")[2] else OTHER_NAME
        if second.title == first.title and not second.path.endswith(second.title):
            least = SAME_TITLE
        is_like = common >= least * (len(words) + len(better.words) - common)
    return is_like and other.terms() <= better.foldable.terms()


def _without_language(path: str) -> str:
    """The path of a text without the folder or ending of its language: the same for all translations; '' for others."""
    if not path or is_code(path):
        return ""
    *folders, name = path.split("/")
    stem, extension = splitext(name)
    base, dot, language = stem.rpartition(".")
    if dot and _is_language(language):
        stem = base
    kept = [folder for folder in folders if not _is_language(folder)]
    return "/".join([*kept, stem + extension])


def _is_language(word: str) -> bool:
    """Whether this is the code of a language, with or without a region or script: de, pt-BR, zh_Hant."""
    language, _, region = word.lower().replace("_", "-").partition("-")
    return language in _LANGUAGES and (not region or (region.isalpha() and region.isascii() and len(region) <= 4))
