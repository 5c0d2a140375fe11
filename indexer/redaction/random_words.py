"""Words that look random, where a value or a part of a URL is expected: what the entropy modes take out."""

from functools import cache

from ctxrank.indexer.redaction.guards import compiled, looks_random

# A word long enough to be a key, and what precedes the value of one: `name=`, `"name": "`.
_LONG_WORD = r"(?<![A-Za-z0-9+/_~.-])[A-Za-z0-9+/_~.-]{20,}+={0,2}"
# Backwards, so that it is tried at one place: `=eman`, ` " : "eman"`.
_NAMED = r"""(?:["'`]\\{0,7})?[ \t]{0,4}(?:=:|>=|=|:)[ \t]{0,4}(?:["']\\{0,7})?[\w.-]{0,60}[A-Za-z_]"""
_NAMED_REACH = 80  # characters


def find_random(text: str) -> list[tuple[int, int]]:
    """The spans of words that look random, but only the value of a name or a part of a URL."""
    spans: list[tuple[int, int]] = []
    is_random = cache(looks_random)  # a word may be there many times
    for word in compiled(_LONG_WORD).finditer(text):
        start = word.start()
        if word[0].startswith("//") and text.startswith(":", start - 1):
            for part in word[0].split("/"):
                if is_random(part):
                    spans.append((start, start + len(part)))
                start += len(part) + 1
        elif is_random(word[0]) and compiled(_NAMED).match(text[max(0, start - _NAMED_REACH) : start][::-1]):
            spans.append(word.span())
    return spans
