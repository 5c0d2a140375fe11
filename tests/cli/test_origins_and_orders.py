"""`origins`, and the orders to forget that came in a file: what is listed, decided and refused, with what code."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import Answer, answer_of, make_store, save
from exported import bring, exported_bytes, uuid_of
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.clock import format_day, now_us
from ctxrank.indexer.privacy.purge import forget_path
from ctxrank.indexer.store.origins import known_origins

_Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a store that took in a file of another one, which it does not know, with two orders to forget."""
    folder = tmp_path_factory.mktemp("told")
    with make_store(folder / "anna") as anna, make_store(folder / "ben") as ben:
        for name in ("notes", "plans"):
            save(anna, f"{name}/own.md", "walrus\n")
            save(ben, f"{name}/a.md", "zebra\n", summary="zebra")
            (folder / "anna" / name / "own.md").unlink()
        save(anna, "kept.md", "heron\n", summary="heron")
        for name in ("notes", "plans"):
            forget_path(anna, name)
        bring(ben, exported_bytes(anna), is_accepted=False)
        return folder, uuid_of(anna)


@pytest.fixture
def ask(told: tuple[Path, str], tmp_path: Path) -> _Ask:
    """A command on a copy of that store."""
    shutil.copytree(told[0] / "ben", tmp_path / "ben")
    db = str(tmp_path / "ben" / ".ctxrank" / "ctxrank.db")
    return lambda *words: answer_of(lambda: run(["--db", db, *words]))


@each_row(
    "words, says",
    [
        (["accept"], "'origins accept' needs an ORIGIN, or the number of an order."),
        (["revoke"], "'origins revoke' needs an ORIGIN"),
        (["agree"], "'origins agree' needs an ORIGIN"),
        (["decline"], "'origins decline' needs an ORIGIN"),
        (["undo"], "'origins undo' needs an ORIGIN"),
        (["list", "x"], "Too many words."),
        (["pending", "1"], "Too many words."),
        (["removed", "1"], "Too many words."),
        (["refuse", "0123abcd", "anna"], "'origins refuse' needs an ORIGIN"),  # only who is accepted gets a name
        (["agree", "1", "anna"], "needs an ORIGIN"),
    ],
)
def test_what_needs_an_origin_gets_one_and_nothing_else_does(
    told: tuple[Path, str], words: list[str], says: str
) -> None:
    db = str(told[0] / "ben" / ".ctxrank" / "ctxrank.db")
    answer = answer_of(lambda: run(["--db", db, "origins", *words]))
    assert (answer.code, answer.out) == (2, "") and says.partition(" needs")[0] in answer.err


def test_a_store_that_is_not_known_is_asked_about_until_it_is_decided(ask: _Ask, told: tuple[Path, str]) -> None:
    code, today = told[1][:8], format_day(now_us())
    assert ask("origins").out == f"{code}  asked  1 records\n" == ask("origins", "list").out
    assert f"{code} is not accepted: 1 records are found and said nowhere unasked." in ask("status").err
    for does, state in (("refuse", "refused"), ("revoke", "revoked")):
        assert ask("origins", does, code).out == f"{code}  {state} by person, {today}  1 records\n"
    named = f"{code}  accepted by person, {today}  1 records  anna\n"
    assert ask("origins", "accept", code, "anna").out == named == ask("origins").out
    assert "accept" not in ask("status").err, "a person has decided, who need not be told"
    assert ask("origins", "accept", "0" * 8).code == 1


def _waiting(ask: _Ask) -> list[str]:
    """What `origins pending` lists, but for the line that says there is nothing."""
    return [line for line in ask("origins", "pending").out.splitlines() if line != "no order waits"]


def test_orders_wait_are_counted_and_go_one_by_one_or_all_at_once(ask: _Ask, told: tuple[Path, str]) -> None:
    today = format_day(now_us())
    orders = [f"{number}  {today}  a path: 1 records of others; by {told[1]}, in a file" for number in (1, 2)]
    assert _waiting(ask) == orders and ask("origins", "pending").code == 7
    assert "orders to forget wait for you: 2 (" in ask("status").err
    assert (ask("origins", "agree", "3").code, len(_waiting(ask))) == (1, 2)
    declined = ask("origins", "decline", "1")
    assert (declined.code, declined.out.splitlines()) == (7, ["declined: 1", *orders[1:]])
    agreed = ask("origins", "agree", "all")
    assert (agreed.code, agreed.out) == (0, "carried out: 2\nno order waits\n") and ask("origins", "pending").code == 0
    assert "a.md" in ask("search", "zebra").out
    removed = ask("origins", "removed").out.splitlines()
    assert removed and all(line.endswith(f"by {told[1]}, order {line.split()[-1]}") for line in removed)


def test_what_was_removed_here_is_said_to_be_from_here(ask: _Ask) -> None:
    assert ask("origins", "removed").out == "nothing was removed\n"
    assert ask("purge", "package:1").code == 0
    assert {line.split("  ")[-1] for line in ask("origins", "removed").out.splitlines()} == {"here"}


def test_what_a_stranger_s_store_brought_is_taken_out_whole(ask: _Ask, told: tuple[Path, str]) -> None:
    assert ask("search", "heron").code == 0
    assert ask("purge", "--origin", told[1][:8]).code == 0
    assert ask("search", "heron").code == 1 and "a.md" in ask("search", "zebra").out


def test_the_words_for_a_store_that_is_accepted_by_the_team_s_log_alone_are_said_once(
    ask: _Ask, tmp_path: Path, told: tuple[Path, str]
) -> None:
    with make_store(tmp_path / "ben") as store:
        store.primary.execute("UPDATE origins SET state = 'accepted', is_told = 0")
        assert [one.state for one in known_origins(store.primary)] == ["accepted"]
    assert f"{told[1][:8]} is accepted: it came through the team's log." in ask("status").err
    assert "came through" not in ask("status").err
