"""The hundred prompts of fixtures/prompts: silence where nothing is known, the right finding where something is."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from builders import make_store
from runner_events import Runner

from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.location import Location

_PROMPTS = Path(__file__).parents[3] / "fixtures" / "prompts"


class Prompt(NamedTuple):
    """A prompt, and the path of the finding that it is about; None for none."""

    store: str
    wanted: str | None
    text: str


def _prompts() -> Iterator[Prompt]:
    for line in (_PROMPTS / "prompts.tsv").read_text().splitlines():
        store, wanted, text = line.split("\t")
        yield Prompt(store, None if wanted == "-" else wanted, text)


@pytest.fixture
def folders(loaded: Location, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The two stores."""
    ferry = tmp_path_factory.mktemp("ferry")
    with make_store(ferry) as store:
        for entry in yaml.safe_load((_PROMPTS / "ferry.yaml").read_text()):
            path = ferry / entry["file"]
            os.makedirs(path.parent, exist_ok=True)
            path.write_text(entry["body"])
            new = NewPackage(
                "ferry-1", None, entry["type"], entry["file"], "developer", entry["summary"], entry["priority"]
            )
            save_package(store, new, create_session=True)
        store.catch_up()
    return {"shop": tmp_path, "ferry": ferry}


@pytest.mark.slow
def test_45_of_50_prompts_about_nothing_get_silence_and_40_of_50_others_their_finding(folders: dict[str, Path]) -> None:
    silent = right = 0
    for number, prompt in enumerate(_prompts()):
        said = Runner(folders[prompt.store], f"session-{number}").prompt(prompt.text)
        silent += prompt.wanted is None and not said
        right += prompt.wanted is not None and prompt.wanted in said
    assert silent >= 45 and right >= 40
