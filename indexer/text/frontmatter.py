"""YAML frontmatter, read without trust: plain text, lists and mappings come out, and a problem is a value.

    read_frontmatter("---\\nid: SPEC-A-1\\nlinks: [DEC-A-1]\\n---\\n# Title\\n")
        values    {"id": "SPEC-A-1", "links": ["DEC-A-1"]}
        lines     {"id": 2, "links": 3, "links.0": 3}      the line of each value in the file, from 1
        body      "# Title\\n", which begins at line 5

Values are built from the parser's events and not by a YAML constructor: there are no dates, numbers, tags or
objects, only what was typed (`status: no` is "no", an empty value ""). Aliases are refused, because nine lines of
them make a value of a thousand million entries; depth and count are bounded while the events come.

A value that is a sentence is whole: `summary: Release: bump the version` is no YAML, and in `title: Fix #42` the number
is a comment. Both are read as if the sentence were quoted; the first is a problem, too.
"""

import re
from collections.abc import Iterator

from ctxrank.indexer.light_typing import NamedTuple, is_dict, object_of

MAX_BYTES = 64 * 1024
MAX_DEPTH = 12
MAX_NODES = 4000
_FENCE = "---"
_FIRST_LINE = 2  # of the YAML, behind the fence
_ENDS = ("---", "...")
# `key: value`, also as an item of a list.
_PAIR = re.compile(r"(?P<indent>[ ]*(?:-[ ]+)*)(?P<key>[^\s#:'\"\[{|>-][^:\n]*:[ \t]+)(?P<value>[^\n]*)")
_COMMENT = re.compile(r"(?:\A|[ \t])#(?!\d)[^\n]*\Z")  # the number of an issue is none
_NUMBER = re.compile(r"(?:\A|[ \t])#\d")
# Where YAML refuses a value that is a sentence: at a colon, or at a sign that is its own.
_REFUSED = re.compile(r":(?:[ \t]|\Z)|(?:\A|[ \t])#\d|\A(?:[`@%*\[{'\"|>]|[-?][ \t])")
# What begins with such a sign and is no sentence: quoted, a list, a mapping, a block, an alias; or goes on below.
_YAML = re.compile(
    r"""
    "(?:[^"\\]|\\.)*"? | '(?:[^']|'')*'? | \[(?:.*\]|[^\]]*) | \{(?:.*\}|[^}]*) | [|>][-+0-9]* | \*\S* | [&!].*
    """,
    re.VERBOSE,
)


class Problem(NamedTuple):
    """Something wrong with a file, at a line counted from 1; `rule` is the name `check` knows it by."""

    rule: str
    line: int
    message: str


class Frontmatter(NamedTuple):
    """What is between the fences, and the rest; where it cannot be read, `values` is empty or partial."""

    values: dict[str, object]
    lines: dict[str, int]
    body: str
    problems: tuple[Problem, ...]


def read_frontmatter(text: str) -> Frontmatter:
    """The frontmatter of a text with `\\n` between its lines. Never raises, whatever the text is."""
    text = text.removeprefix("\ufeff")
    if text.split("\n", 1)[0].rstrip() != _FENCE:
        return Frontmatter({}, {}, text, (_malformed(1, "there is no frontmatter: the first line is not '---'"),))
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in _ENDS), None)
    if end is None:
        return Frontmatter({}, {}, text, (_malformed(1, "the frontmatter is never closed by '---'"),))
    body = "\n".join(lines[end + 1 :])
    values, places, problems = read_yaml("\n".join(lines[1:end]) + "\n")
    return Frontmatter(values, places, body, problems)


