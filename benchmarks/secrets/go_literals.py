r"""The strings that tests written in Go hold, worked out without running or reading any of them by eye.

    tables(source)      a Case for each entry of a table of tests: what goes in, and what is to be found in it

An expression counts if it is made of literals, names of such, `+`, and a few functions of the standard library;
any other is left out and counted.
"""

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from matching import sample

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|(?P<raw>`[^`]*`)|(?P<text>\"(?:\\.|[^\"\\\n])*\")|(?P<rune>'(?:\\.|[^'\\\n])+')"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<sign>:=|\S)|(?P<line>\n)",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)")
_VERB = re.compile(r"%(?:%|[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z])")
_MOST_NAMES_DEEP = 20
# What gitleaks calls its alphabets.
_ALPHABETS = {
    "Numeric": "[0-9]", "Hex": "[a-f0-9]", "AlphaNumeric": "[a-z0-9]", "AlphaNumericExtendedShort": "[a-z0-9_-]",
    "AlphaNumericExtended": "[a-z0-9=_-]", "AlphaNumericExtendedLong": "[a-z0-9/=_+-]",
}  # fmt: skip


class Case(NamedTuple):
    """A text, and the strings that are to be found in it."""

    text: str
    wanted: tuple[str, ...]


class _Token(NamedTuple):
    kind: str
    text: str


class _NotKnownError(Exception):
    """An expression that is not made of literals."""


class Source:
    """A file of Go, in tokens, with what its names are given."""

    def __init__(self, text: str) -> None:
        self.tokens = [_Token(match.lastgroup, match[0]) for match in _TOKEN.finditer(text) if match.lastgroup]
        self._given: dict[str, list[int]] = {}
        for at, token in enumerate(self.tokens[:-1]):
            if token.kind != "name":
                continue
            following = at + 1
            if self.tokens[following].text == "string":  # var name string = …
                following += 1
            if self.tokens[following].text in ("=", ":=") and self.tokens[following + 1].text != "=":
                self._given.setdefault(token.text, []).append(following + 1)

    def value(self, at: int, depth: int = 0) -> tuple[str, int]:
        """The string that an expression says, and where the expression ends."""
        text, at = self._operand(at, depth)
        while True:
            following = self._skip_lines(at)
            if self.tokens[following].text != "+":
                return text, at
            more, at = self._operand(self._skip_lines(following + 1), depth)
            text += more

    def values(self, at: int, depth: int = 0) -> tuple[list[str], int, int]:
        """The strings of a list up to its closing bracket, where that is, and how many of them are not known."""
        found: list[str] = []
        unknown = 0
        while True:
            at = self._skip_lines(at)
            if self.tokens[at].text in ("}", ")"):
                return found, at + 1, unknown
            if self.tokens[at].text == ",":
                at += 1
                continue
            try:
                text, following = self.value(at, depth)
                if self.tokens[self._skip_lines(following)].text not in (",", "}", ")"):
                    raise _NotKnownError
                found.append(text)
                at = following
            except (_NotKnownError, IndexError):
                unknown += 1
                at = self.skip_expression(at)

    def skip_expression(self, at: int) -> int:
        """Where the expression ends: at a comma or a closing bracket of what it stands in."""
        depth = 0
        while at < len(self.tokens) - 1:
            text = self.tokens[at].text if self.tokens[at].kind == "sign" else ""
            if depth == 0 and text in (",", "}", ")"):
                return at
            depth += (text in ("(", "{", "[")) - (text in (")", "}", "]"))
            at += 1
        return at

    def _operand(self, at: int, depth: int) -> tuple[str, int]:
        if depth > _MOST_NAMES_DEEP:
            raise _NotKnownError
        at = self._skip_lines(at)
        kind, text = self.tokens[at]
        if kind == "raw":
            return text[1:-1], at + 1
        if kind == "text":
            return _unescaped(text[1:-1]), at + 1
        if kind == "number":
            return text, at + 1
        if text == "(":
            value, at = self.value(at + 1, depth + 1)
            if self.tokens[self._skip_lines(at)].text != ")":
                raise _NotKnownError
            return value, self._skip_lines(at) + 1
        if kind != "name":
            raise _NotKnownError
        if self.tokens[at + 1].text == "." and self.tokens[at + 3].text == "(":
            return self._call(f"{text}.{self.tokens[at + 2].text}", at + 4, depth + 1)
        if self.tokens[at + 1].text == "(":
            return self._call(text, at + 2, depth + 1)
        if self.tokens[at + 1].text in (".", "["):
            raise _NotKnownError
        places = self._given.get(text, [])
        before = [place for place in places if place < at]
        for place in (*reversed(before), *places):
            try:
                return self.value(place, depth + 1)[0], at + 1
            except (_NotKnownError, IndexError):
                continue
        raise _NotKnownError

    def _call(self, function: str, at: int, depth: int) -> tuple[str, int]:
        given, end, unknown = self.values(at, depth)
        if unknown or not given:
            raise _NotKnownError
        if function == "fmt.Sprintf":
            return _formatted(given[0], given[1:]), end
        if function == "strings.Repeat":
            return given[0] * int(given[1]), end
        if function in ("string", "strings.TrimSpace", "strings.ToLower", "strings.ToUpper"):
            change: dict[str, Callable[[str], str]] = {
                "string": str, "TrimSpace": str.strip, "ToLower": str.lower, "ToUpper": str.upper,
            }  # fmt: skip
            return change[function.rpartition(".")[2]](given[0]), end
        if function == "strings.ReplaceAll":
            return given[0].replace(given[1], given[2]), end
        if function == "secrets.NewSecret":
            return sample(given[0], random.Random(given[0])), end
        if function.removeprefix("utils.") in _ALPHABETS:
            return f"{_ALPHABETS[function.removeprefix('utils.')]}{{{given[0]}}}", end
        raise _NotKnownError

    def _skip_lines(self, at: int) -> int:
        while self.tokens[at].kind == "line":
            at += 1
        return at


def tables(text: str) -> Iterator[Case]:
    """The entries of tables of tests that have an `input` and, behind it, what is wanted of it."""
    source = Source(text)
    tokens = source.tokens
    given: str | None = None
    for at in range(len(tokens) - 5):
        if tokens[at].kind != "name" or tokens[at + 1].text != ":":
            continue
        if tokens[at].text == "input":
            try:
                given = source.value(at + 2)[0]
            except (_NotKnownError, IndexError):
                given = None
        elif tokens[at].text == "want" and [token.text for token in tokens[at + 2 : at + 6]] == [
            "[",
            "]",
            "string",
            "{",
        ]:
            wanted, _, unknown = source.values(at + 6)
            if given is not None and wanted and not unknown:
                yield Case(given, tuple(wanted))
            given = None


def calls(text: str, function: str) -> Iterator[list[str]]:
    """What each call of a function is given, where that is known."""
    source = Source(text)
    for at in range(len(source.tokens) - 2):
        if source.tokens[at].text == function and source.tokens[at + 1].text == "(":
            try:
                given, _, unknown = source.values(at + 2)
            except IndexError:
                continue
            if not unknown:
                yield given


def lists(text: str, name: str) -> Iterator[str]:
    """The strings of each list that a name is given, and of those that are appended to it."""
    source = Source(text)
    tokens = source.tokens
    for at in range(len(tokens) - 6):
        words = [token.text for token in tokens[at : at + 6]]
        if (words[0] == name and words[1] in (":=", "=") and words[2:6] == ["[", "]", "string", "{"]) or words[:3] == [
            name,
            "=",
            "append",
        ]:
            yield from source.values(at + 6)[0]


def _unescaped(text: str) -> str:
    def said(escape: re.Match[str]) -> str:
        what = escape[1]
        if what[0] in "xuU":
            return chr(int(what[1:], 16))
        if len(what) > 1:
            return chr(int(what, 8))
        return _ESCAPES.get(what, what)

    return _ESCAPE.sub(said, text)


def _formatted(pattern: str, given: list[str]) -> str:
    values = iter(given)

    def put(verb: re.Match[str]) -> str:
        if verb[0] == "%%":
            return "%"
        try:
            value = next(values)
        except StopIteration:
            raise _NotKnownError from None
        return f'"{value}"' if verb[0][-1] == "q" else value

    return _VERB.sub(put, pattern)
