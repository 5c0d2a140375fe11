"""The values of a Kubernetes secret: the entries under `data:` of a manifest that says `kind: Secret`."""

from ctxrank.indexer.redaction.guards import Secret, compiled, is_stand_in

ANCHOR = "data:"
_RULE = "kubernetes-secret-yaml"

_KIND = r"\bkind[\"']?:[ \t]{0,8}[\"']?secret\b"
_KIND_REACH = 300  # characters, to either side
_FIRST_REACH = 120
_NAME = r"\s(?!(?:kind|type):)[\w.-]{1,100}+:(?:[ \t]{0,8}(?:\||>[-+]?)\s{1,8})?[ \t]{0,8}[\"']?"
_PAIR = rf"(?i){_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})(?![\w.-])"
_NEXT = rf"(?i)[\"']?(?!\s{{0,40}}\n[a-z])\s{{0,40}}{_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})(?![\w.-])"


def find_kubernetes(text: str, lower: str, places: list[int]) -> list[Secret]:
    """The spans of the values, given the places of the anchor, in order."""
    found: list[Secret] = []
    for place in places:
        around = lower[max(0, place - _KIND_REACH) : place + _KIND_REACH]
        if "kind" not in around or compiled(_KIND).search(around) is None or lower.startswith("meta", place - 4):
            continue
        if found and place < found[-1].end:
            continue
        start = place + len(ANCHOR)
        first = compiled(_PAIR).search(text, start, start + _FIRST_REACH)
        match = compiled(_PAIR).match(text, first.start()) if first else None
        while match:
            if not is_stand_in(text, match.start("secret")):
                found.append(Secret(*match.span("secret"), f"[REDACTED:{_RULE}]", _RULE))
            match = compiled(_NEXT).match(text, match.end())
    return found
