"""The query language: text in, a small frozen tree out, and no text is a syntax error.

    retry timeout               plain words: any of them may match, more and rarer ones rank higher
    "connection reset"          a phrase, which must occur; a doubled quote inside it is one quote
    -flaky  -"known issue"      must not occur
    migrat*  "schema migrat"*   the last word is a prefix
    title:retry body:"a b"      only in that column
    kind:error group:AUTH-1     filters; a value may be quoted, a repeated field collects

Field names are lower case, and only the known ones are fields. All other text with a colon is plain
words, so a pasted URL, `std::vector`, `error:`, `path::join` or `12:30` means itself. So do `->` and
`--flag`, and a quote that is never closed is left out as if it had not been typed.

The tree prints back to text that parses to the same tree: `parse_query(str(query)) == query`.
"""

import re
from typing import NamedTuple

COLUMNS = ("title", "body")
FILTER_FIELDS = ("kind", "session", "group", "agent", "type", "priority", "phase", "path", "since", "until")

# Controls cannot be typed, NUL would end an FTS5 expression, and a lone surrogate has no UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")

_SPACE = re.compile(r"\s*+")

# What comes before a term: a minus that is no dash, arrow or operator, then perhaps a field that is not
# the first half of `path::join` or `path://x` and has something after it.
_HEAD = re.compile(rf"(-(?=[^\s>=-]))?(?:({'|'.join(COLUMNS + FILTER_FIELDS)}):(?!:|//|\s|\Z))?")

_WORD = re.compile(r"\S++")

# A term made of these alone says nothing.
_MARKS = '-*"'


class Term(NamedTuple):
    """What to look for: a word or a phrase, as typed but without its marks.

    `column` is '' for any column, else one of COLUMNS. A word may still be several tokens (`a-b`): cutting
    it is the tokenizer's work.
    """

    text: str
    is_phrase: bool = False
    is_prefix: bool = False
    column: str = ""

    def __str__(self) -> str:
        column = f"{self.column}:" if self.column else ""
        text = _quoted(self.text) if self.is_phrase else self.text
        return f"{column}{text}{'*' if self.is_prefix else ''}"


class Filter(NamedTuple):
    """Where to look: a field of FILTER_FIELDS and the value it must have, exactly as typed."""

    field: str
    value: str

    def __str__(self) -> str:
        is_bare = _WORD.fullmatch(self.value) and not self.value.startswith(('"', ":", "//"))
        return f"{self.field}:{self.value if is_bare else _quoted(self.value)}"


class Query(NamedTuple):
    """A whole query; each part keeps the order in which it was typed."""

    terms: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing to look for: filters may narrow a search and exclusions thin it, but neither starts one."""
        return not self.terms

    def __str__(self) -> str:
        excluded = (f"-{term}" for term in self.excluded)
        return " ".join([*map(str, self.terms), *excluded, *map(str, self.filters)])


def parse_query(text: str) -> Query:
    """The tree that any text stands for; linear in its length, and it never raises."""
    text = _UNPRINTABLE.sub(" ", text)
    terms: list[Term] = []
    excluded: list[Term] = []
    filters: list[Filter] = []
    at = _skip(_SPACE, text, 0)
    while at < len(text):
        head = _HEAD.match(text, at)
        assert head is not None  # each part of it is optional
        is_excluded = head[1] is not None
        field = head[2] or ""
        start = head.end()
        if is_excluded and field in FILTER_FIELDS:  # the tree has no negative filter: these are words
            field, start = "", at + 1
        is_phrase = text.startswith('"', start)
        if is_phrase:
            end = _closing_quote(text, start + 1)
            if end < 0:
                # Take the quote out and read this term again. Happens once: every run of quotes after
                # an unclosed one is even, and an even run closes itself.
                text = text[at:start] + text[start + 1 :]
                at = _skip(_SPACE, text, 0)
                continue
            body = text[start + 1 : end].replace('""', '"')
            end += 1
        else:
            end = _skip(_WORD, text, start)
            body = text[start:end]
        if field in FILTER_FIELDS:
            if body:
                filters.append(Filter(field, body))
        else:
            if is_phrase:
                is_prefix = text.startswith("*", end)
                end += is_prefix
            else:
                is_prefix = body.endswith("*")
                body = body.rstrip("*")
            if body.strip(_MARKS).strip():
                (excluded if is_excluded else terms).append(Term(body, is_phrase, is_prefix, field))
        at = _skip(_SPACE, text, end)
    return Query(tuple(terms), tuple(excluded), tuple(filters))


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a match of the pattern at this place ends; the place itself if there is none."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _closing_quote(text: str, at: int) -> int:
    """The place of the next quote that is not doubled, or -1."""
    end = text.find('"', at)
    while end >= 0 and text.startswith('"', end + 1):
        end = text.find('"', end + 2)
    return end


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
