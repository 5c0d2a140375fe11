"""Is this error known? The patterns that it is, with grade, confidence and reasons; or silence, with its reason.

    answer = match_errors(store.primary, sign(error_units(text)[0]), Whose("default"), 3)
    answer.matches[0].grade        "exact", "template" or "near"
    answer.matches[0].word         "known" or "looks like"; of what stands in `same_kind`, "same kind"
    answer.reason                  why nothing was answered, where nothing was

exact: the same message with the same values (at the same place of the code, where the message needs it). template: the
same message with other values. near: the wording differs. A pattern that something speaks against (another code,
exception or condition; a word that changes the meaning; another place of the code) is never answered, however alike.
One that differs in a value that is not known to vary (differences.py) is another failure of the same kind.
"""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.errors import lookup
from ctxrank.indexer.errors.lookup import KnownError, Whose
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.parse.tables import words
from ctxrank.indexer.errors.signature import RAISED_ANYWHERE, Signature, as_passed_on, terms_of, told_by
from ctxrank.indexer.light_typing import Literal, NamedTuple
from ctxrank.indexer.store.ids import public_id
from ctxrank.ranking.errors.calibration import (
    LEAST_RECOGNITION,
    TIE,
    CalibrationFamily,
    evidence,
    is_tie,
    recognition,
    record_bound,
)
from ctxrank.ranking.errors.confidence import SAME_ERROR, SURE_BY_WORD, confidence_in
from ctxrank.ranking.errors.differences import Difference, bound_elsewhere, differing, is_same_report, reworded
from ctxrank.ranking.errors.similarity import Likeness, compare

Grade = Literal["exact", "template", "near"]
Word = Literal["known", "looks like", "same kind"]

_LEAST_SPECIFIC = 2.6  # weight of words below which a message does not stand for itself
# The same for a cause outside the code, which is the same from wherever it is met: "database is locked" has 2.35.
_LEAST_OUTSIDE = 2.0
_LEAST_TEXT = 0.75  # share that wordings must agree by
_CODE_BONUS = 1.0
_DETAILS_SHARE = 0.15
_VALUES_SHARE = 0.1
_PLACE_BONUS = 1.0

_ASSERTIONS = words("assertions")
# Their cause lies outside the code: the same missing module is the same error wherever it is imported.
_CAUSED_OUTSIDE = words("caused_outside")
# The interpreter words these itself, and differently from version to version.
_WORDED_BY_INTERPRETER = words("worded_by_interpreter")
# What nothing speaks against, in either family of calibration.py, has at least this recognition.
_LEAST_OF_THE_SAME = 0.97


class ErrorMatch(NamedTuple):
    """One known error that this one is, or may be."""

    pattern_id: int
    grade: Grade
    confidence: float  # in the answer: the recognition after the solution's record
    recognition: float  # that it is the same error
    state: str  # sighted, confirmed, refuted
    confirmations: int
    refutations: int
    masked: tuple[str, ...]  # what was masked in the new error
    differences: tuple[str, ...]  # what the new error says otherwise
    why: tuple[str, ...]  # sentences, the weightiest first
    word: Word = "known"
    renamed: tuple[Difference, ...] = ()  # of the same kind: what makes it another failure
    is_vouched: bool = True  # else its fix is a stranger's, which is never known and never said unasked


class MatchAnswer(NamedTuple):
    """The answer for one error. Where there are no `matches`, `reason` says why."""

    matches: tuple[ErrorMatch, ...]
    reason: str
    unsure: tuple[ErrorMatch, ...] = ()  # what came close and was not answered
    total: int = 0  # matches, those that the limit left out counted
    same_kind: tuple[ErrorMatch, ...] = ()  # other failures that are told in the same words


class KnownCandidate(NamedTuple):
    """A known error that nothing rules out. `margin` is the distance to the best of the others; None without any.

    `rivals` are others with the same template: what its message alone says, it says of them, too.
    """

    known: KnownError
    likeness: Likeness
    score: float
    margin: float | None = None
    rivals: int = 0
    stands_alone: bool = False  # the very same message, which means the same wherever it is printed
    is_again: bool = False  # the same report, line by line

    @property
    def family(self) -> CalibrationFamily:
        """Which table the comparison is calibrated by: a place takes nothing away from what a message says alone."""
        return "trace" if self.likeness.frames > 0 and not self.stands_alone else "message"

    @property
    def recognition(self) -> float:
        """How sure it is that this is the same error."""
        found = evidence(self.likeness, self.margin, self.rivals)
        return max(SAME_ERROR * self.is_again, recognition(self.family, found))


