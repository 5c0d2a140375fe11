"""How alike two signatures are, and what speaks against their being one error. Pure functions of two signatures.

    compare(asked, known).headlines.share  0.93: the share of the headlines' weight that is in the same order in both
    compare(asked, known).vetoes     ("another code: TS2304, not TS2305",): no likeness outweighs these

Words are weighed, not counted: a placeholder or an article says little, a word that messages are made of says all, a
word that may be a name is in between. A changed word of the second kind (started, paused) is a veto, a changed
name is not.
"""

import functools
from collections.abc import Iterator

from ctxrank.indexer.errors.missing import STOPWORDS
from ctxrank.indexer.errors.parse.frames import NAMELESS, Frame
from ctxrank.indexer.errors.parse.tables import rows, words
from ctxrank.indexer.errors.signature import NEGATIONS, Signature, content_of
from ctxrank.indexer.errors.vocabulary import is_ordinary
from ctxrank.indexer.light_typing import NamedTuple

# Weights of a word by what it is. Tuned on the development groups; the order matters more than the values.
PLACEHOLDER_WEIGHT = 0.2
STOPWORD_WEIGHT = 0.35
NAME_WEIGHT = 0.6
WORD_WEIGHT = 1.0
# Headlines that share less than this are not compared word by word, unless they are short.
LEAST_SHARE = 0.5
_SHORT = 8
_NEARLY_THE_SAME = 0.4  # share of the notes' words
_TYPE_FAMILIES = tuple(map(frozenset, rows("type_families")))
_KIN = ({"c", "cpp"}, {"javascript", "typescript"}, {"java", "kotlin"})  # languages
_KINDS = words("kinds")
_MODIFIERS = frozenset(f"'{word}'" for word in words("modifiers"))


class Alignment(NamedTuple):
    """Two headlines laid side by side."""

    share: float  # of the weight of both that agrees, in order: 0 to 1
    weight: float  # of the words that agree: how much there was to agree about
    decisive: tuple[str, ...] = ()  # what changed the meaning: "started, not paused"
    changed: tuple[str, ...] = ()  # words that changed, for the reason


class Likeness(NamedTuple):
    """What two signatures have in common; `asked` is the new error, `known` the stored one."""

    headlines: Alignment
    details: float  # share of the notes' words that agree: 0 to 1
    notes_apart: bool  # one or both have notes, and none is the same, nor nearly
    have_both_notes: bool
    values: float  # share of the masked values that agree: 0 to 1
    frames: int  # 2: the failing line agrees, 1: its function, 0: nothing to compare, -1: it differs
    has_same_outcome: bool  # at a place of the code: the same was said, values and all
    same_calls: int  # of the project that led there, where all agree but for the outermost, which may be another test
    has_same_stack: bool
    same_code: bool
    is_template: bool
    is_instance: bool
    vetoes: tuple[str, ...]


def compare(asked: Signature, known: Signature) -> Likeness:
    """All that can be said about two signatures without knowing any others."""
    is_template = asked.template == known.template
    headlines = align(asked.words, known.words, has_kinds=asked.language == "rust")
    same_code = bool(asked.codes and set(asked.codes) & set(known.codes))
    if same_code and not is_template and headlines.share < LEAST_SHARE:
        # A code that is a word (mypy's call-arg) is given several messages; a lint of a group names one.
        same_code = not all(code.islower() and ":" not in code for code in asked.codes)
    notes = _overlap(asked.notes, known.notes)
    said, stored = (content_of(tuple(" ".join(one.notes).split())) for one in (asked, known))
    has_same_stack = [frame.place for frame in asked.frames[1:]] == [frame.place for frame in known.frames[1:]]
    return Likeness(
        headlines,
        details=_overlap(asked.details, known.details),
        notes_apart=bool(asked.notes or known.notes) and not notes and _overlap(said, stored) < _NEARLY_THE_SAME,
        have_both_notes=bool(asked.notes and known.notes),
        values=_overlap(asked.values, known.values),
        frames=frames_agree(asked.frames, known.frames),
        has_same_outcome=asked.outcome == known.outcome,
        same_calls=len(asked.frames) - 1 if has_same_stack else 0,
        has_same_stack=has_same_stack,
        same_code=same_code,
        is_template=is_template,
        is_instance=asked.instance == known.instance,
        vetoes=tuple(_contradictions(asked, known)),
    )


def _contradictions(asked: Signature, known: Signature) -> list[str]:
    """What says by itself that these are two errors."""
    found: list[str] = []
    if asked.codes and known.codes and not set(asked.codes) & set(known.codes):
        found.append(f"another code: {asked.codes[0]}, not {known.codes[0]}")
    if asked.conditions and known.conditions and not set(asked.conditions) & set(known.conditions):
        found.append(f"another condition: {asked.conditions[0]}, not {known.conditions[0]}")
    one, other = asked.error_type, known.error_type
    if one and other and one != other and not any(one in names and other in names for names in _TYPE_FAMILIES):
        found.append(f"another exception: {one}, not {other}")
    languages = {asked.language, known.language}
    is_kin = len(languages) == 1 or any(languages <= kin for kin in _KIN)
    if asked.language and known.language and not is_kin:
        found.append(f"another language: {asked.language}, not {known.language}")
    return found


