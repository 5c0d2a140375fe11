"""Passages join to the file they came from, and an edit leaves the others alone."""

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.passages import MAX_CHARS, TARGET_CHARS, Passage, front_matter_end, split_passages

PATHS = st.sampled_from(["a.md", "a.rst", "a.py", "a.go", "a.log", "a"])
MARKDOWN_LINES = ["# One", "## Two", "```", "~~~", "Title", "=====", "-----"]
CODE_LINES = [
    "def f():",
    "    def g(self):",
    "class C:",
    "@d",
    "func (s *S) Get() {",
    "// note",
    "int f(int x)",
    "{",
]
OTHER_LINES = ["", "  ", "text", "\ud800", "é" * 900, "word " * 600]
LINES = st.sampled_from(MARKDOWN_LINES + CODE_LINES + OTHER_LINES)
TEXTS = st.lists(LINES).map("\n".join) | st.text() | st.lists(LINES).map("\r\n".join)


def headings(text: str, path: str) -> list[str]:
    return [passage.heading for passage in split_passages(text, path)]


def changed(before: list[Passage], after: list[Passage]) -> set[str]:
    """The headings of the passages that are new after an edit."""
    old = {passage.key for passage in before}
    return {passage.heading for passage in after if passage.key not in old}


def paragraphs(seed: int, count: int = 20) -> str:
    words = random.Random(seed)
    return "\n".join(f"{words.random()} is what line {line} of {seed} says.\n" for line in range(count))


@given(TEXTS, PATHS)
def test_the_passages_joined_are_the_file(text: str, path: str) -> None:
    joined = "".join(passage.text for passage in split_passages(text, path))
    assert joined == ("" if not text.strip() else text)


@pytest.mark.parametrize("chars, passages", [(2_400, 1), (2_401, 2)])
def test_a_section_of_2400_characters_is_one_passage(chars: int, passages: int) -> None:
    words = ("word " * 500)[: chars - 1]
    assert len(split_passages(f"{words}\n", "a.md")) == passages


@given(TEXTS, PATHS)
def test_no_passage_is_empty_or_too_large(text: str, path: str) -> None:
    assert all(0 < len(passage.text) <= MAX_CHARS for passage in split_passages(text, path))


@given(TEXTS, PATHS)
def test_keys_are_different_and_the_same_next_time(text: str, path: str) -> None:
    passages = split_passages(text, path)
    assert len({passage.key for passage in passages}) == len(passages)
    assert all(re.fullmatch(r"[0-9a-f]{16}(\.\d+)?", passage.key) for passage in passages)
    assert split_passages(text, path) == passages


@given(TEXTS, PATHS)
def test_the_lines_are_those_that_the_text_stands_on(text: str, path: str) -> None:
    offset = 0
    for passage in split_passages(text, path):
        assert passage.start_line == 1 + text.count("\n", 0, offset)
        offset += len(passage.text)
        assert passage.end_line == 1 + text.count("\n", 0, offset - 1)


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n\n  "])
def test_a_blank_file_has_no_passages(text: str) -> None:
    assert split_passages(text, "a.md") == []


def test_markdown_is_cut_at_headings_and_named_by_their_path() -> None:
    text = f"# Setup\n{paragraphs(1)}## Install\n{paragraphs(2)}### Linux #\n{paragraphs(3)}# Use\nRun it.\n"
    assert headings(text, "a.md") == ["Setup", "Setup > Install", "Setup > Install > Linux", "Use"]


def test_underlined_headings_count_but_rules_tables_and_front_matter_do_not() -> None:
    setup = f"Setup\n=====\n{paragraphs(1)}\n---\n| a |\n---\n\n"
    text = f"---\nname: x\n---\n\n{setup}Install\n-------\n{paragraphs(2)}"
    assert headings(text, "a.md") == ["", "Setup", "Setup > Install"]


