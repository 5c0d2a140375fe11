"""Orders of the log taken back: what they removed is sealed for seven days, and the store alone cannot read it."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from builders import save, search_ids
from index_contents import index_contents
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.extensions.team import sync
from ctxrank.extensions.team.undo import drop_sealed, sealed_orders, take_back
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.exchange.orders import waiting_orders
from ctxrank.indexer.privacy.purge import forget_document, forget_path, forget_session
from ctxrank.indexer.privacy.removal import removals, unchecked_references
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.team]

WORD = "quetzalcoatlusnorthropi"  # in no file of anybody


@pytest.fixture
def machines(machines: Sharing) -> Sharing:
    for number in range(3):
        save(
            machines.stores["b"], f"notes/{number}.md", f"{WORD} {number} zebra\n", session="X", summary=f"About {WORD}"
        )
    machines.settle()
    return machines


def _holds(folder: Path, wanted: str) -> bool:
    # By a process of its own: closing a file of a store would drop the locks that this one holds.
    code = (
        "import pathlib, sys\n"
        "print(any(sys.argv[2].encode() in path.read_bytes() for path in pathlib.Path(sys.argv[1]).rglob('*.db*')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder), wanted], check=True, capture_output=True, text=True)
    return done.stdout == "True\n"


def _all(store: Store) -> tuple[object, ...]:
    tables = ("packages", "artifacts", "sessions", "groups", "reasoning", "package_consumers")
    return (
        *(list(store.primary.execute(f"SELECT * FROM {table} ORDER BY 1")) for table in tables),
        list(store.primary.execute("SELECT id, kind, record_id, title, body, path FROM documents ORDER BY id")),
    )


@pytest.mark.parametrize("by", ["path", "session"])
def test_an_order_is_taken_back_to_the_row_and_the_store_cannot_read_it_before(
    machines: Sharing, tmp_path: Path, by: str
) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    before = _all(b)
    if by == "path":
        forget_path(a, "notes")
    else:
        forget_session(a, "X")
    machines.sync("a", "b")
    assert not search_ids(b, WORD) and not _holds(tmp_path / "b" / ".ctxrank", WORD), "byte-proof as before"
    sealed = sealed_orders(b)
    assert sealed and all(0 < one.until - now_us() <= 7 * DAY_US for one in sealed) and not sealed_orders(a)
    with machines.log("b") as log:
        with pytest.raises(NotFoundError):
            take_back(b, log, "999")
        take_back(b, log, str(min(one.order for one in sealed)))
    assert _all(b) == before and len(search_ids(b, WORD)) == 3 and not sealed_orders(b)
    index_contents(b)
    assert [one for one in examine(b.location, is_deep=True) if one.result is Result.FAIL] == []
    assert waiting_orders(b.primary) == []
    machines.settle()
    assert len(search_ids(b, WORD)) == 3 and not search_ids(a, WORD), "here alone"
    with machines.log("b") as log:
        assert [one.is_this for one in sync.forgetting(b, log).unconfirmed] == [True], "it has not forgotten"


def test_without_the_logs_key_nothing_is_taken_back(machines: Sharing, node: Node) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    forget_path(a, "notes")
    machines.sync("a", "b")
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("DELETE FROM ctxrank.record_keys WHERE kind LIKE 'forget %%' OR kind LIKE 'removed %%'")
    with machines.log("b") as log, pytest.raises(CtxrankError, match="no key of order"):
        take_back(b, log, str(sealed_orders(b)[-1].order))
    assert not search_ids(b, WORD) and sealed_orders(b)


def test_after_seven_days_and_by_a_purge_here_what_is_sealed_goes(machines: Sharing) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    forget_path(a, "notes/0.md")
    machines.sync("a", "b")
    drop_sealed(b, now_us() + 6 * DAY_US)
    assert sealed_orders(b)
    drop_sealed(b, now_us() + 8 * DAY_US)
    assert not sealed_orders(b)


def test_a_secret_is_never_sealed_and_one_that_was_purged_since_stays_gone(machines: Sharing) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    forget_path(a, "notes")
    machines.sync("a", "b")
    count = len(sealed_orders(b))
    forget_secrets(a, [f"{WORD} 1"], load_config(a).redaction_mode)
    machines.sync("a", "b")
    assert len(sealed_orders(b)) == count
    with machines.log("b") as log:
        take_back(b, log, str(sealed_orders(b)[-1].order))
    bodies = [str(body) for (body,) in b.primary.execute("SELECT body FROM documents WHERE kind = 'passage'")]
    assert len(bodies) == 3 and not any(f"{WORD} 1" in body for body in bodies)
    assert "redaction" in {one.kind for one in removals(b.primary)}


def test_what_came_since_stays_and_a_place_that_is_taken_ends_it(machines: Sharing) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    forget_path(a, "notes")
    machines.sync("a", "b")
    save(b, "later.md", "walrus\n", session="X", summary="Later")
    first = min(one.order for one in sealed_orders(b))
    number = int(b.primary.execute("SELECT max(id) FROM packages").get)
    with unchecked_references(b.primary):
        b.primary.execute("UPDATE packages SET id = 1 WHERE id = ?", (number,))
    with machines.log("b") as log, pytest.raises(CtxrankError, match="has its place"):
        take_back(b, log, str(first))
    assert not search_ids(b, WORD) and sealed_orders(b), "nothing at all was put back"
    with unchecked_references(b.primary):
        b.primary.execute("UPDATE packages SET id = ? WHERE id = 1", (number,))
    with machines.log("b") as log:
        take_back(b, log, str(first))
    assert len(search_ids(b, WORD)) == 3 and len(search_ids(b, "walrus")) == 1


def test_what_was_taken_back_of_a_third_store_goes_on_hearing_of_it(machines: Sharing, tmp_path: Path) -> None:
    machines.add("c", tmp_path)
    a, b, c = (machines.stores[name] for name in "abc")
    save(c, "third.md", "walrus\n", session="Y", summary="Third")
    machines.settle()
    number = int(a.primary.execute("SELECT id FROM packages WHERE path = 'third.md'").get)
    forget_document(a, DocumentRef("package", number))
    machines.settle()
    for name, store in (("b", b), ("c", c)):
        assert not search_ids(store, "walrus")
        with machines.log(name) as log:
            take_back(store, log, str(min(one.order for one in sealed_orders(store))))
    save(c, "third.md", "walrus and heron\n", session="Y", summary="Third again")
    machines.settle()
    query = "SELECT count(*) FROM packages WHERE path = 'third.md' AND superseded_by IS NULL"
    assert (b.primary.execute(query).get, c.primary.execute(query).get) == (1, 1)
    assert not search_ids(a, "walrus")
