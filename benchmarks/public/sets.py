"""The sets that a folder of the user's holds, as corpora of files and questions; README.md says how to get them."""

import fnmatch
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from public.shapes import Corpus, PublicSet, Question, Wanted
from public.trees import NoSuchTree, check_commit, repository_of, write_tree

_HOME = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(_HOME, "drawn.json"), encoding="utf-8") as _file:
    DRAWN: dict[str, Any] = json.load(_file)
# Where the sources are, for a filter to them.
_SOURCES = {
    "psf/requests": ("requests/*.py",), "pallets/flask": ("src/*.py", "flask/*.py"),
    "mwaskom/seaborn": ("seaborn/*.py",),
    "pytest-dev/pytest": ("src/*.py",), "pylint-dev/pylint": ("pylint/*.py",), "pydata/xarray": ("xarray/*.py",),
    "sphinx-doc/sphinx": ("sphinx/*.py",), "astropy/astropy": ("astropy/*.py",),
}  # fmt: skip
_EXTENSIONS = {"cosqa": ".py"}  # of the files of a text collection; else .md with a title and .txt without one


def read_sets(data: str) -> Iterator[PublicSet]:
    """Each set that is there."""
    yield from _semble(data)
    for name in ("swebench_verified", "swebench_lite", "locbench"):
        yield from _issues(data, name)
    yield from _locomo(data)
    home = os.path.join(data, "ir")
    for name in sorted(os.listdir(home)) if os.path.isdir(home) else ():
        if os.path.isfile(os.path.join(home, name, "corpus.jsonl")):
            yield _collection(os.path.join(home, name), name)
    yield from _typed(data)
    yield from _asked(data)


def _json_lines(path: str) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def _tree(data: str, slug: str, commit: str) -> Callable[[str], object]:
    repository = repository_of(data, slug)
    check_commit(repository, commit)
    return partial(write_tree, repository, commit)


def _semble(data: str) -> Iterator[PublicSet]:
    """The repositories that are developed on, and apart from them the eight that were drawn; no other one is read."""
    listed = os.path.join(data, "semble", "repos.json")
    if not os.path.isfile(listed):
        return
    with open(listed, encoding="utf-8") as file:
        specifications = {one["name"]: one for one in json.load(file)}
    for name, wanted in (("semble", DRAWN["developed_on"]), ("semble-drawn", DRAWN["drawn"])):
        corpora, skipped = list[Corpus](), list[str]()
        for repository in wanted:
            annotated = os.path.join(data, "semble", "annotations", f"{repository}.json")
            one = specifications.get(repository)
            if one is None or not os.path.isfile(annotated):
                skipped.append(f"{repository} has no annotations here")
                continue
            slug = one["url"].removeprefix("https://github.com/").removesuffix(".git")
            try:
                write = partial(_write_both, _tree(data, slug, one["revision"]), one.get("benchmark_root") or "", {})
            except NoSuchTree as error:
                skipped.append(str(error))
                continue
            corpora.append(Corpus(repository, one["revision"], write, tuple(_annotations(annotated, repository))))
        yield PublicSet(name, ("files", "passages"), ("nDCG@10",), tuple(corpora), tuple(skipped))


def _annotations(path: str, repository: str) -> Iterator[Question]:
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    for number, item in enumerate(items):
        wanted = [
            Wanted(one)
            if isinstance(one, str)
            else Wanted(one["path"], one.get("start_line") or 0, one.get("end_line") or 0)
            for one in (*item["relevant"], *item.get("secondary", ()))
        ]
        kind = item.get("category") or ("semantic" if " " in item["query"].strip() else "symbol")
        yield Question(f"{repository}/{number}", kind, item["query"], tuple(wanted))


def _issues(data: str, name: str) -> Iterator[PublicSet]:
    """An issue, and the files that its fix changed, in the tree before the fix; only of projects in _SOURCES."""
    path = os.path.join(data, "swe", f"{name}.jsonl")
    if not os.path.isfile(path):
        return
    corpora, skipped = list[Corpus](), list[str]()
    left_out: dict[str, int] = defaultdict(int)
    for item in _json_lines(path):
        if item["repo"] not in _SOURCES:
            left_out[item["repo"]] += 1
            continue
        try:
            write = _tree(data, item["repo"], item["base_commit"])
        except NoSuchTree as error:
            skipped.append(f"{item['instance_id']}: {error}")
            continue
        changed = tuple(map(Wanted, re.findall(r"^--- a/(.+)$", item["patch"], re.MULTILINE)))
        if not changed:
            skipped.append(f"{item['instance_id']}: its fix changes no file that was there")
            continue
        question = Question(item["instance_id"], item["repo"], item["problem_statement"], changed)
        sources = _SOURCES[item["repo"]]
        corpora.append(Corpus(item["instance_id"], item["base_commit"], write, (question,), sources, item["repo"]))
    if left_out:
        skipped.append(f"{sum(left_out.values())} issues of {len(left_out)} projects that are not asked about")
    corpora.sort(key=lambda corpus: (corpus.tree, [int(part) for part in re.findall(r"\d+", corpus.name)]))
    yield PublicSet(name, ("files", "source"), ("Acc@5",), tuple(corpora), tuple(skipped))


