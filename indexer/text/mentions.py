"""What a text names of a code base: paths, lines of files, names that code defines, commands, settings, lines of code.

    mentions("`load` in src/config.py:42 reads it; see `make test`")
        [Mention("line", "src/config.py:42", "src/config.py", 42, 42), Mention("name", "load"), Mention("command", …)]

A mention is a guess: what is not in the tree makes no anchor. The most exact ones come first.
"""

import re
from collections.abc import Iterator

from ctxrank.indexer.light_typing import NamedTuple

KINDS = ("line", "name", "quote", "command", "setting", "path")  # the most exact first
MOST = 64  # of one text
_PLACE = re.compile(
    r"(?<![\w./@+~-])((?:[\w@.+-]+/)*(?:[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,9}|Makefile|Dockerfile|justfile))\"?"
    r"(?:(?::|#L|,? lines? )(\d{1,6})(?:(?:-L?|\u2013)(\d{1,6}))?)?(?![\w/])"
)
# A long rule of signs, which is no fence, is not tried again with each shorter one, and looked for in so many lines.
_FENCED = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n((?:[^\n]*\n){0,5000}?) {0,3}\1", re.M)
_CODE = re.compile(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*[?!]?(?:\(\))?")
_CALL = re.compile(r"(?<![\w.`$])([A-Za-z_][\w.]*[\w])\(\)")
_SETTING = re.compile(r"[\"']?([A-Za-z_][\w.-]*)[\"']?\s*(?::=|[:=])\s*\S")
_COMMAND = re.compile(r"(?:\$ )?(?:make|just|npm run|npm|yarn|pnpm(?: run)?|tox -e|nox -s|poe|task) ([\w][\w:.-]*)")
# Where the targets of a program that runs commands are.
COMMAND_FILES = {
    "make": "Makefile", "just": "justfile", "tox": "tox.ini", "nox": "noxfile.py", "poe": "pyproject.toml",
    "task": "Taskfile.yml",
}  # fmt: skip
_LEAST_QUOTE = 8  # characters of a line of code


class Mention(NamedTuple):
    """A thing that is named, `text` as it is shown; of a place the path and the lines, of all else what to look for."""

    kind: str  # path, line, name, command, setting, quote
    text: str
    wanted: str
    line: int = 0
    end: int = 0


def mentions(text: str) -> list[Mention]:
    """The things that a text names, each once."""
    return sorted(dict.fromkeys((*_places(text), *_code(text))), key=lambda one: KINDS.index(one.kind))[:MOST]


def _places(text: str) -> Iterator[Mention]:
    for path, line, end in _PLACE.findall(text):
        path = path.removeprefix("./")
        if line:
            numbers = f"{line}-{end}" if end else line
            yield Mention("line", f"{path}:{numbers}", path, int(line), int(end or line))
        else:
            yield Mention("path", path, path)


def _code(text: str) -> Iterator[Mention]:
    blocks = [line.strip() for _, block in _FENCED.findall(text) for line in block.split("\n")]
    for code in (*_CODE.findall(text), *blocks):
        if command := _COMMAND.match(code):
            yield Mention("command", command[0].removeprefix("$ "), command[1])
        elif _NAME.fullmatch(code):
            yield Mention("name", code, code.removesuffix("()"))
        elif not _PLACE.fullmatch(code):
            if setting := _SETTING.match(code):
                yield Mention("setting", setting[1], setting[1])
            if len(code) >= _LEAST_QUOTE and not code.startswith(("$", "#")):
                yield Mention("quote", code, " ".join(code.split()))
    for name in _CALL.findall(_CODE.sub("", text)):
        yield Mention("name", name, name)
