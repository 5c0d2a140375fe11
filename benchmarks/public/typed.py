"""Questions as they are typed, made with a seed from trees that nobody has asked before: halves, seen and unseen.

    PYTHONPATH=benchmarks python -m public.typed --data DATA        # writes DATA/typed/{,more-}{seen,unseen}.json
    PYTHONPATH=benchmarks python -m public.typed --data DATA --list # rewrites typed-items.json beside this file, too

Trees, their commits and the questions that people wrote are in typed-trees.json and, made later, more-trees.json; all
others are drawn here. What answers a question is known by how it was made, so no engine has a say in it.
"""

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from public.trees import repository_of, write_tree

_HOME = os.path.dirname(os.path.abspath(__file__))
_SEED = 33
_OF_EACH = 25  # questions of one kind from one tree
_NOTES = 15  # of one tree
_MAX_ANSWERS = 4  # a word that more files have is no question about one of them
_SOURCE = re.compile(r"\.(py|[cm]?js|ts|go|rs|java|kt|sh|vim|rb)$")
_TEST = re.compile(r"(^|/)(tests?|__tests__|spec|testing)/|[_.]test\.|(^|/)test_|Test\.\w+$")
_DEFINED = re.compile(
    r"^\s*(?:pub |export |async |internal |private |public |abstract )*"
    r"(?:def|func|fn|fun|class|function|struct|enum)\s+(\w+)",
    re.M,
)
_NAME = re.compile(r"\b[A-Za-z_]\w{6,}\b")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORD = re.compile(r"\b[a-z]{5,14}\b")
_PROSE_WORD = re.compile(r"\b[a-zà-öø-ÿœß]{5,24}\b")  # German and French
_HEADING = re.compile(r"^(?:#+ +(.+)|(.+)(?=\n[=~*^-]{5,}\n))", re.M)
_HAN = re.compile(r"[\u4e00-\u9fff]{4,}")
_LITERAL = re.compile(r"\"([^\"\\\n{}%]{18,90})\"|'([^'\\\n{}%]{18,90})'")
_OPENINGS = ("what did we find about", "why did we change", "what was decided about", "what was learnt about")
_NO_WORDS = frozenset(
    "this that with from have been when will which there their would should could also they then than into only".split()
)
Texts = dict[str, str]
Item = tuple[str, str, list[str]]  # kind, question, paths that answer it


def read_texts(folder: str) -> Texts:
    """All text files by path."""
    texts: Texts = {}
    for top, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(top, name)
            with open(path, "rb") as file:
                content = file.read(400_001)
            if len(content) <= 400_000 and b"\0" not in content:
                texts[os.path.relpath(path, folder)] = content.decode(errors="replace")
    return texts


def _sources(texts: Texts) -> Texts:
    return {path: text for path, text in texts.items() if _SOURCE.search(path)}


def folders(texts: Texts) -> Iterator[Item]:
    """The name of a folder that is the only one of that name."""
    below: dict[str, list[str]] = defaultdict(list)
    homes: dict[str, set[str]] = defaultdict(set)
    for path in texts:
        parts = path.split("/")[:-1]
        for depth, part in enumerate(parts):
            homes[part].add("/".join(parts[: depth + 1]))
            below[part].append(path)
    for name, paths in below.items():
        if len(homes[name]) == 1 and len(name) > 3 and "." not in name and len(paths) < len(texts) / 3:
            yield "folder", name, paths


def _holders(texts: Texts, pattern: re.Pattern[str] = _NAME) -> dict[str, list[str]]:
    holders: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for name in dict.fromkeys(found[found.lastindex or 0] for found in pattern.finditer(text)):
            holders[name].append(path)
    return holders


def run_together(texts: Texts) -> Iterator[Item]:
    """The three parts of a snake_case name without what parts them."""
    everything = "\n".join(texts.values()).lower()
    for name, paths in _holders(_sources(texts)).items():
        parts = name.strip("_").lower().split("_")
        together = "".join(parts)
        if len(parts) == 3 and all(len(part) > 2 and part.isalpha() for part in parts) and together not in everything:
            holding = [path for path, text in texts.items() if re.search(rf"\b{name}\b", text)]
            if len(paths) <= _MAX_ANSWERS and len(holding) <= _MAX_ANSWERS:
                yield "three parts run together", together, holding


