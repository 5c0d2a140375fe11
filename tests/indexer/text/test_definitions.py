"""What a text defines, as the index ranks it."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.definitions import Names, defined_names, forms_of, names_in, with_names


@each_row(
    "path, text, names",
    [
        ("a.py", "class Store(Base):\n    LIMIT = 3\n    async def open(self):\n        x = 1\n", "Store LIMIT open"),
        ("a.py", "TIMEOUT: int = 3\nif x == y:\n    call(a=1)\n", "TIMEOUT"),
        ("a.go", "func (s *Store) Open(path string) error {\ntype Row struct {\nconst Most = 3\n", "Open Row Most"),
        ("a.rs", "impl Tree {\n    pub(crate) async fn parse(x: u8) {\npub const ABC: u8 = 1;\n", "parse ABC"),
        (
            "A.java",
            "public class A {\n  static final int MOST = 3;\n  public List<B> names(int id) {\n",
            "A MOST names",
        ),
        ("a.c", "#define MOST 3\nstatic int\nread_all(int fd)\n{\n  call(1);\n", "MOST read_all"),
        ("a.js", "res.send = function send(x) {\nexport const load = async () => {\n", "send load"),
        ("a.js", "var http = require('http')\nclass A {\n  get(id) {\n    if (id) {\n", "A get"),
        ("a.ts", "export interface Row {\nexport type Id = string\nexport enum Kind {\n", "Row Id Kind"),
        ("a.rb", "module Web\n  def self.run(x)\n", "Web run"),
        ("a.cs", "namespace Web\n{\n    public async Task<int> Save(int x)\n    {\n", "Web Save"),
        ("a.php", "public function save($x) {\n", "save"),
        ("a.log", "def nothing():\n", ""),
    ],
)
def test_code_defines_functions_types_and_constants(path: str, text: str, names: str) -> None:
    assert sorted(defined_names(text, path).code) == sorted(names.split())
    assert defined_names(text, path).headings == ()


@each_row(
    "path, text, names",
    [
        ("a.md", "# `open_store()`\n\n## Store.close(now)\n\n## How to open it\n", "open_store close"),
        ("a.md", '<a name="retries"></a>\n', "retries"),
        (
            "a.rst",
            ".. _anchor:\n\nSpider\n======\n\n.. py:class:: web.Row(x)\n.. setting:: MOST\n",
            "anchor Spider Row MOST",
        ),
    ],
)
def test_documents_have_headings_and_anchors_that_are_names(path: str, text: str, names: str) -> None:
    assert defined_names(text, path) == Names((), tuple(names.split()))


@given(st.lists(st.from_regex(r"[^\W\d]\w{0,9}", fullmatch=True), unique=True), st.booleans())
def test_the_column_of_identifiers_holds_names_apart_from_parts(names: list[str], is_code: bool) -> None:
    given_names = Names(tuple(names), ()) if is_code else Names((), tuple(names))
    assert names_in(with_names("get user by id", given_names)) == ("get user by id", given_names)


def test_a_name_can_be_asked_for_as_it_is_and_in_lower_case() -> None:
    assert forms_of(["Store", "open"]) == {"Store", "store", "open"}


@pytest.mark.parametrize("path", ["a.py", "a.java", "a.js", "a.md", "a.rst", "a.go"])
@pytest.mark.parametrize("unit", ["x", "\n", "def ", "public ", "a.", "f(", "# ", "a b ", "const x", "{\n", "(a, "])
def test_hostile_text_costs_time_in_proportion(path: str, unit: str) -> None:
    text = unit * (40_000 // len(unit)) + str(random.Random(1).random())
    started = time.process_time()
    defined_names(text, path)
    assert time.process_time() - started < 2
