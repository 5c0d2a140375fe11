"""What is removed at one store at another one: counted records lose what it counted, and a look changes nothing."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, search_ids
from exported import ANOTHER, ISO, THIRD, accept, agree, bring, export_of, exported, fill, uuid_of

from ctxrank.indexer.bounds import ORDER_DAYS
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, record_failure
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.exchange import Exchange, import_jsonl
from ctxrank.indexer.exchange.export import last_number
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.orders import OrderDoor, returnable_orders, waiting_orders
from ctxrank.indexer.exchange.origin_removal import forget_origin
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.privacy.purge import forget_document, forget_path
from ctxrank.indexer.privacy.retention import prune_older
from ctxrank.indexer.records.packages import list_packages
from ctxrank.indexer.records.strategies import NewStrategy, list_strategies, save_strategy
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import DocumentRef, local_ref, public_id
from ctxrank.indexer.store.store import Store

MODE = RedactionMode.PATTERN_ONLY
ERROR = "ModuleNotFoundError: No module named 'yaml'"


def tell(one: Store, other: Store, **options: Any) -> None:
    """Export from one store and import into another."""
    data = "".join(json.dumps(line) + "\n" for line in exported(one, **options)).encode()
    accept(other, data)
    import_jsonl(other, io.BytesIO(data))
    agree(other)


def save_known(store: Store) -> int:
    return save_error(store, NewKnownError(read_failure_text(ERROR.encode(), MODE).text, "pip install pyyaml")).id


def counted(store: Store) -> list[tuple[object, ...]]:
    """How often each known error of a store was met."""
    return list(store.primary.execute("SELECT occurrences FROM error_patterns"))


def test_an_error_that_its_store_lets_go_loses_what_that_store_counted(anna: Store, ben: Store, tmp_path: Path) -> None:
    for store in (anna, anna, ben):
        save_known(store)
    tell(anna, ben)
    with make_store(tmp_path / "carol") as carol:
        tell(anna, carol)
        assert (counted(ben), counted(carol)) == ([(3,)], [(2,)])
        prune_older(anna, now_us() + DAY_US, kinds=["error"])
        for _ in range(2):
            tell(anna, ben)
            tell(anna, carol)
        assert (counted(anna), counted(ben), counted(carol)) == ([], [(1,)], [])


@pytest.mark.parametrize("is_known_there", [False, True])
def test_an_error_that_its_store_lets_go_is_let_go_by_who_has_it_from_another(
    anna: Store, ben: Store, tmp_path: Path, *, is_known_there: bool
) -> None:
    save_known(anna)
    save_strategy(anna, NewStrategy("shop", "general", "Take the lock first."))
    if is_known_there:
        save_known(ben)
    tell(anna, ben)
    with make_store(tmp_path / "carol") as carol:
        tell(ben, carol, all_origins=True)
        assert counted(carol) == [(1 + is_known_there,)]
        since = last_number(ben.primary)
        prune_older(anna, now_us() + DAY_US, kinds=["error", "strategy"])
        tell(anna, ben)
        for options in ({"since": since}, {}):
            tell(ben, carol, all_origins=True, **options)
            assert counted(ben) == counted(carol) == [(1,)] * is_known_there
            assert list_strategies(carol.primary) == []
        save_known(anna)
        tell(anna, ben)
        for _ in range(2):
            tell(ben, carol, all_origins=True)
            assert counted(ben) == counted(carol) == [(1 + is_known_there,)]


def test_an_error_that_is_purged_elsewhere_goes_where_it_was_made(anna: Store, ben: Store) -> None:
    save_known(anna)
    tell(anna, ben)
    (number,) = ben.primary.execute("SELECT id FROM error_patterns").fetchone() or (0,)
    assert isinstance(number, int)
    forget_document(ben, DocumentRef("error", number))
    tell(ben, anna)
    assert (counted(anna), counted(ben)) == ([], [])


def test_failures_go_elsewhere_with_the_error_that_they_were_and_with_their_store(anna: Store, ben: Store) -> None:
    unit = error_units(ERROR)[0]
    failures = "SELECT error_text FROM error_sightings ORDER BY abs(id)"
    number = save_known(anna)
    for pattern in (number, None):
        place = FailurePlace("S" if pattern else "T")
        record_failure(anna, place, Sighting(sign(unit), unit.text, now_us()), pattern, create_session=True)
    tell(anna, ben)
    with anna.write() as change:
        change.connection.execute("UPDATE error_sightings SET error_text = 'ValueError: another' WHERE id = 2")
    tell(anna, ben)
    forget_document(anna, DocumentRef("error", number))
    before = list(read_column(ben.primary, failures, (), str))
    tell(anna, ben)
    assert (len(before), len(read_column(ben.primary, failures, (), str))) == (2, 1)
    assert forget_origin(ben, uuid_of(anna)).removed["failure"] == 1
    assert read_column(ben.primary, failures, (), str) == []


def test_what_its_store_lets_go_goes_elsewhere_and_an_older_export_brings_none_of_it_back(
    anna: Store, ben: Store
) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    save(anna, "b.md", "walrus\n")
    older = "".join(json.dumps(line) + "\n" for line in exported(anna)).encode()
    assert prune_older(anna, now_us() + DAY_US, kinds=["package"])
    tell(anna, ben)  # of which Ben has one, and has never met the other
    assert list_packages(ben.primary) == []
    assert import_jsonl(ben, io.BytesIO(older)).skipped == ()
    assert list_packages(ben.primary) == []


def test_what_this_store_let_go_itself_its_own_log_knows(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    prune_older(anna, now_us() + DAY_US, kinds=["package"])
    own = "".join(json.dumps(line) + "\n" for line in exported(anna)).encode()
    save(anna, "a.md", "zebra\n")
    import_jsonl(anna, io.BytesIO(own))
    assert len(list_packages(anna.primary)) == 1


def test_a_look_at_what_an_origin_made_counts_and_removes_nothing(anna: Store, ben: Store) -> None:
    fill(anna)
    tell(anna, ben)
    before = exported(ben, all_origins=True)[1:]
    report = forget_origin(ben, uuid_of(anna)[:8], is_dry_run=True)
    assert report.is_dry_run and not report.is_erased and report.kept_out == ()
    assert exported(ben, all_origins=True)[1:] == before
    assert report.removed["package"] == 3 and report.removed["error"] == report.removed["strategy"] == 1
    done = forget_origin(ben, uuid_of(anna)[:8])
    assert done.removed["package"] == 3 and done.is_erased and not done.is_dry_run


def ordered(one: Store, other: Store, door: OrderDoor) -> None:
    """What one store has to be forgotten, as another one takes it by a door."""
    lines = [values for values in exported(one) if values.get("record") not in (None, "end")]
    taken = Exchange(other, uuid_of(other), door=door)
    said = (Line(at, str(values["record"]), {"origin": uuid_of(one), **values}) for at, values in enumerate(lines))
    taken.bring(said, lambda batch: None)
    taken.finish()


def test_what_a_purged_store_said_of_packages_that_are_not_here_goes(ben: Store) -> None:
    said = [{"agent": "Walrus", "iteration": 1, "consumed_at": ISO}]
    bring(ben, export_of({"record": "usage", "of": THIRD, "consumers": said, "deliveries": []}))
    query = "SELECT count(*) FROM imported_rows WHERE digest LIKE '%walrus%'"
    assert ben.primary.execute(query).get == 1
    forget_origin(ben, ANOTHER)
    assert ben.primary.execute(query).get == 0


def test_what_is_pruned_here_comes_back_once_it_changes_and_what_is_purged_does_not(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    save(anna, "b.md", "heron\n")
    tell(anna, ben)
    pruned, purged = (local_ref(ben.primary, f"package:{number}@{uuid_of(anna)[:8]}") for number in (1, 2))
    forget_document(ben, purged)
    prune_older(ben, now_us() + DAY_US, kinds=("package",))
    tell(anna, ben)
    assert list_packages(ben.primary) == []
    with anna.write() as change:
        change.connection.execute("UPDATE packages SET summary = 'It is another one.'")
    tell(anna, ben)
    assert [(one.id, one.summary) for one in list_packages(ben.primary)] == [(pruned.number, "It is another one.")]
    assert search_ids(ben, "zebra") == [str(public_id(*pruned[:2]))]


def test_a_package_that_has_moved_is_not_lost_to_an_order_that_comes_before_it_says_so(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    since = last_number(anna.primary)
    (Path(anna.location.root) / "a.md").rename(Path(anna.location.root) / "b.md")
    index_artifacts(anna)
    moved = last_number(anna.primary)
    save(anna, "a.md", "heron\n")
    forget_path(anna, "a.md")
    assert [one.path for one in list_packages(anna.primary)] == ["b.md"]
    tell(anna, ben, since=moved)
    tell(anna, ben, since=since)
    assert [one.path for one in list_packages(ben.primary)] == ["b.md"] and search_ids(ben, "zebra")


def test_an_order_of_a_store_that_is_refused_is_carried_out_when_a_person_agrees(anna: Store, ben: Store) -> None:
    for store in (anna, ben):
        save(store, "a.md", "zebra\n")
    forget_path(anna, "a.md")
    ordered(anna, ben, "file")
    with ben.write() as change:
        decide(change, uuid_of(anna), "refused", "person")
    assert search_ids(ben, "zebra")
    agree(ben)
    assert not waiting_orders(ben.primary) and not search_ids(ben, "zebra")


def test_an_order_that_cannot_be_used_is_not_counted_as_known(ben: Store) -> None:
    report = bring(ben, export_of({"record": "forget", "kind": "path", "digest": "x", "prefilter": "", "key": ANOTHER}))
    assert len(report.skipped) == 1 and not report.counts


def test_an_order_of_the_log_may_be_taken_back_for_a_time(anna: Store, ben: Store) -> None:
    for store in (anna, ben):
        save(store, "a.md", "zebra\n")
    forget_path(anna, "a.md")
    ordered(anna, ben, "log")
    assert [one.kind for one in returnable_orders(ben.primary)] == ["path"]
    for days, count in ((ORDER_DAYS - 0.1, 1), (ORDER_DAYS, 0)):
        ben.primary.execute("UPDATE orders SET came_at = ?", (now_us() - int(days * DAY_US),))
        assert len(returnable_orders(ben.primary)) == count
    ben.primary.execute("UPDATE orders SET came_at = ?, came_by = 'file'", (now_us(),))
    assert returnable_orders(ben.primary) == []
