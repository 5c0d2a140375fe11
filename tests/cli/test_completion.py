"""The completion scripts know every command and option; bash completes with its own in a real shell."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tables import each_row

from ctxrank.cli import declare
from ctxrank.cli.completion import script_of, word_list
from ctxrank.cli.main import COMMANDS, declared_commands, run
from ctxrank.cli.schema import commands_of
from ctxrank.indexer.extensions import EXTENSIONS

WORDS = tuple(word_list(declared_commands()))
PLACES = [place for place in dict.fromkeys(place for place, _, _ in WORDS) if place != "*"]
_ASK = """
source "$1"
shift
COMP_WORDS=(ctxrank "$@")
COMP_CWORD=$#
_ctxrank
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    (folder / "notes.md").write_text("")
    (folder / "docs").mkdir()
    for shell in ("bash", "zsh", "fish"):
        (folder / f".{shell}").write_text(_script(shell), encoding="utf-8")
    return folder


def _script(shell: str) -> str:
    return script_of(shell, declared_commands())


def _completed(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", _ASK, "ask", str(folder / ".bash"), *words],
        cwd=folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.needs("mcp")
@each_row(
    "words, wanted",
    [
        (["se"], ["search", "session", "serve"]),
        (["package", ""], ["save", "supersede", "consume"]),
        (["package", "save", "--sess"], ["--session"]),
        (["package", "save", "--session", "se"], []),
        (["--db", "x.db", "-q", "error", "ma"], ["match"]),
        (["show", "12", "--depth", ""], ["meta", "summary", "full"]),
        (["show", "--depth", "fu"], ["full"]),
        (["assemble", "--no-rea"], ["--no-reasoning"]),
        (["assemble", "--session", "package", "--task-f"], ["--task-file"]),
        (["assemble", "--task-file", "no"], ["notes.md"]),
        (["search", "--jso"], ["--json"]),
        (["index", "do"], ["docs"]),
        (["--db", "no"], ["notes.md"]),
        (["completion", "z"], ["zsh"]),
        (["list", "er"], ["errors"]),
        (["eval", "docs", "--se"], ["--seed"]),
        (["bazinga", "get-ev"], ["get-events"]),
        (["init", ""], ["docs"]),
        (["search", "package", "sa"], []),
    ],
)
def test_bash_completes(words: list[str], wanted: list[str], folder: Path) -> None:
    assert _completed(folder, *words) == wanted


@pytest.mark.slow
@each_row("place", PLACES)
def test_bash_offers_every_word_of_every_command(place: str, folder: Path) -> None:
    options = {word for where, word, _ in WORDS if where in (place, "*") and word}
    values = {one for where, word, takes in WORDS if where == place and not word for one in takes.split()}
    assert options == set(_completed(folder, *place.split(), "-"))
    offered = _completed(folder, *place.split(), "")
    assert {one for one in values if one[0] not in "<*"} <= set(offered)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_scripts(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: its script's syntax is not checked here")
    done = subprocess.run([shell, "-n", str(folder / f".{shell}")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs(*EXTENSIONS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_holds_every_command_and_every_option(shell: str, folder: Path) -> None:
    script = (folder / f".{shell}").read_text(encoding="utf-8")
    listed = script.partition("printf '%s\\n' '")[2].partition("' | awk")[0]
    assert listed.split("\n") == ["\t".join(line) for line in WORDS]
    assert "'" not in listed and "\\" not in listed, "it stands between single quotes"
    assert set(COMMANDS) == set(WORDS[0][2].split())


def test_the_command_prints_the_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "bash"]) == 0
    assert capsys.readouterr().out == (folder / ".bash").read_text(encoding="utf-8")


def test_every_parameter_that_is_a_path_says_so() -> None:
    paths = {
        f"{name} {one.name}"
        for name, command in commands_of(declared_commands())
        for one in command.parameters
        if isinstance(one.type, declare.Path)
    }
    assert {"assemble error_file", "error match file", "export output", "index paths", "init folder"} <= paths