def cut_names(texts: Texts) -> Iterator[Item]:
    """A camelCase name with one letter of its last part."""
    holders = _holders(_sources(texts))
    for name in holders:
        parts = _PARTS.findall(name)
        if len(parts) > 1 and "".join(parts) == name and len(parts[-1]) > 3 and parts[-1][0].isupper():
            cut = name[: -len(parts[-1]) + 1]
            if not re.search(rf"\b{cut}\b", "\n".join(texts.values())):
                answers = sorted({path for other, paths in holders.items() if other.startswith(cut) for path in paths})
                if len(answers) <= _MAX_ANSWERS:
                    yield "cut name", cut, answers


def definitions(texts: Texts) -> Iterator[Item]:
    """A name that is defined once, and the words of such a name."""
    defined: dict[str, list[str]] = defaultdict(list)
    for path, text in _sources(texts).items():
        for name in _DEFINED.findall(text):
            defined[name].append(path)
    for name, paths in defined.items():
        parts = [part.lower() for part in _PARTS.findall(name)]
        if len(paths) == 1 and len(name) > 5 and not _TEST.search(paths[0]):
            yield "definition", name, paths
            if len(parts) > 1 and all(len(part) > 2 for part in parts):
                yield "words of a name", " ".join(parts), paths


def file_names(texts: Texts) -> Iterator[Item]:
    """A file's name that is there once, and the same with its folder."""
    counted = Counter(os.path.basename(path) for path in texts)
    for path in texts:
        if counted[os.path.basename(path)] == 1:
            yield "file name", os.path.basename(path), [path]
        if "/" in path:
            yield "folder and file", "/".join(path.split("/")[-2:]), [path]


def literals(texts: Texts) -> Iterator[Item]:
    """A message that one source has as a literal, and that a test quotes."""
    tests = "\n".join(text for path, text in texts.items() if _TEST.search(path))
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in _sources(texts).items():
        if not _TEST.search(path):
            for one in {double or single for double, single in _LITERAL.findall(text)}:
                found[one.strip()].append(path)
    for text, paths in found.items():
        if len(text.split()) > 2 and len(paths) == 1 and text in tests:
            yield "literal that a test quotes", text, paths


def misspelt(texts: Texts, word: re.Pattern[str] = _WORD) -> Iterator[Item]:
    """Three words of a file that no other file has together, two letters of the longest in the wrong order."""
    words = {path: set(word.findall(text)) for path, text in texts.items()}
    counted = Counter(one for some in words.values() for one in some)
    for path, some in words.items():
        rare = sorted(one for one in some if counted[one] <= 3)
        for at in range(0, min(len(rare), 12) - 2, 3):
            three = rare[at : at + 3]
            longest = max(three, key=len)
            middle = len(longest) // 2
            wrong = longest[: middle - 1] + longest[middle] + longest[middle - 1] + longest[middle + 1 :]
            together = [other for other, those in words.items() if those.issuperset(three)]
            if wrong != longest and wrong not in counted and together == [path]:
                yield (
                    "three words, one misspelt",
                    " ".join(wrong if one == longest else one for one in three),
                    [path],
                )


def lines_of_code(texts: Texts) -> Iterator[Item]:
    """A line with a call that one file alone has."""
    holders: dict[str, list[str]] = defaultdict(list)
    for path, text in _sources(texts).items():
        for line in {line.strip() for line in text.split("\n")}:
            if 20 < len(line) < 90 and re.search(r"\w\(.+\)", line):
                holders[line].append(path)
    for line, paths in holders.items():
        if len(paths) == 1:
            yield "line of code", line, paths


