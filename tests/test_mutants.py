"""The list of mutations fits the sources: code that moves takes its mutations along."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import mutants
import pytest
import random_mutants
from mutants import (
    BROKEN,
    KILLED,
    QUICK,
    SLOW,
    SOURCES,
    SURVIVED,
    Copy,
    Mutation,
    Place,
    Run,
    Verdict,
    find_places,
    read_mutations,
)

from ctxrank.indexer.extensions import EXTENSIONS


@pytest.mark.slow
@pytest.mark.needs(*EXTENSIONS)
def test_every_mutation_names_one_place() -> None:
    mutations = read_mutations()
    places = find_places(mutations)
    assert len(places) == len(mutations) == len({str(mutation) for mutation in mutations})


def test_a_mutation_without_a_place_of_its_own_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    first = read_mutations()[0]
    nowhere = first._replace(name="nowhere", old="no such text\0")
    twice = first._replace(name="twice", old="return ")
    with pytest.raises(SystemExit):
        find_places([first, nowhere, twice])
    said = capsys.readouterr().err
    assert "nowhere: its text is there 0 times" in said and "twice: its text is there" in said
    assert str(first) not in said


@pytest.mark.parametrize(("says", "code"), [("ImportError while loading conftest 'x'.", 2), ("ERROR: not found: x", 4)])
def test_a_module_that_stops_the_tests_own_start_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, code: int
) -> None:
    def refused(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 4, "", says)

    def nothing(*_: object, **__: object) -> None:
        pass

    monkeypatch.setattr(subprocess, "run", refused)
    monkeypatch.setattr(shutil, "copytree", nothing)
    assert Copy(tmp_path).run(("tests",)) == Run(code, ())


def test_a_program_that_a_test_starts_anywhere_is_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    for source in ("ctxrank", *SOURCES):
        (root / source).mkdir(parents=True)
        (root / source / "__init__.py").touch()
    shutil.copy(mutants.ROOT / "ctxrank" / "__init__.py", root / "ctxrank")
    monkeypatch.setattr(mutants, "ROOT", root)
    assert Copy(tmp_path / "copy").imports_itself()


class NoCopy(Copy):
    """No copy of the tree: what pytest would say is written down in the test."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._tree = folder
        self._changes = 0

    def imports_itself(self) -> bool:
        return True


def test_tests_that_never_end_in_time_have_noticed_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the tests run into the limit with a mistake and without: that is no kill."""
    limit, run = (1, ()), (0, ())
    answers = {"slow": [limit, limit], "endless": [limit, run]}  # with the mistake, then without

    class Tree(NoCopy):
        def run(self, tests: Sequence[str], k: str = "", *, kind: str = QUICK, stop: bool = False) -> Run:
            return Run(*answers[tests[0]].pop(0))

        def judge(self, mutation: Mutation, place: Place, kinds: Sequence[str]) -> Verdict:
            assert self.run(place.tests, mutation.k, stop=True) == limit
            return Verdict(mutation, KILLED, "", 0.0)

    monkeypatch.setattr(mutants, "Copy", Tree)
    places = {Mutation("area", name, "", "", (name,), ""): Place(Path(name), (name,)) for name in answers}
    verdicts = mutants.run(places, tmp_path)
    assert {one.mutation.name: one.outcome for one in verdicts} == {"slow": BROKEN, "endless": KILLED}


def test_slow_tests_are_asked_where_the_quick_ones_notice_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passed, none = Run(0, ()), Run(5, ())
    answers: dict[str, dict[str, Run]] = {  # what the quick tests say, and the slow ones
        "quick": {QUICK: Run(1, ("quick::test",))},
        "slow": {QUICK: passed, SLOW: Run(1, ("slow::test",))},
        "only": {QUICK: none, SLOW: Run(1, ("only::test",))},
        "unseen": {QUICK: passed, SLOW: none},
        "untested": {QUICK: none, SLOW: none},
    }

    class Tree(NoCopy):
        def run(self, tests: Sequence[str], k: str = "", *, kind: str = QUICK, stop: bool = False) -> Run:
            return answers[tests[0]][kind] if stop else passed

        def judge(self, mutation: Mutation, place: Place, kinds: Sequence[str]) -> Verdict:
            (self._tree / place.source).write_text(mutation.old)
            return super().judge(mutation, place, kinds)

    monkeypatch.setattr(mutants, "Copy", Tree)
    places = {Mutation("area", name, "a", "b", (name,), ""): Place(Path(name), (name,)) for name in answers}
    verdicts = {one.mutation.name: one for one in mutants.run(places, tmp_path)}
    assert {name: one.outcome for name, one in verdicts.items()} == {
        "quick": KILLED, "slow": KILLED, "only": KILLED, "unseen": SURVIVED, "untested": BROKEN,
    }  # fmt: skip
    assert [verdicts[name].kind for name in ("quick", "slow", "only")] == [QUICK, SLOW, SLOW]
    assert "slow  area: slow  test\n" in capsys.readouterr().out


@pytest.mark.slow
def test_each_mutation_that_changes_nothing_can_be_made() -> None:
    """A row of `random_mutants.txt` is one change of one line of its file; a line that moved takes it along."""
    for file, before, after, why in random_mutants.equivalents():
        source = (mutants.ROOT / file).read_text(encoding="utf-8")
        lines = source.split("\n")
        here = (one for one in random_mutants.changes_of(source.encode()) if before == lines[one.line - 1].strip())
        made = {
            random_mutants.changed_line(Mutation("", f"{file}:", source, _made(source, one), (), "")) for one in here
        }
        assert (file, before, after) in made and why, (file, before, after)


def _made(source: str, change: random_mutants.Change) -> str:
    raw = source.encode()
    return (raw[: change.start] + change.text.encode() + raw[change.end :]).decode()


def test_what_changes_nothing_does_not_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = ("a.py", "x = 1", "x = 2", "it is never read")
    monkeypatch.setattr(random_mutants, "equivalents", lambda: [row])
    same = Mutation("constant", "a.py:2 1 → 2", "y = 1\n  x = 1\n", "y = 1\n  x = 2\n", (), "")
    other = same._replace(name="a.py:1 1 → 2", new="y = 2\n  x = 1\n")
    verdicts = [Verdict(same, SURVIVED, "", 0.0), Verdict(other, SURVIVED, "", 0.0), Verdict(other, KILLED, "", 0.0)]
    assert random_mutants.report(verdicts) == 0.5
    assert "a.py:2 1 → 2  (changes nothing)" in capsys.readouterr().out
