"""What a runner's session leaves that a person can read: its title, its end, what was changed, failed and decided."""

import contextlib
import io
import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from runner_events import Runner, configure

from ctxrank.cli.main import run
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.errors.solutions import NewKnownError, confirm, save_error
from ctxrank.indexer.opening import open_project_store
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest

_ID = "3f0c9a52-7d51-4a0e-9d3e-0b8f6c1e2a44"
_KEY_ERROR = "Traceback (most recent call last):\n  File \"shop.py\", line 3, in <module>\nKeyError: 'apple'"
_NOTE = (
    "---\nctxrank:\n  type: decisions\n  priority: high\n  summary: Prices are whole cents.\n---\n# Prices\n\nCents.\n"
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    make_store(tmp_path).close()
    return tmp_path


def _printed(folder: Path, *words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run(["--db", str(folder / ".ctxrank" / "ctxrank.db"), *words]) == 0
    return out.getvalue()


def _shown(folder: Path, session: str) -> Any:
    return json.loads(_printed(folder, "--json", "show", f"session:{session}"))


def _repair(folder: Path) -> Runner:
    """A conversation in which the tests fail until a price is there, and a note is written."""
    runner = Runner(folder, _ID)
    runner.prompt("make the tests\npass")
    runner.fails("make test", _KEY_ERROR)
    (folder / "prices.json").write_text("{}")
    runner.succeeds("make test")
    (folder / "notes").mkdir()
    (folder / "notes" / "prices.md").write_text(_NOTE)
    runner.stops("## Decisions\n\nWe keep prices as whole cents, since a float cannot hold a tenth.")
    runner.says("SessionEnd", reason="other")
    return runner


def test_a_conversation_says_what_was_changed_failed_and_decided(shop: Path) -> None:
    _repair(shop)
    shown = _shown(shop, _ID)
    assert (shown["session"]["title"], shown["session"]["status"]) == ("make the tests pass", "completed")
    assert shown["session"]["ended_at"] and shown["conversation"]["changed"] == ["prices.json"]
    (failure,) = shown["conversation"]["failures"]
    assert "KeyError" in failure["error"] and failure["resolved_at"] and "prices.json" in failure["ended_by"]
    assert shown["conversation"]["decisions"][0].startswith("We keep prices as whole cents")
    printed = _printed(shop, "show", f"session:{_ID}")
    assert printed.startswith("make the tests pass\n") and "   changed: prices.json\n" in printed
    assert "   failed: " in printed and "still open" not in printed and "   decided: We keep prices" in printed


def test_lists_search_and_blocks_name_it_by_its_title(shop: Path) -> None:
    _repair(shop)
    assert _printed(shop, "list", "sessions").startswith("make the tests pass · ")
    found = _printed(shop, "search", "cents")
    assert '"make the tests pass"' in found and _ID not in found
    (hit, *_) = json.loads(_printed(shop, "--json", "search", "cents", "--kind", "package"))["hits"]
    assert (hit["session_id"], hit["session_title"]) == (_ID, "make the tests pass")
    Runner(shop, "two").prompt("what is a price?")
    with open_project_store(str(shop)) as store:
        block = assemble(store, AssembleRequest("two", "developer", None, "prices in cents", reach="project")).text
    assert 'from session "make the tests pass"' in block and _ID not in block


def test_a_session_ends_and_goes_on_with_the_next_prompt(shop: Path) -> None:
    runner = _repair(shop)
    runner.prompt("and once more")
    session = _shown(shop, _ID)["session"]
    assert (session["title"], session["status"], session["ended_at"]) == ("make the tests pass", "active", None)


def test_a_session_of_which_nothing_is_heard_for_a_week_has_ended(shop: Path) -> None:
    Runner(shop, "old").prompt("look into the queue")
    Runner(shop, "busy").prompt("look into the cheques")
    with open_project_store(str(shop)) as store, store.write() as change:
        change.connection.execute("UPDATE sessions SET created_at = created_at - ?", (8 * DAY_US,))
    Runner(shop, "busy").stops("We looked into the cheques and found that they bounce twice a day.")
    Runner(shop, "new").prompt("hello there")
    ended = {name: _shown(shop, name)["session"] for name in ("old", "busy", "new")}
    assert {name: one["status"] for name, one in ended.items()} == {
        "old": "completed",
        "busy": "active",
        "new": "active",
    }
    assert ended["old"]["ended_at"] == ended["old"]["created_at"]


def test_a_title_is_redacted_and_leaves_out_what_is_private(shop: Path) -> None:
    secret = "ghp_" + secrets.token_hex(18)
    Runner(shop, "one").prompt(f"<private>for Ada</private>deploy with {secret} now")
    title = _shown(shop, "one")["session"]["title"]
    assert title.startswith("deploy with") and secret not in title and "Ada" not in title


def test_a_command_of_the_runner_is_no_title_and_a_long_prompt_is_cut(shop: Path) -> None:
    runner = Runner(shop, "one")
    runner.prompt("/clear")
    runner.prompt("why does the queue stop at night when the backup runs and the disk is busy, " * 3)
    title = _shown(shop, "one")["session"]["title"]
    assert title.startswith("why does the queue") and len(title) <= 83 and title.endswith("...")


def test_where_nothing_is_kept_there_is_no_session(shop: Path) -> None:
    configure(shop, "hooks: {learn: off}\n")
    Runner(shop, "one").prompt("make the tests pass")
    with open_project_store(str(shop)) as store:
        assert store.primary.execute("SELECT count(*) FROM sessions").get == 0


def test_an_error_that_a_prompt_was_given_is_known_when_it_is_printed(shop: Path) -> None:
    """What was injected is no echo of ours when a tool prints it: the failure itself."""
    with open_project_store(str(shop)) as store:
        error = save_error(store, NewKnownError("ImportError: libfrob.so.1: cannot open shared object file", "Get it."))
        confirm(store, error.id, has_helped=True)
        store.catch_up()
    assert "libfrob" in Runner(shop, "one").prompt("the import of libfrob cannot open its shared object file")
    output = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import frob\n'
    failed = f"{output}ImportError: libfrob.so.1: cannot open shared object file"
    assert "Get it." in Runner(shop, "two").fails("python a.py", failed)


def test_an_error_that_a_note_quotes_is_known_when_it_is_printed(shop: Path) -> None:
    line = "ImportError: libfrob.so.1: cannot open shared object file"
    (shop / "notes").mkdir()
    (shop / "notes" / "frob.md").write_text(_NOTE.replace("Cents.", f"The import of libfrob failed:\n\n{line}"))
    Runner(shop, "one").stops("")
    with open_project_store(str(shop)) as store:
        save_error(store, NewKnownError(line, "Get it."))
        store.catch_up()
    assert line in Runner(shop, "two").prompt("why can libfrob of the import not open its shared object file?")
    assert "Get it." in Runner(shop, "three").fails("python a.py", line)
