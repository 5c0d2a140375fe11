"""Conversations of each real runner: what the model was sent, and what the store holds after.

`CTXRANK_HOOK=true make test-runners` shows that each is about the hook: then none may come out as it should.
"""

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_runners import INSTEAD_OF_HOOK, OTHERS, RealRunner

from ctxrank.cli.agents.event import RUNNERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.runners,
    pytest.mark.xfail(bool(INSTEAD_OF_HOOK), reason="the hook is another command", raises=AssertionError, strict=True),
]

MAKEFILE = 'test:\n\tpython3 -c \'import json; print(json.load(open("prices.json"))["apple"])\'\n'
ERROR = "KeyError: 'apple'"
NOTE = """\
---
ctxrank:
  type: investigation
  priority: high
  summary: Cheques bounce when the ledger rounds twice.
---
# Why cheques bounce

The ledger rounds each entry and then their sum, which differs by a cent from the cheque.
"""
ABOUT_IT = "why do cheques bounce in the ledger?"
MADE = "Cheques bounce when the ledger rounds twice"


@pytest.fixture(params=(*RUNNERS, *OTHERS))
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealRunner]:
    with RealRunner(request.param, tmp_path) as one:
        (one.project / "Makefile").write_text(MAKEFILE)
        (one.project / "prices.json").write_text("{}")
        one.commit()
        yield one


def without(*names: str) -> pytest.MarkDecorator:
    """A conversation that these runners do not tell the hook enough of."""
    return pytest.mark.parametrize("runner", [name for name in (*RUNNERS, *OTHERS) if name not in names], indirect=True)


def repair(runner: RealRunner) -> list[str]:
    """A session in which the tests fail until a price is there."""
    price = "echo '{\"apple\": 3}' > prices.json"
    turns = (runner.shell("make test"), runner.shell(price), runner.shell("make test"), "They pass.")
    return runner.converse("make the tests pass", *turns)


def note(runner: RealRunner) -> None:
    """A session in which the agent writes a note."""
    writes = runner.shell(f"mkdir -p notes && cat > notes/cheques.md <<'END'\n{NOTE}END\n")
    runner.converse("look into the cheques", writes, "It is written down.")


def test_what_failed_is_known_with_the_file_that_mended_it(runner: RealRunner) -> None:
    sent = repair(runner)
    assert len(sent) == 4 and ERROR in sent[1]
    known = runner.only("errors")
    assert "KeyError" in json.dumps(known) and "prices.json" in known["solution"]
    session = runner.only("sessions")
    assert session["title"].strip('"') == "make the tests pass"
    assert runner.name == "opencode" or (session["status"] == "completed" and session["ended_at"])
    came_of = runner.ctxrank("show", f"session:{session['session_id']}")["conversation"]
    assert came_of["changed"] == ["prices.json"] and "prices.json" in came_of["failures"][0]["ended_by"]


def test_the_same_failure_in_the_next_session_gets_the_known_fix(runner: RealRunner) -> None:
    repair(runner)
    (runner.project / "prices.json").write_text("{}")
    sent = runner.converse("run the tests once more", runner.shell("make test"), "They fail.")
    assert "This failure is known" in sent[1] and "prices.json" in sent[1].partition("This failure is known")[2]
    assert "This failure is known" not in sent[0]


def test_a_note_is_a_package_and_the_next_session_is_told(runner: RealRunner) -> None:
    note(runner)
    package = runner.only("packages")
    assert package["summary"].startswith(MADE) and package["file_path"] == "notes/cheques.md"
    sent = runner.converse("thanks!", "You are welcome.")
    assert MADE in sent[0] and "notes/cheques.md" in sent[0]


def test_a_prompt_gets_what_it_is_about_and_small_talk_gets_nothing(runner: RealRunner) -> None:
    note(runner)
    runner.converse("thanks!", "You are welcome.")
    assert MADE not in runner.converse("hello, good morning!", "Good morning.")[0]
    sent = runner.converse(ABOUT_IT, "I see.")
    assert "What ctxrank has on this" in sent[0] and MADE in sent[0]


