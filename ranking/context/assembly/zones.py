"""Zones: how full the conversation is, and what a block may hold there.

    usage = current_tokens / (model limit × (1 − safety margin))

    Normal       below 60 %   summaries of 400 characters, everything
    Soft_Warning from 60 %    summaries of 200, no passages
    Conservative from 75 %    summaries of 100, the highest priority level that has any
    Wrap-up      from 85 %    no packages
    Emergency    from 95 %    nothing

Source: the context assembler's specification, steps 2c and 5.
"""

from enum import Enum

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import shorten


class Zone(Enum):
    """A zone by its name in the output."""

    NORMAL = "Normal"
    SOFT_WARNING = "Soft_Warning"
    CONSERVATIVE = "Conservative"
    WRAP_UP = "Wrap-up"
    EMERGENCY = "Emergency"


_STARTS_AT_PERCENT = (
    (95.0, Zone.EMERGENCY),
    (85.0, Zone.WRAP_UP),
    (75.0, Zone.CONSERVATIVE),
    (60.0, Zone.SOFT_WARNING),
)
SUMMARY_CHARS = {
    Zone.NORMAL: 400,
    Zone.SOFT_WARNING: 200,
    Zone.CONSERVATIVE: 100,
    Zone.WRAP_UP: 60,
    Zone.EMERGENCY: 0,
}
# Only here is a delivery recorded: elsewhere an agent sees too little to count it as seen.
MARKING = (Zone.NORMAL, Zone.SOFT_WARNING)
WITH_PACKAGES = (Zone.NORMAL, Zone.SOFT_WARNING, Zone.CONSERVATIVE)


class Usage(NamedTuple):
    """How much of a model's context is used; tokens. `percent` is of the effective limit."""

    zone: Zone
    percent: float
    effective_limit: int
    remaining: int


def usage(model_limit: int, safety_margin: float, current_tokens: int) -> Usage:
    """The zone that a conversation of this many tokens is in."""
    effective = int(model_limit * (1 - safety_margin))
    percent = current_tokens / effective * 100 if effective > 0 else 0.0
    zone = next((zone for start, zone in _STARTS_AT_PERCENT if percent >= start), Zone.NORMAL)
    return Usage(zone, percent, effective, max(0, effective - current_tokens))


def truncated(summary: str, zone: Zone) -> str:
    """A summary cut at a word to what the zone allows, with `...` where something is missing."""
    return shorten(summary, SUMMARY_CHARS[zone])
