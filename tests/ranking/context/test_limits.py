"""Limits: where the zones begin, and what a summary may have in each."""

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.lines import shorten
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.limits import Zone, usage

_LIMITS = {limits.SOFT_WARNING: 60, limits.CONSERVATIVE: 75, limits.WRAP_UP: 85, limits.EMERGENCY: 95}


@each_row("zone, percent", list(_LIMITS.items()))
def test_a_zone_begins_at_exactly_its_percent(zone: Zone, percent: int) -> None:
    """200,000 tokens less 15 % are 170,000, of which each percent is 1,700."""
    at = usage(200_000, 0.15, 1_700 * percent)
    assert at == (zone, percent, 1_700 * (100 - percent))
    assert usage(200_000, 0.15, 1_700 * percent - 1).zone is not zone


def test_an_empty_conversation_has_everything_left() -> None:
    assert usage(200_000, 0.15, 0) == (limits.NORMAL, 0.0, 170_000)


def test_more_than_the_limit_is_an_emergency_with_nothing_left() -> None:
    assert usage(200_000, 0.15, 500_000)[0::2] == (limits.EMERGENCY, 0)


@given(st.integers(1000, 2_000_000), st.floats(0, 0.9), st.integers(0, 3_000_000))
def test_the_zone_is_that_of_the_percent_for_any_model_and_margin(limit: int, margin: float, tokens: int) -> None:
    at = usage(limit, margin, tokens)
    begun = [zone for zone, percent in _LIMITS.items() if at.percent >= percent]
    assert at.zone is (begun[-1] if begun else limits.NORMAL)
    assert at.remaining == max(0, int(limit * (1 - margin)) - tokens)


def test_summaries_shrink_from_zone_to_zone() -> None:
    assert [zone.summary_chars for zone in (limits.NORMAL, *_LIMITS)] == [400, 200, 100, 60, 0]


def test_a_summary_is_cut_at_a_word_and_says_so() -> None:
    assert shorten("word " * 30, limits.CONSERVATIVE.summary_chars) == ("word " * 20).rstrip() + "..."
    assert shorten("x" * 100, limits.CONSERVATIVE.summary_chars) == "x" * 100
    assert shorten("x" * 101, limits.CONSERVATIVE.summary_chars) == "x" * 100 + "..."


@given(st.text(max_size=900), st.sampled_from([limits.NORMAL, limits.SOFT_WARNING, limits.CONSERVATIVE]))
def test_a_cut_summary_is_a_beginning_of_it(summary: str, zone: Zone) -> None:
    cut = shorten(summary, zone.summary_chars)
    assert cut == summary or (cut.endswith("...") and summary.startswith(cut[:-3]))
    assert len(cut) <= zone.summary_chars + 3
