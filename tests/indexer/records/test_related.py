"""What surrounds a document, and everything that a session recorded."""

from pathlib import Path

import pytest
from linked_builders import copy_fixture

from ctxrank.cli.main import run
from ctxrank.indexer import open_store
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.records.related import Related, read_related
from ctxrank.indexer.records.session_records import session_records
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.ids import parse_ref
from ctxrank.indexer.store.location import Location

_SESSION = ("--session", "shop-2026-10", "--group", "AUTH")


def _run(loaded: Location, *words: str) -> None:
    assert run(["--db", loaded.primary, "--root", loaded.root, "-q", *words]) == 0


def _related(loaded: Location, id_: str) -> Related:
    with open_store(loaded.primary, root=loaded.root) as store:
        return read_related(store.primary, parse_ref(id_))


def test_versions_are_one_chain_whichever_is_asked(loaded: Location) -> None:
    ids = {one["id"] for one in _related(loaded, "package:9")["versions"]}
    assert ids == {"package:3", "package:9"} == {one["id"] for one in _related(loaded, "package:3")["versions"]}


def test_a_block_says_what_became_of_a_package(loaded: Location, capsys: pytest.CaptureFixture[str]) -> None:
    _run(loaded, "assemble", *_SESSION, "--agent", "developer", "--task", "token refresh", "--budget", "900")
    _run(loaded, "package", "consume", "1", "--agent", "developer")
    capsys.readouterr()
    (entry,) = _related(loaded, "package:2")["receipts"]
    assert (entry["agent"], entry["group_id"], entry["included"]) == ("developer", "AUTH", True) and "matches" in entry[
        "reason"
    ]
    assert {"delivered"} <= {one["how"] for one in _related(loaded, "package:2")["taken"]}
    assert ("consumed", "developer") in [(one["how"], one["agent"]) for one in _related(loaded, "package:1")["taken"]]
    assert _related(loaded, "package:22")["receipts"] == []  # no part of another number


def test_links_lead_both_ways(loaded: Location) -> None:
    copy_fixture(Path(loaded.root))
    _run(loaded, "index")
    with open_store(loaded.primary, root=loaded.root) as store:
        ids = dict(store.primary.execute("SELECT name, 'linked:' || id FROM linked_artifacts"))
    to = _related(loaded, str(ids["TASK-042"]))["links_to"]
    assert str(ids["SPEC-BILLING-001"]) in [one["id"] for one in to]
    back = _related(loaded, str(ids["SPEC-BILLING-001"]))["linked_from"]
    assert str(ids["TASK-042"]) in [one["id"] for one in back]
    assert "" in [one["id"] for one in _related(loaded, str(ids["TASK-043"]))["links_to"]]  # a broken one


def test_a_session_is_told_in_the_order_of_time(loaded: Location, capsys: pytest.CaptureFixture[str]) -> None:
    failure = ("--type", "OperationalError", "--message", "database is locked")
    _run(loaded, "error", "match", *failure, *_SESSION)
    _run(loaded, "error", "confirm", "error:1", "--session", "shop-2026-10")
    _run(loaded, "assemble", *_SESSION, "--agent", "developer")
    capsys.readouterr()
    with open_store(loaded.primary) as store:
        records = session_records(store.primary, find_session(store.primary, "shop-2026-10").id)
    assert [one.at for one in records] == sorted(one.at for one in records)
    kinds = [one.kind for one in records]
    assert kinds.index("failure") < kinds.index("fix") < kinds.index("block") and "delivery" in kinds
    fix = next(one for one in records if one.kind == "fix")
    assert fix.of == next(one.id for one in records if one.kind == "failure") and fix.group == "AUTH"
    (sighting,) = _related(loaded, "error:1")["sightings"]
    assert sighting["resolved_at"] == format_us(fix.at)
