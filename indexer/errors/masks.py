"""A message reduced to its template: what changes from one occurrence to the next becomes a placeholder.

    masked("cannot find 'x' in src/a.c:12").words   ->  ("cannot", "find", "<v>", "in", "<path>")
    masked("cannot find 'x' in src/a.c:12").values  ->  ("x", "src/a.c")

Quoted words of a programming language stay ("'async' modifier"), unless a noun before them says that a name or type
is quoted ("type 'null'"). Plurals and articles are levelled, so that "1 argument was" and "2 arguments were" agree.
"""

import re

from ctxrank.indexer.errors.parse.tables import words
from ctxrank.indexer.errors.slots import with_quoted_slots
from ctxrank.indexer.light_typing import NamedTuple

MAX_WORDS = 60
_MAX_VALUE = 120
_MAX_SYNTAX = 24
_QUOTES = "`'\"\u201c\u201d\u2018\u2019\u00ab\u00bb"


class Masked(NamedTuple):
    """A template as words and placeholders, and what was masked, in order."""

    words: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """The template as one line."""
        return " ".join(self.words)


KEYWORDS = words("keywords")
# After these a quotation is a value even if it is a keyword: the type 'void', the property 'get'.
_VALUE_NOUNS_TEXT = """
    type types name names property properties identifier variable method field member value values module symbol key
    attribute parameter argument option command file path string named called column table relation package class before
"""
_VALUE_NOUNS = frozenset(_VALUE_NOUNS_TEXT.split())
# And before these: any keyword can be meant.
_SAID_OF_NAMES = (" is a reserved", " is a keyword", " is reserved", ", which is reserved", " is not a valid name")

_Q = r"[^\n]{0,400}?"
# What is quoted, the longest notation first; a quote inside a word is an apostrophe, a doubled one ends nothing.
_QUOTED = (
    rf"```{_Q}```|``{_Q}(?:``|'')|`[^`\n]{{0,400}}[`']"
    rf"|\u201c[^\u201d\n]{{0,400}}\u201d|\u2018[^\u2019\n]{{0,400}}\u2019|\u00ab[^\u00bb\n]{{0,400}}\u00bb"
    rf"|(?<![\w])b?\"(?:[^\"\\\n]|\\.){{0,400}}\"|(?<![\w'])[bru]?'(?:[^'\\\n]|\\.|'(?=[\w])){{0,400}}'(?![\w])"
)
_TIME = (
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
)
_IP = r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|\[[0-9a-f:]{3,39}\](?::\d{1,5})?|\blocalhost:\d{1,5}\b|:::\d{1,5}\b"
_SUFFIXES = (
    "py|rs|ts|tsx|js|jsx|mjs|cjs|go|java|kt|c|cc|cpp|cxx|h|hpp|cs|rb|php|swift|scala|sh|sql|json|ya?ml|toml|xml|html?|css"
    "|txt|md|lock|cfg|ini|so|dll|exe|jar|whl|gz|zip|o|a|log|gradle|vue|proto"
)
_PATH = (
    r"(?:(?:[A-Za-z]:|~|\.{1,2}|\$\w+)?[/\\](?=[\w.@$~-])|(?<![\w/\\])[\w.@$-]+[/\\](?=[\w.@$-]*\.|[\w.@$-]+[/\\]))"
    r"[^\s'\"`:,;()<>|]*(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))?"
    rf"|(?<![\w.])[\w$-]+\.(?:{_SUFFIXES})\b(?::\d+(?::\d+)?)?(?!\(|\.\w|\w)"
)
_HEX = r"\b0[xX][0-9a-fA-F]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"
_VERSION = r"\bv?\d+(?:\.\d+){1,4}(?:[-+.]?(?:alpha|beta|rc|dev|post|a|b)[\w.]*)?\b(?!\s*(?:s|ms|seconds?)\b)"
_NUMBER = (
    r"[-+]?\b\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+|\s?(?:-|\u2013|\.\.)\s?\d+)?"
    r"(?:\s?(?:ns|us|\u00b5s|ms|s|sec|min|h|[KMGT]i?B|bytes?|%)\b)?"
)
# Identifiers that no ordinary word looks like: with a digit, underscore, inner capital, dots, colons, a call; options.
_ID = (
    r"[\w$]*(?:[a-z\d][A-Z]|[A-Z]{2,}[a-z]{2,}|_|\$|\d)[\w$]*(?:(?:\.|::|->|\\)[\w$]+)*(?:\(\)|!)?"
    r"|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_$]\w*)+(?:\(\)|!)?|[A-Za-z_]\w*(?:\(\)|!(?=[\s,.;)]|$)|\[\])"
    r"|@\w+(?:/[\w.-]+)?|(?<!\w)--?[a-z][\w-]+=?"
)
_TOKEN = re.compile(
    rf"(?P<quoted>{_QUOTED})|(?P<url>\b[a-z][a-z+.-]{{1,12}}://[^\s'\"<>]+)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    rf"|(?P<time>{_TIME})|(?P<email>[\w.+-]+@[\w-]+\.[\w.]+)|(?P<ip>{_IP})|(?P<path>{_PATH})"
    rf"|(?P<port>\b[a-z][\w.-]*:\d{{2,5}}\b(?!:))|(?P<hex>{_HEX})"
    rf"|(?P<version>{_VERSION})|(?P<number>{_NUMBER})|(?P<id>{_ID})"
    r"|(?P<word>[^\W\d_]+(?:['\u2019][a-z]{1,2}\b)?)|(?P<generic><[^<>\n]{0,100}>)"
)
# Compiled when a test has failed.
_PASSING = (
    rf"(?P<time>{_TIME})|{_IP}|\b(?:[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}|0[xX][0-9a-fA-F]+)\b"
    rf"|\b\d+(?:\.\d+)? ?(?:ns|us|\u00b5s|ms|s|sec|seconds?|min)\b|(?P<path>{_PATH})"
)
# Where in a text something stands changes with each edit above it, and is no value: line 7 column 3, src/a.c:7:3.
_PLACES_IN_TEXT = frozenset(("line", "ln", "column", "col", "position", "pos", "offset", "char", "character"))
_LINE_OF_PATH = r"(?::\d+){1,2}$|\(\d+(?:,\d+)?\)$"
_LEVELLED = {
    "an": "a",
    "aliases": "alia",
    "were": "is",
    "was": "is",
    "are": "is",
    "cant": "cannot",
    "can't": "cannot",
    "couldn't": "cannot",
    "doesn't": "doesnot",
    "isn't": "isnot",
    "aren't": "isnot",
    "don't": "doesnot",
    "has": "have",
    "'s": "",
}
# A tool's option is a name of the tool's own, not a value: what is said of --signed is not said of --atomic.
_OPTION = r"--?[A-Za-z][\w-]*(?:=|$)"
_SINGLE_LETTER_WORDS = frozenset("ai")
# GCC and Clang: what a type's name stands for. The name alone is the value.
_STANDS_FOR = " {aka "
_STOOD_FOR = r" \{aka (?:'[^'\n]*'|\u2018[^\u2019\n]*\u2019|\"[^\"\n]*\")(?: [^{}\n]*)?\}"

