"""Which findings a prompt is about: the floor, on stores that a reader can hold in mind."""

from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank.indexer.store.config import Config
from ctxrank.ranking.context import findings
from ctxrank.ranking.context.findings import nearest, relevant_findings

_NOTE = "# Ferry tides\n\nspring tides delay the ferry at the northern pier\n"


@pytest.mark.parametrize(
    "prompt, words",
    [
        ("do spring tides delay the ferry?", ("delay", "ferry", "spring", "tides")),
        ("please fix the northern pier", ("northern", "pier")),  # `fix` is what is wanted, not what it is about
        ("getting errors while updating the northern pier", ("northern", "pier")),  # nor is any form of such a word
        ("the northern pier 2.0 in version 1.3.7", ("northern", "pier")),  # a digit alone is part of something
        ("the ferry 7", None),  # two words, of which one is a digit
        ("the ferry at pier 7", ("ferry", "pier")),
        ("the ferry", None),
        ("why is the ferry's website so slow in winter on my phone", None),
        ("add update fix", None),
        ("", None),
    ],
)
def test_a_prompt_is_about_a_finding_when_they_share_enough(
    tmp_path: Path, prompt: str, words: tuple[str, ...] | None
) -> None:
    with make_store(tmp_path) as store:
        save(store, "tides.md", _NOTE, summary="Spring tides delay the ferry.")
        for number in range(20):
            save(
                store,
                f"{number}.md",
                f"# Other {number}\n\nnothing of note in file {number}\n",
                summary=f"Note {number}.",
            )
        found = relevant_findings(store, prompt, Config(), 3, lambda _: True)
        assert [tuple(sorted(one.words)) for one in found] == ([] if words is None else [words])


def test_files_and_superseded_packages_are_no_findings(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "tides.md", _NOTE)
        second = save(store, "tides.md", _NOTE + "\nand at the southern pier\n")
        found = relevant_findings(store, "spring tides delay the ferry", Config(), 3, lambda _: True)
        assert [one.parent.number for one in found] == [second.id]


def test_what_may_not_be_shown_does_not_make_room_for_what_is_far_behind(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        best = save(store, "tides.md", _NOTE)
        save(store, "pier.md", "# The northern pier\n\nthe ferry has a new pier\n")
        prompt = "spring tides delay the ferry at the northern pier"
        found = relevant_findings(store, prompt, Config(), 3, lambda parent: parent.number != best.id)
        assert found == []


def test_without_an_index_nothing_is_guessed(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "tides.md", _NOTE)
        assert relevant_findings(store, "spring tides delay the ferry", Config(fts5=False), 3, lambda _: True) == []


def test_a_pasted_prompt_is_about_what_its_title_is_about(tmp_path: Path) -> None:
    """Its versions, addresses and places of installation are words of any report."""
    with make_store(tmp_path) as store:
        save(store, "tides.md", _NOTE, summary="Spring tides delay the ferry.")
        save(store, "lib.md", "# Install 3 1\n\n/usr/lib/python3.11/site-packages on linux x86\n", summary="Install.")
        report = (
            "Ferry delay at spring tides\n\nSeen with 3.1 on linux x86.\n"
            '  File "/usr/lib/python3.11/site-packages/tides.py", line 3\n'
        )
        found = relevant_findings(store, report, Config(), 3, lambda _: True)
        assert [one.parent.title for one in found] == ["Ferry tides"]


@pytest.mark.parametrize("few_rows", [1000, 0])
def test_findings_are_the_same_read_all_at_once_or_found_by_the_index(
    tmp_path: Path, few_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxrank.ranking.context.findings._FEW_ROWS", few_rows)
    with make_store(tmp_path) as store:
        save(store, "tides.md", _NOTE, summary="Spring tides delay the ferry.")
        save(store, "pier.md", "# The northern pier\n\nthe ferry has a new pier\n", summary="The pier.")
        save(store, "old.md", _NOTE, summary="Spring tides delay it.")
        save(store, "old.md", "# Gulls\n\nthey are loud\n", summary="Gulls are loud.")  # takes its place
        found = relevant_findings(store, "spring tides delay the ferry", Config(), 3, lambda _: True)
        assert [one.parent.title for one in found] == ["Ferry tides"]


def test_as_many_findings_are_told_as_are_asked_for_the_nearest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = "spring tides delay the ferry at the northern pier"
    with make_store(tmp_path) as store:
        ids = [save(store, f"{number}.md", f"{_NOTE}{'and more of it ' * 9 * number}\n").id for number in range(3)]
        for few in (200, 0):  # all findings are scored, or FTS5 says which of them match
            monkeypatch.setattr(findings, "_FEW_ROWS", few)
            for limit in (1, 2, 3, 9):
                told = relevant_findings(store, prompt, Config(), limit, lambda _: True)
                assert [one.parent.number for one in told] == ids[:limit]
            told = relevant_findings(store, prompt, Config(), 3, lambda parent: parent.number == ids[1])
            assert [one.parent.number for one in told] == [ids[1]]
        assert 0 < nearest(store, "the ferry at the northern pier", Config()) < nearest(store, prompt, Config()) <= 1
        assert nearest(store, "a website in winter", Config()) == 0
        assert relevant_findings(store, " \n", Config(), 3, lambda _: True) == []


def test_a_finding_comes_with_the_passage_that_the_prompt_is_about(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        padding = "\n\n".join(f"Paragraph {number} of nothing else." for number in range(120))
        save(
            store,
            "long.md",
            f"# Harbour\n\n{padding}\n\n## Ferries\n\nspring tides delay the ferry\n",
            summary="A note.",
        )
        save(store, "short.md", "lanterns\n", summary="Yellow lanterns mark the southern breakwater.")
        (ferry,) = relevant_findings(store, "do spring tides delay the ferry?", Config(), 3, lambda _: True)
        assert "spring tides delay the ferry" in ferry.passage and "Paragraph 1 " not in ferry.passage
        (lantern,) = relevant_findings(store, "yellow lanterns of the southern breakwater", Config(), 3, lambda _: True)
        assert lantern.passage == ""
