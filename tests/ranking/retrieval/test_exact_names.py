"""A search for a name alone, or with files in it: what has the name comes before what repeats its parts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import found, make_store, save, write_file
from linked_builders import tree_of, write_artifact
from tables import each_row

from ctxrank.extensions.links.sync import sync_tree
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval import exact_names
from ctxrank.ranking.retrieval.exact_names import named_files
from ctxrank.ranking.retrieval.query import parse_query


def _first(folder: Path, query: str) -> str:
    with make_store(folder) as store:
        if (folder / ".contextia").exists():
            sync_tree(store, tree_of(store))
        return found(store, query).hits[0].title


def test_an_artifact_comes_first_for_its_own_id_whoever_else_names_it(tmp_path: Path) -> None:
    write_artifact(tmp_path, "SPEC-BILLING-001", body="Words of no matter. " * 300)
    for number in range(2, 12):
        body = "SPEC-BILLING-001 and SPEC-BILLING-001\n" * number
        write_artifact(tmp_path, f"SPEC-BILLING-{number:03}", body=body, title="SPEC-BILLING-001 once more")
    for asked in ("SPEC-BILLING-001", "spec-billing-001", "kind:linked SPEC-BILLING-001"):
        assert _first(tmp_path, asked) == "SPEC-BILLING-001 Spec-Billing-001"


def test_a_text_that_holds_a_name_comes_before_those_that_repeat_its_parts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for number in range(8):
            save(store, f"{number}.md", "042 is no task here\n" * 9, summary="042 and a task.")
        save(store, "held.md", "long words " * 400 + "for TASK-042.\n", summary="Held.")
        save(store, "named.md", "words " * 400, summary="What TASK-042 needs.")
        assert [hit.path for hit in found(store, "TASK-042").hits][:2] == ["named.md", "held.md"]


def test_a_name_among_other_words_is_one_of_them(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "named.md", "words\n" * 50, summary="What TASK-042 needs.")
        save(store, "meant.md", "lock timeouts and lock timeouts\n", summary="Lock timeouts.")
        assert found(store, "TASK-042 lock timeouts").hits[0].path == "meant.md"


def test_what_is_superseded_stays_behind_what_is_current(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        old = save(store, "old.md", "x\n", summary="TASK-042, as it was.")
        new = save(store, "new.md", "TASK-042\n", summary="New.")
        supersede(store, old.id, new.id)
        assert [hit.path for hit in found(store, "TASK-042").hits] == ["new.md", "old.md"]


def test_a_line_of_code_finds_first_what_has_it_as_it_stands(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for number in range(1, 9):
            write_file(store, f"other_{number}.py", f"client.get('/users', timeout={number})\n" * 9)
        write_file(store, "marks.py", "client.get['/users'].timeout[50]\n" * 9)
        lines = "\n".join(f"value_{number} = compute({number})" for number in range(40))
        write_file(store, "meant.py", f"{lines}\n    users = client.get(\n        '/users',  timeout=50)\n{lines}\n")
        index_artifacts(store)
        for asked in ("client.get( '/users', timeout=50)", " client.get( '/users',\ttimeout=50)\n"):
            result = found(store, asked)
            assert [hit.path for hit in result.hits][:1] == ["meant.py"]
            assert result.hits[0].passages[0].start_line <= 41 <= result.hits[0].passages[0].end_line
        assert found(store, "client.get( '/users', timeout=70);").hits  # nowhere as it stands: by its words
        assert not found(store, '([""])').hits


def test_a_line_of_code_is_looked_for_where_the_filters_say(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        write_file(store, "a/one.py", "x = f('a', 1)\n")
        write_file(store, "b/two.py", "f(1, 'a')\n")
        index_artifacts(store)
        assert [hit.path for hit in found(store, "f('a', 1)", path=("b/*",)).hits] == ["b/two.py"]


def test_of_very_many_lines_of_code_the_answer_does_not_say_that_it_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_names, "_MOST_READ", 2)
    with make_store(tmp_path) as store:
        for number in range(3):
            write_file(store, f"{number}.py", f"x = f('a', 1)\ny = {number}\n")
        index_artifacts(store)
        assert not found(store, "f('a', 1)").is_exact


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Store]:
    """A small program; whatever repeats a file's name stands in other files."""
    with make_store(tmp_path) as store:
        paths = ("web/cmdline.py", "web/core/engine.py", "web/core/__init__.py", "docs/cmdline.md", "cmdline.md")
        for number, path in enumerate(paths):
            words = " ".join(other.replace("/", " ").replace(".", " ") for other in paths if other != path)
            write_file(store, path, f"{words}\n" * 5 * (number + 1))
        write_file(store, "web/core/engine.py", "".join(f"x{line} = {line}\n" for line in range(1, 600)))
        index_artifacts(store)
        yield store