def read_yaml(text: str) -> tuple[dict[str, object], dict[str, int], tuple[Problem, ...]]:
    """A YAML mapping as plain values, their lines, and what is wrong. Never raises.

    After a problem that ends the reading, what was complete before it is kept.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return {}, {}, (_malformed(_FIRST_LINE, f"the frontmatter is larger than {MAX_BYTES // 1024} KiB"),)
    builder = _read(text)
    problems = tuple(builder.problems)
    quoted = "\n".join(_quoted(text.split("\n"), _REFUSED if problems else _NUMBER))
    if quoted != text:
        builder = _read(quoted)
        problems = problems or tuple(builder.problems)
    values = object_of(builder.root)
    if builder.root is not None and not is_dict(builder.root):
        problems += (_malformed(_FIRST_LINE, "the frontmatter is not made of 'key: value' lines"),)
    return values, builder.lines, problems


def _read(text: str) -> "_Builder":
    import yaml  # noqa: PLC0415  25 ms that a file without frontmatter does not pay

    builder = _Builder()
    loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text.encode("utf-8", "replace").decode(), loader):
            builder.take(event)
    except _Refused as refusal:
        builder.problems.append(_malformed(*refusal.args))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = _FIRST_LINE + (mark.line if mark is not None else 0)
        builder.problems.append(_malformed(line, " ".join(str(error.problem or error.context or "not YAML").split())))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # The reader refuses control characters by their position and not by their line.
        position = getattr(error, "position", None)
        line = _FIRST_LINE + (text[:position].count("\n") if isinstance(position, int) else 0)
        builder.problems.append(_malformed(line, "a character that YAML does not allow"))
    return builder


def _quoted(lines: list[str], cut: re.Pattern[str]) -> Iterator[str]:
    """The same lines with quotes around each sentence in which `cut` is found; what is deeper belongs to a value."""
    at = 0
    while at < len(lines):
        pair = _PAIR.fullmatch(lines[at])
        value = "" if pair is None else _COMMENT.sub("", pair["value"]).rstrip()
        end = at + 1
        if pair is None or not value:
            yield lines[at]
        else:
            deeper = " " * (len(pair["indent"]) + 1)
            while end < len(lines) and lines[end].startswith(deeper) and lines[end].strip():
                end += 1
            texts = [value, *(line.rstrip() for line in lines[at + 1 : end])]
            is_yaml = _YAML.fullmatch(value) or (end > at + 1 and value[0] in "[{'\"|>")
            if is_yaml or not any(map(cut.search, texts)):
                yield from lines[at:end]
            else:
                text = "\n".join(texts).replace("'", "''")
                yield f"{pair['indent']}{pair['key']}'{text}'"
        at = end


class _Refused(Exception):
    """Ends the reading: a limit or an alias, with its line and the reason."""


class _OpenValue:
    """A list or mapping whose end has not come yet; `key` is a mapping's key that waits for its value."""

    def __init__(self, value: "dict[str, object] | list[object]", path: str) -> None:
        self.value = value
        self.path = path
        self.key: str | None = None


class _Builder:
    """Makes values of events, with a stack of its own: depth costs no recursion."""

    def __init__(self) -> None:
        self.root: object = None
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._stack: list[_OpenValue] = []
        self._nodes = 0

    def take(self, event: object) -> None:
        """One event of the parser. Raises _Refused."""
        name = type(event).__name__
        line = _FIRST_LINE + getattr(getattr(event, "start_mark", None), "line", 0)
        if name == "AliasEvent":
            raise _Refused(line, "aliases (*name) are not allowed")
        if name in ("SequenceEndEvent", "MappingEndEvent"):
            self._stack.pop()
        if name not in ("ScalarEvent", "SequenceStartEvent", "MappingStartEvent"):
            return
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Refused(line, f"more than {MAX_NODES} values")
        if name == "ScalarEvent":
            text = str(getattr(event, "value", ""))
            is_null = text in ("~", "null", "Null", "NULL") and getattr(event, "style", None) in (None, "")
            self._add("" if is_null else text, line)
            return
        if len(self._stack) >= MAX_DEPTH:
            raise _Refused(line, f"nested deeper than {MAX_DEPTH} levels")
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None:
            raise _Refused(line, "a key is a list or a mapping")
        value: dict[str, object] | list[object] = {} if name == "MappingStartEvent" else []
        self._stack.append(_OpenValue(value, self._add(value, line)))

    def _add(self, value: object, line: int) -> str:
        """Put a value into what is open, and return where: `links.specs.0`; a mapping takes its key first."""
        if not self._stack:
            if self.root is None:
                self.root = value
            return ""
        top = self._stack[-1]
        if isinstance(top.value, list):
            name = str(len(top.value))
            top.value.append(value)
        elif top.key is None:
            top.key = str(value)
            return ""
        else:
            name, top.key = top.key, None
            if name in top.value:
                message = f"'{name}' is here a second time; the last one counts"
                self.problems.append(Problem("duplicate-key", line, message))
            top.value[name] = value
        path = f"{top.path}.{name}" if top.path else name
        self.lines[path] = line
        return path


def _malformed(line: int, message: str) -> Problem:
    return Problem("malformed-frontmatter", line, message)
