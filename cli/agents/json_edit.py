"""Edits of a JSON text at the places of its values; every other byte stays as it is.

    inserted(text, ("hooks", "Stop", None), {"hooks": []})     an element more, and the containers that it needs
    for way in ways(text, ("hooks", None, None)): …            each element of each member of "hooks"
    removed(text, way)                                         a child less, and the containers that were made for it

Names lead from a text's own value down: a member's name, or None for an element or any child. What is inserted and
removed again leaves the bytes that were there before. A container that was there and empty shows that it was: its first
child, of several lines, begins next to the bracket. What is made for a child has that child on a line of its own, and
programs that write a file again have either all of it in one line or each child on its own.
"""

import json
import re

from ctxrank.indexer.light_typing import NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

Names = tuple[str | None, ...]


class Child(NamedTuple):
    """A member of an object, or an element of an array: where its container begins, all of it, and its value."""

    at: int
    name: str | None
    begin: int
    value_begin: int
    end: int
    value: object


Way = tuple[Child, ...]


def ways(text: str, names: Names) -> list[Way]:
    """The ways that names lead from a text's own value; of several members of a name the last, which is the one that
    counts.
    """
    found: list[Way] = [()] if text.strip() else []
    for name in names:
        further: list[Way] = []
        for way in found:
            children = _children(text, way[-1].value_begin if way else _after_space(text, 0))
            own = children if name is None else [child for child in children if child.name == name][-1:]
            further += [(*way, child) for child in own]
        found = further
    return found


def inserted(text: str, names: Names, value: object) -> str:
    """The text with a value as the member that names lead to, or after the other elements where the last name is None.

    The containers on the way are made where they are missing.
    """
    if not text.strip():
        return f"{_written(_nested(names, value))}\n{text}"
    way: Way = ()
    for depth, name in enumerate(names):
        found = [] if name is None else ways(text, names[: depth + 1])
        if not found:
            child = _written(_nested(names[depth + 1 :], value))
            child = child if name is None else f"{_written(name)}: {child}"
            return _with_child(text, way[-1].value_begin if way else _after_space(text, 0), child)
        way = found[0]
    raise ValueError("the member is there")


def removed(text: str, way: Way) -> str:
    """The text without what a way leads to, its comma, and the containers that were made for it alone."""
    *above, child = way
    others = _children(text, child.at)
    was_empty = child.begin == child.at + 1 and "\n" in text[child.begin : child.end]
    if len(others) == 1 and not was_empty:
        end = _DECODER.raw_decode(text, child.at)[1]
        return removed(text, tuple(above)) if above else text[end:].removeprefix("\n")
    place = others.index(child)
    if place:
        return text[: others[place - 1].end] + text[child.end :]
    return text[: child.begin] + text[others[1].begin if others[1:] else child.end :]


def _children(text: str, at: int) -> list[Child]:
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
        found.append(Child(at, name, begin, value_begin, end, value))
        begin = _after_space(text, end)
        if text[begin] == ",":
            begin = _after_space(text, begin + 1)
    return found


def _nested(names: Names, value: object) -> object:
    for name in reversed(names):
        value = [value] if name is None else {name: value}
    return value


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _with_child(text: str, at: int, child: str) -> str:
    """The text with one more child, the last of the container at `at`, on a line of its own where there are others."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first_indented = re.search(r"\n(\t| +)[^ \t\r\n]", text)
    unit = first_indented[1] if first_indented else "  "
    line = text[text.rfind("\n", 0, at) + 1 : at]
    base = line[: len(line) - len(line.lstrip(" \t"))]
    others = _children(text, at)
    begin, between = at + 1, ""
    if others:
        before = text[: others[-1].begin]
        gap = before[len(before.rstrip(" \t\r\n")) :]
        base = gap[gap.rfind("\n") + 1 :] if "\n" in gap else base + unit
        begin, between = others[-1].end, f",{newline}{base}"
    first, *rest = child.split("\n")
    lines = [first, *(base + unit * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() for line in rest)]
    return text[:begin] + between + newline.join(lines) + text[begin:]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
