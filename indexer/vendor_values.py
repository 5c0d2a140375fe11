r"""Values that only their vendor's name gives away: `ALGOLIA_KEY = "<32 letters and digits>"`.

vendor, up to 32 characters of a name, an operator, quotes, and a value in one of the vendor's formats
"""

from functools import cache

from ctxrank.indexer.credential_formats import VALUES, Value
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.redaction_guards import compiled, entropy, is_dense, looks_like_key


class VendorValue(NamedTuple):
    """Where a vendor's secret stands, and the format it has."""

    start: int
    end: int
    id: str


# The rest of the name and the operator. `commit`, `sha` and the like say that no secret follows.
_LINK = (
    r"(?i)(?P<name>[ \t\w.-]{0,32}+)[\s'\"\])]{0,3}+(?:=>|:{1,3}=|\|\||[=>:,]|\?=)"
    r"(?=[`'\"\s=]{0,5}+[\w./%+=:-]{8})"
)
_NOT_SECRET_NAME = (
    r"(?i).*(?:^|[_\W])(?:commit|sha\d*|md5|hash|digest|rev|revision|checksum|etag|integrity|uuid|trace|span)"
)
_DIGIT = r"(?=[^\s'\"`;]{0,80}?\d)"  # a word has none
_END = r"(?:(?=[`'\"\s;,)\]}<&]|\\[nrt\"']|\Z))"


@cache
def vendors() -> dict[str, tuple[Value, ...]]:
    """For each name of a vendor, in lower case, the formats of its values."""
    formats: dict[str, tuple[Value, ...]] = {}
    for value in VALUES:
        for vendor in value.vendors.split():
            formats[vendor] = (*formats.get(vendor, ()), value)
    return formats


def find_vendor_values(text: str, vendor: str, places: list[int]) -> list[VendorValue]:
    """The secrets behind a vendor's name, given where it stands."""
    found: list[VendorValue] = []
    link_at = compiled(_LINK).match
    rejected: set[str] | None = set() if is_dense(places, text) else None
    for place in places:
        surroundings = "" if rejected is None else text[place : place + _REACH]
        if rejected is not None and surroundings in rejected:
            continue
        link = link_at(text, place + len(vendor))
        if link is None or compiled(_NOT_SECRET_NAME).match(link["name"]):
            if rejected is not None:
                rejected.add(surroundings)
            continue
        for value in vendors()[vendor]:
            pattern = rf"(?i)[`'\"\s=]{{0,5}}(?P<secret>{_DIGIT}{value.pattern}){_END}"
            match = compiled(pattern).match(text, link.end())
            if match and entropy(match["secret"]) >= value.least_entropy and looks_like_key(match["secret"]):
                found.append(VendorValue(*match.span("secret"), value.id))
                break
        else:
            if rejected is not None:
                rejected.add(surroundings)
    return found


_REACH = 480  # the longest name, link and value together