@each_row(
    "text, end",
    [
        ("---\na: b\n---\nText.\n", 13),
        ("---  \na: b\n...\nText.\n", 15),
        ("---\na: b\n---", 12),
        ("---\n---\n", 8),
        ("---\na: b\n----\n", 0),
        ("----\na: b\n---\n", 0),
        ("\n---\na: b\n---\n", 0),
        ("---", 0),
        ("", 0),
    ],
)
def test_front_matter_ends_behind_the_second_line_of_dashes(text: str, end: int) -> None:
    assert front_matter_end(text) == end


def test_restructured_text_takes_levels_in_order_of_appearance() -> None:
    text = f"=====\nGuide\n=====\n\n{paragraphs(1)}\nSetup\n-----\n{paragraphs(2)}\nUse\n---\n{paragraphs(3)}"
    assert headings(text, "a.rst") == ["Guide", "Guide > Setup", "Guide > Use"]


@each_row("fence, end", [("```", "```"), ("~~~~", "~~~~~"), ("  ```python", "  ```"), ("- ```sh", "  ```")])
def test_a_heading_inside_a_code_fence_is_none(fence: str, end: str) -> None:
    text = f"# Real\n{paragraphs(1)}{fence}\n# not a heading\n``\n{end}\n# Next\n{paragraphs(2)}"
    assert headings(text, "a.md") == ["Real", "Next"]


def test_python_is_cut_at_definitions_with_their_decorators_and_comments() -> None:
    body = f'    """{paragraphs(1)}"""\n'
    method = f"    @property\n    def open(self):\n    {body}"
    text = f"import os\n\n\n# About it.\n@final\nclass Store:\n{body}\n{method}"
    passages = split_passages(text, "a.py")
    assert [passage.heading for passage in passages] == ["", "class Store", "class Store > def open"]
    assert passages[1].text.startswith("# About it.\n@final\n")
    assert passages[2].text.startswith("    @property\n")


@each_row(
    "path, top, line",
    [
        ("a.py", "@route(\n    '/save',\n    methods=['POST'],\n)\n@login\n", "def save():\n"),
        ("a.py", "@route([\n    'a',\n])\n# Saves.\n", "async def save():\n"),
        ("a.py", "    @property\n    # Of the store.\n", "    def save(self):\n"),
        ("a.py", "    @route(\n        '/save',\n    )\n", "    def save(self):\n"),
        ("a.c", "/* Saves. */\nstatic PyObject *\n", "save(PyObject *self)\n{\n"),
        ("a.java", '/**\n * Saves.\n */\n@SuppressWarnings(\n    "all"\n)\n', "public void save() {\n"),
        ("a.java", "/*\n   Saves.\n*/\n", "public void save() {\n"),
        ("a.rs", "/// Saves.\n#[cfg(any(\n    unix,\n))]\n#[inline]\n", "pub fn save() {\n"),
        ("a.cs", '[Route(\n    "save")]\n[Login]\n', "public void Save() {\n"),
        ("a.go", "// Save saves.\n// It does.\n", "func Save() {\n"),
        ("a.ts", "/** Saves. */\n@Injectable()\n", "export class Save {\n"),
        ("a.rb", "# Saves.\n", "def save\n"),
        ("a.js", "// Saves.\n", "app.save = function save(body) {\n"),
    ],
)
def test_what_stands_directly_above_a_definition_begins_its_passage(path: str, top: str, line: str) -> None:
    before = f"x = 1\n{paragraphs(1)}\n"
    passages = split_passages(f"{before}{top}{line}{paragraphs(2)}", path)
    assert [passage.text.startswith(top + line) for passage in passages[:2]] == [False, True]


@each_row(
    "path, above",
    [
        ("a.c", "#endif\n"),
        ("b.c", "#endif\n"),
        ("b.c", "}\n"),
        ("a.go", "x()\n"),
        ("a.py", "print(1)\n"),
        ("a.js", "call(\n  1\n)\n"),
        ("a.py", "@x\n\n"),
        ("a.py", "@x(\n\n)\n"),
        ("b.py", "@x(\n    1,\n    )\n"),
    ],
)
def test_what_is_no_part_of_a_definition_stays_above_it(path: str, above: str) -> None:
    line = {
        "a.c": "int save(int x) {", "b.c": "save(int x)\n{", "a.go": "func save() {", "a.py": "def save():",
        "b.py": "    def save():", "a.js": "function save() {",
    }[path]  # fmt: skip
    passages = split_passages(f"{paragraphs(1)}{above}{line}\n{paragraphs(2)}", path)
    assert passages[1].text.startswith(line)


