"""The floor: what is near, the rank that keeps the promise, and where a store's floor comes from."""

import os
import random
import time
from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import LockedError
from ctxrank.indexer.records.conversations import entitle
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.location import FLOOR_LOCK
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context import floor_measurement
from ctxrank.ranking.context.findings import nearest, relevant_findings
from ctxrank.ranking.context.floor import (
    ALPHA,
    DOUBT,
    LEAST_FINDINGS,
    floor_of,
    is_outdated,
    may_be_answered,
    measured_floor,
    nearness,
)
from ctxrank.ranking.context.floor_measurement import (
    LEAST_PROJECTS,
    LEAST_PROMPTS,
    foreign_prompts,
    main,
    measure_floor,
    shuffled_prompts,
    start_measuring,
)

_WORDS = "ferry pier tide harbour cabin ticket storm engine captain ledger anchor rope lamp buoy crane".split()
_LIMIT_S = 30.0


def _fill(store: Store, count: int) -> None:
    draw = random.Random(count)
    for number in range(count):
        words = draw.sample(_WORDS, 6)
        save(store, f"{number}.md", f"# The {words[0]} {number}\n\n{' '.join(words)}\n", summary=f"About {words[0]}.")


def _other_project(folder: Path, titles: int) -> None:
    folder.mkdir()
    with make_store(folder) as store, store.write() as change:
        for number in range(titles):
            create_session(change, NewSession(f"s{number}"))
            entitle(change, f"s{number}", "codex", f"paint the northern fence number {number} green")


def test_nearness_grows_with_the_words_that_are_shared_and_one_is_none() -> None:
    assert nearness(0.9, 0) == nearness(0.9, 1) == 0
    assert nearness(0.9, 2) == 0.9
    assert nearness(0.9, 1.4) < nearness(0.9, 2) < nearness(0.9, 3) < nearness(0.9, 9)


def test_a_word_that_prompts_of_any_project_have_counts_in_part(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "bump.md", "# Bump the version\n\nthe ferry has another tide\n", summary="Bump the version.")
        common, telling = (
            nearest(store, prompt, Config()) for prompt in ("bump the version", "the ferry and the tide")
        )
        assert common == 0 < telling  # a bump and a version are less than one word of here
        assert nearest(store, "bump the version of the ferry", Config()) > 0


