"""Eight machines that write, read and follow for a minute hold the same in the end, and are never far behind."""

import pytest
from postgres_nodes import Node
from team import run

pytestmark = [pytest.mark.slow, pytest.mark.team]


def test_eight_machines_are_the_same_after_a_minute(node: Node) -> None:
    seen = run(node.dsn(), stores=8, seconds=60, write_s=2.0, read_s=1.0)
    print(seen)
    assert seen["same"] and seen["documents"] == seen["notes"] > 100
    assert seen["arrivals"] == 7 * seen["notes"]
    assert seen["lag_p95_s"] <= 2
