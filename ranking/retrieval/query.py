"""The query language: text in, a small frozen tree out, and no text is a syntax error.

    retry timeout               plain words: any of them may match, more and rarer ones rank higher
    "connection reset"          a phrase, which must occur; a doubled quote inside it is one quote
    -flaky  -"known issue"      must not occur
    migrat*  "schema migrat"*   the last word is a prefix
    title:retry body:"a b"      only in that column
    kind:error group:AUTH-1     filters; a value may be quoted, a repeated field collects
    -path:docs/ru/* -kind:error what is filtered out

Field names are lower case, and only the known ones are fields. All other text with a colon is plain
words, so a pasted URL, `std::vector`, `error:`, `path::join` or `12:30` means itself. So do `->` and
`--flag`. A phrase begins where a word does and ends where one does: in `f(self, "x")` the quotes are text,
and so is one that is never closed.

What was pasted is no query: see `is_pasted`. The tree prints back to text that parses to the same tree:
`parse_query(str(query)) == query`.
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import searchable
from ctxrank.indexer.text.tables import rows

COLUMNS = ("title", "body")
FILTER_FIELDS = ("kind", "session", "group", "agent", "type", "priority", "phase", "path", "origin", "since", "until")

_FIELDS = frozenset(COLUMNS + FILTER_FIELDS)

# Controls cannot be typed, NUL would end an FTS5 expression, and a lone surrogate has no UTF-8.
_UNPRINTABLE = (range(0x20), range(0x7F, 0x80), range(0xD800, 0xE000))

# A call, an index or a block with a quote in it; an assignment; a statement's end; a call that ends the line.
_CODE = (
    r"""\w[(\[{][^)\]}]{0,200}["'][^"']{0,200}["']|[(\[{]["'][^"']{0,200}["'][,:)\]}]"""
    r"""|\s[-+*/|&]?=\s|;\s*$|\w\([^\n]{0,200}\)\s*[:{]?\s*$"""
)
# A line of code has one of these; the pattern is compiled by the first text that does.
_CODE_MARKS = frozenset("([{;=")
_CODE_CHARS = 1000  # of a text that are looked at

_TYPED_WORDS = 32  # nobody types more than that with operators

_SHOWN_CHARS = 400  # of a query, in an answer

# Of a query. What failed stands at the end of an output, what was done at its beginning.
MAX_QUERY_CHARS = 32_768
# A longer word is machine text and no typing mistake: it is looked up as it is and by its written parts, and nothing
# else stands in for it. What is tried for a word grows with the square of its length.
MAX_CORRECTED_CHARS = 64

# A term made of these alone says nothing.
_MARKS = '-*"'
_PUNCTUATION = ".,;:?!()"

STOPWORDS = frozenset(word for (line,) in rows(__file__, "stopwords") for word in line.split())
# A sentence has so many words, of which this share are stop words: of 121 questions in prose each has, of lists of
# words and calls nearly none (benchmarks/typed).
_LEAST_SENTENCE = 4
SENTENCE_SHARE = 1 / 3


# What an unfinished word is completed with before it is stemmed: the index holds `authent`, which does not
# begin with `authenticat`. Each is looked up, so a completion that is no word costs 5 µs and does no harm.
COMPLETIONS = (
    "", "d", "e", "s", "n", "g", "r", "y", "ed", "er", "es", "al", "ic", "on", "or", "ly", "ion", "ing", "ive",
    "ity", "ous", "ble", "ance", "ence", "able", "ment", "ness", "tion", "ation", "ization",
)  # fmt: skip
# What German writes between the parts of a compound.
LINKERS = ("", "s", "es", "n", "en", "er")


class Term(NamedTuple):
    """What to look for: a word or a phrase, as typed but without its marks.

    `column` is '' for any column, else one of COLUMNS. A word may still be several tokens (`a-b`): cutting
    it is the tokenizer's work.
    """

    text: str
    is_phrase: bool = False
    is_prefix: bool = False
    column: str = ""
    times: int = 1  # how often it is asked for there

    @property
    def is_plain(self) -> bool:
        """Whether it is one word as a whole, for any column."""
        return not (self.is_phrase or self.is_prefix or self.column)

    def __str__(self) -> str:
        column = f"{self.column}:" if self.column else ""
        text = _quoted(self.text) if self.is_phrase else self.text
        return f"{column}{text}{'*' if self.is_prefix else ''}"


class Filter(NamedTuple):
    """Where to look: a field of FILTER_FIELDS and the value it must have, or may not have, exactly as typed."""

    field: str
    value: str
    is_excluded: bool = False

    def __str__(self) -> str:
        is_bare = not any(map(str.isspace, self.value)) and not self.value.startswith(('"', ":", "//"))
        return f"{'-' * self.is_excluded}{self.field}:{self.value if is_bare else _quoted(self.value)}"


class Query(NamedTuple):
    """A whole query; each part keeps the order in which it was typed."""

    terms: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def may_ask_too_much(self) -> bool:
        """Whether a phrase must, or something may not, occur: what finds nothing then may find something as words."""
        return bool(self.excluded) or any(term.is_phrase for term in self.terms)

    @property
    def is_sentence(self) -> bool:
        """Whether it is put in words as people speak, and no list of keywords: by its share of stop words."""
        is_long = len(self.terms) >= _LEAST_SENTENCE
        return is_long and all(term.is_plain for term in self.terms) and self.stop_share >= SENTENCE_SHARE

    @property
    def stop_share(self) -> float:
        """How many of its words say nothing."""
        words = [term.text.lower().strip(_PUNCTUATION).partition("'")[0] for term in self.terms]
        return sum(word in STOPWORDS for word in words) / len(words) if words else 0.0

    def as_plain_words(self) -> "Query":
        """The same where nothing must and nothing may not occur; the filters stay."""
        words = [Term(word, column=term.column) for term in (*self.terms, *self.excluded) for word in term.text.split()]
        return Query(tuple(words), filters=self.filters)

    def __str__(self) -> str:
        excluded = (f"-{term}" for term in self.excluded)
        return " ".join([*map(str, self.terms), *excluded, *map(str, self.filters)])


class TermKey(NamedTuple):
    """One token of a query, before it is looked up; `term` is as the index holds it, a prefix as it was typed."""

    term: str
    is_prefix: bool
    column: str


class Token(NamedTuple):
    """A token and its position in the query."""

    surface: str
    key: TermKey
    position: int  # in tokens, and far from the last one where a sentence ended between them
    typed: int  # the place of the query's term that it is from: words that were typed as one name have the same
    is_known: bool = False  # to the index
    is_name: bool = False  # typed as one name, joined by nothing but `_`


def parse_query(text: str) -> Query:
    """Parse any text into its tree; linear in its length, and it never raises."""
    text = searchable(text)
    if not text.isprintable():
        text = text.translate({code: " " for codes in _UNPRINTABLE for code in codes})
    terms: list[Term] = []
    excluded: list[Term] = []
    filters: list[Filter] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        while at < len(text) and not text[at].isspace():
            at += 1
        # No dash, no `--flag`, no arrow and no operator.
        is_excluded = text[start] == "-" and text[start + 1 : at][:1] not in ("", "-", ">", "=")
        field, _, body = text[start + is_excluded : at].partition(":")
        if field not in _FIELDS or body[:1] in ("", ":") or body[:2] == "//":  # `path::join`, `path://x`
            field, body = "", text[start + is_excluded : at]
        is_phrase = body.startswith('"')
        if is_phrase:
            quote = at - len(body)
            end = _closing_quote(text, quote + 1)
            if end < 0:
                # No phrase: the word is read again without the quotes before it.
                word = parse_query(text[start:quote] + body.lstrip('"'))
                terms += word.terms
                excluded += word.excluded
                filters += word.filters
                continue
            body, at = text[quote + 1 : end].replace('""', '"'), end + 1
        if field in FILTER_FIELDS:
            if body:
                filters.append(Filter(field, body, is_excluded))
            continue
        is_prefix = text.startswith("*", at) if is_phrase else body.endswith("*")
        if is_phrase:
            at += is_prefix
        else:
            body = body.rstrip("*")
        if body.strip(_MARKS).strip():
            (excluded if is_excluded else terms).append(Term(body, is_phrase, is_prefix, field))
    return Query(tuple(terms), tuple(excluded), tuple(filters))


def bounded_text(text: str) -> str:
    """What is asked of a text: all that a person sees of it, or the beginning and the end where that is too much."""
    if "\x1b" in text:
        from ctxrank.indexer.text.escapes import without_escapes  # noqa: PLC0415  start-up: only pasted output has them

        text = without_escapes(text)
    if len(text) <= MAX_QUERY_CHARS:
        return text
    half = MAX_QUERY_CHARS // 2
    return " ".join((*text[:half].rsplit(maxsplit=1)[:1], *text[-half:].split(maxsplit=1)[-1:]))  # of blanks nothing


def plain_query(text: str, max_words: int = MAX_QUERY_CHARS) -> Query:
    """A text of any length as words alone: nothing in a description is a filter, an exclusion or a must."""
    words = searchable(bounded_text(text)).split(maxsplit=max_words)
    return Query(tuple(Term(word) for word in words[:max_words]))


def is_pasted(text: str) -> bool:
    """Whether a text was pasted and not typed: it has several lines, is one line of code, or a whole paragraph.

    Its quotes and minus signs are then its own. `f(self, "x")` is code; `"connection reset" (http)` is not.
    """
    text = text.strip()
    return "\n" in text or len(text.split(maxsplit=_TYPED_WORDS)) > _TYPED_WORDS or is_line_of_code(text)


def is_line_of_code(text: str) -> bool:
    """Whether a text is one line of code, as far as its marks tell."""
    text = text.strip()
    if _CODE_MARKS.isdisjoint(text) or "\n" in text:
        return False
    import re  # noqa: PLC0415  start-up: plain words need no pattern

    return bool(re.search(_CODE, text[:_CODE_CHARS].strip()))


def shown_query(query: Query) -> str:
    """The query as an answer repeats it: the beginning of a very long one."""
    text = str(query)
    if len(text) <= _SHOWN_CHARS:
        return text
    return f"{text[:_SHOWN_CHARS].rsplit(' ', 1)[0]} … ({len(text):,} characters)"


def shown_word(word: str) -> str:
    """A word of a query as an answer repeats it: the beginning of a very long one."""
    return word if len(word) <= MAX_CORRECTED_CHARS else f"{word[: MAX_CORRECTED_CHARS - 1]}…"


def _closing_quote(text: str, at: int) -> int:
    """The place of the quote that closes a phrase, or -1: the next that is not doubled, if a word ends there."""
    end = text.find('"', at)
    while end >= 0 and text.startswith('"', end + 1):
        end = text.find('"', end + 2)
    following = text[end + 1 : end + 3]
    ends_word = not following or following[0].isspace() or (following[0] == "*" and not following[1:].strip())
    return end if ends_word else -1


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