@each_row(
    "asked, path",
    [
        ("cmdline.py", "web/cmdline.py"),
        ("CmdLine.py", "web/cmdline.py"),
        ("web/cmdline.py", "web/cmdline.py"),
        ("web\\cmdline.py", "web/cmdline.py"),
        ("C:\\work\\web\\cmdline.py:12:3", "web/cmdline.py"),
        ("./web/cmdline.py", "web/cmdline.py"),
        ("/home/ada/checkout/web/cmdline.py", "web/cmdline.py"),
        ("cmdline.py:42", "web/cmdline.py"),
        ("`web/cmdline.py`,", "web/cmdline.py"),
        ("web.cmdline", "web/cmdline.py"),
        ("web.cmdline.execute", "web/cmdline.py"),
        ("web.core", "web/core/__init__.py"),
        ("core.engine", "web/core/engine.py"),
        ("docs/cmdline.md", "docs/cmdline.md"),
        ("web.core.__init__", "web/core/__init__.py"),
        ("core/__init__.py", "web/core/__init__.py"),
        ("/srv/copy/core/engine.py", "web/core/engine.py"),
        ("copy/core/engine.py", "web/core/engine.py"),
        ("cmdline.md", "cmdline.md"),
    ],
)
def test_a_file_that_is_named_comes_first(web: Store, asked: str, path: str) -> None:
    assert found(web, asked).hits[0].path == path


def test_of_a_file_with_a_line_the_passage_with_it_comes_first(web: Store) -> None:
    for line in (3, 250, 599):
        passage = found(web, f"engine.py:{line}", is_explained=True).hits[0].passages[0]
        assert passage.start_line <= line <= passage.end_line


def test_a_line_that_is_named_is_shown_between_its_neighbours(web: Store) -> None:
    for line, shown in ((1, (1, 2)), (3, (2, 3, 4)), (250, (249, 250, 251)), (599, (598, 599))):
        passage = found(web, f"web/core/engine.py:{line}").hits[0].passages[0]
        assert (passage.match_line, tuple(one.number for one in passage.lines)) == (line, shown), line
        assert f"x{line} = {line}" in passage.snippet
    write_file(web, "notes.md", "zebra notes\n\nThe walrus.\n\nzebra notes, zebra notes\n")
    index_artifacts(web)
    passage = found(web, "see notes.md:3 zebra").hits[0].passages[0]
    assert (passage.match_line, passage.snippet) == (3, "The walrus.")


def test_a_named_file_stays_inside_the_filters(web: Store) -> None:
    assert [hit.path for hit in found(web, "cmdline.py path:docs/*").hits] == ["docs/cmdline.md"]


@each_row(
    "text, paths",
    [
        (
            'Traceback (most recent call last):\n  File "/srv/jobs/run.py", line 3, in main\n    run()\n'
            '  File "/usr/lib/web/cmdline.py", line 8, in run\n    go()\n'
            '  File "/usr/lib/web/core/engine.py", line 250, in go\n    raise ValueError()\nValueError: no such thing',
            ["web/core/engine.py", "web/cmdline.py"],
        ),
        (
            "TypeError: no function\n    at go (/srv/web/core/engine.py:250:3)\n    at /srv/web/cmdline.py:8:1\n",
            ["web/core/engine.py", "web/cmdline.py"],
        ),
        ("error: no such thing\n --> web/cmdline.py:4:5\n", ["web/cmdline.py"]),
    ],
)
def test_of_the_files_in_a_trace_the_innermost_comes_first(web: Store, text: str, paths: list[str]) -> None:
    hits = found(web, text, is_plain=True).hits
    assert [hit.path for hit in hits][: len(paths)] == paths


@each_row("text", ["version 3.11", "see https://web/cmdline.py:80/x now", "half past 12:30", "e.g. this and that."])
def test_what_only_looks_like_a_file_names_none(web: Store, text: str) -> None:
    assert named_files(parse_query(text), text) == []


def test_the_passage_with_the_line_is_found_by_its_lines_and_not_by_their_words(web: Store) -> None:
    write_file(web, "web/plain.py", "value = value\n" * 600)
    index_artifacts(web)
    for line in (3, 250, 599):
        passage = found(web, f"plain.py:{line}", is_explained=True).hits[0].passages[0]
        assert passage.start_line <= line <= passage.end_line


def test_files_of_one_name_stay_inside_the_filters(web: Store) -> None:
    for folder in ("one", "two"):
        write_file(web, f"{folder}/same.py", f"in_{folder} = True\n")
    index_artifacts(web)
    assert [hit.path for hit in found(web, "same.py path:one/*").hits] == ["one/same.py"]


@each_row("asked", ["shell", "shell/", "lib/shell", "lib/shell/"])
def test_files_in_a_folder_and_the_file_of_that_name_come_before_what_repeats_the_word(
    tmp_path_factory: pytest.TempPathFactory, asked: str
) -> None:
    with make_store(tmp_path_factory.mktemp("store")) as store:
        write_file(store, "lib/shell/history.sh", "keep_lines() { :; }\n")
        write_file(store, "lib/shell.py", "ask = input\n")
        for number in range(5):
            write_file(store, f"{number}.md", "# Shell\n\n" + "A shell runs in a shell. " * 9)
        index_artifacts(store)
        first = [hit.path for hit in found(store, asked).hits[:2]]
    assert sorted(first) == ["lib/shell.py", "lib/shell/history.sh"]


