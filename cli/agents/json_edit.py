"""Edits of a JSON text at the places of its values; every other byte stays as it is.

    member = members(text, 0)["hooks"]                         where a member of the object at 0 begins and ends
    inserted(text, 0, '"hooks": {}')                           a child more, after the others
    removed(text, 0, member)                                   a child less, with its comma

What is inserted and removed again leaves the bytes that were there before. A container that was there and empty shows
that it was: its first child, of several lines, begins next to the bracket. What is made for a child has that child on a
line of its own, and programs that write a file again have either all of it in one line or each child on its own.
"""

import json
import re

from ctxrank.indexer.light_typing import NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Child(NamedTuple):
    """A member of an object, or an element of an array: all of it, and its value."""

    name: str | None
    begin: int
    value_begin: int
    end: int
    value: object


def children(text: str, at: int) -> list[Child]:
    """The children of the object or array that begins at `at`, of a text that is JSON; none of any other value."""
    if text[at] not in "{[":
        return []
    found: list[Child] = []
    begin = _after_space(text, at + 1)
    while text[begin] not in "}]":
        name, value_begin = None, begin
        if text[at] == "{":
            name, colon = _DECODER.raw_decode(text, begin)
            value_begin = _after_space(text, _after_space(text, colon) + 1)
        value, end = _DECODER.raw_decode(text, value_begin)
        found.append(Child(name, begin, value_begin, end, value))
        begin = _after_space(text, end)
        if text[begin] == ",":
            begin = _after_space(text, begin + 1)
    return found


def member(text: str, at: int, name: str) -> Child | None:
    """The member of an object by its name; of several the last, which is the one that counts."""
    return next((child for child in reversed(children(text, at)) if child.name == name), None)


def top(text: str) -> int:
    """Where the value of a text begins."""
    return _after_space(text, 0)


def value_end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends."""
    return _DECODER.raw_decode(text, at)[1]


def inserted(text: str, at: int, child: str) -> str:
    """The text with one more child, the last of the container at `at`, on a line of its own where there are others."""
    others = children(text, at)
    if not others:
        return f"{text[: at + 1]}{_indented(child, _indentation(text, at), text)}{text[at + 1 :]}"
    last = others[-1]
    gap = _space_before(text, last.begin)
    gap = gap[gap.rfind("\n") + 1 :] if "\n" in gap else _indentation(text, at) + _unit(text)
    return f"{text[: last.end]},{_newline(text)}{gap}{_indented(child, gap, text)}{text[last.end :]}"


def removed(text: str, at: int, child: Child) -> str:
    """The text without a child of the container at `at`, and without the comma that it needed."""
    others = children(text, at)
    place = others.index(child)
    if place:
        return text[: others[place - 1].end] + text[child.end :]
    return text[: child.begin] + text[others[1].begin if others[1:] else child.end :]


def was_made_for(text: str, at: int, child: Child) -> bool:
    """Whether a container has this one child and was not there, empty, before it."""
    was_empty = child.begin == at + 1 and "\n" in text[child.begin : child.end]
    return len(children(text, at)) == 1 and not was_empty


def written(value: object) -> str:
    """A value as a child is given: indented by two spaces a level, its lines ended by \\n."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def written_member(name: str, value: object) -> str:
    """A member as a child is given."""
    return f"{json.dumps(name, ensure_ascii=False)}: {written(value)}"


def _indented(child: str, base: str, text: str) -> str:
    """A child in the indentation of the text, below `base`."""
    unit, newline = _unit(text), _newline(text)
    first, *rest = child.split("\n")
    lines = [first, *(base + unit * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() for line in rest)]
    return newline.join(lines)


def _unit(text: str) -> str:
    """What one level is indented by in a text: that of its first line that is, else two spaces."""
    first = re.search(r"\n(\t| +)[^ \t\r\n]", text)
    return first[1] if first else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indentation(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _space_before(text: str, at: int) -> str:
    before = text[:at]
    return before[len(before.rstrip(" \t\r\n")) :]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
