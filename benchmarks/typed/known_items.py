"""Known items: questions as people type them, made from the files of a tree, each with the file that it is about.

python benchmarks/typed/known_items.py FOLDER… > questions.jsonl

Every question names one file that its text was taken from, and its kind: how somebody who wants that file would type.
Which words are rare, and what is defined once, is counted over the whole tree. The same tree gives the same questions.

    traceback     a stack trace as Python prints it, whose last frame is a `raise` of the file
    call          a call with arguments and quotes that stands in one file
    typo          a word of one file with one edit, which makes no other word of the tree
    typo in three three words of one passage, one of them with an edit
    cut           an identifier of one file, cut inside a part at one end or both
    compound      a long word of one file, written as the two words that it is made of
    file, folder, dotted   a file's name; folder/file; its path with dots
    definition    an identifier that is defined in one file and used in others
    camel, snake  an identifier of one file as separate words
"""

import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

MOST_OF_A_KIND = 250
_SEED = 20261122
_SOURCE = re.compile(r"\.(py|[cm]?js|[cm]?ts|go|rs|java|rb|c|h|md|rst|txt|toml|ya?ml)$")
_MAX_BYTES = 400_000
_WORD = re.compile(r"[^\W\d_]{3,}")
_IDENTIFIER = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]{6,}\b")
_RAISE = re.compile(r"^( +)raise ([A-Z]\w+)\(\s*f?\"([^\"\n]{12,120})\"", re.MULTILINE)
_FUNCTION = re.compile(r"^( *)(?:async )?def (\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b[A-Za-z_][\w.]{3,40}\([^()\n]{0,60}[\"'][^\"'()\n]{2,40}[\"'][^()\n]{0,60}\)")
_DEFINITION = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))? |export |default |async |static |abstract |public |private |protected |final )*"
    r"(?:def|class|fn|func(?: \([^)]*\))?|function|struct|enum|trait|interface|type|const|module) +(\w{4,})",
    re.MULTILINE,
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LINKERS = ("", "s", "es", "n", "en", "er")  # what German writes between the parts of a compound
_LEAST_COMPOUND, _LEAST_PART = 12, 5


class Question(NamedTuple):
    """What is typed, and the one file that answers it."""

    kind: str
    text: str
    path: str


class Tree(NamedTuple):
    """The texts of a tree's files, by path."""

    texts: dict[str, str]
    words: dict[str, set[str]]  # lower case: the files that have it
    identifiers: dict[str, set[str]]

    def only_in(self, path: str, names: dict[str, set[str]], found: list[str]) -> list[str]:
        """Those of the names that stand in this file alone, once each."""
        return sorted({name for name in found if names.get(name) == {path}})


def read_tree(folder: str) -> Tree:
    """All sources and documents below a folder."""
    texts: dict[str, str] = {}
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(top, name)
            if not _SOURCE.search(name) or os.path.islink(path) or os.path.getsize(path) > _MAX_BYTES:
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    texts[os.path.relpath(path, folder)] = file.read()
            except UnicodeDecodeError:
                continue
    words: dict[str, set[str]] = defaultdict(set)
    identifiers: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for word in _WORD.findall(text.lower()):
            words[word].add(path)
        for name in _IDENTIFIER.findall(text):
            identifiers[name].add(path)
    return Tree(texts, words, identifiers)


def _tracebacks(tree: Tree, dice: random.Random) -> Iterator[Question]:
    for path, text in tree.texts.items():
        if not path.endswith(".py"):
            continue
        for found in _RAISE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            functions = [one for one in _FUNCTION.finditer(text, 0, found.start()) if len(one[1]) < len(found[1])]
            if not functions:
                continue
            name, home = functions[-1][2], f"/usr/lib/python3/dist-packages/{path}"
            job = dice.choice(("nightly", "report", "run"))
            message = re.sub(r"\{[^}]*\}", lambda _: dice.choice(("42", "None", "'abc'", "report.json")), found[3])
            yield Question("traceback", "\n".join([
                "Traceback (most recent call last):",
                f'  File "/home/ada/jobs/{job}.py", line {dice.randint(5, 90)}, in main',
                f"    {dice.choice(('outcome', 'result', 'value'))} = {name}({dice.choice(('', 'config', 'item'))})",
                f'  File "{home}", line {line}, in {name}',
                f"    {text.splitlines()[line - 1].strip()}",
                f"{found[2]}: {message}",
            ]), path)  # fmt: skip


def _calls(tree: Tree, _: random.Random) -> Iterator[Question]:
    where: dict[str, set[str]] = defaultdict(set)
    for path, text in tree.texts.items():
        for call in _CALL.findall(text):
            where[call].add(path)
    yield from (Question("call", call, min(paths)) for call, paths in where.items() if len(paths) == 1)


def _edited(word: str, dice: random.Random) -> str:
    """A word with one edit that is not at its first letter."""
    at = dice.randrange(1, len(word) - 1)
    kind = dice.randrange(4)
    letter = dice.choice("aeinorst")
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    return word[:at] + letter + word[at + (kind == 2) :]