# GCC: what stands after what is missing. A keyword, an operator and a name are the same there.
_FOUND_TOKEN = r"(\b(?:before|after) ['\u2018][^'\u2019\n]{1,40}['\u2019]) token\b"


def masked(message: str) -> Masked:
    """The template of a message and the values that were taken out of it; bounded by MAX_WORDS."""
    words: list[str] = []
    values: list[str] = []
    if _STANDS_FOR in message:
        message = re.sub(_STOOD_FOR, "", message)
    if message.startswith("expected "):
        message = re.sub(_FOUND_TOKEN, r"\1", message)
    message = with_quoted_slots(message)
    for match in _TOKEN.finditer(message):
        kind, token = str(match.lastgroup), match[0]
        is_named = message.startswith(_SAID_OF_NAMES, match.end())
        word = _placeholder(kind, token, "name" if is_named else words[-1] if words else "", values)
        # A list of values is as long as it happens to be.
        if word and not (word == "<v>" and _ends_in_list(words)):
            words.append(word)
        if len(words) >= MAX_WORDS:
            break
    return Masked(tuple(words), tuple(values[:MAX_WORDS]))


def lasting(text: str) -> str:
    """The text without what changes from run to run: folders and lines of paths, addresses, times, durations."""
    return re.sub(_PASSING, _without_passing, text)


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
    return re.split(r"[/\\]", re.sub(_LINE_OF_PATH, "", found["path"]))[-1]


def _placeholder(kind: str, token: str, before: str, values: list[str]) -> str:
    """What replaces this token in the template; masked values are added to the list."""
    if kind == "word":
        if len(token) == 1 and token.lower() not in _SINGLE_LETTER_WORDS and token.isascii():
            values.append(token)
            return "<v>"
        return level(token)
    if kind == "quoted":
        inner = token.lstrip("bru").strip(_QUOTES)
        if before not in _VALUE_NOUNS and _is_syntax(inner):
            return f"'{''.join(inner.lower().split())}'"
        if inner.startswith("-") and (option := re.match(_OPTION, inner)) is not None:
            if option.end() < len(inner):
                values.append(inner[option.end() :][:_MAX_VALUE])
            return f"'{option[0]}'"
        values.append(inner[:_MAX_VALUE])
        return "<v>"
    if kind == "id" and token.startswith("-"):
        return f"'{token}'"
    if kind == "id" and re.fullmatch(r"[A-Z][A-Z_]*(?:_[A-Z]+)+", token):
        return token  # a constant's name is a code in all but notation
    if kind == "number" and before in _PLACES_IN_TEXT:
        return "<num>"
    values.append(re.sub(_LINE_OF_PATH, "", token)[:_MAX_VALUE] if kind == "path" else token[:_MAX_VALUE])
    if kind in ("path", "url", "number"):
        return "<path>" if kind == "path" else f"<{kind[:3]}>"
    return "<v>"


def _is_syntax(quoted: str) -> bool:
    """Whether the quotation is a language's own: a keyword, `for...of`, `export =`."""
    found = re.findall(r"[^\W\d]\w*", quoted.lower())
    return bool(found) and len(quoted) <= _MAX_SYNTAX and all(word in KEYWORDS for word in found)


def _ends_in_list(words: list[str]) -> bool:
    return bool(words) and (
        words[-1] == "<v>" or (words[-1] in ("or", "and") and len(words) > 1 and words[-2] == "<v>")
    )
