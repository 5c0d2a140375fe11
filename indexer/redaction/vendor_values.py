r"""Values that only their vendor's name gives away: `ALGOLIA_KEY = "<32 letters and digits>"`.

vendor, up to 32 characters of a name, an operator, quotes, and a value in one of the vendor's formats
"""

import re
from functools import cache

from ctxrank.indexer.redaction.guards import Secret, compiled, entropy, found_at, is_stand_in, looks_like_key
from ctxrank.indexer.redaction.pieces import PIECES
from ctxrank.indexer.redaction.rules import VALUES, Rule


@cache
def vendors() -> dict[str, tuple[Rule, ...]]:
    """For each name of a vendor, in lower case, the formats of its values."""
    formats: dict[str, tuple[Rule, ...]] = {}
    for value in VALUES:
        for vendor in value.anchors:
            formats[vendor] = (*formats.get(vendor, ()), value)
    return formats


def find_vendor_values(text: str, vendor: str, places: list[int]) -> list[Secret]:
    """The secrets behind a vendor's name, given the name's place."""
    return list(found_at(text, places, _CHARS_BEFORE, _REACH, lambda place: _value(text, vendor, place)))


_CHARS_BEFORE = 40
_REACH = 480  # the longest name, link and value together


def _value(text: str, vendor: str, place: int) -> Secret | None:
    link = compiled(PIECES["VENDOR_LINK"]).match(text, place + len(vendor))
    if link is None or compiled(PIECES["NO_SECRET_NAME"]).match(link["name"]):
        return None
    if compiled(PIECES["NO_NAME"]).search(text[max(0, place - _CHARS_BEFORE) : place]):
        return None
    for value, pattern in _patterns(vendor):
        match = pattern.match(text, link.end())
        if (
            match
            and not compiled(PIECES["DIGEST"]).match(match["secret"])
            and entropy(match["secret"]) >= value.least_entropy
            and looks_like_key(match["secret"])
            and not is_stand_in(text, match.start("secret"))
        ):
            return Secret(*match.span("secret"), f"[REDACTED:{value.name}]", value.name)
    return None


@cache
def _patterns(vendor: str) -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    begin, end = PIECES["VENDOR_VALUE"], PIECES["VENDOR_END"]
    return tuple((value, compiled(f"{begin}{value.pattern}{end}")) for value in vendors()[vendor])
