"""`check`: each rule finds what it is for, at its line, and an exit code says how bad it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, write_file
from linked_builders import copy_fixture, tree_of, write_artifact

from ctxrank.cli.main import run
from ctxrank.extensions.links.check import check_tree
from ctxrank.indexer.store.store import Store

CLEAN = {
    "TASK-1": "links: [SPEC-A-1]\n",
    "SPEC-A-1": "paths: [src/**]\nnorms: [NORM-A-1]\n",
    "NORM-A-1": "scope: [src/**]\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree that nothing is wrong with."""
    for id_, fields in CLEAN.items():
        write_artifact(tmp_path, id_, fields)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("# @spec SPEC-A-1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    with make_store(root) as opened:
        yield opened


def findings(store: Store) -> list[tuple[str, str, str, int]]:
    return [
        (one.severity, one.rule, one.path.rpartition("/")[2], one.line)
        for one in check_tree(store, tree_of(store)).findings
    ]


def test_a_clean_tree_has_no_findings(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(store) == []
    assert run(["check", "--strict"]) == 0
    assert capsys.readouterr().out == "OK 1 norm, 1 spec, 1 task: 0 errors, 0 warnings, 0 infos\n"


@pytest.mark.parametrize(
    ("id_", "fields", "wanted"),
    [
        (
            "SPEC-A-1",
            "paths: [src/**]\nnorms: [NORM-A-1]\ndecisions: [DEC-9]\n",
            ("warning", "broken-ref", "spec-a-1.md", 7),
        ),
        ("NORM-A-1", "scope: [src\n", ("error", "malformed-frontmatter", "norm-a-1.md", 5)),
        ("NORM-A-1", "scope: [src/**]\nscope: [src/**]\n", ("warning", "duplicate-key", "norm-a-1.md", 5)),
        ("TASK-1", "status: cooking\nlinks: [SPEC-A-1]\n", ("warning", "unknown-status", "task-1.md", 4)),
        ("NORM-A-1", "", ("warning", "empty-scope", "norm-a-1.md", 1)),
        ("NORM-A-1", "scope: [src/**, lib/**]\n", ("warning", "broken-path", "norm-a-1.md", 1)),
        ("SPEC-A-1", "paths: [src/**]\n", ("info", "missing-link", "spec-a-1.md", 1)),
        ("NORM-A-1", "scope: [src/**]\nstatus: deprecated\n", ("warning", "link-to-deprecated", "spec-a-1.md", 6)),
        ("SPEC-A-1", "paths: [src/b*]\nnorms: [NORM-A-1]\n", ("warning", "one-way-annotation", "a.py", 1)),
    ],
)
def test_each_rule_finds_what_it_is_for(
    store: Store, root: Path, id_: str, fields: str, wanted: tuple[str, str, str, int]
) -> None:
    write_artifact(root, id_, fields)
    assert wanted in findings(store)


def test_a_spec_that_only_code_names_is_no_orphan(store: Store, root: Path) -> None:
    write_artifact(root, "TASK-1")
    assert findings(store) == []


def test_ids_are_unique_over_all_types(store: Store, root: Path) -> None:
    write_artifact(root, "SPEC-A-1", "paths: [src/**]\nnorms: [NORM-A-1]\n").rename(
        root / ".contextia/work/tasks/zz.md"
    )
    write_artifact(root, "SPEC-A-1", "paths: [src/**]\nnorms: [NORM-A-1]\n")
    assert findings(store)[0] == ("error", "duplicate-id", "zz.md", 1)


def test_missing_fields_orphans_and_annotations_without_a_target_are_found(store: Store, root: Path) -> None:
    write_file(store, ".contextia/system/specs/b.md", "---\nid: SPEC-B-1\n---\n")
    write_file(store, "src/b.py", "x\n# @norm NORM-9\n# @spec SPEC-A-1\n")
    assert findings(store) == [
        ("error", "missing-required-field", "b.md", 1),
        ("error", "missing-required-field", "b.md", 1),
        ("warning", "orphan-spec", "b.md", 1),
        ("warning", "broken-ref", "b.py", 2),
    ]


def test_an_identity_may_be_too_large(store: Store) -> None:
    write_file(store, ".contextia/system/identity.md", "# Acme\n\n" + "word " * 900)
    assert findings(store) == [("warning", "oversized-identity", "identity.md", 1)]


def test_a_spec_whose_code_never_names_it_is_one_way_too(store: Store, root: Path) -> None:
    write_artifact(root, "SPEC-B-1", "paths: [lib/**]\n")
    write_artifact(root, "TASK-1", "links: [SPEC-A-1, SPEC-B-1]\n")
    write_file(store, "lib/b.py", "pass\n")
    assert findings(store) == [("warning", "one-way-annotation", "spec-b-1.md", 1)]
    write_file(store, ".contextia/config.yaml", "strict_bidirectional: true\n")
    assert findings(store) == [("error", "one-way-annotation", "spec-b-1.md", 1)]


def test_severities_come_from_the_configuration(store: Store, root: Path) -> None:
    write_artifact(root, "NORM-A-1", "")
    write_file(store, ".contextia/config.yaml", "check:\n  severities: {empty-scope: error}\n")
    assert findings(store) == [("error", "empty-scope", "norm-a-1.md", 1)]
    write_file(store, ".contextia/config.yaml", "severities: {empty-scope: off}\n")
    assert findings(store) == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("severities: {no-rule: error}", "It has malformed-frontmatter"),
        ("severities: {broken-ref: fatal}", "error or warning or info or off"),
        ("strict_bidirectional: perhaps", "on or off"),
        ("a: [", "cannot be parsed"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_exit_2(
    store: Store, capsys: pytest.CaptureFixture[str], config: str, said: str
) -> None:
    write_file(store, ".contextia/config.yaml", config)
    assert run(["check"]) == 2
    assert said in capsys.readouterr().err


def test_warnings_fail_under_strict_alone_and_errors_always(store: Store, root: Path) -> None:
    write_artifact(root, "NORM-A-1", "")
    assert (run(["check"]), run(["check", "--strict"])) == (0, 1)
    write_artifact(root, "TASK-1", "links: [SPEC-A-1, DEC-9]\n")
    assert (run(["check"]), run(["check", "--strict"])) == (0, 1)
    write_artifact(root, "NORM-A-1", "scope: [src\n")
    assert run(["check"]) == 1


def test_the_json_of_check_carries_the_same(store: Store, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(root, "TASK-1", "links: [SPEC-A-1, DEC-9]\n")
    assert run(["check", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["warnings"], answer["findings"][0]["rule"]) == (True, 1, "broken-ref")


def test_trace_says_who_governs_a_file_and_why(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_fixture(root)
    make_store(root).close()
    assert run(["check", "--trace", "src/billing/invoice/generator.py"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SPEC-A-1")
    assert (
        lines[1] == "SPEC-BILLING-001  Invoice generation  via paths: src/billing/invoice/**; via annotation at line 3"
    )
    assert lines[-1] == "NORM-LOGGING-001 (deprecated)  Log every amount  via scope: src/billing/**"


def test_trace_takes_paths_from_where_one_is_and_files_that_are_not_there_yet(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root / "src")
    assert run(["check", "--trace", "new.py", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["path"], [one["id"] for one in answer["artifacts"]]) == ("src/new.py", ["SPEC-A-1", "NORM-A-1"])
    assert run(["check", "--trace", "../other.py"]) == 1
    assert run(["check", "--trace", "../../out.py"]) == 2


def test_trace_looks_from_the_file_upwards_in_a_monorepo_and_through_a_link(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = root / "packages" / "api"
    write_artifact(part, "SPEC-API-1", "paths: [src/**]\n")
    (root / "linked").symlink_to(part)
    for path in ("packages/api/src/a.py", str(root / "linked" / "src" / "a.py")):
        assert run(["check", "--trace", path, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["path"], [one["id"] for one in answer["artifacts"]]) == ("src/a.py", ["SPEC-API-1"])
    (root / "src" / "out.py").symlink_to(root.parent / "out.py")
    assert run(["check", "--trace", "src/out.py"]) == 2
    assert run(["check", "--trace", str(root.parent / "src" / "a.py")]) == 2


def test_a_path_that_is_no_line_is_no_artifact_and_has_no_annotation(root: Path, store: Store) -> None:
    for name in ("two\nlines", "tab\t", "bold\x1b[1m"):
        folder = root / ".contextia" / "system" / "specs" / name
        folder.mkdir()
        (folder / "a.md").write_text("---\nid: SPEC-B-1\ntitle: B\nstatus: current\n---\n")
        (root / "src" / name).mkdir()
        (root / "src" / name / "a.py").write_text("# @spec SPEC-GONE-1\n")
    assert findings(store) == []
