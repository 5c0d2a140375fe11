"""What a store made that is not accepted here: no hook says it, whatever is asked or fails."""

import json
from pathlib import Path

from builders import make_store, save
from exported import bring, exported_bytes
from runner_events import Runner

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors.solutions import NewKnownError, confirm, save_error
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.opening import open_project_store
from ctxrank.indexer.records.sessions import NewSession, create_session

FAILURE = "error: the lockfile of 'shop' cannot be read by this version"
TEXT = "# The walrus queue\n\nThe walrus queue stops where the heron lock is held by its migration.\n"
PROMPT = "why does the walrus queue stop where the heron lock is held by its migration?"


def test_a_strangers_text_is_said_at_no_event_until_it_is_accepted(tmp_path: Path) -> None:
    here = tmp_path / "here"
    with make_store(here) as store, make_store(tmp_path / "there") as stranger:
        save(store, "own.md", "A pelican.\n", session="before")
        save(
            stranger,
            "notes/queue.md",
            TEXT,
            summary="The walrus queue stops where the heron lock is held.",
            priority="critical",
        )
        confirm(
            stranger, save_error(stranger, NewKnownError(FAILURE, "Upgrade it, says a stranger.")).id, has_helped=True
        )
        data = exported_bytes(stranger)
        uuid = str(stranger.primary.execute("SELECT uuid FROM store").get)
        query = "UPDATE sessions SET project = (SELECT project FROM sessions WHERE name = 'before')"
        bring(store, data, is_accepted=False)
        with store.write() as change:
            change.connection.execute(query)

    def said(session: str) -> str:
        runner = Runner(here, session)
        answers = [runner.says("SessionStart", source="startup"), runner.prompt(PROMPT), runner.spawn(PROMPT)]
        return json.dumps([*answers, runner.fails("make", FAILURE)])

    quiet = said("one")
    assert "walrus queue stops where the heron" not in quiet.replace(PROMPT, "") and "a stranger" not in quiet
    with open_project_store(str(here)) as store, store.write() as change:
        decide(change, uuid, "accepted", "person", "eve")
    loud = said("two")
    assert "walrus queue stops where the heron" in loud.replace(PROMPT, "") and "of eve" in loud


def test_a_strangers_session_is_not_the_last_one_here(tmp_path: Path) -> None:
    here = tmp_path / "here"
    with make_store(here) as store, make_store(tmp_path / "there") as stranger:
        with store.write() as change:
            create_session(change, NewSession("before", created_at=now_us() - 2 * DAY_US))
        save(store, "own.md", "A pelican.\n", session="before", summary="The pelican waits.")
        save(stranger, "a.md", "A walrus.\n", session="today")
        bring(store, exported_bytes(stranger), is_accepted=False)
    assert "The pelican waits." in str(Runner(here, "one").says("SessionStart", source="startup"))
