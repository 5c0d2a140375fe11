"""What doctor's checks say in words: how much is named, whose blocks arrived, which leftovers are nobody's."""

import os
from pathlib import Path

import pytest
from damage import closed

from ctxrank.indexer.care.environment_checks import leftovers, wrong_modes
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Finding, Result
from ctxrank.indexer.care.replacement import TRIAL
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.records.spawns import note_block
from ctxrank.indexer.store.location import Location


def checked(location: Location, check: str) -> Finding:
    """The finding of one deep check."""
    return next(finding for finding in examine(location, is_deep=True) if finding.id == check)


@pytest.mark.parametrize(("gone", "more"), [(4, ""), (6, " and 2 more")])
def test_four_files_are_named_and_the_rest_is_counted(loaded: Location, gone: int, more: str) -> None:
    files = sorted(Path(loaded.root, "artifacts").rglob("*.md"))[:gone]
    for file in files:
        file.unlink()
    named = ", ".join(str(file.relative_to(loaded.root)) for file in files[:4])
    assert checked(loaded, "artifacts").evidence == f"{gone} gone: {named}{more}"


@pytest.mark.parametrize(("wrong", "more"), [(5, ""), (7, " and 2 more")])
def test_five_documents_are_named_and_the_rest_is_counted(loaded: Location, wrong: int, more: str) -> None:
    with open_store(loaded.primary) as store:
        query = "UPDATE documents SET priority = 'low' WHERE kind = 'package' AND record_id <= ? RETURNING id"
        numbers = sorted(number for (number,) in store.primary.execute(query, (wrong,)))
        closed(store)
    named = ", ".join(map(str, numbers[:5]))
    assert checked(loaded, "index-postings").evidence.endswith(f" {named}{more}")


def test_each_runners_last_spawn_is_told(loaded: Location) -> None:
    with open_store(loaded.primary) as store:
        with store.write() as change:
            for runner, prompt, has_arrived in (("a-one", "p", True), ("b", "p", False), ("c", "", False)):
                if prompt:
                    note_block(change, runner, "prompt", prompt)
                note_block(change, runner, "has_arrived", int(has_arrived))
        closed(store)
    told = [(one.evidence, one.result) for one in examine(loaded) if one.id == "spawn"]
    assert told == [
        ("a one: its last spawn got its block", Result.OK),
        ("b: its last spawn did not get its block with the prompt; it comes at SubagentStart", Result.WARN),
        ("c: its last spawn did not get the block that came at SubagentStart", Result.WARN),
    ]


def test_a_trial_of_a_living_process_is_no_leftover(loaded: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (f"{TRIAL}{os.getpid()}", f"{TRIAL}999999999", f"{TRIAL}x", "other"):
        Path(loaded.folder, name).mkdir()
    Path(f"{loaded.primary}-journal").touch()
    Path(f"{loaded.index_file}-journal").write_text("x")
    Path(loaded.folder, "another-journal").touch()
    names = [os.path.basename(path) for path in leftovers(loaded)]
    assert names == sorted([f"{TRIAL}999999999", f"{TRIAL}x", "ctxrank.db-journal"])

    def of_another_user(number: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr("os.kill", of_another_user)
    assert [os.path.basename(path) for path in leftovers(loaded)] == [f"{TRIAL}x", "ctxrank.db-journal"]


@pytest.mark.parametrize(
    ("mode", "is_wrong"), [(0o600, False), (0o700, False), (0o640, True), (0o604, True), (0o400, True)]
)
def test_a_file_that_others_read_or_we_cannot_write_is_of_a_wrong_mode(
    loaded: Location, mode: int, is_wrong: bool
) -> None:
    os.chmod(loaded.folder, 0o700)
    for path in loaded.database_files:
        if os.path.exists(path):
            os.chmod(path, 0o600)
    os.chmod(loaded.primary, mode)
    assert list(wrong_modes(loaded)) == [(loaded.primary, mode, 0o600)] * is_wrong


def test_a_store_of_another_user_is_told_by_its_folder(loaded: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.stat(loaded.primary).st_uid + 1
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert checked(loaded, "permissions").evidence == f"{loaded.folder} belongs to another user"
