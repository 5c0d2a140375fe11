"""The list of mutations fits the sources: code that moves takes its mutations along."""

import pytest
from mutants import find_places, read_mutations

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
