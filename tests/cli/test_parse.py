"""What is read without click is read as click would: every option of every command, and any words at all."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.cli import declare
from ctxrank.cli.call import DURABLE, Call, Reply, imported, run_command
from ctxrank.cli.click_commands import run_by_click
from ctxrank.cli.command_table import GLOBALS, CommandTable
from ctxrank.cli.main import COMMANDS, find_command, run
from ctxrank.cli.parse import read
from ctxrank.indexer.exceptions import UsageError

Called = list[tuple[Call, dict[str, object]]]
_ODD_WORDS = (
    "", "-", "--", "x", "3", "007", "-1", "+1", "1_0", "٣", "9" * 30, "=", "a=b", "--=", "-x", "--no-such", "--json",
    "--jso", "-qv", "-n3", "full", "FULL", "\udc80", "--help", "--version", "-h", "search",
)  # fmt: skip


def _leaves(path: tuple[str, ...], found: declare.Declared | None) -> Iterator[tuple[tuple[str, ...], declare.Command]]:
    if isinstance(found, declare.Group):
        for name, one in found.commands.items():
            yield from _leaves((*path, name), one)
    elif found is not None and found.usage is None:
        yield path, found


DECLARED = {path: one for name in COMMANDS for path, one in _leaves((name,), find_command(name))}


def _options(path: tuple[str, ...]) -> list[declare.Parameter]:
    return [*(one for one in DECLARED[path].parameters if one.is_option), *GLOBALS]


def _spied(path: tuple[str, ...]) -> tuple[declare.Declared, Called]:
    """The command, in its group, with an action that only keeps what it is called with."""
    calls: Called = []

    def keep(call: Call, **values: object) -> Reply:
        calls.append((call, values))
        return Reply()

    module = ModuleType("spied_action")
    module.keep = keep  # type: ignore[attr-defined]
    sys.modules["spied_action"] = module
    command = DECLARED[path]._replace(action="spied_action:keep", prints=())
    found = find_command(path[0])
    if isinstance(found, declare.Command):
        return command, calls
    assert found is not None
    commands = {**found.commands, path[1]: command}
    return declare.Group(path[0], found.help, tuple(commands), commands.__getitem__), calls


def _by_click(path: tuple[str, ...], words: list[str]) -> Called:
    spied, calls = _spied(path)

    def declared(_: CommandTable) -> declare.Declared:
        return spied

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommandTable, "declared", declared)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(UsageError):
            run_by_click(words, {path[0]: COMMANDS[path[0]]})
    return calls


def _plainly(path: tuple[str, ...], words: list[str]) -> Called | None:
    found, calls = _spied(path)
    plain = read(words, {path[0]: found}.get)
    if plain is None:
        return None
    run_command(*plain)
    return calls


def _good_value(option: declare.Parameter) -> str:
    if isinstance(option.type, declare.OneOf):
        return option.type.words[-1]
    return str(option.type.least or 2) if isinstance(option.type, declare.Whole) else "a value"


def _ordinary(path: tuple[str, ...]) -> Iterator[list[str]]:
    """Calls as people and programs write them: each option alone and all at once, with what the command needs."""
    given = [
        [word] if option.is_flag else [word, _good_value(option)]
        for option in _options(path)
        for word in (*option.on_words, *option.off_words)
    ]
    needed = [w for o in DECLARED[path].parameters if o.is_option and o.required for w in (o.on_words[0], "needed")]
    places = [_good_value(o) for o in DECLARED[path].parameters if not o.is_option]
    for words in (*given, [word for one in given for word in one]):
        yield [*path, *needed, *words, *places]
    yield ["--db", "x.db", "--json", *path, *needed, "--", *places]


def _without_a_team(_: object, act: Callable[[], object]) -> object:
    return act()


@pytest.mark.slow
@each_row("path", DECLARED)
def test_ordinary_calls_are_read_without_click_and_as_click_reads_them(path: tuple[str, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:  # what --durable asks of a store is no matter of reading words
        patch.setattr("ctxrank.extensions.team.actions.durably", _without_a_team)
        _are_read_alike(path)


def _are_read_alike(path: tuple[str, ...]) -> None:
    for words in _ordinary(path):
        plain = _plainly(path, words)
        assert plain and plain == _by_click(path, words), words


def test_every_action_is_there_and_takes_what_its_command_declares() -> None:
    wrong = {}
    for path, command in DECLARED.items():
        taken = signature(cast("Callable[..., Reply]", imported(command.action, command.name))).parameters
        names = {one.name for one in command.parameters} - {DURABLE}
        takes_all = any(one.kind is Parameter.VAR_KEYWORD for one in taken.values())
        own = {name for name, one in taken.items() if one.kind is not Parameter.VAR_KEYWORD} - {"call", "store"}
        if not (names == own or (takes_all and own <= names)):
            wrong[path] = names.symmetric_difference(taken)
    assert not wrong


def test_a_folder_that_cannot_be_one_is_left_to_click(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert read(["init", str(tmp_path)], find_command) and read(["init", str(tmp_path / "none")], find_command)
    assert read(["init", str(tmp_path / "file")], find_command) is None


@pytest.mark.slow
@given(st.data())
def test_whatever_is_read_without_click_is_read_as_click_reads_it(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(DECLARED)))
    names = [word for option in _options(path) for word in (*option.on_words, *option.off_words)]
    word = st.one_of(
        st.sampled_from(names), st.sampled_from(_ODD_WORDS), st.text(max_size=5),
        st.builds("{}={}".format, st.sampled_from(names), st.sampled_from(_ODD_WORDS)),
    )  # fmt: skip
    before = data.draw(st.lists(word, max_size=2))
    words = [*before, *path, *data.draw(st.lists(word, max_size=8))]
    plain = _plainly(path, words)
    assert plain is None or plain == _by_click(path, words)


@each_row(
    "words",
    [
        ["search"],
        ["search", "x", "--help"],
        ["search", "x", "-n3"],
        ["search", "x", "-n", "0"],
        ["search", "x", "--limt", "3"],
        [],
    ],
)
def test_what_needs_thought_is_left_to_click(words: list[str]) -> None:
    assert read(words, find_command) is None


def test_a_call_prints_the_same_either_way(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["status", "--db", str(tmp_path / ".ctxrank" / "ctxrank.db")]
    assert run(["init", str(tmp_path)]) == 0
    capfd.readouterr()
    plainly = run(words), capfd.readouterr()
    assert read(words, find_command) is not None
    assert (run_by_click(words, COMMANDS), capfd.readouterr()) == plainly


def test_a_number_below_zero_is_read_where_there_may_be_one() -> None:
    plain = read(["strategy", "helpful", "strategy:1", "--by", "-3"], find_command)
    assert plain is not None and plain[2]["increment"] == -3
    assert read(["search", "x", "-n", "-3"], find_command) is None
