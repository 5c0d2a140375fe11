"""Retention: nothing goes without being asked, and what goes leaves nothing behind."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import found, make_store, save, search_ids, write_file
from index_contents import index_contents
from predecessor import PredecessorDb
from ranking_builders import think
from tables import each_row
from written import Reasoning, SkillOutput, Strategy, write

from ctxrank.cli.main import run
from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, record_failure
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.fulltext.fts5_engine import fts5_of
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.removal import removals
from ctxrank.indexer.privacy.retention import prune_expired, prune_older
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.packages import consume, get_package, link_versions, list_packages
from ctxrank.indexer.records.sessions import NewSession, create_group, create_session, list_groups, list_sessions
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store

NOW = now_us()
OLD = NOW - 100 * DAY_US
CUT = NOW - 90 * DAY_US


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    return list(store.primary.execute(query))


def fill(store: Store, session: str, moment: int, *, status: str = "completed") -> int:
    """One record of every kind, all of the same moment; returns the session's id."""
    with store.write() as change:
        id_ = create_session(change, NewSession(session, status=status, created_at=moment, ended_at=moment))
    save(store, f"{session}.md", f"zebra {session}\n", session=session, created_at=moment)
    with store.write() as change:
        write(change, Reasoning(id_, None, "developer", "decisions", f"walrus {session}", moment))
        write(change, SkillOutput(id_, None, "developer", "lint", 1, '"heron"', moment))
        record_event(change, id_, None, "note", "{}")
        change.connection.execute("UPDATE events SET created_at = ? WHERE session_id = ?", (moment, id_))
        patterns.upsert(change, patterns.ErrorPattern(session, "h", "E", "m", "ibis", moment, moment))
        write(change, Strategy(session, "p", "general", "gannet", moment, moment))
    store.catch_up()
    return id_


ONE_OF_EACH = {
    "package": 1, "reasoning": 1, "error": 1, "strategy": 1, "skill": 1, "event": 1, "session": 1,
}  # fmt: skip


def test_what_is_older_goes_whole_and_is_counted(store: Store) -> None:
    fill(store, "old", OLD)
    fill(store, "new", NOW)
    kept = search_ids(store, "zebra walrus heron ibis gannet", limit=50)
    report = prune_older(store, CUT)
    assert (report.deleted, report.total) == (ONE_OF_EACH, 7)
    left = search_ids(store, "zebra walrus heron ibis gannet", limit=50)
    gone = {"package:1", "reasoning:1", "error:1", "strategy:1", "skill:1"}
    assert set(left) == (set(kept) - gone) | {"artifact:1"}
    assert [session.name for session in list_sessions(store.primary)] == ["new"]
    assert rows(store, "SELECT name FROM groups") == [("G",)]
    assert rows(store, "PRAGMA foreign_key_check") == []


def test_a_dry_run_counts_the_same_and_removes_nothing(store: Store) -> None:
    fill(store, "old", OLD)
    before = rows(store, "SELECT seq FROM store")
    assert prune_older(store, CUT, is_dry_run=True).deleted == ONE_OF_EACH
    assert rows(store, "SELECT seq FROM store") == before
    assert prune_older(store, CUT).deleted == ONE_OF_EACH
    assert prune_older(store, CUT).total == 0


def test_the_index_after_pruning_is_the_one_made_anew(store: Store) -> None:
    fill(store, "old", OLD)
    fill(store, "new", NOW)
    prune_older(store, CUT)
    pruned = index_contents(store)
    Path(store.location.index_file).unlink()
    fts5_of(store).reopen_index()
    store.catch_up()
    assert index_contents(store) == pruned


@pytest.mark.parametrize("kind", ["package", "reasoning", "error", "strategy", "skill", "event"])
def test_a_kind_alone_can_be_pruned(store: Store, kind: str) -> None:
    fill(store, "old", OLD)
    assert prune_older(store, CUT, kinds=[kind]).deleted == {kind: 1}
    rest = {name: count for name, count in ONE_OF_EACH.items() if name != kind}
    assert {name: count for name, count in prune_older(store, CUT).deleted.items() if count} == rest


