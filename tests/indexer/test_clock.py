"""Moments and ages as a user writes and reads them."""

import pytest
from tables import each_row

from ctxrank.indexer.clock import DAY_US, SECOND_US, age_us, format_day, format_us, now_us, parse_time
from ctxrank.indexer.exceptions import UsageError

_NOON = 1_795_262_400 * SECOND_US  # 2026-11-21T12:00:00Z


@each_row(
    "text, seconds",
    [
        ("1s", 1),
        ("30m", 1800),
        ("12h", 43_200),
        ("7d", 604_800),
        (" 2W ", 1_209_600),
        ("0d", 0),
        ("999999s", 999_999),
        *((wrong, None) for wrong in ("", "d", "7", "7x", "-7d", "1.5d", "1000000s", "7 d", "d7", "7dd")),
    ],
)
def test_an_age_is_digits_and_a_unit(text: str, seconds: int | None) -> None:
    assert age_us(text) == (None if seconds is None else seconds * SECOND_US)


@each_row(
    "text, moment_us",
    [
        ("7d", _NOON - 7 * DAY_US),
        ("2026-11-21", _NOON - DAY_US // 2),
        ("2026-11-21T12:00:00Z", _NOON),
        ("2026-11-21T12:00:00", _NOON),
        (" 2026-11-21T13:30:00+01:30 ", _NOON),
        ("2026-11-21T12:00:00.000123", _NOON + 123),
        ("1969-12-31T23:59:59.5", -SECOND_US // 2),
    ],
)
def test_a_time_is_an_age_a_date_or_iso_and_utc_without_a_zone(text: str, moment_us: int) -> None:
    assert parse_time(text, now=_NOON) == moment_us


@each_row("text", ["", "soon", "21.11.2026", "2026-13-01", "7 days"])
def test_another_time_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_time(text, now=_NOON)
    assert "is not a time" in refused.value.message and "12h" in (refused.value.hint or "")


@each_row(
    "moment_us, shown",
    [
        (_NOON, "2026-11-21T12:00:00Z"),
        (_NOON + 7, "2026-11-21T12:00:00.000007Z"),
        (0, "1970-01-01T00:00:00Z"),
        (_NOON + SECOND_US - 1, "2026-11-21T12:00:00.999999Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
    ],
)
def test_a_moment_is_shown_as_it_is_read(moment_us: int, shown: str) -> None:
    assert format_us(moment_us) == shown and parse_time(shown, now=0) == moment_us
    assert format_day(moment_us) == shown[:10]


def test_now_is_in_microseconds_since_1970() -> None:
    first = now_us()
    assert format_us(first)[:2] == "20" and 0 <= now_us() - first < 60 * SECOND_US
