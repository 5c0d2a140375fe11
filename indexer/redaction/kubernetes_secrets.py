"""The values of a Kubernetes secret: the entries under `data:` of a manifest that says `kind: Secret`."""

import re

from ctxrank.indexer.redaction.guards import Secret, compiled, is_stand_in

ANCHOR = "data:"
_RULE = "kubernetes-secret-yaml"

_KIND = r"(?i)\bkind[\"']?:[ \t]{0,8}[\"']?secret\b"
_KIND_REACH = 300  # characters, to either side
_FIRST_REACH = 120
_LEAST_CHARS = 10  # of a value
_NAME = r"\s(?!(?:kind|type):)[\w.-]{1,100}+:(?:[ \t]{0,8}(?:\||>[-+]?)\s{1,8})?[ \t]{0,8}[\"']?"
_PAIR = rf"(?i){_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})(?![\w.-])"
_NEXT = rf"(?i)[\"']?(?!\s{{0,40}}\n[a-z])\s{{0,40}}{_NAME}(?P<secret>[a-z0-9+/]{{10,}}+={{0,3}})(?![\w.-])"


def find_kubernetes(text: str, lower: str, places: list[int]) -> list[Secret]:
    """The spans of the values, given the places of the anchor, in order. Nothing is searched through twice."""
    found: list[Secret] = []
    done = 0
    kind = _next_kind(text, lower, places[0] - _KIND_REACH) if places else None
    pair: re.Match[str] | None = None
    for place in places:
        start = place + len(ANCHOR)
        if place < done or lower.startswith("meta", place - 4):
            continue
        while kind and kind.start() < place - _KIND_REACH:
            kind = _next_kind(text, lower, max(kind.end(), place - _KIND_REACH))
        if kind is None:
            break
        if kind.end() > start + _KIND_REACH:
            continue
        if pair is None or pair.start() < start:
            pair = compiled(_PAIR).search(text, start)
        if pair is None:
            break
        match = pair if pair.start("secret") + _LEAST_CHARS <= start + _FIRST_REACH else None
        while match:
            if not is_stand_in(text, match.start("secret")):
                found.append(Secret(*match.span("secret"), f"[REDACTED:{_RULE}]", _RULE))
            done = match.end()
            match = compiled(_NEXT).match(text, done)
    return found


def _next_kind(text: str, lower: str, start: int) -> re.Match[str] | None:
    """The first `kind: secret` from there on; its first word is looked for alone, which is a hundred times as fast."""
    at = lower.find("kind", max(0, start))
    while at >= 0:
        if match := compiled(_KIND).match(text, at):
            return match
        at = lower.find("kind", at + 1)
    return None
