"""A shell's line as its commands: what runs, what only looks, waits or shows less, and which two are the same.

    simple_commands("cd web && time npm test 2>&1 | tail -20", "/p")      ("/p/web", ["npm test"])
    simple_commands('git commit -m "fix; done"', "/p")                    ("/p", ['git commit -m "fix; done"'])

Words and operators are told apart by `shlex`, and kept as they were written. What it cannot read is one command.
"""

import os
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from io import StringIO

from ctxrank.indexer.light_typing import NamedTuple

# Commands that look and change nothing: what helped is not among them.
_LOOKING = frozenset(
    (
        "ls cat head tail less grep rg find fd pwd cd echo printf which type wc file stat du df ps env printenv date "
        "whoami tree diff cmp sort uniq jq true sleep history man help ctxrank"
    ).split()
)
_LOOKING_WITH = {
    "git": "status diff log show branch blame remote rev-parse ls-files",
    "pip": "list show freeze --version",
    "npm": "ls list view --version",
    "docker": "ps images logs inspect",
    "kubectl": "get describe logs",
    "cargo": "tree",
    "go": "version env list",
}
_WRITING = ("tee", "xargs", "sh", "bash", "sudo", "psql", "mysql", "sqlite3", "kubectl", "crontab", "docker", "patch")
_WAITING = frozenset(("sleep", "true", "echo", "export", "set", "source", "."))
# What starts a program, and says nothing of what it does.
_STARTERS = tuple(
    tuple(words.split())
    for words in (
        "sudo,uv run,poetry run,pipenv run,hatch run,python -m,python3 -m,bundle exec,pnpm exec,yarn exec,npm exec --"
        ",npx,bunx,pnpm dlx"
    ).split(",")
)
_RUNS_FILES = frozenset(("python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "deno", "bun", "Rscript"))
_MEASURING = {"time": 0, "nice": 0, "timeout": 1}  # what bounds or times a command, with the words that it takes
_WITH_VALUE = ("-n", "-k", "-s", "-u", "-g")  # options of these, and of sudo

_BLANKS = " \t\r"
_OPERATORS = "();<>|&\n"
_MAX_CHARS = 10_000  # shlex takes time in the square of a word's length
_ONE_OPERATOR = re.compile(r"\n|&>>?|&&|\|\|?&?|<[<(&>]*|>[>(&|]?|[;&()]")
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
            for words in rest:
                first += ["|", *words]
        words = _unmeasured(first)
        if not words:
            continue
        if words[0] == "cd" and len(words) > 1:
            folder = os.path.normpath(os.path.join(folder, words[1].strip("\"'")))
        elif (_unraised(words)[:1] and _unraised(words)[0] not in _WAITING) or {">", ">>", "|"} & set(words):
            parts.append(" ".join(words))
    doing = [part for part in parts if not is_looking(part)]
    return folder, doing or parts[-1:]


def words_of(command: str) -> list[str]:
    """The words and operators of a command as they are written."""
    try:
        return [text for text, _ in _tokens(command)]
    except ValueError:
        return command.split()


def is_looking(command: str) -> bool:
    """Whether a command changes nothing."""
    words = words_of(command)
    if {">", ">>", "|"} & set(words):  # it writes a file, or feeds a program that does something
        return False
    words = _unraised(words) or words
    first = os.path.basename(words[0])
    if first in ("sed", "awk", "perl") and not any(word.startswith(("-i", "--in-place", "-pi")) for word in words):
        return first != "perl"
    return first in _LOOKING or (len(words) > 1 and words[1] in _LOOKING_WITH.get(first, "").split())


# A command in other forms: VAR=1 npx --quiet jest src/a.test.ts is jest with a variable, an option and a path.


@lru_cache(maxsize=256)  # each success is compared with each failure that waits
def _form(command: str) -> tuple[list[str], set[str], list[str]]:
    """What a command runs, without what starts it; its variables and options; and the paths that it names."""
    words = words_of(command)
    added = {word for word in words if word.startswith("-")}
    while words:
        starter = next((one for one in _STARTERS if tuple(words[: len(one)]) == one and len(words) > len(one)), ())
        if starter == ("sudo",):
            rest = _unraised(words)
            added.add(" ".join(words[: len(words) - len(rest)]))
            words = rest
        elif starter:
            added.add(" ".join(starter))
            words = words[len(starter) :]
        elif "=" in words[0] and words[0].partition("=")[0].isidentifier():
            added.add(words.pop(0))
        else:
            break
    paths = [word for word in words[1:] if not word.startswith("-") and ("/" in word or "." in word)]
    plain = [word for at, word in enumerate(words) if not at or (not word.startswith("-") and word not in paths)]
    return plain, added, paths


def has_form_of(one: str, other: str) -> bool:
    """Whether two commands run the same on the same paths."""
    if one == other:
        return True
    (plain, _, paths), (other_plain, _, other_paths) = _form(one), _form(other)
    return plain == other_plain and paths == other_paths


def includes(command: str, failed: str, output: str) -> bool:
    """Whether a command that succeeds has run what failed: the same, more, or the paths that the failure named."""
    (plain, _, paths), (failed_plain, _, failed_paths) = _form(command), _form(failed)
    if plain != failed_plain or (paths != failed_paths and len(plain) == 1 and plain[0] in _RUNS_FILES):
        return False
    if paths == failed_paths or not paths:
        return True
    named = failed_paths or [path for path in paths if path.partition("::")[0] in output]
    return bool(named) and all(any(path.startswith(one) for one in paths) for path in named)


def adds_to(command: str, failed: str) -> bool:
    """Whether a form has variables or options, or is started in a way, that the one that failed had not."""
    return bool(_form(command)[1] - _form(failed)[1])


def _unmeasured(words: list[str]) -> list[str]:
    """A command without what times or bounds it."""
    while words and words[0] in _MEASURING:
        words = _without_options(words)[_MEASURING[words[0]] :]
    return words


def _unraised(words: list[str]) -> list[str]:
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
    pipeline: list[list[str]] = [[]]
    is_comment = is_target = False
    for text, is_operator in _tokens(command):
        words = pipeline[-1]
        if is_comment and text != "\n":
            continue
        is_comment = not is_operator and text.startswith("#")
        if is_comment:
            continue
        if is_target:  # a file, a descriptor
            is_target = False
            if text == "/dev/null" or (words[-1].endswith("&") and (text.isdecimal() or text == "-")):
                words.pop()
            else:
                words.append(text)
        elif not is_operator:
            words.append(text)
        elif text in _SEPARATORS:
            if complete := [one for one in pipeline if one]:
                yield complete
            pipeline = [[]]
        elif text in ("|", "|&"):
            pipeline.append([])
        else:
            words.append(text)
            is_target = True
    if complete := [one for one in pipeline if one]:
        yield complete


class _Piece(NamedTuple):
    """A word or an operator where it stands in a line."""

    text: str
    begin: int
    end: int
    is_operator: bool


def _tokens(command: str) -> Iterator[tuple[str, bool]]:
    """The words and operators of a line as they are written, and which is an operator; $(…) is part of a word.

    Raises ValueError for a quote without its end, for a text that is written to a command (<<), which has lines of its
    own, and for a line that is too long to be read.
    """
    line = command.replace("\\\n", " ") + " "
    begin = end = depth = 0  # of the word before
    for piece in _pieces(line):
        opens = piece.is_operator and piece.text.endswith("(")
        if depth or (begin < end == piece.begin and (not piece.is_operator or (opens and line[end - 1] in "$="))):
            end = piece.end
            depth += opens - (piece.is_operator and piece.text == ")")
            continue
        word = line[begin:end]
        is_redirected = piece.is_operator and piece.text[0] in "<>" and end == piece.begin and word.isdecimal()
        if word and not is_redirected:
            yield word, False
        begin, end = piece.end, piece.end
        if not piece.is_operator or piece.text in ("<(", ">("):
            begin, depth = piece.begin, int(opens)
        elif piece.text.startswith("<<"):
            raise ValueError("a text that is written")
        else:
            yield (word if is_redirected else "") + piece.text, True
    if begin < end:
        yield line[begin:end], False


def _pieces(line: str) -> Iterator[_Piece]:
    """What shlex takes for a token, as it stands in a line that ends with a blank."""
    if len(line) > _MAX_CHARS:
        raise ValueError("too long")
    source = StringIO(line)
    lexer = shlex.shlex(source, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = _BLANKS, True, ""
    lexer.quotes += "`"
    end = 0
    while lexer.get_token() is not None:
        begin, end = end, source.tell() - 1  # the character after a token was read to know that it ends there
        text = line[begin:end]
        begin += len(text) - len(text.lstrip(_BLANKS))
        if line[begin] in _OPERATORS:  # what is quoted begins with its quote
            yield from (
                _Piece(one[0], begin + one.start(), begin + one.end(), True)
                for one in _ONE_OPERATOR.finditer(line[begin:end])
            )
        else:
            yield _Piece(line[begin:end], begin, end, False)
