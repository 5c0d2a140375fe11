"""Conversations that a search finds, where a project keeps them: what comes in, how long, and where it never goes."""

import json
import os
import secrets
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from exported import exported_bytes
from runner_events import Runner, configure

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.cli.main import run
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.opening import open_project_store
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest

_ASKED = "why does the frobnicator of the worker queue stop at midnight?"
_ANSWERED = "The frobnicator stops because its lease ends at midnight and no worker renews it."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    make_store(folder).close()
    configure(folder, "hooks: {keep: conversations}\n")
    return folder


def _line(folder: Path, session: str, kind: str, content: object, at_us: int) -> str:
    message = {"role": kind, "content": content}
    fields = {"type": kind, "timestamp": format_us(at_us), "sessionId": session, "cwd": str(folder), "message": message}
    return json.dumps(fields) + "\n"


def _converse(
    folder: Path, session: str = "one", asked: str = _ASKED, answered: str = _ANSWERED, age_us: int = 0
) -> None:
    """A session with one question, an edit and an answer, and its end."""
    at = now_us() - age_us
    path = folder.parent / f"{session}.jsonl"
    changed = {"file_path": str(folder / "src" / "lease.py"), "old_string": "1", "new_string": "2"}
    edit = {"type": "tool_use", "id": "t1", "name": "Edit", "input": changed}
    lines = [
        ("user", "<command-name>/clear</command-name>"), ("user", asked), ("assistant", [edit]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]),
        ("assistant", [{"type": "text", "text": answered}]),
    ]  # fmt: skip
    path.write_text("".join(_line(folder, session, kind, content, at) for kind, content in lines))
    Runner(folder, session).says("SessionEnd", transcript_path=str(path), reason="other")


def _hits(folder: Path, *words: str, **given: Any) -> Any:
    call = Call(db=str(folder / ".ctxrank" / "ctxrank.db"))
    return ask(call, "search", {"query": " ".join(words), "is_unfolded": True, **given}).payload["hits"]


def test_what_was_said_is_found_by_its_session(shop: Path) -> None:
    _converse(shop)
    hits = _hits(shop, "frobnicator midnight", kinds=("conversation",))
    assert [(one["title"], one["agent"]) for one in hits] == [(_ASKED, None), (_ASKED, "developer")]
    with open_project_store(str(shop)) as store:
        (session,) = (store.primary.execute("SELECT metadata FROM sessions").get,)
    assert json.loads(session) == {"title": _ASKED, "runner": "claude-code", "changed": ["src/lease.py"]}


def test_a_second_import_brings_nothing_twice(shop: Path) -> None:
    for _ in range(2):
        _converse(shop)
    assert len(_hits(shop, "frobnicator", kinds=("conversation",))) == 2


def test_an_import_that_was_killed_is_done_again_and_brings_nothing_twice(shop: Path) -> None:
    _converse(shop)
    with open_project_store(str(shop)) as store, store.write() as change:
        change.connection.execute("DELETE FROM settings WHERE key GLOB 'transcript:*'")  # what it writes last
    Runner(shop, "one").says("SessionEnd", transcript_path=str(shop.parent / "one.jsonl"), reason="other")
    assert len(_hits(shop, "frobnicator", kinds=("conversation",))) == 2


def test_nothing_of_it_is_kept_unasked(shop: Path) -> None:
    configure(shop, "hooks: {keep: off}\n")
    _converse(shop)
    assert not _hits(shop, "frobnicator", kinds=("conversation",))
    with open_project_store(str(shop)) as store:
        assert store.primary.execute("SELECT count(*) FROM extensions").get == 0


def test_it_is_put_before_no_model(shop: Path) -> None:
    _converse(shop)
    later = Runner(shop, "two")
    assert later.hears("SessionStart", source="startup") == "" and later.prompt(_ASKED) == ""
    assert later.spawn(_ASKED) is None
    with open_project_store(str(shop)) as store:
        request = AssembleRequest("two", "developer", None, _ASKED, reach="project")
        assert "lease ends" not in assemble(store, request).text


def test_it_is_redacted_and_private_text_is_left_out(shop: Path) -> None:
    secret = "ghp_" + secrets.token_hex(18)
    _converse(
        shop, asked=f"deploy with {secret}, <private>says Ada</private> please", answered=f"Deployed with {secret}."
    )
    stored = b"".join(path.read_bytes() for path in (shop / ".ctxrank").rglob("*") if path.is_file())
    assert b"Deployed with" in stored and secret.encode() not in stored and b"says Ada" not in stored


def test_it_is_dropped_when_it_is_old_and_by_a_purge(shop: Path) -> None:
    _converse(shop, "old", age_us=89 * DAY_US)
    _converse(shop, "new")
    assert len(_hits(shop, "frobnicator", kinds=("conversation",))) == 4
    with open_project_store(str(shop)) as store, store.write() as change:
        change.connection.execute("UPDATE conversations SET created_at = created_at - ?", (2 * DAY_US,))
    Runner(shop, "new").says("SessionEnd", reason="other")
    assert len(_hits(shop, "frobnicator", kinds=("conversation",))) == 2
    assert run(["--db", str(shop / ".ctxrank" / "ctxrank.db"), "purge", "--session", "new"]) == 0
    assert not _hits(shop, "frobnicator", kinds=("conversation",))


def test_an_export_leaves_it_out_and_the_doctor_finds_nothing(shop: Path) -> None:
    _converse(shop)
    with open_project_store(str(shop)) as store:
        exported = exported_bytes(store)
    assert b"src/lease.py" in exported and b'"conversation"' not in exported
    assert run(["--db", str(shop / ".ctxrank" / "ctxrank.db"), "doctor", "--deep"]) == 0


def test_a_project_cannot_switch_on_what_its_user_has_off(shop: Path) -> None:
    user = Path(os.environ["XDG_CONFIG_HOME"], "ctxrank", "config.yaml")
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text("hooks: {keep: off}\n")
    try:
        _converse(shop)
        assert not _hits(shop, "frobnicator", kinds=("conversation",))
    finally:
        user.unlink()


def test_another_word_is_refused(shop: Path) -> None:
    configure(shop, "hooks: {keep: everything}\n")
    with pytest.raises(UsageError, match="keep"):
        _hits(shop, "frobnicator")
