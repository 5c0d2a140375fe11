"""What search keeps finding becomes a patch of frontmatter, which keeps each file's style and can be applied."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from linked_builders import copy_fixture, write_artifact
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.links.patch import unified_diff, with_link
from ctxrank.indexer.links.reading import parse_artifact
from ctxrank.indexer.links.sync import index_linked
from ctxrank.indexer.records.receipts import Entry, Receipt
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.links.suggestions import MIN_SIGHTINGS, sightings

PATH = ".contextia/work/tasks/a.md"
HEAD = "id: TASK-1\ntitle: One\nstatus: open\n"
SECRET = "ghp" + "_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    copy_fixture(tmp_path)
    monkeypatch.chdir(tmp_path)
    with make_store(tmp_path) as opened:
        index_linked(opened)
        yield opened


def linked(fields: str, kind: str = "decisions", id_: str = "DEC-9") -> str | None:
    """The fields with one link more."""
    made = with_link(PATH, f"---\n{HEAD}{fields}---\nBody.\n", kind, id_)
    return None if made is None else made.removeprefix(f"---\n{HEAD}").removesuffix("---\nBody.\n")


@each_row(
    "before, after",
    [
        ("", "links:\n  decisions: [DEC-9]\n"),
        ("links:\n", "links:\n  decisions: [DEC-9]\n"),
        ("links: []\n", "links: [DEC-9]\n"),
        ("links: [SPEC-1] # all\nowner: me\n", "links: [SPEC-1, DEC-9] # all\nowner: me\n"),
        ("links: SPEC-1, DEC-1\n", "links: [SPEC-1, DEC-1, DEC-9]\n"),
        ("links:\n- SPEC-1\n- DEC-1\nowner: me\n", "links:\n- SPEC-1\n- DEC-1\n- DEC-9\nowner: me\n"),
        ("links:\n  - SPEC-1 # first\n", "links:\n  - SPEC-1 # first\n  - DEC-9\n"),
        ("links:\n  specs: [SPEC-1]\nx: y\n", "links:\n  specs: [SPEC-1]\n  decisions: [DEC-9]\nx: y\n"),
        ("links:\n  decisions: [DEC-1, ]\n", "links:\n  decisions: [DEC-1, DEC-9]\n"),
        ("links:\n  decisions: []\n  norms: []\n", "links:\n  decisions: [DEC-9]\n  norms: []\n"),
        ("links:\n    decisions:\n      - DEC-1\n", "links:\n    decisions:\n      - DEC-1\n      - DEC-9\n"),
        ("links:\n  specs:\n    - SPEC-1\n", "links:\n  specs:\n    - SPEC-1\n  decisions:\n    - DEC-9\n"),
        ("links: {specs: [SPEC-1]}\n", "links: {specs: [SPEC-1], decisions: [DEC-9]}\n"),
        ("links: {decisions: [DEC-1], norms: []}\n", "links: {decisions: [DEC-1, DEC-9], norms: []}\n"),
        ("links: {}\n", "links: {decisions: [DEC-9]}\n"),
        ("specs: [SPEC-1]\nowner: me\n", "specs: [SPEC-1]\ndecisions: [DEC-9]\nowner: me\n"),
        ("decisions:\n- DEC-1\n", "decisions:\n- DEC-1\n- DEC-9\n"),
        ("links: [SPEC-1,\n  DEC-1\n]\n", "links: [SPEC-1,\n  DEC-1\n, DEC-9]\n"),
    ],
)
def test_the_style_of_the_file_is_kept(before: str, after: str) -> None:
    assert linked(before) == after


@pytest.mark.parametrize("fields", ["links: 'a: [b'\n", "links: &x [DEC-1]\nnorms: *x\n", "links: >\n  SPEC-1\n"])
def test_what_cannot_be_edited_safely_is_refused_or_right(fields: str) -> None:
    """Whatever is done adds this link and changes nothing else."""
    made = with_link(PATH, f"---\n{HEAD}{fields}---\nBody.\n", "decisions", "DEC-9")
    if made is not None:
        before = parse_artifact(PATH, f"---\n{HEAD}{fields}---\nBody.\n")
        links = {link.id for link in parse_artifact(PATH, made).links}
        assert links == {link.id for link in before.links} | {"DEC-9"}


def test_a_file_without_frontmatter_gets_no_link() -> None:
    assert with_link(PATH, "# Title\n", "specs", "SPEC-1") is None
    assert with_link(PATH, "---\nid: TASK-1\n", "specs", "SPEC-1") is None


def test_line_ends_stay_and_a_missing_last_one_is_said() -> None:
    before = "---\r\nid: TASK-1\r\ntitle: One\r\nstatus: open\r\n---"
    after = with_link(PATH, before, "specs", "SPEC-1")
    assert after is not None and after.endswith("open\r\nlinks:\r\n  specs: [SPEC-1]\r\n---")
    assert "\\ No newline at end of file\n" in unified_diff(PATH, before, after)


def test_the_patch_applies_and_context_reaches_by_a_link_what_search_found(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for budget in ("1600", "1500", "1450"):
        run(["context", "TASK-042", "--budget", budget])
    capsys.readouterr()
    before = (tmp_path / ".contextia/work/tasks/042-multi-currency.md").read_bytes()
    assert run(["suggest-links", "--min", "2"]) == 0
    printed = capsys.readouterr()
    assert "DEC-CURRENCY-002 into decisions of TASK-042: found " in printed.err
    assert (tmp_path / ".contextia/work/tasks/042-multi-currency.md").read_bytes() == before
    subprocess.run(["patch", "-p1", "-s"], input=printed.out, cwd=tmp_path, text=True, check=True, timeout=30)
    run(["context", "TASK-042"])
    assert "=== DECISION: DEC-CURRENCY-002 | T1 via TASK-042 | full ===" in capsys.readouterr().out
    assert run(["suggest-links"]) == 1


def test_git_takes_the_patch_too(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for budget in ("1600", "1500"):
        run(["context", "TASK-042", "--budget", budget])
    capsys.readouterr()
    run(["suggest-links", "--min", "1"])
    patch = capsys.readouterr().out
    subprocess.run(["git", "apply", "--check", "-"], input=patch, cwd=tmp_path, text=True, check=True, timeout=30)


def test_only_the_three_best_that_search_found_are_sighted_each_once() -> None:
    reasons = [("SPEC-1", "T1 linked"), *((f"DEC-{n}", "T3 found") for n in (1, 1, 2, 3, 4))]
    entries = tuple(Entry(id_, True, "summary", 10, reason) for id_, reason in reasons)
    inputs = {"task": "TASK-1"}
    receipts = [
        Receipt(n, "context", None, None, "", 0, 0, inputs, entries, (), digest, 0, 0)
        for n, digest in ((1, "a"), (2, "a"), (3, "b"))
    ]
    seen = [(one.id, one.rank, one.receipt) for one in sightings(receipts)]
    assert seen == [(f"DEC-{rank}", rank, receipt) for receipt in (1, 3) for rank in (1, 2, 3)]
    assert MIN_SIGHTINGS == 2


def test_one_context_is_no_habit_and_the_same_text_twice_is_one(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        run(["context", "TASK-042"])
    capsys.readouterr()
    assert run(["suggest-links"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "nothing was found 2 times" in printed.err


def test_what_two_tasks_find_goes_into_the_spec_that_both_link_to(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_artifact(tmp_path, "NORM-KEY-001", body="Rotate every signing key each quarter.\n", title="Signing keys")
    write_artifact(tmp_path, "SPEC-SIGN-001", body="Documents are sealed.\n")
    for number, title in ((1, "Signing keys expire"), (2, "Rotate a signing key")):
        write_artifact(tmp_path, f"TASK-9{number}", "links: [SPEC-SIGN-001]\n", title=title)
        run(["context", f"TASK-9{number}"])
    capsys.readouterr()
    assert run(["suggest-links"]) == 0
    assert "NORM-KEY-001 into norms of SPEC-SIGN-001: found 2 times for" in capsys.readouterr().err


def test_a_diff_that_would_show_a_secret_is_left_to_the_hand(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = tmp_path / ".contextia/work/tasks/042-multi-currency.md"
    task.write_text(task.read_text().replace("links:\n", f"key: {SECRET}\nlinks:\n"))
    run(["context", "TASK-042"])
    capsys.readouterr()
    assert run(["suggest-links", "--min", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and "DEC-CURRENCY-002 add it by hand to decisions of TASK-042" in printed.err
    assert SECRET not in printed.err and "(there is a secret near the place)" in printed.err


@pytest.mark.parametrize("hidden", ["\x1b[31m", "\u200b", "\ufe01"])
def test_a_diff_that_an_output_cannot_show_is_left_to_the_hand_and_says_so(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], hidden: str
) -> None:
    task = tmp_path / ".contextia/work/tasks/042-multi-currency.md"
    task.write_text(task.read_text().replace("\n---\n", "\n---\n" + f"A note{hidden} here.\n", 1))
    run(["context", "TASK-042"])
    capsys.readouterr()
    assert run(["suggest-links", "--min", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and hidden not in printed.err
    assert "TASK-042 (there are characters near the place that no output shows)" in printed.err
    assert "secret" not in printed.err


def test_an_unknown_task_says_which_there_are(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suggest-links", "--task", "TASK-024"]) == 1
    assert "TASK-042" in capsys.readouterr().err
