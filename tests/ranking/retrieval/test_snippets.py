"""Snippets: code keeps its lines, a text's own asterisks stay, and the line that is named is the match's."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import pytest
from builders import found, make_store, save, write_file
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.identifiers import Match
from ctxrank.indexer.text.word_finder import WordFinder
from ctxrank.ranking.retrieval import snippets
from ctxrank.ranking.retrieval.hits import Hit, PassageHit, SearchRequest
from ctxrank.ranking.retrieval.search import search
from ctxrank.ranking.retrieval.snippets import (
    MARK,
    MAX_LINE_CHARS,
    WINDOW_TOKENS,
    MatchedText,
    Span,
    cut,
    cut_snippet,
    is_code,
    marked,
    pure_cut,
    shown_text,
)

_CODE = """\
def connect(**kwargs):
    return kwargs


def claim(job, *args, **kwargs):
\tif walrus(**kwargs):
        return 2**8

    return None
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def _only(store: Store, query: str, config: Config | None = None) -> Hit:
    (hit,) = search(store, SearchRequest(query), config).hits
    return hit


def _best(store: Store, query: str) -> PassageHit:
    return _only(store, query).passages[0]


@pytest.mark.parametrize("config", [None, Config(fts5=False)])
def test_code_is_shown_as_up_to_three_whole_lines_as_they_are(store: Store, config: Config | None) -> None:
    save(store, "queue.py", _CODE, summary="x")
    hit = _only(store, "walrus", config)
    assert hit.snippet == "def claim(job, *args, **kwargs):\n\tif walrus(**kwargs):\n        return 2**8"
    assert hit.marks == () and hit.passages[0].match_line == 6
    assert [(line.number, line.marks) for line in hit.passages[0].lines] == [(5, ()), (6, ((4, 10),)), (7, ())]


def test_the_line_is_the_one_that_holds_most_of_what_was_asked(store: Store) -> None:
    save(store, "a.md", "# Walrus\n\nThe walrus sleeps.\n\nA walrus ate the zebra.\n\nThe zebra.\n", summary="x")
    assert _best(store, "walrus zebra").match_line == 5


@each_row(
    "query, snippet",
    [
        ("日本語", "größe é **日本語**テスト und **日本** mehr 語テ"),
        ("語テス", "größe é 日本**語テス**ト und 日本 mehr **語テ**"),
        ("größe テスト", "**größe** é 日本語**テスト** und 日本 mehr 語テ"),
    ],
)
def test_parts_of_a_word_of_cjk_are_marked_where_they_stand(store: Store, query: str, snippet: str) -> None:
    if not found(store, "mehr").hits:
        save(store, "a.md", "größe é 日本語テスト und 日本 mehr 語テ\n")
    assert _best(store, query).snippet == snippet


def test_lines_count_from_the_beginning_of_the_file(store: Store) -> None:
    lines = [f"Paragraph {at} says nothing of note about this.\n\n" for at in range(200)]
    lines[150] = "Here is the walrus.\n\n"
    save(store, "long.md", "# Notes\n\n" + "".join(lines), summary="x")
    best = _best(store, "walrus")
    assert best.match_line == 303 and best.start_line < 303 <= best.end_line
    assert ("Here is the walrus.", 303) in [(line.text, line.number) for line in best.lines]


@pytest.mark.parametrize(
    ("text", "snippet"),
    [
        ("walrus(**kwargs) and 2**8", "**walrus**(**kwargs) and 2**8"),
        ("call **walrus(**x) now", "call **walrus(**x) now"),  # a mark beside an asterisk would be taken for the text's
        ("the **big walrus** here", "the big **walrus** here"),
        ("**Walrus**: asleep", "**Walrus**: asleep"),
        ("paths: src/**, walrus/**", "paths: src/**, **walrus**/**"),
        ("f(**a,**b) walrus", "f(**a,**b) **walrus**"),
    ],
)
def test_a_literal_asterisk_in_prose_is_neither_doubled_nor_broken(store: Store, text: str, snippet: str) -> None:
    save(store, "a.md", None, summary=text)
    assert _only(store, "walrus").snippet == snippet


def test_a_long_line_of_code_is_cut_around_its_match(store: Store) -> None:
    save(store, "min.js", f"var a = 1;\n{'x = 1; ' * 100}walrus(){'; y = 2' * 50}\n", summary="x")
    (line,) = [line for line in _best(store, "walrus").lines if line.marks]
    assert len(line.text) == MAX_LINE_CHARS + 2 and line.text[0] == line.text[-1] == "…"
    assert [line.text[start:end] for start, end in line.marks] == ["walrus"]


def test_a_line_has_nothing_that_a_terminal_obeys_and_stays_one_line(store: Store) -> None:
    save(store, "a.py", "x = 1\nwalrus = '\x1b[31m\u202e' # a\rb\u2028c\ny = 2\n", summary="x")
    lines = _best(store, "walrus").lines
    assert [line.number for line in lines] == [1, 2, 3]
    assert not any(character in line.text for line in lines for character in "\x1b\u202e\r\n")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a/b.py", True), ("README", False), ("docs/a.RST", False), ("Makefile", True), ("x.d/notes", False), ("", False)],
)
def test_prose_is_known_by_its_name(path: str, expected: bool) -> None:
    assert is_code(path) is expected


