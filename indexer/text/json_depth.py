"""How deep lists and objects of a JSON text lie in each other: what is deep takes long to read."""

from ctxrank.indexer.bounds import MAX_DEPTH

_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_deep(text: str, limit: int = MAX_DEPTH) -> bool:
    """Whether a text nests deeper than that, or never closes what it opens; what stands in strings does not count."""
    if text.count("[") + text.count("{") <= limit:
        return False
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    brackets = "".join(outside).encode("utf-8", "replace").translate(_ALIKE, _NO_BRACKETS)
    for _ in range(limit):  # each takes the innermost level away
        shorter = brackets.replace(b"[]", b"")
        if shorter == brackets:
            break
        brackets = shorter
    return bool(brackets)
