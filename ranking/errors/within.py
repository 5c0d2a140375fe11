"""A known error that is told within another report: what one says is wrong stands word for word in the other.

    told_within(store.primary, sign(unit), failure, Whose("default"))     the known error and what it shares, or None

Tools say first what they were doing or first why it failed, so two reports of one failure may lead with two of its
lines. What is shared says of itself what it is about: it names something, or it is a whole message of some length. Two
reports that lead with the same message, or whose codes differ, are compared by match.py, which knows better.
"""

import apsw

from ctxrank.indexer.errors import lookup
from ctxrank.indexer.errors.lookup import KnownError, Whose
from ctxrank.indexer.errors.masks import lasting, masked
from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.signature import Signature, content_of, pairs_of, passed_on, terms_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.text.light_json import dumps
from ctxrank.indexer.text.lines import shorten
from ctxrank.ranking.errors.confidence import SURE_BY_WORD, confidence_in
from ctxrank.ranking.errors.match import ErrorMatch
from ctxrank.ranking.errors.similarity import compare

_MOST_LINES = 40
_MOST_TERMS = 150
_MOST_SAID = 200  # characters
_BETWEEN_SENTENCES = r"(?<=[.!?])\s+(?=[A-Z])"
_LEAST_NAMED, _LEAST_SAID = 3, 5  # words that carry meaning: beside a name, and of a whole message


class _Told(NamedTuple):
    """A text as templates, line by line, and what they mask, without what varies from run to run."""

    words: str
    values: list[str]


def told_within(
    connection: apsw.Connection, asked: Signature, failure: str, whose: Whose
) -> tuple[KnownError, str] | None:
    """The known error that shares the longest statement with a report, and that statement."""
    lines = failure.splitlines()[:_MOST_LINES]
    pairs = [term for line in lines for term in pairs_of(masked(line.strip()).words)]
    known = lookup.similar(connection, whose, [*dict.fromkeys([*terms_of(asked), *pairs])][:_MOST_TERMS])
    query = "SELECT pattern_id, error_text FROM error_signatures WHERE pattern_id IN (SELECT value FROM json_each(?))"
    texts = read_map(connection, query, (dumps([one.pattern_id for one in known]),), int, str)
    printed = _told(lines)
    found: list[tuple[int, int, str, KnownError]] = []
    for at, one in enumerate(known):
        likeness = compare(asked, one.signature)
        are_compilers = asked.family == one.signature.family == "compiler"  # whose words are those of a kind
        if likeness.vetoes or likeness.is_template or are_compilers:
            continue
        stored = _told(texts[one.pattern_id].splitlines())
        shared = [*_shared(one.signature.message, printed), *_shared(asked.message, stored)]
        found += [(len(said), -at, said, one) for said in shared]
    if not found:
        return None
    *_, said, best = max(found)
    return best, said


def as_told(asked: Signature, known: KnownError, said: str) -> ErrorMatch:
    """The answer that a shared statement gives."""
    recognised = SURE_BY_WORD["looks like"]
    return ErrorMatch(
        known.pattern_id, "near", confidence_in(known.confirmations, known.refutations, recognised), recognised,
        known.state, known.confirmations, known.refutations, asked.values, (),
        (f"Both reports say: {shorten(said, _MOST_SAID)}",), "looks like", is_vouched=known.is_vouched,
    )  # fmt: skip


def _told(lines: list[str]) -> _Told:
    told = [masked(line.strip()) for line in lines]
    return _Told(
        f" {' '.join(one.text for one in told)} ", [lasting(value).lower() for one in told for value in one.values]
    )


def _shared(message: str, text: _Told) -> list[str]:
    """What a message says, or passes on, that stands in a text, with the same values."""
    found: list[str] = []
    for said in (message, *passed_on(message), *kept.compiled(_BETWEEN_SENTENCES).split(message)):
        template = masked(said)
        has_name = any(not (value.isdigit() or "/" in value or "\\" in value) for value in template.values)
        least = _LEAST_NAMED if has_name else _LEAST_SAID
        if not (has_name or said is message) or len(content_of(template.words)) < least or is_summary(said):
            continue
        at = text.words.find(f" {template.text} ")
        if at < 0:
            continue
        first = text.words.count(" <", 0, at + 1)
        there = text.values[first : first + len(template.values)]
        if there == [lasting(value).lower() for value in template.values]:
            found.append(said)
    return found