def frames_agree(asked: tuple[Frame, ...], known: tuple[Frame, ...]) -> int:
    """2: the innermost calls of the project are the same line, 1: the same function, 0: unknown, -1: they differ."""
    if not asked or not known:
        return 0
    one, other = asked[-1], known[-1]
    if one.place != other.place:
        return -1
    if one.code and other.code:
        return 2 if one.code == other.code else 1
    # Without the code, the top level of a file or a function without a name is too large a place.
    return -1 if one.function in NAMELESS else 1


def align(asked: tuple[str, ...], known: tuple[str, ...], *, has_kinds: bool = False) -> Alignment:
    """The longest common subsequence of words by weight, and what lies between its parts.

    `has_kinds`: the tool says one thing of many kinds of things, so that another kind is no other meaning.
    """
    if asked == known:
        return Alignment(1.0, sum(map(weight_of, asked)))
    total = sum(map(weight_of, asked)) + sum(map(weight_of, known))
    shared = sum(map(weight_of, set(asked) & set(known)))
    if total and 2 * shared < LEAST_SHARE * total and len(asked) + len(known) > _SHORT:
        # Too little in common, whatever the order: not worth laying side by side.
        return Alignment(2 * shared / total, shared, ("most of its words",), ("most of its words",))
    spans = list(gaps(asked, known))
    agreed = sum(map(weight_of, asked)) - sum(weight_of(word) for here, _ in spans for word in asked[here])
    decisive: list[str] = []
    changed: list[str] = []
    for mine, theirs in spans:
        here, there = asked[mine], known[theirs]
        changed.append(f"{' '.join(here) or '(nothing)'}, not {' '.join(there) or '(nothing)'}")
        # "struct <v> is private", not "function <v> is private"
        is_of_another_kind = (has_kinds and _are(_KINDS, here, there)) or (
            asked[mine.stop : mine.stop + 1] == ("modifier",) and _are(_MODIFIERS, here, there)
        )
        if _is_decisive(here, there) and not is_of_another_kind:
            decisive.append(changed[-1])
    return Alignment(2 * agreed / total, agreed, tuple(decisive), tuple(changed))


def gaps(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[tuple[slice, slice]]:
    """Where two rows of words differ, in order: what stands between the parts of their longest common subsequence."""
    at_one = at_other = 0
    for i, j in [*_common(one, other), (len(one), len(other))]:
        if i > at_one or j > at_other:
            yield slice(at_one, i), slice(at_other, j)
        at_one, at_other = i + 1, j + 1


@functools.lru_cache(maxsize=4096)
def weight_of(word: str) -> float:
    """What a word says about which error this is."""
    if word[0] == "<":
        return PLACEHOLDER_WEIGHT
    if word in STOPWORDS:
        return NAME_WEIGHT if word in NEGATIONS else STOPWORD_WEIGHT
    return WORD_WEIGHT if word[0] == "'" or is_ordinary(word) else NAME_WEIGHT


def _is_decisive(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Whether the change of these words changes the meaning.

    It does where an ordinary word or a negation is on one side only, or differs between the sides. One word in
    the place of a name or a value does not: it may be a name itself.
    """
    mine, theirs = _meaning(here), _meaning(there)
    if not mine and not theirs:
        return NEGATIONS.isdisjoint(here) != NEGATIONS.isdisjoint(there)
    if mine and theirs:
        return True
    return len(mine) + len(theirs) > 1 or not any(map(_may_vary, there if mine else here))


def _are(words: frozenset[str], here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Whether what carries meaning on both sides is among these words, and there is some."""
    mine, theirs = _meaning(here), _meaning(there)
    return bool(mine and theirs) and words.issuperset((*mine, *theirs))


def _may_vary(word: str) -> bool:
    return word[0] == "<" or (word not in STOPWORDS and not is_ordinary(word))


def _meaning(words: tuple[str, ...]) -> list[str]:
    return [w for w in words if w[0] == "'" or (w[0] != "<" and w not in STOPWORDS and is_ordinary(w))]


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Shared members as a share of all; 0 where either has none."""
    if not one or not other:
        return 0.0
    mine, theirs = set(one), set(other)
    return len(mine & theirs) / len(mine | theirs)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence; equal beginnings and ends are taken first, which is most of it."""
    start = 0
    shortest = min(len(one), len(other))
    while start < shortest and one[start] == other[start]:
        start += 1
    end = 0
    while end < shortest - start and one[-1 - end] == other[-1 - end]:
        end += 1
    pairs = [(i, i) for i in range(start)]
    a, b = one[start : len(one) - end], other[start : len(other) - end]
    if a and b and not set(a).isdisjoint(b):
        pairs += [(i + start, j + start) for i, j in _subsequence(a, b)]
    return pairs + [(len(one) - n, len(other) - n) for n in range(end, 0, -1)]


def _subsequence(a: tuple[str, ...], b: tuple[str, ...]) -> list[tuple[int, int]]:
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = best[i], best[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
