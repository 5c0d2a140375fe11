"""The parser's work grows as its input does, whatever tool printed it.

Work is what can be counted: lines of the parser that are executed, and characters that its expressions and its
operations on text are given. The modules are loaded a second time for that, with each such operation counted.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, cast

import pytest
from builders import run_child
from tables import each_row
from tool_outputs import OUTPUTS, REPORTS, SAYING, SUMMARIES

from ctxrank.indexer.errors.parse.notations import headline_of, notations

_LINES = 200
_MOST_GROWTH = 2.5
_ROOM = "ctxrank.indexer.errors.parse."
# In the order in which they import each other.
_MODULES = (
    "console", "frames", "notations", "summaries", "messages", "test_runs", "units",
)  # fmt: skip
# One for each notation of which no output elsewhere has an example.
_OTHERS = (
    "Makefile:2: *** missing separator.  Stop.", "make: *** [x] Error 1", "npm ERR! errno 1",
    "a.ts:1:2 - error TS2304: Cannot find name 'x'.", "a.py:1:2: F401 'os' imported but unused",
    "F401 [*] `os` imported but unused", "   ^-- SC2086 (info): Double quote", "  1:2  error  Unexpected var  no-var",
    "a.o: undefined reference to `f'", "thread 'main' panicked at 'no', a.rs:1:2", "panic: no", "fatal error: no",
    "ERROR 1064 (42000) at line 1: no", "ORA-00942: table or view does not exist", "Msg 208, Level 16, State 1",
    "fatal: not a repository", "CMake Error at CMakeLists.txt:1 (find_package):", "it died at a.pl line 3.",
    "Parse error near line 1: no", "a.zsh:cd:3: no such folder", "a.fish (line 3): no such command",
    "source: Error encountered while sourcing file 'x'", "/bin/sh: 1: x: not found", "Issue: [B101:x] Use of assert",
    "ld: fatal: no such file", "'x' is not recognized as an internal or external command", "Unknown option --x",
    "it says: database is locked", "a.c:1:2: warning: unused 'x' [-Wunused]",
    "FAILED test_a.py::test_a - assert 1 == 2", "tar: x: cannot be read", "not ok 1 - a\n  error: 'x'\n  ...",
    "E: Unable to locate package x", "no constant X (NameError)",
)  # fmt: skip
TEXTS = (*(text for text, _ in OUTPUTS.values()), *(report for report, *_ in REPORTS.values()), *SUMMARIES, *SAYING)


class Work:
    """The parser, counted."""

    def __init__(self) -> None:
        self.lines = self.characters = 0
        self._files: set[str] = set()

    def load(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], object]:
        for name in _MODULES:
            original = importlib.import_module(_ROOM + name)
            module = ModuleType(_ROOM + name)
            module.__dict__.update(__file__=original.__file__, counted=self.counted)
            tree = ast.fix_missing_locations(_Counting().visit(ast.parse(inspect.getsource(original))))
            self._files.add(f"counted {name}")
            monkeypatch.setitem(sys.modules, _ROOM + name, module)
            exec(compile(tree, f"counted {name}", "exec"), module.__dict__)
        loaded: Callable[[str], object] = sys.modules[f"{_ROOM}units"].__dict__["error_units"]
        return loaded

    def counted(self, value: Any, *others: Any) -> Any:
        """The first value; what all of them hold is counted."""
        for one in (value, *others):
            if isinstance(one, str | list):
                self.characters += len(cast("str | list[object]", one))  # of a list each place
        return value

    def of(self, parse: Callable[[str], object], text: str) -> tuple[int, int]:
        """How many lines were executed for a text, and how many characters were given to anything."""
        self.lines = self.characters = 0
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            parse(text)
        finally:
            sys.settrace(before)
        return self.lines, self.characters

    def _called(self, frame: FrameType, _event: str, _value: object) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, _frame: FrameType, event: str, _value: object) -> Any:
        self.lines += event == "line"
        return self._line


class _Counting(ast.NodeTransformer):
    """Puts `counted(…)` around what methods and functions are given, what is searched, and what slices make."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            node.func.value = _counted(node.func.value)
            node.args = [one if isinstance(one, ast.Starred) else _counted(one) for one in node.args]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            node.comparators[0] = _counted(node.comparators[0])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_read = isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice)
        return _counted(node) if is_read else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def _counted(value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("counted", ast.Load()), [value], [])


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Work, Callable[[str], object]]]:
    made = Work()
    yield made, made.load(monkeypatch)


def test_the_texts_have_a_line_of_every_notation() -> None:
    lines = "\n".join((*TEXTS, *_OTHERS)).split("\n")
    announced = {headline.notation for line in lines if (headline := headline_of(line)) is not None}
    assert [notation.signs for notation in notations() if notation not in announced] == []


@pytest.mark.slow
def test_twice_the_output_of_any_tool_is_twice_the_work(work: tuple[Work, Callable[[str], object]]) -> None:
    assert [text for text in dict.fromkeys((*_OTHERS, *TEXTS)) if _growth(*work, text) >= _MOST_GROWTH] == []


@pytest.mark.slow
@each_row("text", ["make: *** [x] Error 1", "E   assert 1 == 2\n\nFAILED test_a.py::test_a - assert 1 == 3"])
def test_twice_as_many_summaries_are_twice_the_work(work: tuple[Work, Callable[[str], object]], text: str) -> None:
    assert _growth(*work, text) < _MOST_GROWTH


def _growth(work: Work, parse: Callable[[str], object], text: str) -> float:
    """Twice the text is this many times the work, in lines or in characters, whichever grows more."""
    once = f"{text}\n" * (_LINES // (text.count("\n") + 1))
    few, many = work.of(parse, once), work.of(parse, once * 2)
    return max(many[0] / few[0], many[1] / few[1])


_IN_TIME = """
from ctxrank.indexer.errors.parse.units import error_units
for line in ("=" * 390 + " error", "=" * 100 + " error", "1 error" + "." * 90 + "x", "error: " * 16 + "x",
             "1 error" + "." * 390 + "x", "error: " * 55 + "x", " at " + "." * 1990):
    error_units(line)
    error_units(f"  \\u25cf a\\n{line}\\n")
error_units(f"{' ' * 1990}x\\n" * 120)
"""


def test_no_line_is_read_in_more_ways_than_its_length_allows() -> None:
    """Each of these would take longer than anybody waits, if it were tried in all the ways in which it can be cut."""
    run_child(_IN_TIME)
