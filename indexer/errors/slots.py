"""Places in messages where a name or a type is written without quotes: found by the words around it, and quoted.

    with_quoted_slots("undefined: file")                  ->  "undefined: `file`"
    with_quoted_slots("count declared and not used")      ->  "`count` declared and not used"

Go, javac, PostgreSQL, shells and Node write names bare, and a bare name may be any word. Tools that quote are not
touched.
"""

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import signed_rows
from ctxrank.indexer.light_typing import cache

_QUOTES = frozenset("`'\"\u2018\u2019\u201c\u201d")


_slots = cache(lambda: signed_rows("slots"))


def with_quoted_slots(message: str) -> str:
    """The message with the names in known places quoted."""
    for signs, pattern in _slots():
        if not any(sign in message for sign in signs):
            continue
        spans = [
            span
            for match in kept.compiled(pattern).finditer(message)
            for name in match.groupdict()
            if (span := match.span(name)) != (-1, -1) and not _QUOTES & set(message[span[0] : span[1]])
        ]
        for start, end in sorted(spans, reverse=True):
            message = f"{message[:start]}`{message[start:end]}`{message[end:]}"
    return message