def test_an_error_or_strategy_that_was_seen_lately_is_not_old(store: Store) -> None:
    with store.write() as change:
        patterns.upsert(change, patterns.ErrorPattern("p", "h", "E", "m", "ibis", NOW, OLD))
        write(change, Strategy("n", "p", "general", "gannet", NOW, OLD))
    assert prune_older(store, CUT).total == 0


def test_a_session_that_is_active_or_holds_anything_stays(store: Store) -> None:
    fill(store, "active", OLD, status="active")
    fill(store, "busy", OLD)
    save(store, "late.md", session="busy", created_at=NOW)
    assert prune_older(store, CUT).deleted["session"] == 0
    assert {session.name for session in list_sessions(store.primary)} == {"active", "busy"}


def test_an_empty_session_goes_by_when_it_ended(store: Store) -> None:
    with store.write() as change:
        create_session(change, NewSession("ended", status="failed", created_at=OLD, ended_at=NOW))
        create_session(change, NewSession("long ago", status="completed", created_at=OLD))
    assert prune_older(store, CUT, kinds=["session"]).deleted == {"session": 1}
    assert [session.name for session in list_sessions(store.primary)] == ["ended"]


def test_one_session_can_be_pruned_alone(store: Store) -> None:
    fill(store, "a", OLD)
    fill(store, "b", OLD)
    report = prune_older(store, CUT, session="a")
    assert report.deleted == {"package": 1, "reasoning": 1, "skill": 1, "event": 1, "session": 1}
    assert [session.name for session in list_sessions(store.primary)] == ["b"]
    with pytest.raises(UsageError, match="'error' belongs to no session"):
        prune_older(store, CUT, session="b", kinds=["error"])
    with pytest.raises(NotFoundError):
        prune_older(store, CUT, session="a")


def test_more_than_one_batch_goes(store: Store) -> None:
    with store.write() as change:
        id_ = create_session(change, NewSession("S"))
        for number in range(450):
            write(change, Reasoning(id_, None, "developer", "risks", f"{number}", OLD + number % 7))
    assert prune_older(store, OLD + 6, kinds=["reasoning"]).deleted == {"reasoning": 386}
    assert len(rows(store, "SELECT 1 FROM documents")) == 64


