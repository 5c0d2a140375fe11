"""Orders to forget that other stores give: bounded, attributed; what waits removes nothing until a person agrees."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import found, save, search_ids
from exported import bring, exported, exported_bytes, uuid_of

from ctxrank.cli.main import run
from ctxrank.indexer.bounds import FEW_RECORDS, ORDER_DAYS
from ctxrank.indexer.exchange import exchange, orders
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.exchange import Exchange, carry_out
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.orders import OrderDoor, has_unfulfilled, settle, waiting_orders
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.privacy.purge import forget_document, forget_path, forget_session
from ctxrank.indexer.privacy.removal import removals
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store

MODE = RedactionMode.PATTERN_ONLY
SECRET = "Kq7vXw2mPz9t"


def tell(one: Store, other: Store, door: OrderDoor = "log") -> ImportReport:
    """What one store made, as another one takes it from the log."""
    lines = [values for values in exported(one) if "record" in values and values["record"] != "end"]
    taken = Exchange(other, uuid_of(other), door=door)
    said = (Line(at, str(values["record"]), {"origin": uuid_of(one), **values}) for at, values in enumerate(lines))
    taken.bring(said, lambda batch: None)
    return taken.finish()


def save_many(store: Store, count: int, folder: str = "notes") -> None:
    for number in range(count):
        save(store, f"{folder}/{number}.md", f"zebra {number}\n", session=folder)


def order_path(store: Store, path: str) -> None:
    """Let a store order a path to be forgotten, which it has itself."""
    save(store, f"{path}/own.md", "walrus\n", session="own")
    (Path(store.location.root) / path / "own.md").unlink()
    forget_path(store, path)


def test_an_order_within_the_bound_is_carried_out_at_once(anna: Store, ben: Store) -> None:
    save_many(ben, FEW_RECORDS)
    order_path(anna, "notes")
    report = tell(anna, ben)
    assert not search_ids(ben, "zebra") and not report.waiting
    assert [(one.origin, one.kind, one.removed) for one in removals(ben.primary)] == [
        (uuid_of(anna), "artifact", 10), (uuid_of(anna), "package", 10)
    ]  # fmt: skip
    assert all(one.order == 1 for one in removals(ben.primary)) and not has_unfulfilled(ben.primary)


def test_a_larger_one_waits_removes_nothing_and_is_carried_out_when_a_person_agrees(
    anna: Store, ben: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    save_many(ben, FEW_RECORDS + 1)
    order_path(anna, "notes")
    assert tell(anna, ben).waiting == tell(anna, ben).waiting == 1
    assert len(search_ids(ben, "zebra", limit=50)) == FEW_RECORDS + 1 and has_unfulfilled(ben.primary)
    save(ben, "notes/new.md", "zebra\n")  # nor is it kept out
    place = ["--db", ben.location.primary]
    assert run([*place, "origins", "pending"]) == 7
    assert f"a path: 11 records of others; by {uuid_of(anna)}, in a log" in capsys.readouterr().out
    assert run([*place, "status"]) == 0 and "orders to forget wait for you: 1" in capsys.readouterr().err
    assert run([*place, "origins", "agree", "2"]) == 1 and run([*place, "origins", "agree", "1"]) == 0
    assert not search_ids(ben, "zebra") and not has_unfulfilled(ben.primary)
    assert not tell(anna, ben).waiting


def test_what_a_person_declines_is_not_asked_about_again_and_is_not_confirmed(anna: Store, ben: Store) -> None:
    save_many(ben, FEW_RECORDS + 1)
    order_path(anna, "notes")
    tell(anna, ben)
    with ben.write() as change:
        settle(change, [1], "declined")
    assert not waiting_orders(ben.primary) and not tell(anna, ben).waiting
    assert len(search_ids(ben, "zebra", limit=50)) == FEW_RECORDS + 1 and has_unfulfilled(ben.primary)


def test_small_orders_of_a_week_add_up(anna: Store, ben: Store) -> None:
    for folder in "abc":
        save_many(ben, 4, folder)
        order_path(anna, folder)
        assert tell(anna, ben).waiting == (folder == "c")
    assert len(search_ids(ben, "zebra")) == 4
    with ben.write() as change:
        change.connection.execute("UPDATE orders SET came_at = came_at - ?", ((ORDER_DAYS + 1) * 86_400_000_000,))
    assert not tell(anna, ben).waiting and not search_ids(ben, "zebra")


def test_records_that_a_store_has_many_removed_of_wait_too(anna: Store, ben: Store) -> None:
    save_many(ben, FEW_RECORDS + 2)
    tell(ben, anna)
    for number in read_column(anna.primary, "SELECT id FROM packages ORDER BY id LIMIT ?", (FEW_RECORDS + 1,), int):
        forget_document(anna, DocumentRef("package", number))
    report = tell(anna, ben)
    assert report.waiting and search_ids(ben, "zebra")
    carry_out(ben, waiting_orders(ben.primary))
    assert len(search_ids(ben, "zebra")) == 1


def test_what_a_store_made_itself_is_its_own_to_take_back(anna: Store, ben: Store) -> None:
    save_many(anna, 2 * FEW_RECORDS)
    tell(anna, ben)
    assert len(search_ids(ben, "zebra", limit=50)) == 2 * FEW_RECORDS
    forget_session(anna, "notes")
    assert not tell(anna, ben).waiting and not search_ids(ben, "zebra")


@pytest.mark.parametrize("count, waits", [(FEW_RECORDS, False), (FEW_RECORDS + 1, True)])
def test_a_secret_counts_by_the_records_that_hold_it(anna: Store, ben: Store, count: int, waits: bool) -> None:
    for number in range(count):
        save(ben, f"{number}.md", f"zebra {SECRET} {number}\n", summary="A secret.")
    forget_secrets(anna, [SECRET, f"{SECRET} nowhere"], MODE)
    assert tell(anna, ben).waiting == 2 * waits
    assert (SECRET in exported_bytes(ben).decode()) is waits
    if waits:
        carry_out(ben, waiting_orders(ben.primary))
        assert SECRET not in exported_bytes(ben).decode()


def test_a_finding_whose_title_held_a_secret_is_kept_without_it(anna: Store, ben: Store) -> None:
    title = f"The {SECRET} opens the zebra"
    save_package(
        anna, NewPackage("S", None, "research", "", "dev", title, title=title), text=title, create_session=True
    )
    tell(anna, ben)
    forget_secrets(anna, [SECRET], MODE)
    tell(anna, ben)
    query = "SELECT title, path, body FROM documents ORDER BY kind"
    there = list(ben.primary.execute(query))
    assert there == list(anna.primary.execute(query)) and SECRET.lower() not in str(there).lower()
    assert [hit.title for hit in found(ben, "zebra").hits] == ["The [FORGOTTEN] opens the zebra"]


@pytest.mark.parametrize("door, state", [("file", "accepted"), ("log", "revoked")])
def test_every_order_of_a_file_waits_and_of_a_store_without_the_right(
    anna: Store, ben: Store, door: Any, state: Any
) -> None:
    save_many(ben, 1)
    save(anna, "a.md", "heron\n")
    tell(anna, ben)
    order_path(anna, "notes")
    with ben.write() as change:
        decide(change, uuid_of(anna), state, "person")
    assert tell(anna, ben, door).waiting >= 1 and search_ids(ben, "zebra")


def test_an_import_of_orders_exits_with_7(
    anna: Store, ben: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_many(ben, 1)
    order_path(anna, "notes")
    file = tmp_path / "anna.jsonl"
    file.write_bytes(exported_bytes(anna))
    place = ["--db", ben.location.primary, "--json"]
    assert run([*place, "import", "jsonl", str(file), "--accept"]) == 7
    assert json.loads(capsys.readouterr().out)["waiting"] >= 1 and search_ids(ben, "zebra")
    assert run([*place, "origins", "agree", "all"]) == 0 and not search_ids(ben, "zebra")
    capsys.readouterr()
    assert run([*place, "origins", "removed"]) == 0
    removed = json.loads(capsys.readouterr().out)["removals"]
    assert {one["origin"] for one in removed} == {uuid_of(anna)} and "zebra" not in json.dumps(removed)


def test_an_order_of_a_file_cannot_claim_to_be_ours(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "heron\n")
    tell(anna, ben)
    order = {"record": "removed", "kind": "package", "id": 1, "of": uuid_of(anna), "seq": 99}
    forged = [exported(ben)[0], order, {"record": "end", "counts": {"removed": 1}}]
    report = bring(ben, "".join(json.dumps(line) + "\n" for line in forged).encode(), is_accepted=False)
    assert report.waiting == 1 and search_ids(ben, "heron")


def test_a_file_says_nothing_in_the_name_of_a_member_of_the_log(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "heron\n")
    tell(anna, ben)
    header, *_, end = exported(anna)
    forged = [header, {"record": "removed", "kind": "package", "id": 1, "seq": 99}, end]
    report = bring(ben, "".join(json.dumps(line) + "\n" for line in forged).encode(), is_accepted=False)
    assert "comes through the log" in report.notes[0] and search_ids(ben, "heron")


@pytest.mark.parametrize("door, waits", [("file", 3), ("log", 1)])
def test_orders_for_what_is_not_here_cost_no_look_at_what_is_and_are_counted(
    door: OrderDoor, waits: int, anna: Store, ben: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "MAX_ORDERS", 2)
    monkeypatch.setattr(exchange, "plan_ordered", None)
    for number in range(3):
        order_path(anna, f"folder {number}")
    save_many(ben, 2)
    assert tell(anna, ben, door).waiting == waits
