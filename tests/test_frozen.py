"""What users see, frozen: the answer, the notes and the exit code of every command, byte for byte.

A file of `tests/frozen/` is one family of calls, made one after the other. The calls are in `frozen_cases.py`.
`pytest tests/test_frozen.py --rewrite-golden` writes the files again: the diff is what gets reviewed.
"""

import os
import shutil
from pathlib import Path

import pytest
from freezing import START_S, Case, Desk, settle, standing_clock
from frozen_cases import FAMILIES, S
from linked_builders import FIXTURE
from load import load
from predecessor import PredecessorDb

from ctxrank.cli import declare, main
from ctxrank.cli.bazinga import run as bazinga

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


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_of_calls_answers_as_it_did(
    name: str, starts: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    family = FAMILIES[name]
    folder = tmp_path / "root"
    shutil.copytree(starts / family.start, folder)
    desk = Desk(folder, Path(os.environ["XDG_CONFIG_HOME"]))
    _compare(FROZEN / f"{name}.txt", [desk.transcript(case) for case in family.cases], request)


def test_the_help_of_every_command_is_as_it_was(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    desk = Desk(tmp_path, tmp_path)
    lines = ["", *COMMANDS]
    _compare(FROZEN / "help.txt", [desk.transcript(Case(f"{line} --help".strip())) for line in lines], request)


def _compare(page: Path, transcripts: list[str], request: pytest.FixtureRequest) -> None:
    text = "\n".join(transcripts)
    if request.config.getoption("--rewrite-golden"):
        page.write_text(text, encoding="utf-8", newline="")
    assert text.split("\n") == page.read_bytes().decode("utf-8").split("\n")


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
    common = {word for one in declare.GLOBALS for word in one.on_words}
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
