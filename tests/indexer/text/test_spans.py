"""A span is found by its name or its lines, and says how many of them differ."""

import time

import pytest
from tables import each_row

from ctxrank.indexer.text.mentions import Mention, mentions
from ctxrank.indexer.text.spans import (
    Before,
    Fingerprint,
    Located,
    Source,
    Span,
    _likeness,  # pyright: ignore[reportPrivateUsage] # a part of what decides
)

CONFIG = '''\
import os

LIMIT = 3


class Config:
    @cached
    def load(self, path):
        """Read
all of it."""
        text = open(path).read()
        return self.parse(text)

    def parse(self, text):
        def load(line):
            return line

        return load(text)


def load(path):
    return Config().load(path)
'''
GO = "func (c *Config) Load(path string) error {\n\treturn nil\n}\n\nfunc Load() {\n}\n"
KEYS = "[tool.a]\nlevel = 3\nnames = [\n  'x',\n]\n\n[tool.b]\n"


@each_row(
    "path, text, name, spans",
    [
        ("a.py", CONFIG, "Config.load", [(7, 12)]),
        ("a.py", CONFIG, "load", [(21, 22)]),
        ("a.py", CONFIG, "LIMIT", [(3, 3)]),
        ("a.py", CONFIG, "Config", [(6, 18)]),
        ("a.py", CONFIG, "Other.load", []),
        ("a.py", "class A:\n    def load(self): return 1", "A.load", [(2, 2)]),
        ("a.py", "class A:\n    x = 1\n\n    def load(self): return 1\nload = 2", "A.load", [(4, 4)]),
        ("a.py", "class A:\n    pass\nclass B:\n    def load(self): pass", "A.load", []),
        ("a.go", GO, "Config.Load", [(1, 3)]),
        ("a.go", GO, "Load", [(1, 3), (5, 6)]),
        ("a.go", GO.replace("*Config", "*MyConfig"), "Config.Load", []),
        ("a.go", GO.replace("*Config", "*Configs"), "Config.Load", []),
        ("a.go", GO.replace("*Config", "*_Config"), "Config.Load", []),
        ("a.go", GO.replace("*Config", "*Config$"), "Config.Load", []),
        ("a.rb", "class A\n  def valid?(text)\n    text\n  end\nend\n", "A#valid?", [(2, 3)]),
        ("a.rb", "class A\n  def valid(text)\n    text\n  end\nend\n", "A#valid?", []),
        ("a.rb", "def read(a)\n  open(a)\nrescue Error\n  nil\nend\nrescue_all\n", "read", [(1, 4)]),
        ("a.rs", "fn read<T>(a: T)\nwhere\n    T: Read,\n{\n    a\n}\n\nfn b() {}\n", "read", [(1, 6)]),
        ("a.rs", "trait A {\n    fn b(c: C)\n    where\n        C: D;\n    fn e();\n}\n", "b", [(2, 4)]),
        ("a.js", "const a = f()\n\n{\n  a()\n}\n", "a", [(1, 1)]),
        ("a.js", "function a(\n  b\n)\n{\n  b()\n}\nc()\n", "a", [(1, 6)]),
        ("a.ts", "export interface A<\n  T,\n> {\n  a: T\n}\nlet b = 1\n", "A", [(1, 5)]),
        ("a.toml", KEYS, "names", [(3, 5)]),
        ("Makefile", "test: lint\n\tpytest\n\nlint:\n\truff\n", "test", [(1, 2)]),
        ("a.md", "# load\n", "load", []),
    ],
)
def test_a_name_is_where_it_is_defined(path: str, text: str, name: str, spans: list[tuple[int, int]]) -> None:
    assert Source(path, text).defined(name) == spans


def _now(old: str, span: Span, new: str, name: str = "", path: str = "a.py") -> Located | None:
    """Where a span of a text is in a newer one."""
    source = Source(path, old)
    kept = Fingerprint.read(str(source.fingerprint(span)))
    return Source(path, new).find(kept, name, span.start, Before(source, span))


LOAD, LINE = Span(7, 12), Span(11, 11)