def test_a_store_of_few_findings_has_the_curve_of_others(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        _fill(store, 3)
        assert measured_floor(store) is None and not is_outdated(store)
        assert 0 < floor_of(store, 8).line < floor_of(store, 60).line < floor_of(store, 60).pasted


def test_a_store_that_has_grown_is_measured_again(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        _fill(store, LEAST_FINDINGS - 1)
        assert not is_outdated(store)
        _fill(store, LEAST_FINDINGS)
        assert is_outdated(store)
        floor = measure_floor(store, Config())
        assert floor == measured_floor(store) == floor_of(store, 1) and not is_outdated(store)
        assert floor.source == "lines of shuffled words" and 0 < floor.line == floor.pasted
        assert floor.prompts == len(shuffled_prompts(store))


def test_so_few_are_above_the_floor_that_doubt_is_small() -> None:
    # Of Bin(100, 1/20): P(0) = .0059, P(1) = .0312, P(2) = .0812, P(3) = .1396; up to 2 together .1183, up to 3 .2578.
    assert may_be_answered(100) == 2
    assert may_be_answered(1) == may_be_answered(0) == 0
    draw = random.Random(0)

    def is_more(above: int) -> bool:
        """Whether of all prompts, whose nearness is anything from 0 to 1, more than ALPHA are above such a floor."""
        return sorted(draw.random() for _ in range(300))[-1 - above] < 1 - ALPHA

    above = may_be_answered(300)
    assert sum(is_more(above) for _ in range(1000)) < DOUBT * 1000 < sum(is_more(above + 1) for _ in range(1000))


def test_of_the_prompts_that_it_was_measured_with_fewer_than_one_in_twenty_are_answered(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        _fill(store, LEAST_FINDINGS)
        floor = measure_floor(store, Config()).line
        prompts = shuffled_prompts(store)
        answered = [prompt for prompt in prompts if relevant_findings(store, prompt, Config(), 3, lambda _: True)]
        assert len(answered) <= may_be_answered(len(prompts)) < 0.05 * len(prompts)
        assert answered == [prompt for prompt in prompts if nearest(store, prompt, Config()) > floor]


@pytest.mark.slow
@pytest.mark.parametrize("titles, is_enough", [(LEAST_PROMPTS, True), (LEAST_PROMPTS - 1, False)])
def test_prompts_of_other_projects_are_asked_where_there_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, titles: int, is_enough: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _other_project(tmp_path / "other", titles)
    (tmp_path / "own").mkdir()
    with make_store(tmp_path / "own") as store:
        _fill(store, LEAST_FINDINGS)
        shuffled = [nearest(store, prompt, Config()) for prompt in shuffled_prompts(store)]
        floor = measure_floor(store, Config())
        assert [len(prompts) for prompts in foreign_prompts(store)] == [titles]
        # They are about fences: nothing here is near them, so that what is above is of the shuffled ones alone, which
        # count as one project beside the other.
        asked = shuffled[:150] if is_enough else shuffled
        above = may_be_answered(len(asked) + (titles if is_enough else 0))
        assert floor.line == sorted(asked, reverse=True)[above] > 0
        assert floor.pasted >= floor.line
        assert floor.source == ("prompts of other projects" if is_enough else "lines of shuffled words")
        assert floor.prompts == (titles if is_enough else len(shuffled_prompts(store)))
        kept = "".join(str(row) for row in store.primary.execute("SELECT key, value FROM settings"))
        assert "fence" not in kept  # nothing of them but the numbers


@pytest.mark.slow
@pytest.mark.parametrize("projects, has_shuffled", [(LEAST_PROJECTS - 1, True), (LEAST_PROJECTS, False)])
def test_pasted_prompts_of_enough_projects_do_without_shuffled_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, projects: int, has_shuffled: bool
) -> None:
    pasted = [f"paint the northern fence\nnumber {number} is green" for number in range(LEAST_PROMPTS)]

    def asked(_: Store) -> list[list[str]]:
        return [pasted] * projects

    monkeypatch.setattr(floor_measurement, "foreign_prompts", asked)
    with make_store(tmp_path) as store:
        _fill(store, LEAST_FINDINGS)
        floor = measure_floor(store, Config())
        assert (floor.pasted > 0) == has_shuffled and floor.line > 0  # nothing here is about fences


def test_a_store_that_is_not_the_users_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _other_project(tmp_path / "other", 5)
    (tmp_path / "own").mkdir()
    with make_store(tmp_path / "own") as store:
        before = sorted(os.listdir(tmp_path / "other" / ".ctxrank"))
        assert list(map(len, foreign_prompts(store))) == [5]
        assert sorted(os.listdir(tmp_path / "other" / ".ctxrank")) == before  # nothing is left beside it
        (tmp_path / "other" / ".ctxrank").chmod(0o777)
        assert foreign_prompts(store) == []


@pytest.mark.slow
def test_a_process_of_its_own_measures_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        _fill(store, LEAST_FINDINGS)
        start_measuring(store)
        ends = now_us() + _LIMIT_S * 1_000_000
        while measured_floor(store) is None and now_us() < ends:
            time.sleep(0.05)
        floor = measured_floor(store)
        assert floor is not None
    main(store.location.primary)  # nothing is left to be done
    with make_store(tmp_path) as store:
        assert measured_floor(store) == floor


@pytest.mark.slow
def test_one_process_at_a_time_measures_it_however_many_sessions_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(_module: str, primary: str) -> None:
        started.append(primary)

    monkeypatch.setattr(floor_measurement, "start_for", start)
    with make_store(tmp_path) as store:
        _fill(store, LEAST_FINDINGS)
        primary = store.location.primary
        with only_one(os.path.join(store.location.folder, FLOOR_LOCK), "4711", LockedError):
            start_measuring(store)
            with pytest.raises(LockedError, match="Process 4711 does so already"):
                main(primary)
            assert started == [] and measured_floor(store) is None
        start_measuring(store)
        assert started == [primary]
        main(primary)
        assert measured_floor(store) is not None
