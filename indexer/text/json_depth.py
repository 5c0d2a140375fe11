"""How deep lists and objects of a JSON text lie in each other: what is deep takes long to read."""

import re

MAX_DEPTH = 100
_STRING = re.compile(r'"(?>(?>(?:[^"\\]++|\\.){1,500})*)"?', re.DOTALL)
_ALIKE = {ord("{"): "[", ord("}"): "]"}
_NO_BRACKET = re.compile(r"[^][{}]+")


def is_deep(text: str, limit: int = MAX_DEPTH) -> bool:
    """Whether a text nests deeper than that, or never closes what it opens; what stands in strings does not count."""
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text)).translate(_ALIKE)
    for _ in range(limit):  # each takes the innermost level away
        shorter = brackets.replace("[]", "")
        if shorter == brackets:
            break
        brackets = shorter
    return bool(brackets)
