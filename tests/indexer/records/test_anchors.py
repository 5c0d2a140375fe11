"""What a finding names of the project is followed: the same, moved, changed or gone."""

import hashlib
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, open_again
from git_tree import commit_all, git
from tables import each_row

from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.cli.main import run
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.files.artifacts import StoredText
from ctxrank.indexer.files.git import Git
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.privacy.purge import forget_document, forget_path
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records import anchor_passes
from ctxrank.indexer.records.anchor_passes import anchor_document, differences
from ctxrank.indexer.records.anchors import Anchor, anchors_of, drifted_findings, look_again
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.spans import MAX_LINES, Source, Span
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.code_state import phrase
from ctxrank.ranking.context.assembly.shapes import AssembleRequest, Assembly
from ctxrank.ranking.context.replay import replay_receipt
from ctxrank.ranking.errors.answer import Asked, recognise

MODE = RedactionMode.PATTERN_ONLY
CONFIG = """\
import os


def load(path):
    text = open(path).read()
    print(len(text), path)
    return parse(text)


def parse(text):
    return dict(line.split("=") for line in text)
"""


@pytest.fixture(autouse=True)
def time_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine looks at all of a few files, too."""
    monkeypatch.setattr(look_again, "__defaults__", (60_000.0,))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "config.py").write_text(CONFIG)
    (tmp_path / "Makefile").write_text("test:\n\tpytest\n")
    with make_store(tmp_path) as store:
        yield store


def save(store: Store, text: str, summary: str = "Loading is slow.") -> int:
    new = NewPackage("shop", None, "research", "-", "developer", summary, title=summary)
    return save_package(store, new, text=text, create_session=True).id


def anchors(store: Store, package: int = 1) -> list[Anchor]:
    return anchors_of(store.primary, [document_id(store.primary, DocumentRef("package", package))])


def states(store: Store) -> list[tuple[str, str, str, int]]:
    return [(one.name, one.state, one.now_path, one.now_start) for one in anchors(store)]


def index(store: Store) -> None:
    bring_up_to_date(store)


def block(store: Store, **more: object) -> Assembly:
    return assemble(store, AssembleRequest("shop", "developer", task="loading is slow", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, made",
    [
        ("`load` in src/config.py", [("load", 4, 7)]),
        ("`load()` is slow", [("load()", 4, 7)]),  # where the index knows one file that defines it
        ("see config.py:5", [("config.py:5", 5, 5)]),
        ("see config.py:2-5", [("config.py:2-5", 4, 5)]),  # without the empty lines
        ("src/config.py", [("src/config.py", 1, 11)]),
        ("`print(len(text), path)` in src/config.py", [("print(len(text), path)", 6, 6)]),
        ("run `make test`", [("make test", 1, 2)]),
        ("`load` in src/config.py:5", [("load", 4, 7)]),  # the line is in the definition
        ("`save` in src/other.py:5, ../x.py:1 and /etc/hosts", []),
    ],
)
def test_what_is_in_the_tree_becomes_an_anchor(store: Store, text: str, made: list[tuple[str, int, int]]) -> None:
    index(store)
    save(store, text)
    assert [(one.name, one.start_line, one.end_line) for one in anchors(store)] == made


@pytest.mark.parametrize("becomes, left", [("purged", 0), ("anchored", 1)])
def test_what_another_process_does_with_a_finding_meanwhile_is_no_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, becomes: str, left: int
) -> None:
    index(store)
    save(store, "`load` in src/config.py")
    store.primary.execute("DELETE FROM anchors")
    resolved, ref = anchor_passes._resolved, DocumentRef("package", 1)  # pyright: ignore[reportPrivateUsage]

    def meanwhile(*given: Any) -> Any:
        found = resolved(*given)
        monkeypatch.undo()
        with open_again(store) as other:
            if becomes == "purged":
                forget_document(other, ref)
            else:
                anchor_document(other, ref)
        return found

    monkeypatch.setattr(anchor_passes, "_resolved", meanwhile)
    anchor_document(store, ref)
    assert store.primary.execute("SELECT count(*) FROM anchors").get == left


@pytest.mark.parametrize(
    "path, text, state",
    [
        ("src/config.py", CONFIG, ("same", "src/config.py", 4)),
        ("src/config.py", "import re\n" + CONFIG, ("same", "src/config.py", 5)),
        ("src/settings.py", "import re\n" + CONFIG, ("moved", "src/settings.py", 5)),
        ("src/config.py", CONFIG.replace("open(path).read()", "read(path)"), ("changed", "src/config.py", 4)),
        ("src/config.py", "import os\n", ("gone", "src/config.py", 4)),
    ],
)
def test_an_anchor_is_followed_by_its_content(
    store: Store, tmp_path: Path, path: str, text: str, state: tuple[str, str, int]
) -> None:
    save(store, "`load` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    (tmp_path / path).write_text(text)
    index(store)
    assert states(store) == [("load", *state)]


LAID_OUT = CONFIG.replace("load(path)", "load(\n    path,\n)").replace(
    "len(text), path", "\n        len(text), path\n    "
)


def test_what_a_formatter_laid_out_anew_is_the_same(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py")
    save(store, "src/config.py is short", "Short.")
    index(store)
    for text, found in (
        (LAID_OUT, ["same", "same"]),
        (LAID_OUT.replace("path,", "path, kind,"), ["changed", "changed"]),
    ):
        (tmp_path / "src" / "config.py").write_text(text)
        index(store)
        assert [one.state for number in (1, 2) for one in anchors(store, number)] == found


@pytest.mark.parametrize("more, state", [("    return None\n", "changed"), ("\n\ndef save():\n    pass\n", "same")])
def test_what_ends_its_file_may_go_on(store: Store, tmp_path: Path, more: str, state: str) -> None:
    save(store, "`parse` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").write_text(CONFIG + more)
    index(store)
    assert states(store) == [("parse", state, "src/config.py", 10)]


def test_a_line_that_was_edited_is_not_looked_for_in_other_files(store: Store, tmp_path: Path) -> None:
    save(store, "see src/config.py:6")
    index(store)
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("len(text), path", "len(text)"))
    (tmp_path / "other.py").write_text("import os\n\n    print(len(text), path)\n")
    index(store)
    assert states(store) == [("src/config.py:6", "changed", "src/config.py", 6)]


def test_a_setting_is_gone_where_its_file_is_there_without_it(store: Store, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{\n  "main": "lib.js",\n  "type": "module"\n}\n')
    save(store, "`main = lib.js` in package.json")
    index(store)
    (tmp_path / "package.json").write_text('{\n  "lib": "main.js",\n  "type": "module"\n}\n')
    (tmp_path / "src" / "package.json").write_text('{\n  "main": "lib.js"\n}\n')
    index(store)
    assert states(store) == [("main", "gone", "package.json", 2)]


def test_what_is_gone_is_found_when_it_comes_back_elsewhere(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py")
    (tmp_path / "src" / "config.py").unlink()
    index(store)
    assert states(store) == [("load", "gone", "src/config.py", 4)]
    (tmp_path / "new.py").write_text(CONFIG)
    index(store)
    assert states(store) == [("load", "moved", "new.py", 4)]


@pytest.mark.parametrize("rest, state", [(CONFIG.partition("def parse")[2], "changed"), ("_line(text): ...\n", "gone")])
def test_a_rewritten_function_is_found_where_its_file_has_another_name(
    store: Store, tmp_path: Path, rest: str, state: str
) -> None:
    save(store, "`load` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    (tmp_path / "src" / "settings.py").write_text(
        f"import os\n\n\ndef load(name, n=0):\n    name = find(name)\n\n\ndef parse{rest}"
    )
    index(store)
    assert [one.state for one in anchors(store)] == [state]


@pytest.mark.parametrize(
    "new, state",
    [
        ("class Table:\n    def rows(self):\n        one = self.first()\n        return parse(one)\n", "changed"),
        ("class Table:\n    def rows(self):\n        return self.all\n", "gone"),
        ("".join(f"class {a}:\n    def rows(self):\n        return parse(one)\n\n\n" for a in "AB"), "gone"),
    ],
)
def test_a_member_is_found_under_another_owner(store: Store, tmp_path: Path, new: str, state: str) -> None:
    old = tmp_path / "src" / "list.py"
    old.write_text("class List:\n    def rows(self, kind):\n        one = self.first()\n        return parse(one)\n")
    index(store)
    save(store, "`List.rows` in src/list.py")
    index(store)
    old.write_text("none = 0\n")
    (tmp_path / "src" / "table.py").write_text(new)
    index(store)
    assert [one.state for one in anchors(store)] == [state]


BODY = CONFIG.partition(":\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize(
    "body, state", [(BODY.replace("print", "trace").replace("parse", "cut"), "gone"), (BODY, "moved")]
)
def test_one_of_several_definitions_of_a_name_has_most_of_its_lines(
    store: Store, tmp_path: Path, body: str, state: str
) -> None:
    save(store, "`load` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"def load(path):\n{body}")
    index(store)
    assert [one.state for one in anchors(store)] == [state]


HEADER = "# Copyright the authors.\n# You may use this file\n# as the licence says.\n# See there\n# for its limits.\n\n"


@pytest.mark.parametrize(
    "before, after, state",
    [
        ("", CONFIG, "moved"),
        (CONFIG, f"import re\n{CONFIG}", "gone"),  # it has had its own all along
        (CONFIG, CONFIG, "gone"),
        (CONFIG.replace("print", "trace"), f"import re\n{CONFIG}", "gone"),
    ],
)
def test_a_name_has_not_moved_to_a_file_that_had_it_before(
    store: Store, tmp_path: Path, before: str, after: str, state: str
) -> None:
    other = tmp_path / "other.py"
    other.write_text(f"import sys\n{before}")
    commit_all(tmp_path)
    save(store, "`load` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    other.write_text(f"import sys\n{after}")
    index(store)
    assert [one.state for one in anchors(store)] == [state]


def test_a_name_has_moved_with_its_file_whatever_defines_it_elsewhere(store: Store, tmp_path: Path) -> None:
    source, new = tmp_path / "src" / "config.py", tmp_path / "src" / "settings.py"
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(CONFIG.replace("read", "lines"))
    save(store, "`load` in src/config.py")
    index(store)
    source.unlink()
    new.write_text(CONFIG.replace("return parse", "print(path)\n    return parse"))
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(CONFIG.replace("len", "size"))
    index(store)
    assert states(store) == [("load", "changed", "src/settings.py", 4)]


@pytest.mark.parametrize("others", [[], ["old.py"], ["new_2.py"]])
def test_a_line_has_moved_with_its_file_whatever_others_have(store: Store, tmp_path: Path, others: list[str]) -> None:
    source = tmp_path / "src" / "config.py"
    source.write_text(HEADER + CONFIG)
    for name in (name for name in others if name == "old.py"):
        (tmp_path / name).write_text(f"{HEADER}old = 1\n")
    save(store, "see src/config.py:3")
    index(store)
    source.unlink()
    for name in ("new_1.py", *(name for name in others if name != "old.py")):
        (tmp_path / name).write_text(f"{HEADER}{CONFIG}{name[:-3]} = 1\n")
    index(store)
    assert states(store) == [("src/config.py:3", "moved", "new_1.py", 3)]


@pytest.mark.parametrize(
    "before, after, text, path, state",
    [
        ("", CONFIG, "see src/config.py:6", "other.py", "moved"),
        ("", CONFIG.replace("len(text), path", "len(text)"), "see src/config.py:6", "other.py", "changed"),
        ("", CONFIG.replace("        ", "\t"), "`return parse(text)` in src/config.py", "other.py", "moved"),
        ("import os\n", CONFIG, "see src/config.py:1", "src/config.py", "gone"),  # it had that line
        (CONFIG, CONFIG + CONFIG.replace("t", "s"), "see src/config.py:6", "src/config.py", "gone"),  # and all of them
        ("", CONFIG[:75] + CONFIG[75:].upper(), "see src/config.py:5", "src/config.py", "gone"),  # it has too few now
        ("limit = 3\n" * 20, CONFIG, "see src/config.py:6", "src/config.py", "gone"),  # it has not grown by that
        (None, CONFIG, "see src/config.py:6", "src/config.py", "gone"),  # it is not known what it had
        ("", CONFIG, "src/config.py is read once", "src/config.py", "gone"),  # a file is more than its text
    ],
)
def test_the_lines_of_a_file_that_is_gone_went_to_one_that_grew_by_them(
    store: Store, tmp_path: Path, before: str | None, after: str, text: str, path: str, state: str
) -> None:
    other = tmp_path / "other.py"
    other.write_text(f"import sys\n{before or ''}")
    if before is not None:
        commit_all(tmp_path)
    save(store, text)
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    other.write_text(f"import sys\n{after}")
    index(store)
    assert [(one.now_path, one.state) for one in anchors(store)] == [(path, state)]


@pytest.mark.parametrize("others, state", [(19, "moved"), (20, "gone")])
def test_where_many_files_grew_nothing_says_which_has_the_lines_of_one_that_is_gone(
    store: Store, tmp_path: Path, others: int, state: str
) -> None:
    names = ["other.py", *(f"other_{number}.py" for number in range(others))]
    for name in names:
        (tmp_path / name).write_text("import sys\n")
    commit_all(tmp_path)
    save(store, "see src/config.py:6")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    for name in names:
        (tmp_path / name).write_text("import sys\n" + (CONFIG if name == "other.py" else "limit = 3\n" * 20))
    index(store)
    assert [one.state for one in anchors(store)] == [state]


@pytest.mark.parametrize("before, state", [("", "moved"), (CONFIG, "gone")])
def test_what_a_file_was_is_known_without_git_where_a_finding_names_it(
    store: Store, tmp_path: Path, before: str, state: str
) -> None:
    other = tmp_path / "other.py"
    other.write_text(f"import sys\n{before}")
    save(store, "see src/config.py:6 and other.py:1")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    other.write_text(f"import sys\n{CONFIG}{before.replace('t', 's')}")
    index(store)
    assert [one.state for one in anchors(store)] == [state, "same"]


@pytest.mark.parametrize("path", ["src/config/__init__.py", "lib/_config.py", "src/config.test.py", "src/Con-Fig.py"])
@pytest.mark.parametrize("kept, state", [(5, "changed"), (1, "gone")])
def test_a_rewritten_file_is_found_where_it_has_become_a_folder_or_another_kind(
    store: Store, tmp_path: Path, path: str, kept: int, state: str
) -> None:
    save(store, "src/config.py is read once")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("\n".join([*CONFIG.split("\n")[:kept], "again = 1\n"]))
    index(store)
    now = path if state == "changed" else "src/config.py"
    assert [(one.state, one.now_path) for one in anchors(store)] == [(state, now)]


@pytest.mark.parametrize("every, state", [(3, "changed"), (1, "gone")])
def test_a_file_that_went_elsewhere_and_was_rewritten_is_known_by_what_no_other_new_one_has(
    store: Store, tmp_path: Path, every: int, state: str
) -> None:
    steps = [f"step_{number} = run({number}, limit=10)" for number in range(1, 13)]
    (tmp_path / "src" / "config.py").write_text("\n".join(["import os", "import sys", *steps]))
    save(store, "see src/config.py:7")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    new = [one if at % every == 2 else one.replace("run", "start") + "  # soon" for at, one in enumerate(steps)]
    for name, lines in (("work.py", new), ("other.py", ["limit = 10"]), ("third.py", ["limit = 20"])):
        (tmp_path / name).write_text("\n".join(["import os", "import sys", *lines]))
    index(store)
    assert [one.state for one in anchors(store)] == [state]


@pytest.mark.parametrize("path, state", [("lib/src/config.ts", "changed"), ("lib/config.ts", "gone")])
def test_the_only_new_file_that_is_called_so_in_such_a_folder_needs_less(
    store: Store, tmp_path: Path, path: str, state: str
) -> None:
    steps = [f"const step{number} = run({number})" for number in range(12)]
    (tmp_path / "src" / "config.js").write_text("\n".join(steps))
    index(store)
    save(store, "see src/config.js:3")
    index(store)
    (tmp_path / "src" / "config.js").unlink()
    for name in (path, *(f"src_config_{number}.ts" for number in range(5))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n".join(["const step2 = run(2, now)", *steps[4:7], f"start({name[-4]})"]))
    index(store)
    assert [one.state for one in anchors(store)] == [state]


@pytest.mark.parametrize("more, state", [(20, "changed"), (60, "gone")])
def test_a_file_has_not_become_a_small_part_of_another(store: Store, tmp_path: Path, more: int, state: str) -> None:
    save(store, "src/config.py is read once")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    lines = [*CONFIG.split("\n")[:5], *(f"step_{number} = {number}" for number in range(more))]
    (tmp_path / "all.py").write_text("\n".join(lines))
    index(store)
    assert [one.state for one in anchors(store)] == [state]


def test_the_commit_that_changed_it_is_named(store: Store, tmp_path: Path) -> None:
    for subject in ("one", "two"):
        commit_all(tmp_path, subject)
        if subject == "one":
            save(store, "`load` in src/config.py")
            (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "file"))
    index(store)
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    (anchor,) = anchors(store)
    assert (anchor.state, anchor.changed_by, anchor.commit_id != "") == ("changed", head, True)
    assert f"changed since: 1 of 4 lines, commit {anchor.changed_by[:8]}, the same day" in block(store).text
    gone = phrase(anchor._replace(state="gone"))
    assert gone.endswith(f"`load` is gone, commit {anchor.changed_by[:8]}, the same day")


def test_a_change_that_was_indexed_before_its_commit_gets_the_commits_name(store: Store, tmp_path: Path) -> None:
    commit_all(tmp_path, "one")
    save(store, "`load` in src/config.py")
    index(store)
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "file"))
    index(store)
    assert [(one.state, one.changed_by) for one in anchors(store)] == [("changed", "")]
    commit_all(tmp_path, "two")
    index(store)
    (anchor,) = anchors(store)
    assert anchor.changed_by not in ("", anchor.commit_id) and anchor.changed_at is not None


def test_git_is_asked_once_for_dates_and_for_what_changed_an_anchor(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(tmp_path, "one")
    save(store, "`load` in src/config.py, and `make test`")
    index(store)
    asked: list[str] = []
    records = Git.records

    def noted(self: Git, *words: str, has_worktree: bool = False) -> Generator[bytes, None, None]:
        asked.append(words[0])
        return records(self, *words, has_worktree=has_worktree)

    monkeypatch.setattr(Git, "records", noted)
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "file"))
    (tmp_path / "Makefile").unlink()
    commit_all(tmp_path, "two")
    index(store)
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    assert {(one.state, one.changed_by) for one in anchors(store)} == {("changed", head), ("gone", head)}
    assert asked.count("log") == 1


def functions(*changed: int) -> str:
    bodies = [f"def step_{n}(path):\n" + f"    print({n}, path)  # {n}\n" * 40 for n in range(6)]
    return "\n\n".join(body.replace("    print", "    return", n in changed) for n, body in enumerate(bodies))


def test_what_stayed_with_the_lines_around_it_has_moved_with_them(store: Store, tmp_path: Path) -> None:
    steps = tmp_path / "src" / "steps.py"
    steps.write_text(functions())
    save(store, "`step_2()` and src/steps.py:150 are slow.")
    index(store)
    steps.write_text("import os\n\n\n" + functions(5))
    index(store)
    moved = [("step_2()", "same", "src/steps.py", 90), ("src/steps.py:150", "moved", "src/steps.py", 153)]
    assert sorted(states(store)) == sorted(moved)
    now = [(anchor.size_bytes, anchor.mtime_ns) for anchor in anchors(store)]
    assert set(now) == {(steps.stat().st_size, steps.stat().st_mtime_ns)}
    steps.write_text("import os\n\n\n" + functions(2, 5))
    index(store)
    assert sorted(state for _, state, _, _ in states(store)) == ["changed", "moved"]


@each_row(
    "change, stamp, text, is_known",
    [
        ({}, (9, 8), "a = 1\n", True),
        ({"state": "changed"}, (9, 8), "a = 1\n", True),
        ({"state": "gone"}, (9, 8), "a = 1\n", True),
        ({}, (9, 8), "", False),
        ({}, (10, 8), "a = 1\n", False),
        ({}, (9, 9), "a = 1\n", False),
    ],
)
def test_where_an_anchor_was_is_known_of_the_file_that_it_was_seen_in(
    change: dict[str, Any], stamp: tuple[int, int], text: str, is_known: bool
) -> None:
    seen = ("line", "a.py:1", "a.py", 1, 1, "", "", 0, "same", "a.py", 1, 1, 0, "", None, 0)
    anchor = Anchor(1, 1, *seen, size_bytes=9, mtime_ns=8)._replace(**change)
    assert (anchor.before(StoredText(stamp, text)) is not None) == is_known
    assert anchor.before(None) is None


def test_a_line_that_is_gone_is_not_one_that_its_file_had_all_along(store: Store, tmp_path: Path) -> None:
    lines = "".join(f"def step_{number}():\n    check({number})\n    return None\n\n\n" for number in range(4))
    steps = tmp_path / "src" / "steps.py"
    steps.write_text(lines)
    index(store)
    save(store, "see src/steps.py:8")
    index(store)
    gone = lines.replace("    check(1)\n    return None\n", "    check(1)\n")
    for text, state in ((gone, "gone"), (f"import os\n{gone}", "gone"), (f"import os\n{lines}", "moved")):
        steps.write_text(text)
        index(store)
        assert [(one.state, one.now_start) for one in anchors(store)] == [(state, 9 if state == "moved" else 8)]


def test_a_line_that_changes_again_and_again_is_followed(store: Store, tmp_path: Path) -> None:
    save(store, "see src/config.py:6")
    index(store)
    config = tmp_path / "src" / "config.py"
    for number, new in enumerate(("print(path, len(text))", "print(path, size(text))", "log(path, size(text), kind)")):
        config.write_text("import re\n" * number + CONFIG.replace("print(len(text), path)", new))
        assert [(one.state, one.now_start) for one in look_again(store, anchors(store))] == [("changed", 6 + number)]
        index(store)
        assert states(store) == [("src/config.py:6", "changed", "src/config.py", 6 + number)]


def test_a_line_is_followed_into_what_its_deleted_file_has_become(store: Store, tmp_path: Path) -> None:
    save(store, "see src/config.py:6")
    index(store)
    (tmp_path / "src" / "config.py").unlink()
    (tmp_path / "settings.py").write_text(CONFIG.replace("print(len(text), path)", "print(size(text), path)"))
    index(store)
    assert states(store) == [("src/config.py:6", "changed", "settings.py", 6)]


def test_what_is_stored_without_a_secret_is_looked_for(store: Store, tmp_path: Path) -> None:
    steps = tmp_path / "src" / "steps.py"
    secrets = [f"ghp_{hashlib.sha256(bytes([n])).hexdigest()[:36]}" for n in range(2)]
    steps.write_text(functions() + f"token = '{secrets[0]}'\n")
    save(store, f"src/steps.py:{functions().count(chr(10)) + 1} is slow.")
    index(store)
    steps.write_text("import os\n\n\n" + functions() + f"token = '{secrets[1]}'\n")
    index(store)
    assert [state for _, state, _, _ in states(store)] == ["changed"]


def test_a_file_that_was_moved_takes_its_anchors_along(store: Store, tmp_path: Path) -> None:
    save(store, "see src/config.py:6, and `test` in Makefile")
    index(store)
    (tmp_path / "src" / "config.py").rename(tmp_path / "src" / "settings.py")  # it keeps its date
    index(store)
    assert states(store) == [("src/config.py:6", "moved", "src/settings.py", 6), ("test", "same", "Makefile", 1)]


def test_a_block_looks_once_more_and_a_replay_reads_what_it_saw(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py is slow")
    index(store)
    assert "has changed since" not in block(store).text
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "file"))
    shown = block(store)
    assert "src/config.py `load` has changed since: 1 of 4 lines" in shown.text
    assert [one.state for one in anchors(store)] == ["same"]  # a block writes nothing of it
    (tmp_path / "src" / "config.py").unlink()
    assert "src/config.py `load` is not there any more; matches" in block(store).text
    receipt = get_receipt(store.primary, shown.receipt or 0)
    assert "load changed" in receipt.inputs["anchors"]
    assert replay_receipt(store, receipt).is_same


def test_what_was_moved_a_moment_ago_is_not_called_gone(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py is slow")
    index(store)
    old, new = tmp_path / "src" / "config.py", tmp_path / "src" / "settings.py"
    old.rename(new)
    assert "src/config.py `load` is not there any more; matches" in block(store).text
    index(store)
    assert "src/config.py `load` is at src/settings.py:4 now" in block(store).text
    new.rename(old)  # another branch is checked out, and nothing has looked yet
    assert [one.state for one in look_again(store, anchors(store))] == ["same"]
    old.write_text(CONFIG.replace("open(path)", "file"))
    assert "src/config.py `load` has changed since: 1 of 4 lines" in block(store).text


def _linked_worktree(folder: Path) -> Path:
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text(".ctxrank\n")
    commit_all(folder, "first")
    other = folder.parent / f"{folder.name}-other"
    git(folder, "worktree", "add", "-q", str(other))
    return other


def test_each_checkout_is_told_of_its_own_files(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = _linked_worktree(tmp_path)
    save(store, "`load` in src/config.py is slow")
    index(store)
    with open_store(start=str(other)) as there:
        with monkeypatch.context() as unread:
            unread.setattr("ctxrank.indexer.records.anchors.Tree.source", None)
            index_artifacts(there)
            assert [one.state for one in look_again(there, anchors(store))] == ["same"], "and no file is read for that"
        (tmp_path / "src" / "config.py").rename(tmp_path / "src" / "settings.py")
        (tmp_path / "src" / "settings.py").write_text(CONFIG.replace("open(path)", "file"))
        index(store)
        assert states(store) == [("load", "changed", "src/settings.py", 4)], "the other's copy is no file of this tree"
        assert [one.state for one in look_again(store, anchors(store))] == ["changed"]
        assert [one.state for one in look_again(there, anchors(store))] == ["same"]
        (other / "src" / "config.py").write_text("")
        assert [one.state for one in look_again(there, anchors(store))] == ["lost"]


def test_it_is_known_what_a_file_was_that_belongs_to_a_package(store: Store, tmp_path: Path) -> None:
    index(store)
    for summary in ("The first version.", "The second one."):
        new = NewPackage("shop", None, "research", "src/config.py", "developer", summary)
        save_package(store, new, create_session=True)
    number = save(store, "`load` in src/config.py is slow")
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("def load(path)", "def read(path)"))
    index(store)
    assert [(one.name, one.state, one.now_start) for one in anchors(store, number)] == [("load", "changed", 4)]


def test_a_run_of_a_worktree_knows_what_the_projects_files_were(store: Store, tmp_path: Path) -> None:
    other = _linked_worktree(tmp_path)
    index(store)
    save(store, "`load` in src/config.py is slow")
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("def load(path)", "def read(path)"))
    with open_store(start=str(other)) as there:
        index(there)
    assert states(store) == [("load", "changed", "src/config.py", 4)]


def test_a_finding_whose_code_is_gone_comes_after_the_others(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py is slow", "Loading is slow, first.")
    save(store, "`test` is slow: see Makefile", "Loading is slow, second.")
    index(store)
    order = [one.id for one in block(store).packages]
    (tmp_path / ("src/config.py" if order[0] == 1 else "Makefile")).unlink()
    index(store)
    assert [one.id for one in block(store).packages] == order[::-1]


def test_looking_again_takes_no_longer_than_it_may(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "`load` in src/config.py, `test` in Makefile")
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "open(path, newline=None)"))
    (tmp_path / "Makefile").write_text("test:\n\tpytest -q\n")
    for waited, state in ((0.009, "changed"), (0.01, "same")):  # what the first one takes, loading included, is its own
        before, moments = anchors(store), iter([5.0, 60.0, 60.0 + waited, 60.0 + waited])
        with monkeypatch.context() as clock:
            clock.setattr("time.thread_time", moments.__next__)
            assert [one.state for one in look_again(store, before)] == ["changed", state]


def test_a_file_that_is_gone_is_seen_without_any_time(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "`load` in src/config.py, `test` in Makefile")
    (tmp_path / "src" / "config.py").unlink()
    (tmp_path / "Makefile").unlink()
    monkeypatch.setattr("ctxrank.indexer.records.anchors.LOOK_MS", -1)
    assert [one.state for one in look_again(store, anchors(store))] == ["lost", "lost"]


def test_the_first_packages_of_a_block_are_looked_at_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "`load` in src/config.py", "It is as we know it.")
    save(store, "`parse` in src/config.py", "Loading is slow.")
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("text)", "text, 1)").replace("in text", "in text[1:]"))
    monkeypatch.setattr("ctxrank.indexer.records.anchors.LOOK_MS", -1)
    first, second = block(store).packages
    assert (first.id, second.id) == (2, 1)
    assert "has changed" in first.label and not second.label


def test_a_note_that_says_something_else_has_other_anchors(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("`load` in src/config.py\n")
    save_package(store, NewPackage("shop", None, "research", "a.md", "developer", "x"), create_session=True)
    kept = anchors(store)
    (tmp_path / "a.md").write_text("`load` in src/config.py, and `parse`\n")
    index(store)
    assert [one.name for one in anchors(store)] == ["load", "parse"] and anchors(store)[0].id == kept[0].id
    (tmp_path / "a.md").write_text("nothing\n")
    index(store)
    assert anchors(store) == []


def test_anchors_go_with_their_finding(store: Store) -> None:
    save(store, "`load` in src/config.py")
    forget_document(store, DocumentRef("package", 1))
    assert store.primary.execute("SELECT count(*) FROM anchors").get == 0


def test_a_purged_file_leaves_no_checksum_in_the_findings_that_name_it(store: Store, tmp_path: Path) -> None:
    index(store)
    save(store, "`load` in src/config.py, and `test` in Makefile")
    sums = {
        one for anchor in anchors(store)[:1] for one in anchor.fingerprint.replace("|", " ").split() if len(one) == 8
    }
    folder = tmp_path / ".ctxrank"
    assert sums and any(word.encode() in path.read_bytes() for path in folder.glob("ctxrank.db*") for word in sums)
    assert forget_path(store, "src").is_erased
    left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert [word for word in sums if word.encode() in left] == []
    save(store, "`parse` in src/config.py")
    index(store)
    assert [one.name for number in (1, 2) for one in anchors(store, number)] == ["test"]


def test_a_purged_secret_leaves_no_checksum_of_the_lines_that_held_it(store: Store, tmp_path: Path) -> None:
    secret = "-".join(("correct", "horse", "battery"))
    config = tmp_path / "src" / "config.py"
    config.write_text(CONFIG.replace("open(path).read()", f'"{secret}"'))
    held = Source("config.py", config.read_text()).fingerprint(Span(5, 5))
    sums = [f"{one:x}".encode() for one in (*held.lines, *held.words)]
    save(store, "`load` in src/config.py")
    save(store, "see src/config.py:7, src/config.py:5 and `parse` in src/config.py")
    index(store)
    config.write_text(CONFIG)  # it is not in the file any more
    index(store)
    before = states(store)
    folder = tmp_path / ".ctxrank"
    assert any(word in path.read_bytes() for path in folder.glob("ctxrank.db*") for word in sums)
    assert forget_secrets(store, [secret], MODE).is_erased
    left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert [word for word in sums if word in left] == []
    index(store)
    assert states(store) == before


def test_what_has_drifted_is_listed_with_what_differs(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_in = ["--db", store.location.primary, "drifted"]
    commit_all(tmp_path, "one")
    save(store, "`load` in src/config.py, and `make test`")
    index(store)
    assert run(run_in) == 1 and run([*run_in, "1"]) == 0
    assert "Makefile `make test` is as it was" in capsys.readouterr().out
    (tmp_path / "src" / "config.py").write_text(
        "\n" + CONFIG.replace("    text = open(path).read()", "    text = file")
    )
    index(store)
    assert run(run_in) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "   src/config.py `load` has changed since: 1 of 4 lines",
        "      @@ -1,4 +1,4 @@",
        "       def load(path):",
        "      -    text = open(path).read()",
        "      +    text = file",
        "           print(len(text), path)",
        "           return parse(text)",
    ]
    assert run(["--json", *run_in]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["drifted"]
    assert (finding["id"], finding["is_gone"], [one["state"] for one in finding["anchors"]]) == (
        "package:1", False, ["changed"],
    )  # fmt: skip


def test_a_difference_of_a_long_file_has_what_differs_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "src" / "long.py"
    path.write_text("".join(f"line_{number} = {number}\n" for number in range(MAX_LINES + 200)))
    commit_all(tmp_path, "one")
    save(store, "see src/long.py")
    index(store)
    path.write_text(path.read_text().replace("line_7 = 7", "line_7 = 8"))
    index(store)
    (text,) = differences(store, anchors(store), MODE).values()
    assert [line for line in text.splitlines() if line[:1] in "+-"] == ["-line_7 = 7", "+line_7 = 8"]


def test_git_is_started_once_for_what_all_files_were(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, other, empty = (tmp_path / "src" / name for name in ("config.py", "other.py", "empty.py"))
    other.write_text(CONFIG.replace("load", "store").replace("\n", "\r\n"))
    empty.write_text("")
    commit_all(tmp_path, "one")
    (tmp_path / "src" / "late.py").write_text("late = 1\n")
    index(store)
    for name, path in (("load", "config"), ("parse", "config"), ("store", "other"), ("late", "late")):
        save(store, f"`{name}` in src/{path}.py", f"About {name}.")
    config.write_text(CONFIG.replace("open(path)", "open(path, 'rb')").replace("in text", "in text[1:]"))
    other.write_text(other.read_text().replace("len(text)", "size(text)"))
    (tmp_path / "src" / "late.py").write_text("late = 2\n")  # which that commit has not
    index(store)
    asked: list[str] = []
    records = Git.records

    def noted(self: Git, *words: str, **more: Any) -> Generator[bytes, None, None]:
        asked.append(words[0])
        return records(self, *words, **more)

    monkeypatch.setattr(Git, "records", noted)
    assert run(["--db", store.location.primary, "drifted"]) == 0
    printed = capsys.readouterr().out
    assert asked == ["cat-file"] and printed.count("@@") == 6 and "+    print(size(text), path)" in printed


def test_a_linked_worktree_is_told_what_has_drifted_in_it(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = _linked_worktree(tmp_path)
    save(store, "`load` in src/config.py")
    save(store, "`test` in Makefile", "Testing is slow.")
    index(store)
    for tree, old, new, found in (
        (other, "open(path)", "file", ["package:1"]),  # there alone
        (tmp_path, "pytest", "pytest -q", ["package:1"]),
    ):
        for path in (tree / "src" / "config.py", tree / "Makefile"):
            path.write_text(path.read_text().replace(old, new))
        index(store)
        with open_store(start=str(other)) as there:
            assert [one.id for one in drifted_findings(there)] == found
    assert [one.id for one in drifted_findings(store)] == ["package:2"]
    command = ["--db", store.location.primary, "--root", str(other), "drifted"]
    assert run(command) == 0
    assert "+    text = file.read()" in capsys.readouterr().out


def test_a_difference_is_redacted(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "ghp" + "_" + "a1B2" * 9
    commit_all(tmp_path, "one")
    save(store, "`load` in src/config.py")
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", f"'{token}'"))
    index(store)
    assert run(["--db", store.location.primary, "drifted"]) == 0
    printed = capsys.readouterr().out
    assert "+    text = " in printed and token not in printed


def test_saving_names_an_older_finding_about_the_same_code_that_has_changed(store: Store, tmp_path: Path) -> None:
    save(store, "`load` in src/config.py")
    index(store)
    new = NewPackage("shop", None, "research", "-", "developer", "Other", title="Other")
    assert save_package(store, new, text="`load` in src/config.py is fine").notes == ()
    (tmp_path / "src" / "config.py").write_text(CONFIG.replace("open(path)", "file"))
    notes = save_package(store, new._replace(title="Third"), text="`load` in src/config.py").notes
    assert [note.partition(" says")[0] for note in notes] == ["package:1", "package:2"]
    assert "'ctxrank package supersede package:1 --by package:3' replaces it." in notes[0]


def test_a_fix_whose_command_is_gone_says_so(store: Store, tmp_path: Path) -> None:
    failure = "sqlite3.OperationalError: database is locked"
    save_error(store, NewKnownError(failure, "run `make test` before", "default"))
    (tmp_path / "Makefile").write_text("lint:\n\truff\n")
    index(store)
    answer = recognise(store.primary, failure, Asked("default", 0))
    assert answer.fixes[0].match.why[-1] == "Gone since then: make test."
    save(store, "nothing")
    assert "> Gone since then: make test." in block(store, error_output=failure.encode()).text