def four_characters(texts: Texts, share: float = 0.02) -> Iterator[Item]:
    """Four Chinese characters that stand together in a few files; of so large a share of runs."""
    chance = random.Random(_SEED)
    for text in [text for path, text in texts.items() if path.endswith(".md")]:
        for run in dict.fromkeys(_HAN.findall(text)):
            at = chance.randrange(len(run) - 3)
            answers = (
                [other for other, whole in texts.items() if run[at : at + 4] in whole]
                if chance.random() < share
                else []
            )
            if 0 < len(answers) <= _MAX_ANSWERS:
                yield "four CJK characters", run[at : at + 4], answers


def headings(texts: Texts) -> Iterator[Item]:
    """A heading of three words or more that one file has, in lower case."""
    holders = _holders(texts, _HEADING)
    for heading, paths in holders.items():
        words = re.findall(r"\w+", heading.lower())
        if len(paths) == 1 and len(words) > 2:
            yield "heading", " ".join(words), paths


def paragraphs(texts: Texts) -> Iterator[Item]:
    """Four words of a paragraph, in its order, that no other file has together."""
    chance = random.Random(_SEED)
    words = {path: set(_PROSE_WORD.findall(text.lower())) for path, text in texts.items()}
    counted = Counter(word for some in words.values() for word in some)
    for path, text in texts.items():
        for paragraph in re.split(r"\n\s*\n", text):
            usual = [word for word in dict.fromkeys(_PROSE_WORD.findall(paragraph.lower())) if counted[word] > 1]
            if len(usual) > 7 and re.match(r"\w", paragraph):
                kept = set(chance.sample(usual, 4))
                if [other for other, those in words.items() if those.issuperset(kept)] == [path]:
                    yield "words of a paragraph", " ".join(word for word in usual if word in kept), [path]


def _prose(texts: Texts) -> Iterator[Item]:
    texts = {path: text for path, text in texts.items() if path.endswith((".md", ".rst", ".txt"))}
    for make in (headings, paragraphs, partial(misspelt, word=_PROSE_WORD)):
        yield from make(texts)


_CODE: tuple[Callable[[Texts], Iterator[Item]], ...] = (
    folders, run_together, cut_names, definitions, file_names, literals, misspelt, lines_of_code,
)  # fmt: skip


def drawn(items: Iterator[Item], chance: random.Random, most: int) -> list[Item]:
    """At most so many of each kind, each question once."""
    by_kind: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in items:
        by_kind[item[0]].setdefault(item[1], item)
    return [
        one
        for kind in sorted(by_kind)
        for one in _some([by_kind[kind][key] for key in sorted(by_kind[kind])], chance, most)
    ]


def _some(items: list[Any], chance: random.Random, most: int) -> list[Any]:
    return chance.sample(items, min(most, len(items)))


def notes_of(repository: str, commit: str, texts: Texts, chance: random.Random) -> tuple[list[Item], Texts]:
    """Long commit messages as notes, and questions in words of theirs that sources have, too."""
    log = subprocess.check_output(
        ["git", "-C", repository, "log", "--no-merges", "-n", "6000", "--format=%H%x1f%s%x1f%b%x1e", commit]
    ).decode(errors="replace")
    known = Counter(word for text in _sources(texts).values() for word in set(re.findall(r"[a-z]{4,}", text.lower())))
    candidates: list[tuple[Item, str, str]] = []
    for entry in log.split("\x1e"):
        sha, subject, body = ([*entry.strip().split("\x1f"), "", ""])[:3]
        lines = (line for line in body.split("\n") if not re.match(r"\s*(\w+-)+by:|\s*\* |\(cherry", line, re.I))
        prose = "\n".join(lines).strip()
        usual = set(re.findall(r"[a-z]{4,}", subject.lower())) | _NO_WORDS
        words = [
            word
            for word in dict.fromkeys(re.findall(r"[a-z]{4,}", prose.lower()))
            if word not in usual and known[word] > 1
        ]
        if 200 < len(prose) < 3000 and len(words) > 7 and "dependabot" not in body and "http" not in prose:
            kept = set(chance.sample(words, 5))
            asked = " ".join(word for word in words if word in kept)
            path = f"notes/{sha[:10]}.md"
            item = ("note", f"{_OPENINGS[len(candidates) % len(_OPENINGS)]} {asked}", [path])
            candidates.append((item, path, f"# {subject}\n\n{prose}\n"))
    kept_notes = _some(candidates, chance, _NOTES)
    return [item for item, _, _ in kept_notes], {path: text for _, path, text in kept_notes}


