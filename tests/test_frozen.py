"""What users see, frozen: the answer, the notes and the exit code of every command, byte for byte.

A file of `tests/frozen/` is one family of calls, made one after the other. The calls are in `frozen_cases.py`.
An answer is in full where its call is the first with an option, a format or an exit code, and where it is short; of the
other calls, the crossings, there is a digest (`frozen_page.py`). A failure names each call whose answer changed and
shows what changed in it: what a digest is of is in pytest's cache since the run that passed last.
`pytest tests/test_frozen.py --rewrite-golden` writes the files again and prints the same: that is what gets reviewed.
"""

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from declared_answers import checked_command
from freezing import START_S, Case, Desk, settle, standing_clock
from frozen_cases import FAMILIES, S
from frozen_page import FrozenPage
from linked_builders import FIXTURE
from load import load
from predecessor import PredecessorDb

from ctxrank.cli import declare, main
from ctxrank.cli.command_table import GLOBALS
from ctxrank.extensions.bazinga import run as bazinga

FROZEN = Path(__file__).parent / "frozen"


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders that families start from, each made once."""
    home = tmp_path_factory.mktemp("starts")
    for name in {family.start for family in FAMILIES.values()}:
        folder = home / name
        folder.mkdir()
        with standing_clock(START_S):
            _make(name, folder)
        settle(folder)
    return home


def _make(name: str, folder: Path) -> None:
    if name == "shop":
        load(str(folder)).close()
    elif name == "contextia":
        shutil.copytree(FIXTURE, folder, dirs_exist_ok=True)
        settle(folder)
        _prepare(folder, "init", "index")
    elif name == "predecessor":
        PredecessorDb(folder / "bazinga" / "bazinga.db").fill()
    elif name.startswith("bazinga"):
        (folder / ".claude").mkdir()
        (folder / "bazinga").mkdir()
        if name == "bazinga session":
            _prepare(
                folder,
                f"bazinga create-session {S} parallel 'Refresh the tokens'",
                f"bazinga create-task-group AUTH {S} 'Sign in'",
            )


def _prepare(folder: Path, *lines: str) -> None:
    desk = Desk(folder, folder)
    for line in lines:
        assert "\nexit 0\n" in desk.transcript(Case(line))


@pytest.fixture(autouse=True)
def _settled_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # help is as wide as the terminal
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in ("NO_COLOR", "BAZINGA_ROOT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "eval" else name for name in FAMILIES]
)
def test_a_family_of_calls_answers_as_it_did(
    name: str, starts: Path, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    family = FAMILIES[name]
    folder = tmp_path / "root"
    shutil.copytree(starts / family.start, folder)
    desk = Desk(folder, Path(os.environ["XDG_CONFIG_HOME"]))
    answers = [desk.transcript(case) for case in family.cases]
    for answer in answers:
        checked_command(answer)
    _compare(name, answers, _first_of_their_kind(name, answers), request, capsys)


def test_the_help_of_every_command_is_as_it_was(
    tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(tmp_path, tmp_path)
    answers = [desk.transcript(Case(f"{line} --help".strip())) for line in ["", *COMMANDS]]
    _compare("help", answers, set(range(len(answers))), request, capsys)


def _compare(
    name: str, answers: list[str], in_full: set[int], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    page = FrozenPage(FROZEN / f"{name}.txt", answers, in_full)
    cache: pytest.Cache | None = getattr(request.config, "cache", None)  # none where it is switched off
    kept = cache.mkdir("frozen") if cache else request.getfixturevalue("tmp_path")
    changes = page.changes(kept)
    if request.config.getoption("--rewrite-golden"):
        page.write()
        with capsys.disabled():
            print("".join(f"\n{line}" for line in changes), end="")
    else:
        assert not changes, "\n".join(changes)
        assert page.is_as_written()
    page.keep(kept)


def test_every_page_belongs_to_a_family() -> None:
    assert {page.stem for page in FROZEN.iterdir()} == {*FAMILIES, "help"}


def test_every_command_and_every_option_is_in_a_frozen_call() -> None:
    called = {
        (name, word.partition("=")[0])
        for family in FAMILIES.values()
        for case in family.cases
        for name in _called(case.arguments)
        for word in ["", *case.arguments]
    }
    missing = [
        f"{name} {'/'.join(words)}".rstrip()
        for name, command in COMMANDS.items()
        if name not in ("mcp", "serve", "web")  # they serve until they are ended: tests/cli/agents asks them
        for words in [[""], *_options(command)]
        if not any((name, word) in called for word in words)
    ]
    assert not missing


def test_every_command_of_the_predecessor_is_in_a_frozen_call() -> None:
    words = {
        word for family in FAMILIES.values() for case in family.cases for word in _after("bazinga", case.arguments)
    }
    assert not bazinga.COMMANDS.keys() - words


def _first_of_their_kind(name: str, answers: list[str]) -> set[int]:
    """The numbers of the calls that are the first of all with an option, or their family's first with an exit code."""
    met = {kind for other in itertools.takewhile(name.__ne__, FAMILIES) for kind in _kinds_of_family(other)}
    numbers: set[int] = set()
    for number, (case, answer) in enumerate(zip(FAMILIES[name].cases, answers, strict=True)):
        kinds = {*_kinds(case.arguments), *re.findall(r"^exit [1-9]\d*$", answer, re.MULTILINE)[:1]}
        if kinds - met:
            numbers.add(number)
        met |= kinds
    return numbers


@cache
def _kinds_of_family(name: str) -> set[str]:
    return {kind for case in FAMILIES[name].cases for kind in _kinds(case.arguments)}


def _kinds(words: list[str]) -> Iterator[str]:
    """Each option of a call, with the value of one that says how an answer looks."""
    own = words[: words.index("--")] if "--" in words else words
    for word, value in zip(own, [*own[1:], ""], strict=False):
        if word.startswith("-"):
            option, _, joined = word.partition("=")
            looks = (joined or value) if option in ("--format", "--depth") else ""
            yield " ".join([*_called(words), option, looks])


def _called(words: list[str]) -> list[str]:
    """The command that a call names, and the one of a group in it."""
    name = next((word for word in words if word in main.COMMANDS), "")
    inner = next((f"{name} {word}" for word in _after(name, words) if f"{name} {word}" in COMMANDS), "")
    return [name, inner]


def _after(name: str, words: list[str]) -> list[str]:
    return words[words.index(name) + 1 :] if name in words else []


def _options(command: object) -> list[list[str]]:
    """The spellings of each option that a command has of its own."""
    if isinstance(command, declare.Command):
        return [[*one.on_words, *one.off_words] for one in command.parameters if one.is_option]
    common = {word for one in GLOBALS for word in one.on_words}
    given = [[*one.opts, *one.secondary_opts] for one in getattr(command, "params", ())]
    return [words for words in given if words[0].startswith("-") and not common & set(words)]


def _commands() -> dict[str, object]:
    """Every command, and every command of a group: `package save`."""
    commands: dict[str, object] = {}
    for name in main.COMMANDS:
        found = commands[name] = main.find_command(name)
        commands |= {f"{name} {inner}": one for inner, one in getattr(found, "commands", {}).items()}
    return commands


COMMANDS = _commands()