@each_row("quote", ['"""', "'''", 'r"""'])
def test_a_definition_in_a_long_string_of_python_is_none(quote: str) -> None:
    before = "import os  # don't\nx = 'a \"\"\" b'\n"
    text = f"{before}TEXT = {quote}\ndef inner():\n    pass\n{quote[-3:]}\ndef outer():\n{paragraphs(1)}"
    assert headings(text, "a.py") == ["", "def outer"]


def test_a_long_string_that_is_never_closed_hides_nothing() -> None:
    assert headings(f'x = """\n{paragraphs(1)}\ndef outer():\n{paragraphs(2)}', "a.py") == ["", "def outer"]


def test_a_large_body_is_cut_before_what_is_indented_least() -> None:
    block = (
        "    if ready:\n"
        + "".join(f"        step({number})\n" for number in range(18))
        + "        # So.\n        end()\n"
    )
    passages = split_passages("def run():\n" + block * 20, "a.py")
    assert len(passages) > 3
    assert all(passage.text.startswith("    if ready:\n") for passage in passages[1:])


@each_row(
    "line, heading",
    [
        ("func (s *Store) Open(path string) error {", "func Open"),
        ("impl<T> Display for Tree<T> {", "impl Display for Tree"),
        ("pub(crate) async fn parse(text: &str) -> Ast {", "fn parse"),
        ("export default class App extends Base {", "class App"),
        ("export const load = async (path) => {", "load"),
        ("static int read_all(int fd, char *buffer)", "read_all()"),
        ("static PyObject *\nstore_open(PyObject *self)\n{", "store_open()"),
        ("  public List<String> names(int id) {", "names()"),
        ("usage() {", "usage()"),
    ],
)
def test_other_languages_are_cut_at_definitions_too(line: str, heading: str) -> None:
    assert headings(f"int x;\n{line}\n{paragraphs(1)}", "a.c") == ["", heading]


@each_row("line", ["    return load(x)", "print(x)", "struct stat info;", "if (x) {", "// class of"])
def test_calls_and_declarations_are_no_definitions(line: str) -> None:
    assert headings(f"int x;\n{line}\n", "a.c") == [""]


def test_small_sections_of_one_parent_are_put_together() -> None:
    text = "# Log\n" + "".join(f"## Day {day}\nNothing happened on day {day}.\n" for day in range(100))
    passages = split_passages(text, "a.md")
    assert 100 * 40 / TARGET_CHARS <= len(passages) < 15
    assert passages[0].heading == "Log"
    assert re.fullmatch(r"Log > Day \d+ … Day \d+", passages[1].heading)


def test_small_sections_of_different_parents_stay_apart() -> None:
    text = "# A\n## A1\nOne.\n# B\n## B1\nTwo.\n"
    assert headings(text, "a.md") == ["A", "B"]


@pytest.mark.parametrize(("path", "opening"), [("a.md", "# part{}\n"), ("a.py", "def part{}():\n")])
def test_an_edit_in_one_section_changes_only_its_own_passages(path: str, opening: str) -> None:
    parts = [opening.format(number) + paragraphs(number, 60) for number in range(6)]
    before = split_passages("".join(parts), path)
    parts[3] += "One more line.\n"
    (name,) = changed(before, split_passages("".join(parts), path))
    assert name.endswith("part3")


@pytest.mark.slow
@given(st.integers(0, 399))
def test_an_edit_among_many_small_sections_re_keys_few_passages(edited: int) -> None:
    parts = [f"## Part {number}\n{paragraphs(number, 4)}" for number in range(400)]
    before = split_passages("".join(parts), "a.md")
    parts[edited] += paragraphs(1000, 6)
    after = split_passages("".join(parts), "a.md")
    assert 1 <= len(changed(before, after)) <= 12 < len(before) / 6