@settings(max_examples=examples(60))
@given(st.text(st.sampled_from("ab *\n\t\r数é"), max_size=60), st.sampled_from(["a.py", "a.md"]))
def test_lines_are_lines_of_the_text_and_marks_cut_words_out_of_them(text: str, path: str) -> None:
    shown = shown_text(text)
    assert shown.count("\n") == text.count("\n")
    snippet = cut_snippet(MatchedText(shown, [], [], {}), path=path, first_line=7)
    lines = shown.split("\n")
    assert 7 <= snippet.match_line <= 7 + len(lines)
    assert all(line.text == lines[line.number - 7].rstrip() for line in snippet.lines)


_PIECES = (
    *("lock", "Locked", "walLock", "retry", "日本語テスト", "é", "数", "a", "x" * 250, "__init__", "word"),
    *("**bold**", "(**lock**)", "**lock", "*", "**", "***", "/", "-", "\0", "\u200b"),
    *("\n", "\n\n", " ", "\u3000", "\xa0", "\u2028", "\t", "\r", "\x1c"),
)


_TERMS = ("lock", "retri", "日本", "語テ", "bold", "x", "init", "é", "wal")


@pytest.fixture(scope="module")
def finder() -> Iterator[WordFinder]:
    connection = apsw.Connection(":memory:")
    tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def tokens_at(text: bytes) -> list[tuple[int, int, str]]:
        return cast("list[tuple[int, int, str]]", tokenizer(text, apsw.FTS5_TOKENIZE_DOCUMENT, None))

    yield WordFinder(tokens_at)
    connection.close()


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(_PIECES), max_size=120), st.lists(st.sampled_from(_TERMS)), st.booleans())
@example(["é", "日本語テスト", "日本語テスト"], ["日本", "語テ"], False)
def test_a_snippet_is_the_same_without_what_is_compiled(
    finder: WordFinder, pieces: list[str], terms: list[str], by_lines: bool
) -> None:
    text = "".join(f"{piece}{' ' * (number % 3 == 0)}" for number, piece in enumerate(pieces)).encode()
    values = {term: (0.5, 1.0, 1.1, 0.7)[place % 4] for place, term in enumerate(terms)}
    _, spans, found = finder.find(text, values, with_parts=True)
    assert cut(text, spans, found, values, by_lines, 7) == pure_cut(text, spans, found, values, by_lines, 7)


@pytest.mark.parametrize("by_lines", [False, True])
def test_short_texts_that_begin_and_end_with_a_match_are_cut_alike(finder: WordFinder, by_lines: bool) -> None:
    draw = random.Random(7)
    values = {"tusk": 0.5, "wal": 1.0, "\u65e5\u672c": 0.7}
    parts = ("tusk", "wal", "**tusk**", "*", "of", "\u65e5\u672c\u8a9e", "na\u00efve", "\n", "\n", "x" * 150)
    for length in range(240):
        text = draw.choice(("", " ")).join(draw.choice(parts) + draw.choice("   \n/") for _ in range(1 + length % 48))
        raw = text.strip(" ").encode()
        _, spans, found = finder.find(raw, values, with_parts=True)
        assert cut(raw, spans, found, values, by_lines, 3) == pure_cut(raw, spans, found, values, by_lines, 3), text


@pytest.mark.parametrize(
    ("text", "shown", "marks"),
    [
        (b"a *tusk here", "a *tusk here", ()),
        (b"a tusk* here", "a tusk* here", ()),
        (b"a *tusk* here", "a *tusk* here", ()),
        (b"a * tusk * here", "a * **tusk** * here", ((4, 12),)),
        (b"a **tusk** here", "a **tusk** here", ((2, 10),)),
        (b"tusk* and tusk", "tusk* and **tusk**", ((10, 18),)),
        (b"  tusk  and   so \n on ", "**tusk** and so on", ((0, 8),)),
    ],
)
def test_a_match_beside_an_asterisk_has_no_mark_with_and_without_what_is_compiled(
    finder: WordFinder, text: bytes, shown: str, marks: tuple[Span, ...]
) -> None:
    _, spans, found = finder.find(text, {"tusk": 0.5}, with_parts=True)
    for one in (cut, pure_cut):
        assert one(text, spans, found, {"tusk": 0.5}, False, 1)[0][:2] == (shown, marks)


@pytest.mark.parametrize("by_lines", [False, True])
def test_a_long_text_of_many_words_is_cut_alike(finder: WordFinder, by_lines: bool) -> None:
    words = [f"word{number} tusk{number % 7}{chr(10) * (number % 5 == 0)}" for number in range(2000)]
    text, values = " ".join(words).encode(), {f"tusk{number}": 0.1 * number for number in range(7)}
    _, spans, found = finder.find(text, values, with_parts=True)
    assert cut(text, spans, found, values, by_lines, 1) == pure_cut(text, spans, found, values, by_lines, 1)


