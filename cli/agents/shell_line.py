"""A shell's line as its commands: what runs, and what only looks, waits or shows less.

    simple_commands("cd web && time npm test 2>&1 | tail -20", "/p")      ("/p/web", ["npm test"])
    simple_commands('git commit -m "fix; done"', "/p")                    ("/p", ['git commit -m "fix; done"'])

Words and operators are kept as they were written. A line that cannot be read is one command.
"""

import os
import re
from collections.abc import Iterator
from itertools import chain

from ctxrank.indexer.text.tables import rows


def programs(kind: str) -> list[str]:
    """The programs of which this is known; programs.tsv says what there is."""
    return [program for known, program in rows(__file__, "programs") if known == kind]


_LOOKING, _WAITING, _WRITING = map(frozenset, map(programs, ("looks", "waits", "writes")))
_MEASURING = {"time": 0, "nice": 0, "timeout": 1}  # what bounds or times a command, with the words that it takes
_WITH_VALUE = ("-n", "-k", "-s", "-u", "-g")  # options of these, and of sudo

_MAX_CHARS = 10_000
_PIECE = re.compile(
    r"(?P<blank>[ \t\r]+)|(?P<operator>\n|&>>?|&&|\|\|?&?|<[<(&>]*|>[>(&|]?|[;&()])"
    r"""|(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`|[^ \t\r\n;&|<>()'"`\\])+)""",
    re.DOTALL,
)
_PASSING_ON = frozenset((">", ">>", "|"))
_SEPARATORS = frozenset((";", "&", "&&", "||", "\n", "(", ")"))


def simple_commands(command: str, cwd: str) -> tuple[str, list[str]]:
    """The folder that a shell's line ends up in, and its commands without what only looks, waits or shows less."""
    folder = cwd
    parts: list[str] = []
    try:
        pipelines = list(_pipelines(command))
    except ValueError:  # a quote without its end, or a text that is written
        return folder, [whole] if (whole := " ".join(command.split())) else []
    for first, *rest in pipelines:
        if any(words[0] in _WRITING for words in rest):  # what it prints goes somewhere
            first = [word for words in (first, *rest) for word in ("|", *words)][1:]
        words = first
        while words and words[0] in _MEASURING:
            words = _without_options(words)[_MEASURING[words[0]] :]
        if words[:1] == ["cd"] and words[1:]:
            folder = os.path.normpath(os.path.join(folder, words[1].strip("\"'")))
        elif not set(without_rights(words)[:1]) <= _WAITING or _PASSING_ON & set(words):
            parts.append(" ".join(words))
    return folder, [part for part in parts if not is_looking(part)] or parts[-1:]


def words_of(command: str) -> list[str]:
    """The words and operators of a command as they are written."""
    try:
        return [text for text, _ in _tokens(command)]
    except ValueError:
        return command.split()


def is_looking(command: str) -> bool:
    """Whether a command changes nothing."""
    words = words_of(command)
    if _PASSING_ON & set(words):  # it writes a file, or feeds a program that does something
        return False
    words = without_rights(words) or words
    first = os.path.basename(words[0])
    if first in ("sed", "awk", "perl") and not any(word.startswith(("-i", "--in-place", "-pi")) for word in words):
        return first != "perl"
    return first in _LOOKING or " ".join((first, *words[1:2])) in _LOOKING


def without_rights(words: list[str]) -> list[str]:
    """A command without the rights that it is given."""
    return _without_options(words) if words[:1] == ["sudo"] else words


def _without_options(words: list[str]) -> list[str]:
    """What follows a program and its options."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[at:]


def _pipelines(command: str) -> Iterator[list[list[str]]]:
    """The commands of a line, each with those that its output goes into. Raises ValueError; see `_tokens`."""
    tokens = chain(_tokens(command), [("\n", True)] * 2)
    pipeline: list[list[str]] = [[]]
    for text, is_operator in tokens:
        if not is_operator and text.startswith("#"):
            text, is_operator = next(token for token in tokens if token[0] == "\n")
        if text in _SEPARATORS:
            if complete := [one for one in pipeline if one]:
                yield complete
            pipeline = [[]]
        elif text in ("|", "|&"):
            pipeline.append([])
        elif is_operator:
            target, _ = next(tokens)
            if target != "/dev/null" and not (text.endswith("&") and (target.isdecimal() or target == "-")):
                pipeline[-1] += [text, target]
        else:
            pipeline[-1].append(text)


def _tokens(command: str) -> Iterator[tuple[str, bool]]:
    """The words and operators of a line as they are written, and which is an operator; $(…) is part of a word.

    Raises ValueError for a quote without its end, for a text that is written to a command (<<), which has lines of its
    own, and for a line that is too long to be read.
    """
    line = command.replace("\\\n", " ")
    if len(line) > _MAX_CHARS:
        raise ValueError("too long")
    word, depth, end = "", 0, 0
    for piece in _PIECE.finditer(line):
        if piece.start() != end:
            break
        text, end = piece[0], piece.end()
        opens = text.endswith("(") and piece.lastgroup == "operator"
        if depth or piece.lastgroup == "word" or (opens and (text != "(" or word.endswith(("$", "=")))):
            word += text
            depth += opens - (text == ")")
            continue
        number = word if text[0] in "<>" and word.isdecimal() else ""  # of what is redirected
        if word and not number:
            yield word, False
        word = ""
        if text.startswith("<<"):
            raise ValueError("a text that is written")
        if piece.lastgroup == "operator":
            yield number + text, True
    if end != len(line):
        raise ValueError("a quote without its end")
    if word:
        yield word, False