@each_row(
    "name, span, before, after, located",
    [
        ("Config.load", LOAD, "import os\n", "import os\nimport re\n", (8, 13, 0)),
        ("Config.load", LOAD, "    ", "\t", (7, 12, 0)),
        ("Config.load", LOAD, "open(path).read()", "read(path)", (7, 12, 1)),
        ("Config.load", LOAD, "def load(self, path)", "def read(self, path)", (7, 12, 1)),
        ("", LINE, "import os\n", "import os\nimport re\n", (12, 12, 0)),
        ("", LINE, "open(path).read()", "read(path)", (11, 11, 1)),
        ("", LINE, "        text = open(path)", "        path = str(path)\n        text = read(path)", (12, 12, 1)),
        ("", LINE, "        text = open(path).read()\n", "", None),
        ("", Span(1, 1), CONFIG, "nothing of it\n", None),
        ("", LINE, "        text = open(path).read()", "        text = (open(path).read())", (11, 11, 1)),
        ("", Span(3, 3), "import os\n\nLIMIT = 3\n", "import os\n# new\nLIMIT = 3\n# more\n", (3, 3, 0)),
        ("Config.load", LOAD, "self.parse(text)\n", "self.parse(text)\n        pass\n", (7, 13, 1)),
    ],
)  # fmt: skip
def test_a_span_is_followed_within_its_file(
    name: str, span: Span, before: str, after: str, located: tuple[int, int, int] | None
) -> None:
    assert before in CONFIG
    found = _now(CONFIG, span, CONFIG.replace(before, after), name, "config.py")
    assert (found and (*found.span, found.changed)) == located


CASES = "same(get(1), OK)\n\nfirst = 1\nsame(get(2), OK)\n\nsecond = 2\nsame(get(3), OK)\n"


@each_row(
    "new, located",
    [
        (CASES.replace("get(2), OK", "get(2), status.OK"), (4, 4, 1)),
        (CASES.replace("same(get(2), OK)", "is(get(2), status.OK)"), (4, 4, 1)),
        (CASES.replace("same(get(2), OK)", "print(second)"), None),
        (CASES.replace("same(get(2), OK)\n", ""), None),  # its siblings are as like it
        (CASES.replace("first = 1\nsame(get(2), OK)\n\n", "").replace("get(3)", "get(4)"), None),
        (CASES.replace("same(get(2), OK)", "print(1)\nis(2)\nsame(get(2), BAD, KIND)"), (6, 6, 1)),
        ("same(get(2), OK)\n" + CASES.replace("same(get(2), OK)", "print(second)"), (1, 1, 0)),
    ],
)
def test_what_stands_between_the_lines_that_stayed_is_what_a_line_has_become(
    new: str, located: tuple[int, int, int] | None
) -> None:
    found = _now(CASES, Span(4, 4), new)
    assert (found and (*found.span, found.changed)) == located


def test_lines_that_are_still_together_are_not_parted_by_a_last_one_that_others_have() -> None:
    old = "import os\n\n\ndef load() {\n    one(os)\n    two(os)\n}\n"
    more = "\n\ndef save() {\n    three(os)\n}\n"
    assert _now(old, Span(5, 7), f"{old}{more}") == Located(Span(5, 7))
    assert _now(f"{old}{more}", Span(5, 7), f"{old}") == Located(Span(5, 7))


def test_a_text_has_not_moved_to_where_its_file_had_it_before() -> None:
    old = "a = 1\nreturn a\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\nreturn a\nh = 8\n"
    assert _now(old, Span(2, 2), old.replace("return a\n", "", 1)) is None
    assert _now(old, Span(2, 2), old.replace("a = 1\nreturn a\n", "") + "a = 1\nreturn a\n") == Located(Span(10, 10))


@each_row(
    "new, located",
    [
        ("a = 1\ntwo = second(one)\nb = c(d)\n", (2, 2, 2)),
        ("import os\n}\n", None),
        ("import os\n\nprint(four)\n", None),
    ],
)
def test_a_span_is_there_as_far_as_its_words_are(new: str, located: tuple[int, int, int] | None) -> None:
    old = "import os\n\none = first(os)\ntwo = second(one)\nthree = third(two)\n}\n"
    found = _now(old, Span(3, 5), new)
    assert (found and (*found.span, found.changed)) == located