@pytest.mark.skipif(cut is pure_cut, reason="nothing was compiled here")
@pytest.mark.parametrize(
    ("found", "error"), [([(0, 0, 9, "a")], IndexError), ([(0, 2, 1, "a")], IndexError), ([(0, 0, 1, "b")], KeyError)]
)
def test_a_place_outside_of_the_text_is_refused(found: list[Match], error: type[Exception]) -> None:
    with pytest.raises(error):
        cut(b"abc", [0, 3], found, {"a": 1.0}, False, 1)


def test_every_line_of_every_hit_is_in_its_file(store: Store) -> None:
    texts = {"queue.py": _CODE, "notes.md": "# A\n\nwalrus one\n\n## B\n\nwalrus two and\nwalrus three\n"}
    for path, text in texts.items():
        save(store, path, text, summary="x")
    for hit in found(store, "walrus kwargs claim").hits:
        lines = texts[hit.path].split("\n")
        for passage in hit.passages:
            assert passage.lines and passage.match_line in [line.number for line in passage.lines]
            for line in passage.lines:
                assert lines[line.number - 1].rstrip() == line.text
                assert all(line.text[start:end].strip() for start, end in line.marks)


_BOLD = r"(?a)(?<![\w*/])\*\*(\S(?:[^*\n]*\S)?)\*\*(?![\w*/])"


@given(st.lists(st.sampled_from(["*", "**", "a", "é", " ", "\n", "/", "_", "日"]), max_size=20).map("".join))
def test_bold_text_is_shown_without_its_marks(text: str) -> None:
    shown = re.sub(_BOLD, r"\1", text)
    assert cut_snippet(MatchedText(text, [], [], {}), path="", first_line=1).text == " ".join(shown.split())


def test_of_equal_lines_the_first_is_shown_and_two_words_are_worth_more_than_one_repeated(store: Store) -> None:
    write_file(store, "a.py", "x = 0\nwalrus = 1\n\n\n\nwalrus = 2\n")
    write_file(store, "c.py", "tapir = 1\n\n\n\ntapir = 2\n")
    write_file(store, "b.py", "heron = heron(heron, heron)\n\n\n\n\nheron = tusk\n")
    index_artifacts(store)
    assert found(store, "walrus").hits[0].passages[0].match_line == 2
    assert found(store, "tapir").hits[0].passages[0].match_line == 1
    assert found(store, "heron tusk").hits[0].passages[0].match_line == 6


def test_a_match_at_the_end_has_a_whole_window_before_it(store: Store) -> None:
    save(store, "a.md", f"{' '.join(f'word{number}' for number in range(100))} walrus\n", summary="x")
    assert len(_only(store, "walrus").snippet.split()) == WINDOW_TOKENS + 1  # and the sign that more comes before


@each_row(
    "at, shown",
    [
        (0, (0, 200)), (60, (0, 200)), (61, (1, 201)), (100, (40, 240)), (294, (200, 400)), (160, (100, 300)),
        (260, (200, 400)), (259, (199, 399)),
    ],
)  # fmt: skip
def test_of_a_long_line_sixty_characters_before_its_first_match_are_shown(at: int, shown: tuple[int, int]) -> None:
    text = f"{'.' * at}walrus{'.' * (394 - at)}"
    match = snippets.Match(0, at, at + 6, "walrus")
    (line,) = cut_snippet(MatchedText(text, [at, at + 6], [match], {"walrus": 1.0}), path="a.js", first_line=7).lines
    start, end = shown
    assert line.text == f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < 400)}"
    assert [line.text[one:other] for one, other in line.marks] == ["walrus"] * (start <= at and at + 6 <= end)
    assert line.number == 7


def test_a_line_of_two_hundred_characters_is_shown_whole() -> None:
    for length, is_cut in ((200, False), (201, True)):
        read = MatchedText("x" * length, [0, length], [], {})
        (line,) = cut_snippet(read, path="a.js", first_line=1).lines
        assert line.text == f"{'x' * 200}{'…' * is_cut}"


@each_row(
    "text, marks, shown",
    [
        ("a walrus b", (), "a walrus b"),
        ("a **walrus** b", ((2, 12),), "a <walrus> b"),
        ("**a** **b**", ((0, 5), (6, 11)), "<a> <b>"),
        ("**a**, and its own ** and **", ((0, 5),), "<a>, and its own ** and **"),
    ],
)
def test_marks_are_replaced_where_they_are_and_no_others(text: str, marks: tuple[Span, ...], shown: str) -> None:
    assert marked(text, marks, MARK, "<", ">") == shown


def test_a_text_of_other_letters_is_marked_in_characters_and_not_in_bytes(store: Store) -> None:
    save(store, "a.md", None, summary="Zürich, naïve walrus — 数据库连接 walrus")
    hit = _only(store, "walrus 数据库")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["**walrus**", "**数据库**", "**walrus**"]