class Considered(NamedTuple):
    """All that was looked at: what nothing rules out, best first, and what ruled out the nearest where all are."""

    eligible: tuple[KnownCandidate, ...]
    objection: str
    renamed: tuple[KnownCandidate, ...] = ()  # what only the name of a missing thing rules out, best first


def match_errors(connection: apsw.Connection, asked: Signature, whose: Whose, limit: int) -> MatchAnswer:
    """What is known of an error."""
    considered = consider(connection, asked, whose)
    shown = max(limit, 1)
    sure = [one for one in considered.eligible if min(one.recognition, SAME_ERROR) >= LEAST_RECOGNITION[one.family]]
    told = [(one, () if one.likeness.frames > 0 else _renamed(asked, one.known)) for one in sure]
    is_told_often = bool(told) and lookup.is_told_often(connection, whose, asked)
    matches = tuple(_rated(asked, one, is_told_often=is_told_often) for one, renamed in told if not renamed)
    others = [one for one in told if one[1]] + [
        (one, _renamed(asked, one.known) or (Difference(asked.missing, one.known.signature.missing),))
        for one in considered.renamed[:shown]
    ]
    same_kind = tuple(_rated(asked, one, renamed) for one, renamed in others[:shown])
    if matches:
        return MatchAnswer(matches[:shown], matches[0].why[0], (), len(matches), same_kind)
    if same_kind:
        return MatchAnswer(
            (), f"{public_id('error', same_kind[0].pattern_id)}: {same_kind[0].why[0]}", same_kind=same_kind
        )
    if not considered.eligible:
        return MatchAnswer((), considered.objection)
    rated = tuple(_rated(asked, candidate) for candidate in considered.eligible[:shown])
    least = LEAST_RECOGNITION[considered.eligible[0].family]
    nearest = public_id("error", rated[0].pattern_id)
    reason = f"The nearest known error, {nearest}, is not near enough ({rated[0].recognition:.2f} of {least:.2f})."
    if is_tie(considered.eligible[0].margin):
        reason += " Others fit as well."
    return MatchAnswer((), reason, rated)


def _renamed(asked: Signature, known: KnownError) -> tuple[Difference, ...]:
    """What makes this another failure of the same kind, but for what is known to vary in this one."""
    stored = known.signature
    found = differing(asked, stored) or bound_elsewhere(asked, stored, known.solution) or reworded(asked, stored)
    return tuple(one for one in found if one.known not in known.varying)


def consider(connection: apsw.Connection, asked: Signature, whose: Whose) -> Considered:
    """Look up, compare, rule out and order: everything but the judgement."""
    eligible: list[KnownCandidate] = []
    renamed: list[KnownCandidate] = []
    objections: list[tuple[float, int, str]] = []
    needs_more = is_summary(asked.message) or not (asked.headline or asked.error_type or asked.codes)
    # The same template where there is one; what shares rare terms where none has this name, or the place decides.
    by_id = {one.pattern_id: one for one in lookup.same(connection, whose, "template", asked.template)}
    if len(by_id) == lookup.MAX_SAME:
        by_id |= {one.pattern_id: one for one in lookup.same(connection, whose, "instance", asked.instance)}
    if asked.is_traced or all(_renamed(asked, one) for one in by_id.values()):
        by_id |= {one.pattern_id: one for one in lookup.similar(connection, whose, terms_of(asked))}
    looked_up = list(by_id.values())
    # Two stored errors have this very message and other reasons: the message alone tells neither.
    same = [one.signature for one in looked_up if one.signature.instance == asked.instance]
    needs_more = needs_more or (not asked.reasons and any(map(differing, same[1:], same)))
    for stored in looked_up:
        known = stored._replace(signature=as_passed_on(stored.signature, asked))
        likeness = compare(asked, known.signature)
        is_again = is_same_report(asked, known.signature)
        score = score_of(likeness)
        if needs_more and likeness.frames != 2 and not (is_again and told_by(asked)):
            continue
        if objection := _objection(asked, known.signature, likeness):
            objections.append((score, known.pattern_id, objection))
            if _is_of_a_kind(asked, known.signature, likeness):
                renamed.append(KnownCandidate(known, likeness, score))
        else:
            stands_alone = likeness.is_instance and likeness.frames == 1 and not _is_local(asked)
            eligible.append(KnownCandidate(known, likeness, score, stands_alone=stands_alone, is_again=is_again))
    eligible.sort(key=_best_first)
    renamed.sort(key=_best_first)
    if needs_more and not eligible:
        return Considered((), "The output says only that something failed, not what.")
    with_margins = tuple(_beside_others(one, eligible) for one in eligible)
    reason = "No known error shares its codes, its message or its place."
    if objections:
        _, nearest, why = max(objections)
        reason = f"The nearest known error, {public_id('error', nearest)}, is ruled out: {why}."
    return Considered(with_margins, reason, tuple(renamed))


