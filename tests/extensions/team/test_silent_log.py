"""A team's log that accepts and says nothing: a search that asked for it goes on without it."""

import time
from pathlib import Path

import pytest
from builders import answer_of, make_store, save
from silent_servers import Manner, falling_silent_as_postgres, silent, standing_in

from ctxrank.cli.main import run
from ctxrank.extensions.team import log as team_log
from ctxrank.extensions.team.state import write_state
from ctxrank.indexer.deadline import ENDLESS, Deadline
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.store.location import TEAM_LOCK
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.team_log import TeamState

_SLACK_S = 3.0  # what a busy machine may take on top

# The second says who connects may write, so that it is asked for the log's version.
pytestmark = pytest.mark.parametrize(
    "manner", [falling_silent_as_postgres, pytest.param(silent, marks=pytest.mark.slow)]
)


@pytest.mark.slow
def test_a_fresh_search_waits_two_seconds(manner: Manner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "The zebra is striped.\n")
        with store.write() as change:
            write_state(change, TeamState("shop", asked_at=1))
        lock = str(Path(store.location.folder) / TEAM_LOCK)
    monkeypatch.chdir(tmp_path)
    # Held, so that no process is started in the background, which has a folder to be gone from.
    with standing_in(manner) as port, only_one(lock, "4711", LockedError):
        monkeypatch.setenv("CTXRANK_TEAM", f"host=127.0.0.1 port={port} user=anna dbname=team sslmode=disable")
        begun = time.monotonic()
        answer = answer_of(lambda: run(["search", "--fresh", "zebra"]))
        assert 1.5 < time.monotonic() - begun < 2 + _SLACK_S
    assert answer.code == 0 and "zebra" in answer.out
    assert "The team's log cannot be asked: the server does not answer in time" in answer.err
    assert "Searched is what is here." in answer.err


def test_no_command_waits_for_ever(manner: Manner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_log, "_SILENCE_S", 0.5)
    with standing_in(manner) as port:
        dsn = f"host=127.0.0.1 port={port} user=anna dbname=team sslmode=disable"
        for deadline in (ENDLESS, Deadline(0.5)):
            begun = time.monotonic()
            with pytest.raises(CtxrankError, match="does not answer in time"), team_log.connect(dsn, "shop", deadline):
                pass
            assert time.monotonic() - begun < 0.5 + _SLACK_S
