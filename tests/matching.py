"""Strings that a regular expression matches, made at random from its parse tree, the same for the same seed.

    sample(r"key-[a-f0-9]{4}", random.Random(1))      "key-" and four characters

Used for vectors of credential formats, which are never stored. A lookahead or a boundary is ignored while
a string is made, so a caller must check what it gets.
"""

import random
import re
import string

# The parser behind `re`; it has no public name, and this is the only place that knows it.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, cast

code = cast("Any", _constants)  # pyright: ignore[reportUnknownArgumentType]  nothing says its types
parser = cast("Any", _parser)  # pyright: ignore[reportUnknownArgumentType]  as above

_PRINTABLE = string.ascii_letters + string.digits + "_+/#.,:;!?()[]{}<>@%&*^~| -"
_MORE_REPEATS = 6  # of an unbounded or wide repeat, above its least number


def python_pattern(expression: str) -> str:
    """A Go expression as Python has it: a flag in the middle holds to the end of its group there."""
    expression = (
        expression.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9").replace("\\z", "\\Z")
    )
    out: list[str] = []
    open_flags = [0]  # for each group around: how many `(?i:` stand open in it
    in_set = False
    at = 0
    while at < len(expression):
        char = expression[at]
        if char == "\\":
            out.append(expression[at : at + 2])
            at += 2
            continue
        if in_set:
            in_set = char != "]" or expression[at - 1] == "["
        elif char == "[":
            in_set = True
        elif expression.startswith("(?i)", at):
            out.append("(?i:")
            open_flags[-1] += 1
            at += 4
            continue
        elif char == "(":
            open_flags.append(0)
        elif char == ")":
            out.append(")" * open_flags.pop())
        elif char == "|":
            out.append(")" * open_flags[-1] + "|" + "(?i:" * open_flags[-1])
            at += 1
            continue
        out.append(char)
        at += 1
    return "".join(out) + ")" * open_flags[0]


def sample(pattern: str, rng: random.Random) -> str:
    """One string in the language of the pattern, but for what it looks at without consuming it."""
    return _Sampler(rng).of(parser.parse(pattern), is_caseless=False)


class _Sampler:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.groups: dict[int, str] = {}

    def of(self, items: Any, is_caseless: bool) -> str:
        return "".join(self.one(kind, value, is_caseless) for kind, value in items)

    def one(self, kind: Any, value: Any, is_caseless: bool) -> str:
        rng = self.rng
        if kind is code.LITERAL:
            return rng.choice([chr(value).lower(), chr(value).upper()]) if is_caseless else chr(value)
        if kind is code.NOT_LITERAL:
            return rng.choice([char for char in _PRINTABLE if ord(char) != value])
        if kind is code.ANY:
            return rng.choice(_PRINTABLE)
        if kind is code.IN:
            char = rng.choice(_members(value))
            return rng.choice([char.lower(), char.upper()]) if is_caseless else char
        if kind is code.BRANCH:
            return self.of(rng.choice(value[1]), is_caseless)
        if kind is code.SUBPATTERN:
            group, added, removed, items = value
            caseless = (is_caseless or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            text = self.of(items, caseless)
            if group is not None:
                self.groups[group] = text
            return text
        if kind in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            least, most, items = value
            return "".join(
                self.of(items, is_caseless) for _ in range(rng.randint(least, min(int(most), least + _MORE_REPEATS)))
            )
        if kind is code.ATOMIC_GROUP:
            return self.of(value, is_caseless)
        if kind is code.GROUPREF:
            return self.groups.get(value, "")
        return ""  # a position or a look around it


def _members(items: Any) -> list[str]:
    chars: set[str] = set()
    negated = False
    for kind, value in items:
        if kind is code.NEGATE:
            negated = True
        elif kind is code.LITERAL:
            chars.add(chr(value))
        elif kind is code.RANGE:
            chars.update(map(chr, range(value[0], value[1] + 1)))
        elif kind is code.CATEGORY:
            chars.update(_CATEGORIES[value])
    if negated:
        chars = set(_PRINTABLE) - chars
    return sorted(chars)


_WORD = string.ascii_letters + string.digits + "_"
_CATEGORIES: dict[Any, str] = {
    code.CATEGORY_DIGIT: string.digits,
    code.CATEGORY_WORD: _WORD,
    code.CATEGORY_SPACE: " \n\t",
    code.CATEGORY_NOT_DIGIT: string.ascii_letters,
    code.CATEGORY_NOT_WORD: " .,;:/",
    code.CATEGORY_NOT_SPACE: _WORD + "+/.-",
}
