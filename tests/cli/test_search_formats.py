"""`search --format`: the same hits as text, in compact lines, as JSON, and as lines of JSON."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import copy_store, make_store, save
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tables import each_row

from ctxrank.cli.actions.compact_hits import MAX_TOKENS, compact_line
from ctxrank.cli.actions.search import _hit_lines  # pyright: ignore[reportPrivateUsage] # each part of one hit
from ctxrank.cli.call import Call
from ctxrank.cli.declare import Command
from ctxrank.cli.main import find_command, run
from ctxrank.cli.schema import value_schema
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.ranking.retrieval.hits import FoldedHit, Hit, PassageHit
from ctxrank.ranking.retrieval.snippets import SnippetLine

QUERIES = (
    "why is the database locked", "token", "retry", "queue", "the", "kind:package", "kind:error", "argparse parser",
    "MetricsBuffer.increment", "消息队列",
)  # fmt: skip
TUTORIAL = "# Walrus\n\nThe walrus answers with the number of its tusks, and then the server starts again as before.\n"


@pytest.fixture
def shop(loaded_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_store(loaded_once, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tutorial in three places, and code."""
    with make_store(tmp_path) as store:
        for folder in ("a", "b", "c"):
            save(store, f"{folder}/walrus.md", TUTORIAL, summary="x")
        save(store, "queue.py", "import os\n\n\ndef heron(**kwargs):\n    return kwargs\n", summary="x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _validator(schema: dict[str, object]) -> Any:
    return Draft202012Validator(schema)


def _printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    run(["search", *words])
    return capsys.readouterr().out


@pytest.mark.slow
def test_a_compact_hit_is_one_line_of_at_most_sixty_tokens(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for query in QUERIES:
        for more in ([], ["--passages"], ["--all"]):
            hits = json.loads(_printed(capsys, query, "--json", *more))["hits"]
            lines = _printed(capsys, query, "--format", "compact", *more).splitlines()
            assert [line.split()[0] for line in lines] == [hit["id"] for hit in hits]
            assert max(map(estimate_tokens, lines), default=0) <= MAX_TOKENS
            for line, hit in zip(lines, hits, strict=True):
                place = f"{hit['path']}:{hit['passages'][0]['match_line']}" if hit["passages"] else hit["path"]
                assert place in line


@settings(max_examples=examples(50))
@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=600))
def test_no_text_makes_a_compact_line_longer(path: str, title: str, snippet: str) -> None:
    hit = Hit(
        id="package:1", kind="package", title=title, path=path, score=1.0, snippet=snippet, session=None, group=None,
        agent="", type="", priority="", created_at=0, superseded_by=None, file_state="", passages=(), explanation=None,
    )  # fmt: skip
    line = compact_line(hit)
    assert estimate_tokens(line) <= MAX_TOKENS and line.isprintable()


def _hit(**known: Any) -> Hit:
    """A hit of which only this is known."""
    return Hit(
        id="package:1",
        kind="package",
        title="",
        path="",
        score=1.0,
        snippet="",
        session=None,
        group=None,
        agent="",
        type="",
        priority="",
        created_at=0,
        superseded_by=None,
        file_state="",
        passages=(),
        explanation=None,
    )._replace(**known)


_COPY = FoldedHit("package:2", "a/c.md")


def _passage(*lines: str, match_line: int) -> PassageHit:
    """A passage that begins in line 1."""
    shown = tuple(SnippetLine(number, text, ()) for number, text in enumerate(lines, 1))
    return PassageHit(1, "", 1, len(lines), "", 1.0, match_line, shown, ())


@each_row(
    "hit, line",
    [
        (_hit(), "package:1"),
        (_hit(path="a/b.md", title="b.md", snippet="one"), "package:1 a/b.md — one"),
        (_hit(path="a/b.md", title="Of b", snippet="one\ntwo"), "package:1 a/b.md Of b — one two"),
        (_hit(path="a/b.md", title="Of b", snippet="# Of b\n\none"), "package:1 a/b.md Of b — one"),
        (
            _hit(path="a/b.md", title="Of b", snippet="… of the **sea** …", marks=((9, 16),)),
            "package:1 a/b.md Of b — of the sea",
        ),
        (_hit(path="a/b.md", title="Of b", whose="anna"), "package:1 a/b.md (anna) Of b"),
        (_hit(path="a/b.md", folded=(_COPY, _COPY)), "package:1 a/b.md (+2)"),
        (_hit(path="b.md", checkout="/else"), "package:1 /else/b.md"),
        (
            _hit(
                path="b.py", title="b.py", snippet="x", passages=(_passage("def a():", "    return  b", match_line=2),)
            ),
            "package:1 b.py:2 — return b",
        ),
        (_hit(path="one/two/three/" * 12 + "b.md"), f"package:1 …/three/{'one/two/three/' * 5}b.md"),
        (_hit(path="b" * 400), "package:1"),  # no part of it fits
        (_hit(path="a.md", title="of the river " * 12), f"package:1 a.md {'of the river ' * 5}of …"),
        (_hit(path="a.md", title="x" * 400), f"package:1 a.md {'x' * 140} …"),
    ],
)
def test_a_compact_line_has_the_place_the_title_and_the_best_text(hit: Hit, line: str) -> None:
    assert compact_line(hit) == line


