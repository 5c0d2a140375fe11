"""Time as the store keeps it: microseconds since 1970, UTC, in one integer.

now_us()                             1795299000123456
format_us(1795299000123456)          "2026-11-21T22:10:00.123456Z"
parse_time("7d", now=now_us())       seven days before now
parse_time("2026-11-21", now=...)    midnight UTC of that day
age_us("12h")                        43200000000
"""

import time

from ctxrank.indexer.exceptions import UsageError

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE_DIGITS = 6


def now_us() -> int:
    """The present, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def format_us(moment_us: int) -> str:
    """ISO 8601 in UTC with a trailing Z; the microseconds are left out where they are zero."""
    seconds, micros = divmod(moment_us, SECOND_US)
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{micros:06d}Z" if micros else f"{text}Z"


def format_day(moment_us: int) -> str:
    """The UTC day alone, `2026-11-21`: what a block shows, so that its bytes do not change by the hour."""
    return time.strftime("%Y-%m-%d", time.gmtime(moment_us // SECOND_US))


def parse_time(text: str, *, now: int) -> int:
    """A moment from an age (`7d`, `12h`, `30m`), a date, or an ISO 8601 time; without a zone it is UTC.

    Raises UsageError, which names the forms.
    """
    age = age_us(text)
    if age is not None:
        return now - age
    from datetime import UTC, datetime  # noqa: PLC0415  start-up: 2 ms of start-up that only a date needs

    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(
            f"'{text}' is not a time.",
            "Give an age (30m, 12h, 7d, 2w), a date (2026-11-21) or an ISO time (2026-11-21T14:00:00Z).",
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.replace(microsecond=0).timestamp()) * SECOND_US + moment.microsecond


def age_us(text: str) -> int | None:
    """How long an age (`7d`, `12h`, `30m`) is; None for a text that is none."""
    age = text.strip().lower()
    digits, unit = age[:-1], age[-1:]
    is_age = digits.isdecimal() and len(digits) <= _AGE_DIGITS and unit in _UNITS_S
    return int(digits) * _UNITS_S[unit] * SECOND_US if is_age else None
