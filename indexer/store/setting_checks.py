"""What a setting may be: checks that take a value and its name (`FILE: ranking.k1`), and return what is kept of it.

Each raises UsageError, which says what is allowed.
"""

from collections.abc import Callable, Iterable, Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any, is_dict

Check = Callable[[object, str], Any]
_WORDS = {
    word: is_on for is_on, words in ((True, "on true yes 1"), (False, "off false no 0")) for word in words.split()
}


def switch(value: object, name: str) -> bool:
    """On or off, in any of the usual words."""
    word = str(value).strip().lower()
    if word not in _WORDS:
        raise UsageError(f"{name} is '{value}'.", "Give on or off.")
    return _WORDS[word]


def choice(*words: str) -> Check:
    """One of these words."""

    def check(value: object, name: str) -> str:
        if value not in words:
            raise UsageError(f"{name} is '{value}'.", f"Give {' or '.join(words)}.")
        return str(value)

    return check


def number(least: float, most: float, *, is_whole: bool = True) -> Check:
    """A number from the least to the most."""

    def check(value: object, name: str) -> float:
        kinds = int if is_whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            raise UsageError(f"{name} is '{value}'.", f"Give a {'whole ' * is_whole}number from {least:g} to {most:g}.")
        return value if is_whole else float(value)

    return check


def text(value: object, name: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is '{value}'.", "Give a text.")
    return value


def entries(of: "Check | Mapping[str, Check]", hint: str) -> Check:
    """A mapping: of any names to what one check allows, or of certain names with a check each."""

    def check(value: object, name: str) -> dict[str, Any]:
        if not is_dict(value):
            raise UsageError(f"{name} is '{value}'.", hint)
        checked: dict[str, Any] = {}
        for key, one in value.items():
            own = of if callable(of) else of.get(str(key))
            if own is None:
                known: Iterable[str] = () if callable(of) else of
                raise UsageError(f"{name} has no '{key}'.", f"It has {', '.join(known)}.")
            checked[str(key)] = own(one, f"{name}.{key}")
        return checked

    return check