def written_notes(repository: str, asked: list[tuple[str, str]]) -> tuple[list[Item], Texts]:
    """Commit messages as notes, and what somebody asked who wants to know what they say: commit and question."""
    items: list[Item] = []
    notes: Texts = {}
    for commit, text in asked:
        message = subprocess.check_output(["git", "-C", repository, "show", "-s", "--format=%s%n%n%b", commit])
        path = f"notes/{commit}.md"
        notes[path] = f"# {message.decode(errors='replace').strip()}\n"
        items.append(("note in other words", text, [path]))
    return items, notes


def made_of(data: str, name: str, tree: dict[str, Any]) -> dict[str, Any]:
    """The questions about one tree."""
    repository = repository_of(data, tree["repository"])
    chance = random.Random(f"{_SEED} {name}")
    with tempfile.TemporaryDirectory() as folder:
        write_tree(repository, tree["commit"], folder, tree.get("below", ""))
        texts = read_texts(folder)
    many_characters = partial(four_characters, share=tree.get("share", 0.02))
    by_kind: dict[str, tuple[Callable[[Texts], Iterator[Item]], ...]]
    by_kind = {"code": _CODE, "cjk": (many_characters,), "prose": (_prose,)}
    makers = by_kind.get(tree["kind"], ())
    items = drawn((item for make in makers for item in make(texts)), chance, tree.get("of_each", _OF_EACH))
    notes: Texts = {}
    if tree["kind"] == "code":
        asked, notes = notes_of(repository, tree["commit"], texts, chance)
        items += asked
    elif tree["kind"] == "notes":
        items, notes = written_notes(repository, tree["asked_of_notes"])
    items += [("paraphrase", text, [path]) for path, text in tree.get("asked", ())]
    return {
        **{key: tree[key] for key in ("repository", "commit", "below") if key in tree},
        "notes": notes,
        "questions": items,
    }


def _trees() -> Iterator[tuple[str, dict[str, Any]]]:
    """The trees of each set, by its name."""
    for file_name, prefix in (("typed-trees.json", ""), ("more-trees.json", "more-")):
        with open(os.path.join(_HOME, file_name), encoding="utf-8") as file:
            for half, trees in json.load(file).items():
                yield f"{prefix}{half}", trees


def main() -> None:
    """Write all halves, and print their digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    os.makedirs(os.path.join(options.data, "typed"), exist_ok=True)
    listed: dict[str, Any] = {}
    for name_of_set, trees in _trees():
        made = {name: made_of(options.data, name, tree) for name, tree in trees.items()}
        content = json.dumps(made, ensure_ascii=False, sort_keys=True, indent=1).encode()
        with open(os.path.join(options.data, "typed", f"{name_of_set}.json"), "wb") as written:
            written.write(content)
        items = [
            f"{name}: {kind}: {hashlib.sha256(text.encode()).hexdigest()[:8]}: {paths[0]}"
            for name, tree in made.items()
            for kind, text, paths in tree["questions"]
        ]
        kinds = Counter(item[0] for tree in made.values() for item in tree["questions"])
        digest = hashlib.sha256(content).hexdigest()
        listed[name_of_set] = {"sha256": digest, "kinds": kinds, "items": items, "dropped": {}}
        print(name_of_set, digest, dict(kinds))
    if options.list:
        with open(os.path.join(_HOME, "typed-items.json"), "w", encoding="utf-8") as file:
            json.dump(listed, file, ensure_ascii=False, indent=0)
            file.write("\n")


if __name__ == "__main__":
    main()