def _locomo(data: str) -> Iterator[PublicSet]:
    """A file for each session of a conversation; a question is answered by a session that its evidence names."""
    path = os.path.join(data, "locomo", "locomo10.json")
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8") as file:
        conversations = json.load(file)
    corpora = list[Corpus]()
    for one in conversations:
        sessions, texts = one["conversation"], {}
        for name in (key for key in sessions if re.fullmatch(r"session_\d+", key)):
            turns = "\n\n".join(f"{turn['speaker']}: {turn['text']}" for turn in sessions[name])
            texts[f"{name}.md"] = f"# {sessions[f'{name}_date_time']}\n\n{turns}\n"
        questions = list[Question]()
        for number, asked in enumerate(one["qa"]):
            named = dict.fromkeys(f"session_{id_}.md" for id_ in re.findall(r"D(\d+):", " ".join(asked["evidence"])))
            if wanted := tuple(Wanted(name) for name in named if name in texts):
                question = Question(f"{one['sample_id']}/{number}", str(asked["category"]), asked["question"], wanted)
                questions.append(question)
        corpora.append(Corpus(one["sample_id"], "", partial(_write_texts, texts), tuple(questions)))
    yield PublicSet("locomo", ("files",), ("hit@1", "hit@5", "MRR@10"), tuple(corpora), ())


def _collection(folder: str, name: str) -> PublicSet:
    """A collection in BEIR's form, a file for each text; turns of a conversation in a folder for each session."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    paths: dict[str, str] = {}
    for line in _json_lines(os.path.join(folder, "corpus.jsonl")):
        title, group = line.get("title") or "", line.get("group") or ""
        path = str(line["_id"]).split("|")[-1].replace(":", "/")
        if path != title:
            path += _EXTENSIONS.get(name) or (".md" if title else ".txt")
        paths[line["_id"]] = path
        texts[group][path] = f"# {title}\n\n{line['text']}\n" if title and path != title else f"{line['text']}\n"
    wanted: dict[str, list[Wanted]] = defaultdict(list)
    with open(os.path.join(folder, "qrels.tsv"), encoding="utf-8") as file:
        for query, document, grade in (line.split("\t") for line in file if not line.startswith("query-id")):
            if float(grade) > 0:
                wanted[query].append(Wanted(paths[document], grade=float(grade)))
    questions: dict[str, list[Question]] = defaultdict(list)
    for line in _json_lines(os.path.join(folder, "queries.jsonl")):
        if line["_id"] in wanted:
            question = Question(line["_id"], str(line.get("category", "")), line["text"], tuple(wanted[line["_id"]]))
            questions[line.get("group") or ""].append(question)
    corpora = (
        Corpus(group, "", partial(_write_texts, texts[group]), tuple(asked)) for group, asked in questions.items()
    )
    return PublicSet(name, ("files",), ("nDCG@10",), tuple(corpora), (), folder)


def _typed(data: str) -> Iterator[PublicSet]:
    """The questions that typed.py made, each half a set; the ones made later are sets of their own."""
    for half in ("seen", "unseen", "more-seen", "more-unseen"):
        path = os.path.join(data, "typed", f"{half}.json")
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            trees = json.load(file)
        corpora, skipped = list[Corpus](), list[str]()
        for name, tree in trees.items():
            try:
                write = _tree(data, tree["repository"], tree["commit"])
            except NoSuchTree as error:
                skipped.append(str(error))
                continue
            questions = (
                Question(f"{name}/{number}", kind, text, tuple(map(Wanted, wanted)))
                for number, (kind, text, wanted) in enumerate(tree["questions"])
            )
            write_all = partial(_write_both, write, tree.get("below", ""), tree.get("notes", {}))
            corpora.append(Corpus(name, tree["commit"], write_all, tuple(questions)))
        yield PublicSet(f"typed-{half}", ("files",), ("MRR@10", "hit@1", "empty"), tuple(corpora), tuple(skipped))


def _asked(data: str) -> Iterator[PublicSet]:
    """What users of programs ask, reports of bugs, and where something is done: the questions are kept here."""
    home = os.path.join(os.path.dirname(_HOME), "typed")
    with open(os.path.join(home, "trees.json"), encoding="utf-8") as file:
        trees = json.load(file)
    for half in ("seen", "unseen"):
        asked: dict[str, list[Question]] = defaultdict(list)
        for name in ("code", "prose"):
            for number, one in enumerate(_json_lines(os.path.join(home, f"{name}-{half}.jsonl"))):
                id_, wanted = f"{one['tree']}/{name}{number}", tuple(map(Wanted, one["paths"]))
                asked[one["tree"]].append(Question(id_, one["kind"], one["text"], wanted))
        corpora, skipped = list[Corpus](), list[str]()
        for name, questions in asked.items():
            tree = trees[name]
            try:
                write = _tree(data, tree["repository"].removeprefix("https://github.com/"), tree["commit"])
            except NoSuchTree as error:
                skipped.append(str(error))
                continue
            write_all = partial(_write_without, write, tuple(tree.get("left_out", ())))
            corpora.append(Corpus(name, tree["commit"], write_all, tuple(questions)))
        yield PublicSet(f"asked-{half}", ("files",), ("MRR@10",), tuple(corpora), tuple(skipped))


def _write_without(write: Callable[..., object], left_out: tuple[str, ...], folder: str) -> None:
    write(folder)
    for path in left_out:
        shutil.rmtree(os.path.join(folder, path))


def _write_both(write: Callable[..., object], below: str, notes: dict[str, str], folder: str) -> None:
    write(folder, below)
    _write_texts(notes, folder)


def _write_texts(texts: dict[str, str], folder: str) -> None:
    for path, text in texts.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.utime(target, (1_600_000_000, 1_600_000_000))  # a collection says nothing of time


def chosen(sets: Iterator[PublicSet], names: Sequence[str]) -> Iterator[PublicSet]:
    """The sets of these names (globs), all where none is given."""
    return (one for one in sets if not names or any(fnmatch.fnmatch(one.name, name) for name in names))
