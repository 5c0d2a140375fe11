"""The values of a Kubernetes secret: what stands under `data:` of a manifest that says `kind: Secret`."""

from ctxrank.indexer.redaction_guards import compiled

ANCHOR = "data:"

_KIND = r"(?i)\bkind[\"']?:[ \t]{0,8}[\"']?secret\b"
_KIND_REACH = 300  # characters, to either side
_FIRST_REACH = 120
_NAME = r"\s[\w.-]{1,100}+:(?:[ \t]{0,8}(?:\||>[-+]?)\s{1,8})?[ \t]{0,8}[\"']?"
_PAIR = rf"(?i){_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})"
_NEXT = rf"(?i)[\"']?[\s]{{0,40}}{_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})"


def find_kubernetes(text: str, places: list[int]) -> list[tuple[int, int]]:
    """Where the values stand, given the places of the anchor."""
    spans: list[tuple[int, int]] = []
    done = 0
    for place in places:
        start = place + len(ANCHOR)
        if place < done or not compiled(_KIND).search(text, max(0, place - _KIND_REACH), start + _KIND_REACH):
            continue
        match = compiled(_PAIR).search(text, start, start + _FIRST_REACH)
        if match:  # the reach may have cut it
            match = compiled(_PAIR).match(text, match.start())
        while match:
            spans.append(match.span("secret"))
            done = match.end()
            match = compiled(_NEXT).match(text, done)
    return spans