def test_a_definition_that_has_another_name_is_found_where_most_of_its_words_are() -> None:
    old = "@cached\ndef load(path, kind):\n    pair = (path, kind)\n    return parse(pair, kind)\n\n\nlimit = 3\n"
    new = old.replace("def load", "def _load").replace("(path, kind)\n", "[path, kind]\n")
    assert _now(old, Span(1, 4), new.replace("pair, kind", "*pair, kind"), "load") == Located(Span(1, 4), 3)
    assert _now(old, Span(1, 4), "@cached\ndef save(path, kind):\n    write(path)\n\n\nlimit = 3\n", "load") is None
    assert _now("[tool]\nload = 3\n", Span(2, 2), "[tool]\nloads = 3\n", "load", "a.toml") is None


def test_most_lines_of_a_file_in_another_order_keep_their_places() -> None:
    old = [f"step({number})\n" for number in range(40)]
    new = [*old[30:], *old[:5], "step(5, more)\n", *old[6:30]]
    assert _now("".join(old), Span(6, 6), "".join(new)) == Located(Span(16, 16), 1)
    assert _now("".join(old), Span(31, 31), "".join(new)) == Located(Span(1, 1))


def test_the_lines_that_hold_a_text_are_named_by_their_numbers_whatever_its_white_space() -> None:
    source = Source("a.py", "one = 1\n\ntwo = one + 1\nthree =  one+1\n")
    assert source.holding("one + 1") == [(3, 3), (4, 4)]
    assert source.holding("one = 1") == [(1, 1)] and source.holding("four") == []


def test_a_span_is_all_of_a_text_or_is_trimmed_to_its_lines_with_a_text() -> None:
    text = "\n\none\n\n  two\n\n"
    assert [Source("a.py", text).whole, Source("a.py", "one").whole, Source("a.py", "").whole] == [
        (1, 6),
        (1, 1),
        (1, 1),
    ]
    trimmed = {
        (1, 6): (3, 5), (3, 5): (3, 5), (2, 4): (3, 3), (4, 6): (5, 5), (1, 2): (1, 2), (4, 4): (4, 4), (6, 6): (6, 6),
    }  # fmt: skip
    assert {span: Source("a.py", text).trimmed(Span(*span)) for span in trimmed} == trimmed


def test_what_is_known_of_a_span_is_what_is_still_here() -> None:
    source = Source("a.py", "one = 1\ntwo = 2\nthree = 3\n")
    kept = source.fingerprint(Span(2, 2))
    assert source.known(kept) == kept._replace(text=(0,))  # which may be of more than is here
    assert source.difference(source.known(kept), Span(2, 2)) == 0
    part = Source("a.py", "two=2\nfour = 4\n").known(kept)
    assert (part.lines, part.words) == (kept.lines, kept.words)
    assert Source("a.py", "").known(kept) == Fingerprint((0,), (0,), (0,))


def test_a_fingerprint_of_six_parts_is_read_as_one_of_three() -> None:
    kept = Source("a.py", "one = 1\n").fingerprint(Span(1, 1))
    lines, words, text = str(kept).split("|")
    assert (
        Fingerprint.read(f"{lines}|1 2|{words}|3|{lines}|{text}") == Fingerprint.read(f"{lines}|{words}|{text}") == kept
    )
    assert Fingerprint.read(f"{lines}|1 2|{words}|3|") == kept._replace(text=())


def test_what_a_text_names_is_found_the_most_exact_first() -> None:
    text = """
    `Config.load` in src/config.py:42-50 reads it, says File "a/b.py", line 12; see `make test` and
    `level = 30` in pyproject.toml. It calls open_store(), https://example.org/a.py is none of ours.
    """
    assert mentions(text) == [
        Mention("line", "src/config.py:42-50", "src/config.py", 42, 50),
        Mention("line", "a/b.py:12", "a/b.py", 12, 12),
        Mention("name", "Config.load", "Config.load"),
        Mention("name", "open_store", "open_store"),
        Mention("quote", "level = 30", "level = 30"),
        Mention("command", "make test", "test"),
        Mention("setting", "level", "level"),
        Mention("path", "Config.load", "Config.load"),  # no file: it makes no anchor
        Mention("path", "pyproject.toml", "pyproject.toml"),
    ]


