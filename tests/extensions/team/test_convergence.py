"""Stores that share a log end the same: documents, counts, and the ten hits of forty questions with their scores."""

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from converging import NAMES, Machines, Seen, compare, seen, steps
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning

pytestmark = [pytest.mark.slow, pytest.mark.team]
_projects = itertools.count()


class SharingMachines(Machines):
    """The three stores of the exchange's own test, with a log in place of files: any of them syncs at any time."""

    def __init__(self, folder: Path, node: Node) -> None:
        super().__init__(folder)
        self.sharing = Sharing(node, f"converging {next(_projects)}", folder, NAMES)
        for store in self.stores.values():
            store.close()
        self.stores = self.sharing.stores

    def tell(
        self, name: str, other: str, *, is_whole: bool = False, dies_at: int = 0, all_origins: bool = False
    ) -> None:
        """In place of an export and an import, two exchanges with the log."""
        self.sharing.sync(name, other)

    def settle(self) -> None:
        """Exchange until nobody has anything to say."""
        self.sharing.settle()


def _converges(node: Node, taken: list[tuple[Any, ...]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="converges-"))
    machines = SharingMachines(folder, node)
    try:
        for step in taken:
            machines.take(step)
        machines.settle()
        compare(machines)
    finally:
        machines.close()
        shutil.rmtree(folder)


@pytest.fixture
def machines(node: Node, tmp_path: Path) -> Iterator[SharingMachines]:
    made = SharingMachines(tmp_path, node)
    yield made
    made.close()


def test_three_stores_find_the_same_with_the_same_scores(machines: SharingMachines) -> None:
    for number, (name, words) in enumerate(itertools.product(NAMES, ("zebra lock", "heron queue retry", "walrus"))):
        machines.take(("save", name, f"notes/{number}.md", f"{words} schema token"))
        machines.take(("think", name, f"{words} in {name}"))
        machines.take(("error", name, "KeyError: 'port'", words))
    machines.settle()
    as_of = now_us()
    views = [seen(store, as_of) for store in machines.stores.values()]
    assert len(views[0].documents) > 20 and any(views[0].answers)
    for field in Seen._fields:
        assert getattr(views[1], field) == getattr(views[0], field) == getattr(views[2], field), field


def test_more_than_a_portion_goes_out_and_comes_in(machines: SharingMachines) -> None:
    for number in range(1100):
        new = NewReasoning("S", "G", "developer", "decisions", f"note {number}")
        save_reasoning(machines.stores["a"], new, create_session=True)
    pushed, pulled = machines.sharing.sync("a", "b")
    assert (pushed.pushed, pulled.pulled) == (1102, 1102)
    assert machines.stores["b"].primary.execute("SELECT count(*) FROM reasoning").get == 1100


def test_what_came_from_elsewhere_is_not_pushed_again(machines: SharingMachines) -> None:
    machines.take(("error", "a", "KeyError: 'port'", "set it"))
    machines.settle()
    machines.take(("error", "b", "KeyError: 'port'", "set it"))
    machines.take(("confirm", "b", 0, True))
    first = machines.sharing.sync("b", "a", "c")
    assert [done.pushed for done in first[1:]] == [0, 0]
    again = machines.sharing.sync()
    assert [(done.pushed, done.pulled) for done in again] == [(0, 0)] * 3


def test_an_error_that_others_saved_with_another_text_comes_back_where_one_purged_it(machines: SharingMachines) -> None:
    for name, solution in (("c", "queue"), ("a", "heron")):
        machines.take(("error", name, "KeyError: 'port'", solution))
        machines.sharing.sync(name)
        machines.sharing.sync("b")
    machines.take(("purge", "a", 0))
    machines.settle()
    compare(machines)
    solutions = [
        store.primary.execute("SELECT solution FROM error_patterns").fetchall() for store in machines.stores.values()
    ]
    assert solutions == [[("queue",)]] * 3


@settings(
    max_examples=12, deadline=None, phases=(Phase.generate,), derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(taken=st.lists(steps, min_size=6, max_size=14))
def test_three_stores_end_the_same(node: Node, taken: list[tuple[Any, ...]]) -> None:
    _converges(node, taken)
