"""The public Python API: it writes, reads and refuses at the border, with the names of `__all__`."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builders import write_file
from tables import each_row

import ctxrank

FINDING: dict[str, Any] = {
    "session": "S",
    "type": "research",
    "producer": "investigator",
    "summary": "A zebra.",
    "create_session": True,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ctxrank.Store]:
    with ctxrank.create_store(str(tmp_path)) as opened:
        yield opened


def test_the_public_names_are_sorted_there_and_documented() -> None:
    assert sorted(ctxrank.__all__) == ctxrank.__all__
    for name in ctxrank.__all__:
        value = getattr(ctxrank, name)
        assert name in dir(ctxrank)
        assert name == "__version__" or inspect.getdoc(value)
    with pytest.raises(AttributeError):
        ctxrank.nothing  # noqa: B018  # asking is the test


@pytest.mark.parametrize("name", ["assemble", "index", "match_error", "save_error", "save_package", "search"])
def test_each_call_has_named_arguments_and_says_what_it_raises(name: str) -> None:
    call = getattr(ctxrank, name)
    parameters = inspect.signature(call).parameters.values()
    assert {one.kind for one in parameters} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters)
    assert "Raises" in (call.__doc__ or "")


def test_importing_it_loads_nothing_and_a_name_loads_its_own_module() -> None:
    code = "import sys, ctxrank; print(sorted(name for name in sys.modules if name.startswith('ctxrank')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "['ctxrank']"


def test_the_package_is_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxrank", "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"ctxrank {ctxrank.__version__}\n"


def test_what_is_saved_is_found_and_assembled(store: ctxrank.Store) -> None:
    write_file(store, "notes/a.md", "# Stripes\n\nThe zebra has stripes.\n")
    saved = ctxrank.save_package(store, "notes/a.md", **FINDING, group="G", priority="high")
    assert (saved.id, saved.path, saved.version, saved.notes) == (1, "notes/a.md", 1, ())
    thought = ctxrank.save_reasoning(
        store, "Zebras run.", session="S", group="G", agent="developer", phase="completion", references=["notes/a.md"]
    )
    assert thought.id == 1
    found = ctxrank.search(store, "zebra", session="S", since=datetime(2020, 1, 1, tzinfo=UTC))
    assert [hit.id for hit in found.hits] == ["package:1", "reasoning:1"]
    assert [hit.id for hit in ctxrank.search(store, "zebra", kind="reasoning", limit=1).hits] == ["reasoning:1"]
    block = ctxrank.assemble(store, session="S", agent="qa_expert", group="G", task="count the stripes")
    assert "notes/a.md" in block.text and "Zebras run." in block.text and block.receipt == 1


def test_an_error_that_is_saved_is_matched(store: ctxrank.Store) -> None:
    failure = "ModuleNotFoundError: No module named 'yaml'"
    assert ctxrank.match_error(store, failure).fixes == ()
    saved = ctxrank.save_error(store, failure, solution="pip install pyyaml", hints="CI")
    assert saved.is_new
    assert [fix.solution for fix in ctxrank.match_error(store, failure.encode()).fixes] == ["pip install pyyaml"]
    told = ctxrank.match_error(store, "No module named 'yaml'", error_type="ModuleNotFoundError")
    assert told.fixes[0].match.pattern_id == saved.id
    assert not ctxrank.save_error(store, failure, solution="pip install pyyaml").is_new


def test_files_are_indexed(store: ctxrank.Store) -> None:
    write_file(store, "a.md", "A giraffe is tall.")
    assert ctxrank.index(store, dry_run=True).added == ("a.md",)
    assert ctxrank.search(store, "giraffe").hits == ()
    assert ctxrank.index(store).added == ("a.md",)
    assert [hit.path for hit in ctxrank.search(store, "giraffe").hits] == ["a.md"]


def test_a_text_is_kept_in_the_store(store: ctxrank.Store) -> None:
    saved = ctxrank.save_package(store, text="# Why\n\nThe okapi hides.\n", title="Where it is", **FINDING)
    assert saved.path == "text://where-it-is"
    assert [hit.title for hit in ctxrank.search(store, "okapi").hits] == ["Where it is"]


untyped: Any = ctxrank
Call = Callable[[Any], object]


_WRONG_TYPES: list[tuple[Call, str]] = [
    (lambda s: untyped.search(s, None), "query is str, not NoneType"),
    (lambda s: untyped.search(s, "x", limit="3"), "limit is int, not str"),
    (lambda s: untyped.search(s, "x", limit=True), "limit is int, not bool"),
    (lambda s: untyped.search(s, "x", kind=3), "kind is str or Sequence, not int"),
    (lambda s: untyped.search(s, "x", kind=[3]), "kind is str, not int"),
    (lambda s: untyped.search(s, "x", since=7), "since is str or datetime or None, not int"),
    (lambda _: untyped.search("store", "x"), "store is Store, not str"),
    (lambda s: untyped.save_package(s, 3, **FINDING), "path is str or None, not int"),
    (lambda s: untyped.save_package(s, "a", **{**FINDING, "summary": None}), "summary is str, not NoneType"),
    (lambda s: untyped.save_error(s, None, solution="x"), "failure is str or bytes, not NoneType"),
    (lambda s: untyped.match_error(s, "x", limit=None), "limit is int, not NoneType"),
    (
        lambda s: untyped.assemble(s, session=None, agent="a"),
        "session is str, not NoneType",
    ),
    (lambda s: untyped.assemble(s, session="S", agent="qa", budget="9"), "budget is int or None"),
]


@each_row("wrong, named", _WRONG_TYPES)
def test_a_wrong_type_is_a_type_error_that_names_it(store: ctxrank.Store, wrong: Call, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        wrong(store)


_WRONG_VALUES: list[tuple[Call, str]] = [
    (lambda s: untyped.search(s, "x", kind="poem"), "'poem' is not a kind"),
    (lambda s: untyped.search(s, "x", limit=-1), "limit is -1"),
    (lambda s: untyped.search(s, "x", plain=True, syntax=True), "exclude each other"),
    (lambda s: untyped.search(s, "x", since="soon"), "'soon'"),
    (lambda s: untyped.save_package(s, **FINDING), "a file or a text"),
    (lambda s: untyped.save_package(s, "a", text="b", **FINDING), "not both"),
    (lambda s: untyped.save_package(s, "absent.md", **FINDING), "no file absent.md"),
    (lambda s: untyped.save_error(s, "", solution="x"), "Nothing was printed"),
    (lambda s: untyped.match_error(s, "x", limit=0), "limit is 0"),
    (lambda s: untyped.assemble(s, session="S", agent="qa", reach="world"), "reach is 'world'"),
    (lambda s: untyped.assemble(s, session="S", agent="qa", reasoning_level="much"), "reasoning_level is 'much'"),
]


@each_row("wrong, named", _WRONG_VALUES)
def test_a_wrong_value_is_an_error_of_ours_that_names_what_is_allowed(
    store: ctxrank.Store, wrong: Call, named: str
) -> None:
    with pytest.raises(ctxrank.CtxrankError) as refused:
        wrong(store)
    assert named in refused.value.message and refused.value.hint and refused.value.exit_code == 2