def test_a_name_may_end_in_a_question_or_an_exclamation() -> None:
    names = [(one.kind, one.wanted) for one in mentions("`valid?`, `A#close!` and `save!(text)` or `save!()`")]
    assert names == [("name", "valid?"), ("name", "A#close!"), ("name", "save!"), ("quote", "save!(text)")]


def test_the_lines_of_a_fence_are_lines_of_code() -> None:
    assert [one.wanted for one in mentions("```python\n  total  = add(1)\n```\n") if one.kind == "quote"] == [
        "total = add(1)"
    ]


def test_a_fence_is_closed_by_one_as_long_and_a_rule_of_signs_costs_no_more_than_a_line() -> None:
    quotes = [one.wanted for one in mentions("````\n```\nlevel = 30\n````\n") if one.kind == "quote"]
    assert quotes == ["level = 30"]
    started = time.process_time()
    assert mentions("~" * 1000 + "\n" + "no code\n" * 40_000) == []
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ["", "no code here", "a sentence. Another one", "3.5 of 4.0"])
def test_prose_names_nothing(text: str) -> None:
    assert mentions(text) == []


def test_lines_that_are_all_gone_are_looked_for_in_time_that_grows_with_their_number() -> None:
    lines = [f"word{number}" for number in range(12_000)]
    old, new = (Source("a.txt", "\n".join(("first", *middle, "last"))) for middle in (lines, ["other"]))
    span = Span(2, 12_001)
    started = time.process_time()
    assert new.find(old.fingerprint(span), "", 2, Before(old, span)) is None
    assert time.process_time() - started < 2


@each_row(
    "new, carried",
    [
        ("a\nb\nc\nd\ne\nf\ng\n", (4, 4)),
        ("x\na\nb\nc\nd\ne\nf\ng\n", (5, 5)),
        ("x\ny\nb\nc\nd\ne\nf\n", (5, 5)),
        ("b\nc\nd\ne\nf", (3, 3)),
        ("c\nd\ne\nf\ng\n", None),  # of the two lines above one is gone
        ("b\nc\nd\ne\ng\n", None),
        ("b\nc\nD\ne\nf\n", None),
        ("b\nc\nd\ne\nf\nb\nc\nd\ne\nf\n", None),  # there twice
        ("bb\nc\nd\ne\nf\n", None),
    ],
)
def test_a_span_is_carried_with_two_lines_on_each_side(new: str, carried: tuple[int, int] | None) -> None:
    was = Before(Source("a.md", "a\nb\nc\nd\ne\nf\ng\n"), Span(4, 4))
    assert Source("a.md", new).carried(was) == carried


def test_a_span_at_an_end_of_its_file_is_carried_with_that_end() -> None:
    old = Source("a.md", "a\nb\nc\nd\n")
    for span, new, carried in (
        (Span(1, 2), "a\nb\nc\nd\n", (1, 2)),
        (Span(1, 2), "x\na\nb\nc\nd\n", (2, 3)),
        (Span(1, 1), "a\nb\nc\nx\n", (1, 1)),
        (Span(4, 4), "x\nb\nc\nd\n", (4, 4)),
        (Span(4, 4), "x\nb\nc\nd\nx\n", None),  # it may go on
        (Span(3, 4), "a\nb\nc\nx\nd\n", None),
    ):
        assert Source("a.md", new).carried(Before(old, span)) == carried
    twice = Source("a.md", "a\nb\nc\nd\ne\na\nb\nc\nd\ne\n")
    assert Source("a.md", "a\nb\nc\nd\ne\n").carried(Before(twice, Span(3, 3))) is None


def test_likeness_is_twice_what_two_have_in_common_of_all_that_they_have() -> None:
    """Paper: of {a, b, c} and {b, c, d, e} two are in both, 2 × 2 / 7."""
    assert _likeness(frozenset("abc"), frozenset("bcde")) == pytest.approx(4 / 7)
    assert (_likeness(frozenset("a"), frozenset("a")), _likeness(frozenset(), frozenset())) == (1, 0)