def _typos(tree: Tree, dice: random.Random) -> Iterator[Question]:
    for path, text in tree.texts.items():
        rare = [word for word in tree.only_in(path, tree.words, _WORD.findall(text.lower())) if len(word) > 5]
        for word in dice.sample(rare, min(2, len(rare))):
            typed = _edited(word, dice)
            if typed not in tree.words and typed != word:
                yield Question("typo", typed, path)


def _typos_in_three(tree: Tree, dice: random.Random) -> Iterator[Question]:
    limit = max(3, len(tree.texts) // 20)
    for path, text in tree.texts.items():
        lines = [_WORD.findall(line.lower()) for line in text.splitlines()]
        fitting = [
            words for line in lines
            if len(words := sorted({word for word in line if len(word) > 4 and len(tree.words[word]) <= limit})) >= 3
        ]  # fmt: skip
        for words in dice.sample(fitting, min(2, len(fitting))):
            three = dice.sample(words, 3)
            typed = _edited(three[1], dice)
            if typed not in tree.words and any(len(tree.words[word]) == 1 for word in three):
                yield Question("typo in three", " ".join([three[0], typed, three[2]]), path)


def _cuts(tree: Tree, dice: random.Random) -> Iterator[Question]:
    for path, text in tree.texts.items():
        names = tree.only_in(path, tree.identifiers, _IDENTIFIER.findall(text))
        names = [name for name in names if len(name) > 11 and len(_PARTS.findall(name)) > 1]
        for name in dice.sample(names, min(2, len(names))):
            start, end = dice.choice(((0, 3), (2, 0), (2, 2)))
            cut = name[start : len(name) - end].strip("_")
            if sum(cut.lower() in other.lower() for other in tree.identifiers) == 1:
                yield Question("cut", cut, path)


def _compounds(tree: Tree, _: random.Random) -> Iterator[Question]:
    for path, text in tree.texts.items():
        for word in tree.only_in(path, tree.words, _WORD.findall(text.lower())):
            if len(word) >= _LEAST_COMPOUND and (parts := _parts_of_compound(word, tree.words)):
                yield Question("compound", " ".join(parts), path)


def _parts_of_compound(word: str, words: dict[str, set[str]]) -> tuple[str, str] | None:
    """The two words that a compound is made of, both of which the tree has, the most even ones."""
    cuts = sorted(range(_LEAST_PART, len(word) - _LEAST_PART + 1), key=lambda at: abs(at - len(word) / 2))
    for at in cuts:
        for linker in _LINKERS:
            first = word[: at - len(linker)] if linker else word[:at]
            if word[:at].endswith(linker) and len(first) >= _LEAST_PART and first in words and word[at:] in words:
                return first, word[at:]
    return None


def _names(tree: Tree, _: random.Random) -> Iterator[Question]:
    names = Counter(os.path.basename(path) for path in tree.texts)
    ends = Counter("/".join(path.split("/")[-2:]) for path in tree.texts)
    for path in tree.texts:
        folder, name = os.path.split(path)
        end = "/".join(path.split("/")[-2:])
        if names[name] == 1:
            yield Question("file", name, path)
        if folder and ends[end] == 1:
            yield Question("folder", end, path)
            if path.endswith(".py") and name != "__init__.py":
                yield Question("dotted", ".".join(os.path.splitext(end)[0].split("/")), path)


def _definitions(tree: Tree, _: random.Random) -> Iterator[Question]:
    where: dict[str, list[str]] = defaultdict(list)
    for path, text in tree.texts.items():
        for name in _DEFINITION.findall(text):
            where[name].append(path)
    for name, paths in where.items():
        if len(paths) == 1 and len(tree.identifiers.get(name, ())) >= 3:
            yield Question("definition", name, paths[0])


def _separate_words(tree: Tree, dice: random.Random) -> Iterator[Question]:
    for path, text in tree.texts.items():
        names = tree.only_in(path, tree.identifiers, _IDENTIFIER.findall(text))
        names = [name for name in names if 3 <= len(_PARTS.findall(name)) <= 5]
        for name in dice.sample(names, min(2, len(names))):
            kind = "snake" if "_" in name else "camel"
            yield Question(kind, " ".join(_PARTS.findall(name)).lower(), path)


_MAKERS: tuple[Callable[[Tree, random.Random], Iterator[Question]], ...] = (
    _tracebacks, _calls, _typos, _typos_in_three, _cuts, _compounds, _names, _definitions, _separate_words,
)  # fmt: skip


def questions_of(folder: str) -> list[Question]:
    """All questions about a tree, at most MOST_OF_A_KIND of a kind, chosen at random with a fixed seed."""
    tree = read_tree(folder)
    dice = random.Random(_SEED)
    by_kind: dict[str, list[Question]] = defaultdict(list)
    for make in _MAKERS:
        for question in make(tree, dice):
            by_kind[question.kind].append(question)
    return [
        question
        for found in by_kind.values()
        for question in (dice.sample(found, MOST_OF_A_KIND) if len(found) > MOST_OF_A_KIND else found)
    ]


def main() -> None:
    """Print the questions about each tree as JSON lines."""
    for folder in sys.argv[1:]:
        for question in questions_of(folder):
            print(json.dumps({**question._asdict(), "tree": os.path.basename(folder)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