def test_json_is_the_same_by_either_flag(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed(capsys, "retry", "--format", "json") == _printed(capsys, "retry", "--json")
    assert _printed(capsys, "retry", "--json", "--format", "compact") == _printed(capsys, "retry", "--json")


def test_jsonl_is_a_hit_a_line_and_nothing_else(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hits = json.loads(_printed(capsys, "retry", "--json"))["hits"]
    lines = _printed(capsys, "retry", "--format", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == hits
    command = find_command("search")
    assert isinstance(command, Command) and command.line
    for hit in hits:
        assert not list(_validator(value_schema(command.fields(*command.line))).iter_errors(hit))
    assert run(["search", "zzyzx", "--format", "jsonl"]) == 1
    assert capsys.readouterr().out == ""


def test_copies_are_counted_and_all_shows_them(copies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "walrus"]) == 0
    printed = capsys.readouterr()
    assert "   +2 like it\n" in printed.out and "more; -n" not in printed.err and "--all shows them" in printed.err
    (line,) = _printed(capsys, "walrus", "--format", "compact").splitlines()
    assert line.endswith(" (+2)")
    value = json.loads(_printed(capsys, "walrus", "--json"))
    (hit,) = value["hits"]
    assert (value["total"], value["has_more"]) == (3, False)
    assert sorted([hit["path"], *(one["path"] for one in hit["folded"])]) == [
        "a/walrus.md",
        "b/walrus.md",
        "c/walrus.md",
    ]
    assert len(_printed(capsys, "walrus", "--all", "--format", "jsonl").splitlines()) == 3


def test_code_keeps_its_lines_and_is_marked_by_colour_alone(
    copies: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = _printed(capsys, "heron")
    assert "   queue.py:4\n   4: def heron(**kwargs):\n   5-     return kwargs\n" in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "def \x1b[1;33mheron\x1b[0m(**kwargs):" in _printed(capsys, "heron")


def test_a_list_by_filters_alone_shows_no_score(copies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "score" not in _printed(capsys, "kind:package")
    assert [hit["score"] for hit in json.loads(_printed(capsys, "kind:package", "--json"))["hits"]] == [None] * 4


@each_row(
    "hit, place",
    [
        (_hit(), []),
        (_hit(superseded_by="package:2"), ["   (superseded by package:2)"]),
        (_hit(path="a.md"), ["   a.md"]),
        (_hit(path="a.md", superseded_by="package:2"), ["   a.md (superseded by package:2)"]),
        (_hit(path="a.md", file_state="missing"), ["   a.md (the file is gone)"]),
        (_hit(path="a.md", file_state="changed"), ["   a.md (the file has changed since it was indexed)"]),
        (_hit(path="a.md", checkout="/else"), ["   a.md (in the checkout /else)"]),
        (_hit(path="a.md", passages=(_passage("one", "two", match_line=2),)), ["   a.md:2"]),
    ],
)
def test_a_hit_is_shown_with_its_place_and_what_became_of_it(hit: Hit, place: list[str]) -> None:
    lines = _hit_lines(
        Call(is_colored=False), 3, hit._replace(title="Of it", snippet="some words", folded=(_COPY,)), "/"
    )
    assert [*lines] == [
        "3. Of it",
        "   package:1 · 1970-01-01 · score 1.000",
        *place,
        "   some words",
        "   +1 like it",
        "",
    ]


def test_a_hit_that_a_filter_alone_has_found_has_no_line_of_blanks() -> None:
    assert all(line.strip() for line in [*_hit_lines(Call(is_colored=False), 3, _hit(path="a.md"), "/")][:-1])
