"""What is purged on one machine is forgotten by all of them and by the log: every byte of it is looked for."""

import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from builders import save
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.extensions.team import sync
from ctxrank.indexer.bounds import FEW_RECORDS
from ctxrank.indexer.exchange.exchange import carry_out
from ctxrank.indexer.exchange.orders import waiting_orders
from ctxrank.indexer.privacy.purge import forget_document, forget_path, forget_session
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import DocumentRef

pytestmark = [pytest.mark.slow, pytest.mark.team]

WORD = "quetzalcoatlusnorthropi"  # in no file of anybody
SECRET = "Kq7vXw2mPz9t"


@pytest.fixture
def names() -> str:
    return "abc"


def _files_with(folder: Path, wanted: bytes) -> list[str]:
    """The files below a folder that hold these bytes."""
    # By a process of its own: closing a file of a store would drop the locks that this one holds.
    code = (
        "import pathlib, sys\n"
        "for path in pathlib.Path(sys.argv[1]).rglob('*'):\n"
        "    if path.is_file() and bytes.fromhex(sys.argv[2]) in path.read_bytes(): print(path)"
    )
    command = [sys.executable, "-c", code, str(folder), wanted.hex()]
    return sorted(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1])


def _keys(node: Node, kind: str) -> list[bytes]:
    with psycopg.connect(node.dsn()) as connection:
        rows = connection.execute("SELECT secret FROM ctxrank.record_keys WHERE kind = %s", (kind,)).fetchall()
    return [bytes(row[0]) for row in rows]


def test_a_purged_package_leaves_no_byte_in_stores_tables_and_wal(
    node: Node, machines: Sharing, tmp_path: Path
) -> None:
    save(machines.stores["a"], "notes/plan.md", f"# Plan\n\n{WORD} lays eggs.\n", summary=f"About {WORD}")
    before = set(_keys(node, "package"))
    machines.settle()
    (key,) = set(_keys(node, "package")) - before
    assert _files_with(node.data, key), "the log has its key"
    assert _files_with(tmp_path / "c", WORD.encode()), "and the others have its text"

    (tmp_path / "a" / "notes" / "plan.md").unlink()
    forget_path(machines.stores["a"], "notes/plan.md")
    machines.sync("a")
    with machines.log("a") as log:
        late = sync.forgetting(machines.stores["a"], log)
    assert [one.machine for one in late.unconfirmed] == [machines.role("b"), machines.role("c")] and late.machines == 3
    assert not _files_with(node.data, key), "the key is gone before anybody has confirmed"

    machines.sync("b", "c")
    with machines.log("a") as log:
        assert sync.forgetting(machines.stores["a"], log).unconfirmed == ()
    for name in "abc":
        assert not _files_with(tmp_path / name, WORD.encode()), name
    assert not _files_with(node.data, WORD.encode())
    assert not _files_with(node.data, key)


def test_a_record_of_another_machine_is_forgotten_by_its_order(node: Node, machines: Sharing, tmp_path: Path) -> None:
    think = NewReasoning("S", "G", "developer", "decisions", f"{WORD} decides")
    save_reasoning(machines.stores["a"], think, create_session=True)
    before = set(_keys(node, "reasoning"))
    machines.settle()
    (key,) = set(_keys(node, "reasoning")) - before
    number = int(machines.stores["b"].primary.execute("SELECT id FROM reasoning").get)
    forget_document(machines.stores["b"], DocumentRef("reasoning", number))
    machines.sync("b")
    assert not _files_with(node.data, key), "a's own machine need not be on for that"
    machines.settle()
    for name in "abc":
        assert not _files_with(tmp_path / name, WORD.encode()), name
    with machines.log("c") as log:
        assert sync.forgetting(machines.stores["c"], log).unconfirmed == ()


def test_a_secret_goes_from_all_machines_and_its_keys_from_the_log(
    node: Node, machines: Sharing, tmp_path: Path
) -> None:
    for name in "ab":
        think = NewReasoning("S", "G", "developer", "decisions", f"The word of {name} is {SECRET} for the queue.")
        save_reasoning(machines.stores[name], think, create_session=True)
    before = set(_keys(node, "reasoning"))
    machines.settle()
    keys = set(_keys(node, "reasoning")) - before
    assert len(keys) == 2
    forget_secrets(machines.stores["c"], [SECRET], load_config(machines.stores["c"]).redaction_mode)
    machines.settle()
    for name in "abc":
        assert not _files_with(tmp_path / name, SECRET.encode()), name
    assert not [key for key in keys if _files_with(node.data, key)]
    with machines.log("c") as log:
        assert sync.forgetting(machines.stores["c"], log).unconfirmed == ()


def test_a_new_machine_is_told_nothing_of_what_was_forgotten(machines: Sharing, node: Node, tmp_path: Path) -> None:
    save(machines.stores["a"], "notes/plan.md", f"{WORD} lays eggs.\n", summary=WORD)
    machines.sync("a")
    forget_path(machines.stores["a"], "notes/plan.md")
    machines.sync("a")
    late = Sharing(node, machines.project, tmp_path, "d")
    late.sync()
    assert not _files_with(tmp_path / "d", WORD.encode())
    late.close()


def test_an_order_above_the_bound_waits_at_each_and_leaves_no_byte_once_each_has_agreed(
    node: Node, machines: Sharing, tmp_path: Path
) -> None:
    for number in range(FEW_RECORDS + 1):
        save(machines.stores["b"], f"notes/{number}.md", f"{WORD} {number}\n", session="X", summary=f"About {WORD}")
    machines.settle()
    forget_session(machines.stores["a"], "X")
    machines.sync("a")
    assert [done.waiting > 0 for done in machines.sync("b", "c")] == [True, True]
    assert all(_files_with(tmp_path / name, WORD.encode()) for name in "bc")
    machines.sync("a")
    with machines.log("a") as log:
        assert [one.is_this for one in sync.forgetting(machines.stores["a"], log).unconfirmed] == [False, False]
    shutil.rmtree(tmp_path / "b" / "notes")
    for name in "bc":
        carry_out(machines.stores[name], waiting_orders(machines.stores[name].primary))
    assert [done.waiting for done in machines.sync("b", "c", "a", "b", "c")] == [0] * 5
    assert not [name for name in "abc" if _files_with(tmp_path / name, WORD.encode())]
    with machines.log("a") as log:
        assert sync.forgetting(machines.stores["a"], log).unconfirmed == ()
