r"""Values that only their vendor's name gives away: `ALGOLIA_KEY = "<32 letters and digits>"`.

vendor, up to 32 characters of a name, an operator, quotes, and a value in one of the vendor's formats
"""

import re
from functools import cache

from ctxrank.indexer.redaction.guards import Secret, compiled, entropy, found_at, is_stand_in, looks_like_key
from ctxrank.indexer.redaction.pieces import PIECES
from ctxrank.indexer.redaction.rules import VALUES, Rule

# The rest of the name and the operator. `commit`, `sha` and the like say that no secret follows.
_LINK = (
    r"(?i)(?P<name>[ \t\w.-]{0,32}+)[\s'\"\])]{0,3}+(?:(?<!\)[ ])=>|:{1,3}=|\|\||[=>:,]|\?=)"
    r"(?=[`'\"\s=]{0,5}+[\w./%+=:-]{8})"
)
_NOT_SECRET_NAME = (
    r"(?i).*(?:^|[_\W])(?:commit|sha\d*|md5|hash|digest|rev|revision|checksum|etag|integrity|uuid|trace|span)"
    # author and authors, a file's name (auth.js: …), a version (auth v1.2.0 h1:…)
    r"|or|.*\.[a-z]{1,5}\d?\Z|.*[ \t]v?\d+\.\d"
)
_DIGEST = r"(?i)(?:sha\d{1,3}|md5|h1)[-:_]"
_DIGIT = r"(?=[^\s'\"`;]{0,80}?\d)"  # a word has none
_END = r"(?:(?=[`'\"\s;,)\]}<&]|\\[nrt\"']|\Z))"


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
    link = compiled(_LINK).match(text, place + len(vendor))
    near = text[max(0, place - _CHARS_BEFORE) : place]
    if link is None or compiled(_NOT_SECRET_NAME).match(link["name"]) or compiled(PIECES["NO_NAME"]).match(near):
        return None
    for value, pattern in _patterns(vendor):
        match = pattern.match(text, link.end())
        if (
            match
            and not compiled(_DIGEST).match(match["secret"])
            and entropy(match["secret"]) >= value.least_entropy
            and looks_like_key(match["secret"])
            and not is_stand_in(text, match.start("secret"))
        ):
            return Secret(*match.span("secret"), f"[REDACTED:{value.name}]", value.name)
    return None


@cache
def _patterns(vendor: str) -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    return tuple(
        (value, compiled(rf"(?i)[`'\"\s=]{{0,5}}(?P<secret>{_DIGIT}{value.pattern}){_END}"))
        for value in vendors()[vendor]
    )