def _best_first(one: KnownCandidate) -> tuple[bool, float, float, int, int]:
    known, record = one.known, record_bound(one.known.confirmations, one.known.refutations)
    return (not one.is_again, -one.score, -record, -known.last_seen, known.pattern_id)


def score_of(likeness: Likeness) -> float:
    """What candidates are ranked by."""
    return (
        likeness.headlines.share
        + _DETAILS_SHARE * likeness.details
        + _VALUES_SHARE * likeness.values
        + _CODE_BONUS * likeness.same_code
        + _PLACE_BONUS * (likeness.frames == 2)
    )


def _objection(asked: Signature, known: Signature, likeness: Likeness) -> str:
    """What rules this pattern out; '' where nothing does."""
    if likeness.vetoes:
        return likeness.vetoes[0]
    if asked.missing and known.missing and asked.missing != known.missing:
        return f"the same kind of error, but another name: {asked.missing}, not {known.missing}"
    same_line, headlines = likeness.frames == 2, likeness.headlines
    is_same = likeness.same_code or same_line
    if headlines.decisive and not likeness.same_code and not (same_line and asked.error_type in _WORDED_BY_INTERPRETER):
        return f"another word: {headlines.decisive[0]}"
    is_type_left_out = asked.words == known.words and bool(asked.error_type) != bool(known.error_type)
    enough = _LEAST_OUTSIDE if is_type_left_out else _LEAST_SPECIFIC
    if not (likeness.is_template or is_same) and (headlines.share < _LEAST_TEXT or headlines.weight < enough):
        return "too little in common"
    # A test that compared something: what it saw is what went wrong, and another value is another error.
    asserts = asked.error_type in _ASSERTIONS or (asked.family == "test" and not asked.error_type)
    if asked.outcome and asserts and likeness.frames >= 0 and not likeness.has_same_outcome:
        return "the same test, but another outcome"
    if is_same or not (asked.is_traced and known.is_traced):
        return ""
    if asked.missing and not _is_local(asked):
        return ""  # the same thing is missing, wherever it is asked for
    # Of a name others' code says that it has none: another version of that is installed, wherever it is asked.
    is_of_others = asked.raised_in == known.raised_in and any(map(str.isidentifier, asked.values))
    if likeness.is_instance and asked.raised_in and is_of_others:
        return ""
    if likeness.frames == 1 or (likeness.is_instance and asked.frames == known.frames):
        return ""
    least = _LEAST_OUTSIDE if asked.error_type in _CAUSED_OUTSIDE else _LEAST_SPECIFIC
    # What the system refuses, a host or a file, it refuses wherever it is asked.
    if likeness.is_template and not _is_local(asked) and (headlines.weight >= least or asked.conditions):
        return ""
    return f"another place in the code: {_shown_place(known)}, not {_shown_place(asked)}"


def _is_of_a_kind(asked: Signature, known: Signature, likeness: Likeness) -> bool:
    """Whether it is told in the same words but for a name: of what is missing, or one that stands bare."""
    if likeness.vetoes or likeness.is_template:
        return not likeness.vetoes and bool(asked.missing and known.missing and asked.missing != known.missing)
    said = likeness.headlines
    exchanged = set(said.changed)
    if likeness.frames > 0 or len(exchanged) != 1 or not said.decisive:
        return False
    words = said.changed[0].split(", not ")
    is_last = [asked.words[-1:], known.words[-1:]] == [(word,) for word in words]  # "unbound variable: x"
    is_said = is_last or (said.share >= _LEAST_TEXT and said.weight >= _LEAST_SPECIFIC)
    return is_said and all(map(str.isalpha, words))


