"""The list of mutations fits the sources: code that moves takes its mutations along."""

from collections.abc import Sequence
from pathlib import Path

import mutants
import pytest
from mutants import BROKEN, KILLED, Copy, Mutation, Place, Run, Verdict, find_places, read_mutations

from ctxrank.indexer.extensions import EXTENSIONS


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


def test_tests_that_never_end_in_time_have_noticed_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the tests run into the limit with a mistake and without: that is no kill."""
    limit, run = (1, ()), (0, ())
    answers = {"slow": [limit, limit], "endless": [limit, run]}  # with the mistake, then without

    class Tree(Copy):
        def __init__(self, folder: Path) -> None:
            """No copy: what pytest would say is written down above."""

        def imports_itself(self) -> bool:
            return True

        def run(self, tests: Sequence[str], k: str = "", *, stop: bool = False) -> Run:
            return Run(*answers[tests[0]].pop(0))

        def judge(self, mutation: Mutation, place: Place) -> Verdict:
            assert self.run(place.tests, mutation.k, stop=True) == limit
            return Verdict(mutation, KILLED, "", 0.0)

    monkeypatch.setattr(mutants, "Copy", Tree)
    places = {Mutation("area", name, "", "", (name,), ""): Place(Path(name), (name,)) for name in answers}
    verdicts = mutants.run(places, tmp_path)
    assert {one.mutation.name: one.outcome for one in verdicts} == {"slow": BROKEN, "endless": KILLED}
