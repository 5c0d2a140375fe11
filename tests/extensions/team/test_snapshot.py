"""A new machine begins with a file that any member wrote, and believes nothing in it that the log does not confirm."""

from pathlib import Path

import pytest
from builders import save
from converging import Seen, seen
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.extensions.team.snapshot import Taken, bring_snapshot, write_snapshot
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.privacy.purge import forget_path

pytestmark = [pytest.mark.slow, pytest.mark.team]


@pytest.fixture
def machines(machines: Sharing) -> Sharing:
    for number in range(20):
        save(machines.stores["a"], f"notes/{number}.md", f"zebra {number} walrus\n", summary=f"Note {number}")
    save(machines.stores["b"], "plan.md", "heron lock\n", summary="Plan")
    machines.settle()
    return machines


def _write(machines: Sharing, path: Path) -> int:
    with machines.log("b") as log:
        return write_snapshot(log, str(path))[0]


def _begin(machines: Sharing, node: Node, folder: Path, snapshot: Path) -> tuple[Sharing, Taken]:
    late = Sharing(node, machines.project, folder, "c")
    with late.log("c") as log:
        return late, bring_snapshot(late.stores["c"], log, str(snapshot), None)


def test_a_new_machine_has_the_same_after_a_snapshot_and_the_tail(
    machines: Sharing, node: Node, tmp_path: Path
) -> None:
    count = _write(machines, tmp_path / "shop.snapshot")
    assert b"zebra" not in (tmp_path / "shop.snapshot").read_bytes()
    save(machines.stores["a"], "notes/late.md", "queue retry\n", summary="Late")
    save(machines.stores["a"], "notes/3.md", "zebra edited\n", summary="Edited")
    machines.settle()
    late, taken = _begin(machines, node, tmp_path, tmp_path / "shop.snapshot")
    assert taken.taken >= count - 3 and taken.taken + taken.refused == count
    (done,) = late.sync()
    assert done.pulled <= 8, "the tail alone"
    as_of = now_us()
    views = [seen(store, as_of) for store in (machines.stores["a"], late.stores["c"])]
    for field in Seen._fields:
        assert getattr(views[0], field) == getattr(views[1], field), field
    late.close()


def test_what_is_forgotten_after_it_was_written_is_forgotten_in_it(
    machines: Sharing, node: Node, tmp_path: Path
) -> None:
    count = _write(machines, tmp_path / "shop.snapshot")
    forget_path(machines.stores["a"], "notes/3.md")
    machines.sync("a")
    late, taken = _begin(machines, node, tmp_path, tmp_path / "shop.snapshot")
    late.sync()
    assert taken.taken == count - 1
    query = "SELECT count(*) FROM packages WHERE path = 'notes/3.md'"
    assert late.stores["c"].primary.execute(query).get == 0
    late.close()


def test_a_forged_line_is_not_believed_and_comes_from_the_log(machines: Sharing, node: Node, tmp_path: Path) -> None:
    count = _write(machines, tmp_path / "shop.snapshot")
    data = bytearray((tmp_path / "shop.snapshot").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "forged").write_bytes(data)
    late, taken = _begin(machines, node, tmp_path, tmp_path / "forged")
    assert taken.taken < count
    late.sync()
    assert late.stores["c"].primary.execute("SELECT count(*) FROM packages").get == 21
    late.close()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no snapshot\n",
        b"ctxrank-snapshot 1\n\xff\xff\xff\xff",
        b"ctxrank-snapshot 1\n\0\0\0\2{}",
        b"ctxrank-snapshot 1\n\0\0\3\xe8" + b"[" * 1000,
    ],
)
def test_what_is_no_snapshot_is_refused(machines: Sharing, node: Node, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(UsageError, match=r"no snapshot|damaged"):
        _begin(machines, node, tmp_path, tmp_path / "bad")


def test_a_snapshot_that_is_cut_off_is_taken_as_far_as_it_goes(machines: Sharing, node: Node, tmp_path: Path) -> None:
    _write(machines, tmp_path / "shop.snapshot")
    data = (tmp_path / "shop.snapshot").read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) // 2])
    late, taken = _begin(machines, node, tmp_path, tmp_path / "cut")
    assert taken.taken > 5
    late.sync()
    assert late.stores["c"].primary.execute("SELECT count(*) FROM packages").get == 21
    late.close()