def test_a_batch_that_fails_is_not_half_gone(store: Store) -> None:
    fill(store, "old", OLD)
    # A document's feed mark is written last of all.
    store.primary.execute(
        "CREATE TEMP TRIGGER no BEFORE INSERT ON main.history_checkpoints BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(CtxrankError, match="SQLite refused"):
        prune_older(store, CUT)
    store.primary.execute("DROP TRIGGER temp.no")
    assert prune_older(store, CUT).deleted == ONE_OF_EACH


def test_consumers_deliveries_and_references_go_with_a_package(store: Store) -> None:
    save(store, "a.md", created_at=OLD)
    save(store, "b.md")
    consume(store, 1, "developer")
    with store.write() as change:
        change.connection.execute(
            "INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
            " VALUES (1, 0, 'developer', 0, 1), (2, 0, 'developer', 0, 1)"
        )
        change.connection.execute("UPDATE groups SET context_references = '[2, 1]'")
    prune_older(store, CUT)
    assert rows(store, "SELECT DISTINCT package_id FROM package_consumers") == [(2,)]
    assert rows(store, "SELECT package_id FROM deliveries") == [(2,)]
    assert list_groups(store.primary, 1)[0].context_references == (2,)


def test_a_newer_version_forgets_what_it_replaced_and_keeps_its_number(store: Store) -> None:
    save(store, "a.md", "zebra one", created_at=OLD)
    save(store, "a.md", "zebra two")
    prune_older(store, CUT)
    assert get_package(store.primary, 2)[10:13] == (2, None, None)
    assert search_ids(store, "zebra") == ["package:2"]


def test_an_older_version_is_current_again_when_its_replacement_goes(store: Store) -> None:
    save(store, "a.md", "zebra\n", group="A")
    save(store, "a.md", None, group="B", created_at=OLD)
    with store.write() as change:
        link_versions(change, 1, 2)
    prune_older(store, CUT)
    assert get_package(store.primary, 1).superseded_by is None
    hit = found(store, "zebra").hits[0]
    assert (hit.id, hit.superseded_by, len(hit.passages)) == ("package:1", None, 1)


def test_a_chain_of_versions_closes_over_what_is_gone(store: Store) -> None:
    for name, moment in (("a.md", NOW), ("b.md", OLD), ("c.md", NOW)):
        save(store, name, f"zebra {name}\n", created_at=moment)
    with store.write() as change:
        link_versions(change, 1, 2)
        link_versions(change, 2, 3)
    prune_older(store, CUT)
    assert [(p.id, p.supersedes, p.superseded_by) for p in list_packages(store.primary, include_superseded=True)] == [
        (3, 1, None), (1, None, 3),
    ]  # fmt: skip
    assert {hit.id: hit.superseded_by for hit in found(store, "finding").hits}["package:1"] == "package:3"


def test_a_chain_closes_over_all_that_is_gone_of_it(store: Store) -> None:
    for name, moment in (("a.md", NOW), ("b.md", OLD), ("c.md", OLD), ("d.md", NOW)):
        save(store, name, f"zebra {name}\n", created_at=moment)
    with store.write() as change:
        for old in (1, 2, 3):
            link_versions(change, old, old + 1)
    prune_older(store, CUT)
    versions = [(p.id, p.supersedes, p.superseded_by) for p in list_packages(store.primary, include_superseded=True)]
    assert sorted(versions) == [(1, None, 4), (4, 1, None)]


def test_a_session_takes_along_what_failed_in_it_and_nothing_else(store: Store) -> None:
    unit = error_units("ValueError: bad heron\n")[0]
    for session, moment in (("old", OLD), ("new", NOW)):
        fill(store, session, moment)
        record_failure(store, FailurePlace(session, None), Sighting(sign(unit), unit.text, NOW), None)
    prune_older(store, CUT)
    query = "SELECT s.name FROM error_sightings AS e LEFT JOIN sessions AS s ON s.id = e.session_id"
    assert rows(store, query) == [("new",)]


def test_a_file_that_loses_its_last_package_is_found_as_itself(store: Store) -> None:
    """As a scan would have it: the next one finds nothing to do, and reading it again changes nothing."""
    path = write_file(store, "a.md", "# Title\n\nzebra\n")
    index_artifacts(store)
    own = "SELECT title, body, path, session_id, passage_key, start_line, created_at, tokens > 0 FROM documents"
    as_scanned = rows(store, own)
    save(store, "a.md", None, created_at=OLD)
    prune_older(store, CUT)
    assert search_ids(store, "zebra") == ["artifact:1"]
    assert rows(store, own) == as_scanned
    assert index_artifacts(store).passages_written == 0
    path.write_text("# Title\n\nwalrus\n")
    index_artifacts(store)
    assert (search_ids(store, "zebra"), search_ids(store, "walrus")) == ([], ["artifact:1"])


def test_a_file_with_another_package_stays_that_packages(store: Store) -> None:
    save(store, "a.md", "zebra\n", group="A", created_at=OLD)
    save(store, "a.md", None, group="B")
    prune_older(store, CUT)
    assert search_ids(store, "zebra") == ["package:2"]
    assert rows(store, "SELECT count(*) FROM documents WHERE kind = 'passage'") == [(1,)]


def test_a_file_that_is_gone_goes_with_its_last_package(store: Store) -> None:
    save(store, "a.md", "zebra\n", created_at=OLD)
    (Path(store.location.root) / "a.md").unlink()
    index_artifacts(store)
    prune_older(store, CUT)
    assert rows(store, "SELECT 1 FROM artifacts UNION ALL SELECT 1 FROM documents") == []


def test_a_file_whose_text_nobody_has_any_more_is_read_by_the_next_scan(store: Store) -> None:
    save(store, "a.md", "zebra\n", created_at=OLD)
    save(store, "b.md", "walrus\n")
    with store.write() as change:
        link_versions(change, 1, 2)
    prune_older(store, CUT)
    assert search_ids(store, "zebra") == []
    assert index_artifacts(store).changed == ("a.md",)
    assert search_ids(store, "zebra") == ["artifact:1"]


def test_a_second_import_does_not_bring_back_what_was_pruned(store: Store, tmp_path: Path) -> None:
    db = PredecessorDb(tmp_path / "old.db")
    db.fill()
    import_bazinga(store, db.path)
    with store.write() as change:
        change.connection.execute("UPDATE sessions SET status = 'completed', ended_at = NULL")
    assert prune_older(store, NOW).deleted["session"] > 0
    assert import_bazinga(store, db.path).is_noop
    assert rows(store, "SELECT 1 FROM documents WHERE kind NOT IN ('artifact', 'passage')") == []


def test_expired_is_what_outlived_the_ttl_of_its_kind(store: Store) -> None:
    fill(store, "old", OLD)
    assert prune_expired(store, {}, kinds=["package", "event"]).total == 0
    report = prune_expired(store, {"event": 90 * DAY_US, "package": 200 * DAY_US}, now=NOW)
    assert {kind: count for kind, count in report.deleted.items() if count} == {"event": 1, "error": 1}


def test_an_error_pattern_expires_by_its_own_ttl_or_a_shorter_one(store: Store) -> None:
    pattern = patterns.ErrorPattern("p", "h", "E", "m", "ibis", NOW - 10 * DAY_US, OLD, ttl_days=20)
    with store.write() as change:
        patterns.upsert(change, pattern)
        patterns.upsert(change, pattern._replace(pattern_hash="i", ttl_days=9))
    assert prune_expired(store, {"error": 30 * DAY_US}, now=NOW).deleted["error"] == 1
    assert prune_expired(store, {"error": 5 * DAY_US}, now=NOW).deleted["error"] == 1


def test_every_reference_to_what_is_pruned_is_known(store: Store) -> None:
    """Foreign keys are off while pruning: a table that points to such records must be dealt with there, too."""
    pruned = {"packages", "reasoning", "error_patterns", "strategies", "skill_outputs", "events", "sessions", "groups"}
    found_here: set[str] = set()
    for (table,) in rows(store, "SELECT name FROM sqlite_schema WHERE type = 'table'"):
        for key in store.primary.execute(f"PRAGMA foreign_key_list({table})"):
            if key[2] in pruned:
                found_here.add(f"{table}.{key[3]}")
    assert found_here == {
        "groups.session_id", "packages.session_id", "packages.group_id", "packages.supersedes",
        "packages.superseded_by", "package_consumers.package_id", "deliveries.package_id", "reasoning.session_id",
        "reasoning.group_id", "skill_outputs.session_id", "skill_outputs.group_id", "events.session_id",
        "error_signatures.pattern_id", "error_sightings.session_id", "error_sightings.pattern_id",
        "receipts.session_id",
    }  # fmt: skip


def test_references_are_checked_again_afterwards(store: Store) -> None:
    prune_older(store, CUT)
    with pytest.raises(CtxrankError, match="FOREIGN KEY"), store.write() as change:
        create_group(change, 99, "G")


@each_row(
    "arguments, said",
    [
        ([], "--older-than AGE, or --expired"),
        (["--expired", "--older-than", "9d"], "Give one of them"),
        (["--older-than", "soon"], "not a time"),
        (["--older-than", "2999-01-01"], "in the future"),
        (["--older-than", "9d", "--kind", "passage"], "package, reasoning, error, strategy, skill, event, session"),
        (["--expired", "--kind", "session"], "not a kind"),
    ],
)
def test_wrong_use_is_explained(
    store: Store, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["prune", "--db", store.location.primary, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_command_counts_by_kind(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    fill(store, "old", OLD)
    command = ["prune", "--db", store.location.primary, "--older-than", "90d", "--kind", "event", "--kind", "skill"]
    assert run([*command, "--dry-run"]) == 0
    assert re.findall(r"\w+ +\d+ would be removed", capsys.readouterr().out)[-1] == "total      2 would be removed"
    assert run([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["deleted"], answer["total"], answer["dry_run"]) == ({"skill": 1, "event": 1}, 2, False)


def test_expired_follows_the_configuration(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    fill(store, "old", OLD)
    config = Path(store.location.folder) / "config.yaml"
    config.write_text("ttl:\n  reasoning: 90d\n  package: never\n")
    assert run(["prune", "--db", store.location.primary, "--expired", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {kind for kind, count in answer["deleted"].items() if count} == {"reasoning", "error"}


def test_a_package_may_expire_after_iterations_of_its_group(store: Store) -> None:
    for tried in range(3):
        think(store, "developer", "completion", f"try {tried}", iteration=tried, created_at=NOW + 2 * tried)
        save(store, f"{tried}.md", group="G", created_at=NOW + 2 * tried + 1)
    save(store, "of_another_group.md", group="H", created_at=NOW)
    (Path(store.location.folder) / "config.yaml").write_text("ttl: {package: 2 iterations}\n")
    ttl = load_config(store).ttl_us
    assert prune_expired(store, ttl, kinds=["package"]).total == 1
    assert rows(store, "SELECT path FROM packages ORDER BY id") == [("1.md",), ("2.md",), ("of_another_group.md",)]


def test_never_in_the_project_overrules_the_users_ttl(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home" / "ctxrank"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("ttl: {event: 12h, skill: 2w}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent))
    (Path(store.location.folder) / "config.yaml").write_text("ttl: {event: never}\n")
    assert load_config(store).ttl_us == {"skill": 14 * DAY_US}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ttl: 90d", "for each kind"),
        ("ttl: {passage: 90d}", "package, reasoning"),
        ("ttl: {event: 90}", "such as 90d"),
        ("ttl: {event: 0d}", "never"),
        ("ttl: {event: 2026-11-21}", "such as 90d"),
        ("ttl: {event: [1d]}", "such as 90d"),
        ("ttl: {error: 3 iterations}", "such as 90d"),
        ("ttl: {package: 0 iterations}", "such as 90d"),
    ],
)
def test_a_wrong_ttl_says_what_is_allowed(store: Store, text: str, named: str) -> None:
    (Path(store.location.folder) / "config.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        load_config(store)
    assert "config.yaml" in refused.value.message
    assert named in refused.value.hint


def test_what_is_pruned_redacted_and_purged_is_in_the_log_of_removals_without_text(store: Store) -> None:
    fill(store, "old", OLD)
    save(store, "secret.md", "The word is Kq7vXw2mPz9t for the queue.\n", summary="Word")
    prune_older(store, CUT, kinds=["event"])
    forget_secrets(store, ["Kq7vXw2mPz9t"], load_config(store).redaction_mode)
    with store.write() as change:
        change.connection.execute(
            "UPDATE reasoning SET content = 'ghp_' || ?", ("q7VxW2mPz9tKd4RsB8nYc3LfH6jGa1Ue5ToA",)
        )
    redact_again(store, load_config(store).redaction_mode)
    noted = removals(store.primary)
    assert [one.kind for one in noted] == ["redaction", "secret", "event"]
    assert {(one.origin, one.order) for one in noted} == {("", None)} and all(one.removed for one in noted)