def test_nothing_is_said_twice_in_a_session(runner: RealRunner) -> None:
    note(runner)
    runner.converse("thanks!", "You are welcome.")
    assert runner.converse(ABOUT_IT, "I see.")[0].count(MADE) == 1
    sent = runner.go_on(ABOUT_IT, f"once more: {ABOUT_IT}", "As I said.")
    assert len(sent) == 2 and sent[1].count(MADE) == 1


def test_a_spawned_agent_gets_the_block_once(runner: RealRunner) -> None:
    note(runner)
    runner.converse("thanks!", "You are welcome.")
    task = "Find out why cheques bounce in the ledger."
    runner.converse("ask another agent", *runner.spawns(task), "It is done.", spawned={task: ("It is the rounding.",)})
    sent = runner.sent(task)[0]
    assert sent.count(MADE) == 1 and "<ctxrank" in sent
    if runner.name in RUNNERS:  # the others name no transcript of an agent
        (told,) = [one["evidence"] for one in runner.ctxrank("doctor")["findings"] if one["id"] == "spawn"]
        assert told == f"{runner.name.replace('-', ' ')}: its last spawn got its block"


@without(*OTHERS)  # they say nothing of an agent's start
def test_an_agent_at_work_is_told_what_another_has_found(runner: RealRunner) -> None:
    (runner.project / "cheques.md").write_text(NOTE.rpartition("---\n")[2])
    another = f"{sys.executable} -m ctxrank save cheques.md --session another --summary '{MADE}.' > /dev/null\n"
    (runner.project / "meanwhile.sh").write_text(another)
    task = "Find out why cheques bounce in the ledger."
    turns = (runner.shell("sh meanwhile.sh"), runner.shell("ls"), "It is the rounding.")
    runner.converse("ask another agent", *runner.spawns(task), "It is done.", spawned={task: turns})
    first, second, third = runner.sent(task)
    assert MADE not in first and second.count("Found by others since this task began:") == 1 and MADE in second
    assert third.count(MADE) == 1  # what was said stays, and is not said again


def test_a_secret_that_a_command_printed_is_not_kept(runner: RealRunner) -> None:
    secret = "ghp_" + secrets.token_hex(18)
    (runner.project / "log.py").write_text(f"raise SystemExit('ConnectionError: token {secret} refused by host')\n")
    runner.converse(
        "run the log", runner.shell("python3 log.py"), f"Completion: the host refused the token {secret} twice."
    )
    stored = runner.stored()
    assert b"refused" in stored and b"ConnectionError" in stored and secret.encode() not in stored


@without("copilot-cli")  # its Stop has no message
def test_the_last_message_is_kept_as_reasoning(runner: RealRunner) -> None:
    said = "We keep prices as whole cents, since a float cannot hold a tenth, and the ledger sums them."
    runner.converse("how do we keep prices?", f"## Decisions\n\n{said}")
    session = runner.only("sessions")
    kept = runner.only("reasoning", "--session", session["session_id"])
    assert (kept["phase"], kept["content"]) == ("decisions", said)


@without(*OTHERS)  # their transcripts are not read
def test_the_end_of_a_session_brings_in_its_transcript(runner: RealRunner) -> None:
    price = runner.project.parent / "price"  # no hook sees a change there
    for _ in range(2):
        price.unlink(missing_ok=True)
        look = runner.shell("cat ../price")
        runner.converse("what is the price?", look, runner.shell("echo 3 > ../price"), look, "It is 3.")
    again = runner.ctxrank("import", "transcripts", "--runner", runner.name)
    assert (again["sessions"], again["failures"], again["entries"]) == (0, 0, 0)
    known = runner.only("errors")
    assert (known["state"], known["solution"]) == ("confirmed", "`echo 3 > ../price`")


def test_a_tool_of_ours_answers_over_mcp(runner: RealRunner) -> None:
    note(runner)
    call = runner.mcp_tool("search", {"query": "cheques ledger"})
    sent = runner.converse("look it up", runner.shell("sleep 4"), call, "I see.")
    assert MADE in sent[2]