def _named(text: str) -> list[list[tuple[str, int, bool]]]:
    """What a query names, each as its meanings: the path, the line, and whether it may be a module."""
    return [
        [("/".join(one.parts), one.line, one.is_module) for one in meanings]
        for meanings in named_files(parse_query(text), text)
    ]


@each_row(
    "text, meanings",
    [
        ("pay/app.py", [("pay/app.py", 0, False)]),
        ("./Pay//App.py", [("pay/app.py", 0, False)]),
        ("../../pay/app.py:12", [("pay/app.py", 12, False)]),
        (r"pay\app.py", [("pay/app.py", 0, False)]),
        ("pay/app.py:12", [("pay/app.py", 12, False)]),
        ("pay/app.py:12:3", [("pay/app.py", 12, False)]),
        ("pay/app.py:12:", [("pay/app.py", 12, False)]),
        ("`pay/app.py`,", [("pay/app.py", 0, False)]),
        ("app.py", [("app.py", 0, False), ("app/py", 0, True)]),  # or a module `py` of a package `app`
        ("pay.app", [("pay.app", 0, False), ("pay/app", 0, True)]),
        ("pay.app.charge", [("pay.app.charge", 0, False), ("pay/app/charge", 0, True), ("pay/app", 0, True)]),
        ("pay.application1", [("pay/application1", 0, True)]),  # too long for an extension
        ("pay.1", []),  # a number is none
        ("https://example.org/app.py", []),
        ("pay/app", []),
        ("app", []),
        ("app.py*", []),  # the beginning of a word
        ("title:app.py", []),
    ],
)  # fmt: skip
def test_a_word_alone_may_name_a_file_a_module_or_what_a_module_defines(
    text: str, meanings: list[tuple[str, int, bool]]
) -> None:
    assert _named(text) == ([meanings] if meanings else [])


def test_of_several_words_only_what_has_a_line_names_a_file_and_twelve_are_looked_at() -> None:
    assert _named("fails in pay/app.py today") == []
    assert _named("fails in pay/app.py:12 and again in pay/app.py:12 or b.go:3") == [
        [("pay/app.py", 12, False)],
        [("b.go", 3, False)],
    ]
    traceback = 'File "/srv/pay/app.py", line 7, in a\nFile "/srv/pay/db.py", line 9, in b\nsee c.py:1\n'
    assert _named(traceback) == [[("srv/pay/db.py", 9, False)], [("srv/pay/app.py", 7, False)]]
    many = " ".join(f"f{number}.py:1" for number in range(13))
    assert [meanings[0][0] for meanings in _named(f"{many} fail")] == [f"f{number}.py" for number in range(12)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Files of which many have the same name, and a note that repeats all of it."""
    with make_store(tmp_path_factory.mktemp("tree")) as store:
        for path in (
            "a/pay/app.py", "b/pay/app.py", "c/app.py", "pay/__init__.py", "web/index.ts", "web/pay.ts",
            "lib/pay/mod.rs", "lib/pay/pay_lib.rs", "docs/app.md",
        ):  # fmt: skip
            write_file(store, path, f"holds nothing of note, as {path.count('/')} others do\n")
        index_artifacts(store)
        for number in range(3):
            words = "app.py pay/app.py web/pay.ts pay.app /home/x/pay/app.py x.pay.app "
            save(store, f"note{number}.md", f"{words * 9}{number}\n", summary="app.py")
        yield store


@each_row(
    "asked, paths",
    [
        ("app.py", {"a/pay/app.py", "b/pay/app.py", "c/app.py"}),
        ("pay/app.py", {"a/pay/app.py", "b/pay/app.py"}),
        ("b/pay/app.py", {"b/pay/app.py"}),
        ("/home/x/b/pay/app.py", {"b/pay/app.py"}),  # a path from elsewhere: the file with its folder
        ("/home/x/pay/app.py", {"a/pay/app.py", "b/pay/app.py"}),
        ("x/pay/app.py", {"a/pay/app.py", "b/pay/app.py"}),
        ("/home/c/app.py", {"c/app.py"}),
        ("pay.app", {"a/pay/app.py", "b/pay/app.py"}),
        ("pay.app.charge", {"a/pay/app.py", "b/pay/app.py"}),
        ("b.pay.app", {"b/pay/app.py"}),
        ("x.pay.app", {"note0.md", "note1.md", "note2.md"}),  # a module is named from its root, or from within
        ("lib.pay", {"lib/pay/mod.rs"}),  # a module's file may be called by its folder
        ("web.index", {"web/index.ts"}),
    ],
)  # fmt: skip
def test_files_of_one_name_are_told_apart_by_their_folders(tree: Store, asked: str, paths: set[str]) -> None:
    assert {hit.path for hit in found(tree, asked).hits[: len(paths)]} == paths


def test_a_quoted_name_is_no_part_of_a_longer_one(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "call lockFile first\n", summary="x")
        save(store, "b.md", "call lockFileBeside first\n", summary="x")
        assert [hit.path for hit in found(store, '"lockFile"').hits] == ["a.md"]