@given(st.integers(0, 1999), st.integers(1, 30))
def test_lines_inserted_into_a_log_re_key_few_passages(line: int, count: int) -> None:
    lines = [f"{second:06} worker {second * 7919 % 977} finished\n" for second in range(2000)]
    before = {passage.key for passage in split_passages("".join(lines), "a.log")}
    lines[line:line] = [f"inserted {number}\n" for number in range(count)]
    after = {passage.key for passage in split_passages("".join(lines), "a.log")}
    assert len(after - before) <= 12 < len(before) / 3


def test_the_same_text_twice_in_a_file_gets_two_keys() -> None:
    passages = split_passages("word " * 2000, "a.log")
    first = passages[0].key
    assert [passage.key for passage in passages[:3]] == [first, f"{first}.2", f"{first}.3"]


@pytest.mark.parametrize(
    "unit",
    ["x", "\n", " \n", "# h\n", "h\n=\n", "=\n", "def f(): 0\n", "// c\n", "a b c d e f(", "```\n", "func "],
)
@pytest.mark.parametrize("path", ["a.md", "a.rst", "a.py", "a.c", "a.log"])
@pytest.mark.parametrize("chars", [40_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_hostile_text_costs_time_in_proportion(unit: str, path: str, chars: int) -> None:
    text = "x\n" + unit * (chars // len(unit))
    started = time.process_time()
    assert "".join(passage.text for passage in split_passages(text, path)) == text
    assert time.process_time() - started < chars / 25_000, "quadratic time would take minutes at length"


def test_comments_without_a_beginning_are_not_looked_for_in_the_whole_file_at_each_definition() -> None:
    took: list[float] = []
    for above in ("x\n", "x */\n"):
        started = time.process_time()
        assert len(split_passages("word\n" * 400_000 + f"{above}int f() {{\n" * 2000, "a.c")) > 1
        took.append(time.process_time() - started)
    assert took[1] < 2 * took[0] + 0.5


def test_the_beginning_of_another_comment_begins_no_section() -> None:
    text = "/* a */\nint first() {\n}\n" + "b();\n" * 300 + "c(); */\nint second() {\n}\n"
    assert [one.heading for one in split_passages(text, "a.c")] == ["first()", "second()"]


def test_a_heading_is_named_with_at_most_eight_levels() -> None:
    """reStructuredText may have any number of levels; a ninth takes the eighth one's place."""
    marks = "=-~^*+#:."
    text = "\n".join(f"T{n}\n{mark * 4}\n\nwords of {n}\n{'pad ' * 500}\n" for n, mark in enumerate(marks))
    paths = [tuple(re.findall(r"T\d", heading)) for heading in headings(text, "a.rst")]
    assert max(map(len, paths)) == 8
    assert ("T0", "T1", "T2", "T3", "T4", "T5", "T6", "T8") in paths


def test_a_code_fence_ends_at_its_own_mark_only() -> None:
    pad = "pad " * 500
    text = f"# One\n{pad}\n```\n# Two\n{pad}\n~~~\n# Three\n{pad}\n```\n# Four\n{pad}\n"
    assert set(headings(text, "a.md")) == {"One", "Four"}


@each_row(
    "path, top, line, heading",
    [
        ("a.java", "/*\n   Saves.\n*/\n", "public void save() {\n", "save"),
        ("a.c", "/* Saves. */\n", "int save(int x) {\n", "save"),
        ("a.py", "# Saves.\n@route(\n    '/save',\n)\n", "def save():\n", "def save"),
        ("a.py", "@route(\n    '/save',\n)\n", "def save():\n", "def save"),
        ("a.go", "// Save saves.\n", "func Save() {\n", "func Save"),
    ],
)
def test_what_stands_above_the_first_definition_of_a_file_begins_its_passage(
    path: str, top: str, line: str, heading: str
) -> None:
    passage = split_passages(f"{top}{line}{paragraphs(1)}", path)[0]
    assert passage.text.startswith(top + line) and heading in passage.heading