def _shown_place(one: Signature) -> str:
    """Where it failed, as a reader knows it: what was typed, or piped into an interpreter, calls what is in a file."""
    place = one.frames[-1].place
    return one.raised_in or "code in no file" if place.startswith("<") else place


def _is_local(asked: Signature) -> bool:
    """Whether the message says only what went wrong at one line, so that the same one elsewhere is another error.

    Measured for Python alone: of 4,925 pairs of equal messages at different places not one had the same cause.
    """
    # Of what a module lacks another version is installed, wherever it is asked.
    if asked.missing and (asked.error_type not in RAISED_ANYWHERE or asked.words[:1] == ("module",)):
        return False
    if asked.family == "test" or (asked.family == "trace" and not asked.error_type):
        return True  # a panic has no type
    return asked.error_type in RAISED_ANYWHERE


def _rated(
    asked: Signature,
    candidate: KnownCandidate,
    renamed: tuple[Difference, ...] = (),
    *,
    is_told_often: bool = False,
) -> ErrorMatch:
    known, likeness = candidate.known, candidate.likeness
    grade: Grade = "near"
    if likeness.is_template:
        is_here = likeness.frames >= 0 or asked.frames == known.signature.frames or asked.error_type in _CAUSED_OUTSIDE
        grade = "exact" if is_here and asked.values == known.signature.values else "template"
    word: Word = "same kind" if renamed else "looks like"
    if word != "same kind" and known.is_vouched and (grade == "exact" or is_told_often):
        word = "known"
    recognised = candidate.recognition
    if grade == "exact" and recognised >= _LEAST_OF_THE_SAME:
        recognised = SAME_ERROR  # the very error that was saved is known by one figure
    recognised = min(recognised, SURE_BY_WORD[word])  # and what is only like it is not surer
    return ErrorMatch(
        known.pattern_id,
        grade,
        confidence_in(known.confirmations, known.refutations, recognised),
        recognised,
        known.state,
        known.confirmations,
        known.refutations,
        asked.values,
        tuple(f"{one.asked or '(nothing)'}, not {one.known or '(nothing)'}" for one in renamed)
        or likeness.headlines.changed,
        tuple(_reasons(asked, known.signature, likeness, grade, renamed)),
        word,
        renamed,
        known.is_vouched,
    )


def _beside_others(candidate: KnownCandidate, eligible: list[KnownCandidate]) -> KnownCandidate:
    """The candidate with how far the best of the other errors lies below, and how many have its very message.

    A second pattern of the very same error is no other one: it must not cast doubt on the first. Nor do those that say
    the same of other values on the one with these values, however many values they share.
    """
    mine = candidate.known.signature
    others = [
        one
        for one in eligible
        if (one.known.signature.instance, one.known.signature.details, one.known.signature.frames)
        != (mine.instance, mine.details, mine.frames)
    ]
    margin = candidate.score - others[0].score if others else None
    if margin is not None and candidate.likeness.is_instance:
        ties = (candidate.score - one.score for one in others if one.likeness.is_instance)
        margin = max(margin, min(ties, default=TIE))
    return candidate._replace(margin=margin, rivals=sum(one.likeness.is_template for one in others))


def _reasons(
    asked: Signature, known: Signature, likeness: Likeness, grade: Grade, renamed: tuple[Difference, ...]
) -> Iterable[str]:
    if renamed:
        yield f"The same kind of failure, but another name: {renamed[0].asked}, not {renamed[0].known}."
    elif grade == "exact":
        yield "The same message with the same values."
    elif grade == "template" and asked.values == known.values:
        yield "The same message, at another place of the code."
    elif grade == "template":
        yield "The same message with other values."
    elif likeness.same_code:
        yield f"The same code, {asked.codes[0]}, in other words."
    else:
        yield f"A message that agrees by {likeness.headlines.share:.0%}."
    if likeness.same_code and grade != "near":
        yield f"The same code, {asked.codes[0]}."
    if likeness.frames == 2:
        yield f"The same line of {_shown_place(asked)} failed."
    elif likeness.frames == 1:
        yield f"The same function failed, {_shown_place(asked)}, at another line."
    if known.values and asked.values and known.values != asked.values:
        pairs = [f"{one} for {other}" for one, other in zip(asked.values, known.values, strict=False) if one != other]
        if pairs:
            yield "It has " + ", ".join(pairs[:3]) + "."
    for difference in likeness.headlines.changed[:2]:
        yield f"It says {difference}."
