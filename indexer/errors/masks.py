"""A message reduced to its template: what changes from one occurrence to the next becomes a placeholder.

    masked("cannot find 'x' in src/a.c:12").words   ->  ("cannot", "find", "<v>", "in", "<path>")
    masked("cannot find 'x' in src/a.c:12").values  ->  ("x", "src/a.c")

Quoted words of a programming language stay ("'async' modifier"), unless a noun before them says that a name or type
is quoted ("type 'null'"). Plurals and articles are levelled, so that "1 argument was" and "2 arguments were" agree.
"""

import functools
import re
from collections.abc import Iterator

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.frames import last_part
from ctxrank.indexer.errors.parse.tables import Expressions, listed, rows, signed_rows, words
from ctxrank.indexer.errors.vocabulary import is_mistyped
from ctxrank.indexer.light_typing import NamedTuple

MAX_WORDS = 60
_MAX_VALUE = 120
_MAX_SYNTAX = 24
_LEAST_SAID = 4  # spaces between double quotation marks, from which they hold a sentence and no value
QUOTES = "`'\"\u201c\u201d\u2018\u2019\u00ab\u00bb"


class Masked(NamedTuple):
    """A template as words and placeholders, and what was masked, in order."""

    words: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """The template as one line."""
        return " ".join(self.words)


KEYWORDS = words("keywords")
_VALUE_NOUNS = listed("value nouns")
# And before these: any keyword can be meant.
_SAID_OF_NAMES = (" is a reserved", " is a keyword", " is reserved", ", which is reserved", " is not a valid name")

_TOKENS = Expressions("masks")
_PLACES_IN_TEXT = listed("places in text")
_LEVELLED = dict(rows("levelled"))
_SINGLE_LETTER_WORDS = frozenset("ai")
_PLACEHOLDERS = {"path": "<path>", "url": "<url>", "number": "<num>"}


@functools.lru_cache(maxsize=512)
def masked(message: str) -> Masked:
    """The template of a message and the values that were taken out of it; bounded by MAX_WORDS."""
    words: list[str] = []
    values: list[str] = []
    for match in tokens(message):
        kind, token = str(match.lastgroup), match[0]
        if kind == "quoted" and token[0] == '"' and token.count(" ") >= _LEAST_SAID:
            said = masked(token[1:-1])
            words += said.words
            values += said.values
            continue
        is_named = match.string.startswith(_SAID_OF_NAMES, match.end())
        word = _placeholder(kind, token, "name" if is_named else words[-1] if words else "", values)
        # A list of values is as long as it happens to be.
        is_next = word == "<v>" and (words[-1:] == ["<v>"] or words[-2:] in (["<v>", "or"], ["<v>", "and"]))
        if word and not is_next:
            words.append(word)
        if len(words) >= MAX_WORDS:
            break
    return Masked(tuple(words), tuple(values[:MAX_WORDS]))


def tokens(message: str) -> Iterator[re.Match[str]]:
    """The words and values of a message, each with its kind as the match's last group."""
    message = _TOKENS["aside"].sub("", message)
    if message.startswith("expected "):
        message = _TOKENS["found token"].sub(r"\1", message)
    return _TOKENS["token"].finditer(with_quoted_slots(message))


def with_quoted_slots(message: str) -> str:
    """The message with the names quoted that it has in known places without quotes, found by the words around them.

    with_quoted_slots("undefined: file")                  ->  "undefined: `file`"
    with_quoted_slots("count declared and not used")      ->  "`count` declared and not used"

    Go, javac, PostgreSQL, shells and Node write names bare, and a bare name may be any word. Tools that quote are not
    touched.
    """
    for signs, pattern in signed_rows("slots"):
        if not any(sign in message for sign in signs):
            continue
        spans = [
            span
            for match in kept.compiled(pattern).finditer(message)
            for name in match.groupdict()
            if (span := match.span(name)) != (-1, -1) and set(QUOTES).isdisjoint(message[span[0] : span[1]])
        ]
        for start, end in sorted(spans, reverse=True):
            message = f"{message[:start]}`{message[start:end]}`{message[end:]}"
    return message


def lasting(text: str) -> str:
    """The text without what changes from run to run: folders and lines of paths, addresses, times, durations."""
    return _TOKENS["passing"].sub(_without_passing, text)


def level(word: str) -> str:
    """A word without its plural and case: what makes "arguments were" and "argument was" one."""
    low = word.lower().replace("\u2019", "'")
    if low in _LEVELLED:
        return _LEVELLED[low]
    if len(low) > 4 and low.endswith("ies"):
        return low[:-3] + "y"
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is", "'s")):
        return low[:-2] if low.endswith(("sses", "shes", "ches", "xes")) else low[:-1]
    return low


def _without_passing(found: re.Match[str]) -> str:
    if found["path"] is None:
        return "<>"
    return last_part(_TOKENS["line of path"].sub("", found["path"]))


def _placeholder(kind: str, token: str, before: str, values: list[str]) -> str:
    """What replaces this token in the template; masked values are added to the list."""
    if kind == "word":
        is_word = len(token) > 1 or token.lower() in _SINGLE_LETTER_WORDS or not token.isascii()
        if is_word and not is_mistyped(token, before):
            return level(token)
    elif kind == "quoted":
        token = token.lstrip("bru").strip(QUOTES)
        if before not in _VALUE_NOUNS and _is_syntax(token):
            return f"'{''.join(token.lower().split())}'"
        if token.startswith("-") and (option := _TOKENS["option"].match(token)) is not None:
            if option.end() < len(token):
                values.append(token[option.end() :][:_MAX_VALUE])
            return f"'{option[0]}'"
    elif kind == "id" and token.startswith("-"):
        return f"'{token}'"
    elif kind == "id" and kept.compiled(r"[A-Z][A-Z_]*(?:_[A-Z]+)+").fullmatch(token):
        return token  # a constant's name is a code in all but notation
    elif kind == "number" and before in _PLACES_IN_TEXT:
        return "<num>"
    elif kind == "path":
        token = _TOKENS["line of path"].sub("", token)
    values.append(token[:_MAX_VALUE])
    return _PLACEHOLDERS.get(kind, "<v>")


def _is_syntax(quoted: str) -> bool:
    """Whether the quotation is a language's own: a keyword, `for...of`, `export =`."""
    found = kept.compiled(r"[^\W\d]\w*").findall(quoted.lower())
    return bool(found) and len(quoted) <= _MAX_SYNTAX and all(word in KEYWORDS for word in found)
