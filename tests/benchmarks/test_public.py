"""The runner over public sets: a small folder of each, made up here, is read, indexed, asked and measured."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from git_tree import commit_all, git
from public import ablation, typed
from public.measures import MEASURES, answers
from public.ours import paths_of
from public.sets import DRAWN, chosen, read_sets
from public.shapes import Place, PublicSet, Question, Wanted
from tables import each_row

from ctxrank.ranking.retrieval import file_kinds

RUN = Path(__file__).resolve().parents[2] / "benchmarks" / "public" / "run.py"
_WHOLE = Question("1", "any", "text", (Wanted("src/a.py"),))
_LINES = Question("2", "any", "text", (Wanted("a.py", 5, 9), Wanted("b.py", grade=2.0)))


def _repository(data: Path, name: str, files: Mapping[str, str]) -> str:
    """A repository with one commit, which is returned."""
    folder = data / "git" / name
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    commit_all(folder, "first\n\nWhy the queue has two ends: a reader and a writer.")
    return git(folder, "rev-parse", "HEAD").strip()


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One small set of each shape."""
    click = {"src/queue.py": "def push(item):\n    return item\n", "docs/queue.md": "# Queue\n\nPush an item.\n"}
    commit = _repository(tmp_path, "pallets+click", click)
    url = "https://github.com/pallets/click.git"
    _write_json(
        tmp_path / "semble/repos.json", [{"name": "click", "url": url, "revision": commit, "benchmark_root": "src"}]
    )
    question = {"query": "push", "relevant": ["src/queue.py"], "secondary": [{"path": "src/queue.py", "start_line": 1}]}
    _write_json(tmp_path / "semble/annotations/click.json", [question])
    issue = {
        "repo": "psf/requests", "instance_id": "requests-1", "problem_statement": "Sessions lose their cookies",
        "base_commit": _repository(tmp_path, "psf+requests", {"requests/sessions.py": "cookies = {}  # of sessions\n"}),
        "patch": "--- a/requests/sessions.py\n+++ b/requests/sessions.py\n",
    }  # fmt: skip
    foreign = issue | {"repo": "django/django"}
    unknown = issue | {"instance_id": "requests-2", "base_commit": "0" * 40}
    lines = "".join(f"{json.dumps(one)}\n" for one in (issue, foreign, unknown))
    (tmp_path / "swe").mkdir()
    (tmp_path / "swe/swebench_lite.jsonl").write_text(lines, encoding="utf-8")
    talk = {"session_1": [{"speaker": "Ann", "text": "I have a dog."}], "session_1_date_time": "1 May"}
    asked = [{"question": "What pet has Ann?", "evidence": ["D1:1"], "category": 4}]
    _write_json(tmp_path / "locomo/locomo10.json", [{"sample_id": "talk", "conversation": talk, "qa": asked}])
    ir = tmp_path / "ir/tiny"
    ir.mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "Wings", "text": "The lift of a wing"},
        {"_id": "d2", "title": "Tails", "text": "x"},
    ]
    (ir / "corpus.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in corpus), encoding="utf-8")
    (ir / "queries.jsonl").write_text('{"_id": "q1", "text": "lift of wings"}\n', encoding="utf-8")
    (ir / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", encoding="utf-8")
    tree = {
        "repository": "pallets/click", "commit": commit, "below": "docs",
        "notes": {"notes/1.md": "# Why\n\nTwo ends.\n"},
        "questions": [["note", "two ends", ["notes/1.md"]], ["paraphrase", "put something in", ["docs/queue.md"]]],
    }  # fmt: skip
    _write_json(tmp_path / "typed/seen.json", {"click": tree})
    return tmp_path


def _sets(data: Path) -> dict[str, PublicSet]:
    return {one.name: one for one in read_sets(str(data)) if one.corpora}


@each_row(
    "measure places question value",
    [
        ["MRR@10", ["src/a.py"], _WHOLE, 1.0],
        ["MRR@10", ["b.py", "a.py"], _WHOLE, 0.5],  # the end of a path is enough
        ["MRR@10", ["aa.py"], _WHOLE, 0.0],
        ["hit@1", ["b.py", "src/a.py"], _WHOLE, 0.0],
        ["hit@5", ["b.py", "src/a.py"], _WHOLE, 1.0],
        ["Acc@5", ["a.py", "b.py"], _LINES, 0.0],  # the file, but not its lines
        ["empty", [], _WHOLE, 1.0],
        ["nDCG@10", ["c.py", "src/a.py"], _WHOLE, 0.6309],
        ["nDCG@10", ["b.py"], _LINES, 0.7602],
    ],
)
def test_a_measure_is_what_it_is_on_paper(measure: str, places: list[str], question: Question, value: float) -> None:
    ranked = [Place(path, 1, 1) for path in places]
    assert MEASURES[measure](ranked, question) == pytest.approx(value, abs=1e-4)


def test_a_place_answers_by_its_path_and_by_lines_that_overlap() -> None:
    assert answers(Place("src/a.py", 8, 20), Wanted("a.py", 5, 9))
    assert not answers(Place("src/a.py", 10, 20), Wanted("a.py", 5, 9))
    assert list(paths_of([Place("a", 1, 2), Place("b", 1, 1), Place("a", 3, 4)])) == ["a", "b"]


def test_each_set_of_a_folder_is_read_and_what_is_absent_is_named(data: Path) -> None:
    found = _sets(data)
    assert list(found) == ["semble", "swebench_lite", "locomo", "tiny", "typed-seen"]
    assert [question.text for question in found["semble"].corpora[0].questions] == ["push"]
    assert len(found["semble"].skipped) == len(DRAWN["developed_on"]) - 1
    assert found["swebench_lite"].skipped == (
        "requests-2: psf/requests has no commit 000000000000",
        "1 issues of 1 projects that are not asked about",
    )
    assert [one.name for one in chosen(iter(found.values()), ["typed*", "tiny"])] == ["tiny", "typed-seen"]


def test_the_files_of_a_set_are_those_of_its_commit_and_folder(
    data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = _sets(data)
    for name, paths in {
        "semble": ["src/queue.py"],
        "swebench_lite": ["requests/sessions.py"],
        "locomo": ["session_1.md"],
        "tiny": ["d1.md", "d2.md"],
        "typed-seen": ["docs/queue.md", "notes/1.md"],
    }.items():
        folder = tmp_path_factory.mktemp(name)
        found[name].corpora[0].write(str(folder))
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == paths


@pytest.mark.slow
@pytest.mark.needs("evaluation")
def test_all_sets_are_measured_and_a_second_run_finds_the_same(data: Path, tmp_path: Path) -> None:
    results: list[dict[str, Any]] = []
    for out, only in ((tmp_path / "all", []), (tmp_path / "some", ["tiny", "typed-*"])):
        command = [sys.executable, str(RUN), "--data", str(data), "--out", str(out), "--only", *only]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert only or "semble-drawn: skipped: none of its trees is here" in done.stdout
        results.append({path.name: json.loads(path.read_text(encoding="utf-8")) for path in out.glob("*.json")})
    first, second = results
    for name, result in second.items():
        kept = result if name.endswith(".found.json") else result["figures"]
        assert kept == (first[name] if name.endswith(".found.json") else first[name]["figures"])
    for name, result in first.items():
        if not name.endswith(".found.json"):
            assert {"set", "machine", "settings", "corpora", "skipped"} <= result.keys()
            whole = [one for one in result["figures"] if one["engine"] == "ctxrank" and one["kind"] == "all"]
            assert whole and all(one["measure"] == "empty" or one["mean"] > 0 for one in whole), name


def test_questions_are_drawn_alike_each_time(data: Path) -> None:
    commit = git(data / "git/pallets+click", "rev-parse", "HEAD").strip()
    tree = {
        "kind": "notes", "repository": "pallets/click", "commit": commit,
        "asked_of_notes": [[commit[:10], "how many sides has it"]], "asked": [["docs/queue.md", "put something in"]],
    }  # fmt: skip
    made = typed.made_of(str(data), "click", tree)
    assert made == typed.made_of(str(data), "click", tree)
    assert made["questions"] == [
        ("note in other words", "how many sides has it", [f"notes/{commit[:10]}.md"]),
        ("paraphrase", "put something in", ["docs/queue.md"]),
    ]
    assert made["notes"][f"notes/{commit[:10]}.md"].startswith("# first\n\nWhy the queue")


def test_what_a_question_is_made_of_says_what_answers_it() -> None:
    texts = {
        "src/a.py": "def read_all_lines(): pass\nclass StyleElement: pass\n",
        "src/b.py": "read_all_lines()\n",
        "lib/c.md": "# Große Dateien lesen\n\nWenn Dateien größer werden, lesen mehrere Leser dieselben Dateien.\n",
    }
    assert list(typed.run_together(texts)) == [
        ("three parts run together", "readalllines", ["src/a.py", "src/b.py"]),
    ]
    assert ("cut name", "StyleE", ["src/a.py"]) in list(typed.cut_names(texts))
    assert ("heading", "große dateien lesen", ["lib/c.md"]) in list(typed.headings(texts))


def test_a_rule_that_is_switched_off_is_on_again_after_it(data: Path) -> None:
    switched = dict(ablation.rules())
    with switched["names of files"][0]:
        assert file_kinds.NAME_SHARE == 0
    assert file_kinds.NAME_SHARE > 0 and len(switched) > 60
    assert len(ablation.drawn(_sets(data)["typed-seen"], 1).corpora[0].questions) == 2  # one of each kind
