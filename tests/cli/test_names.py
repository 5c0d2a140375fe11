"""The words that people type: today's commands, yesterday's names of them, and what other programs call them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from load import load
from tables import each_row

from ctxrank.cli.click_commands import COMMON
from ctxrank.cli.declare import Group, OneOf, Parameter
from ctxrank.cli.main import COMMANDS, declared_commands, find_command, run
from ctxrank.cli.names import OLD_NAMES, OTHER_WORDS, renamed
from ctxrank.cli.schema import commands_of
from ctxrank.indexer.extensions import EXTENSIONS

S = "--session shop-2026-10"
DECLARED = dict(commands_of(declared_commands()))
# What is typed for an old name, and for today's: the same JSON.
SAME = [
    (f"package list {S} -n 3", f"list packages {S} -n 3"),
    ("error list --state confirmed", "list errors --state confirmed"),
    ("strategy list --lang python", "list strategies --lang python"),
    ("session list", "list sessions"),
    (f"group list {S}", f"list groups {S}"),
    ("receipt list", "list receipts"),
    (f"receipt list --hook {S}", f"list injections {S}"),
    (f"skill outputs lint-check {S}", f"list skills --skill lint-check {S}"),
    (f"reasoning get {S} --phase completion", f"list reasoning {S} --phase completion"),
    (f"reasoning handoffs {S}", f"list handoffs {S}"),
    (f"reasoning timeline {S}", f"list timeline {S}"),
    ("receipt show 1", "show receipt:1"),
    ("session show shop-2026-10", "show session:shop-2026-10"),
    ("session show shop-2026-10 --records", "show session:shop-2026-10 --related"),
    ("rebuild", "doctor --repair rebuild"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    load(str(folder)).close()
    return folder


@pytest.mark.slow
@each_row("old, new", SAME)
def test_an_old_name_answers_with_the_same_json(
    old: str, new: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", str(shop / ".ctxrank/ctxrank.db"), "--json"]
    run([*db[:2], "assemble", *S.split(), "--agent", "developer", "--iteration", "1"])
    capsys.readouterr()
    codes = run([*db, *old.split()]), run([*db, *new.split()])
    printed = capsys.readouterr().out.splitlines()
    assert codes[0] == codes[1] and json.loads(printed[0]) == json.loads(printed[1])


@pytest.mark.needs(*EXTENSIONS)
@each_row("old, new", OLD_NAMES.items())
def test_an_old_name_is_read_as_todays_which_stderr_says(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert renamed(["--db", "x", "--json", *old.split(), "y"]) == ["--db", "x", "--json", *new.split(), "y"]
    assert capsys.readouterr().err == f"ctxrank: '{old}' is '{new}' now.\n"
    assert renamed(["-q", *old.split()]) == ["-q", *new.split()] and capsys.readouterr().err == ""
    words = new.split()
    assert words[0] in COMMANDS and old not in DECLARED
    named = DECLARED.get(" ".join(words[:2])) or DECLARED[words[0]]
    known = {word for one in named.parameters for word in one.on_words}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.needs(*EXTENSIONS)
@each_row("word, ours", [(word, ours) for (kind, word), ours in OTHER_WORDS.items() if kind == "command"])
def test_a_word_of_other_programs_names_ours(word: str, ours: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert word not in COMMANDS
    assert run([word]) == 2
    assert f"Here it is {ours}." in capsys.readouterr().err
    for name in ours.split("'")[1::2]:
        first, *rest = name.split()
        assert first in ("--version", "--help") or find_command(first) is not None, name
        assert not rest or rest[0].startswith("--") or name in DECLARED, name


# What a reader who did not know the program typed, and what he meant.
TYPED = (
    ("find", "Here it is 'search'."),
    ("ls", "Here it is 'list'."),
    ("add", "Here it is 'save', or 'index' for files."),
    ("remember", "Here it is 'save'."),
    ("config", "Here it is a file, .ctxrank/config.yaml: docs/configuration.md has its keys."),
    ("version", "Here it is '--version'."),
    ("context-block", "Here it is 'assemble'."),
    ("replay", "Here it is 'receipt replay'."),
    ("error add", "Here it is 'save'."),
    ("package new", "Here it is 'save'."),
    ("session add", "Here it is 'create'."),
    ("error ls", "Here it is 'list'."),
    ("error frobnicate", "It has match, save, run, confirm, refute. See 'ctxrank error --help'."),
    ("assemble --max-tokens 500", "No such option '--max-tokens'. Here it is '--budget'."),
    ("assemble --bugdet 500", "No such option '--bugdet'. Did you mean --budget or --quiet?"),
    ("error save --fix x", "No such option '--fix'. Here it is '--solution'."),
    ("search --top 3 x", "Here it is '--limit'."),
    ("list findings", "'timeline', 'injections'. Here it is 'packages'. See 'ctxrank list --help'."),
    ("list package", "Did you mean packages? See 'ctxrank list --help'."),
    ("init one two", "Got unexpected extra argument (two). See 'ctxrank init --help'."),
)


@each_row("typed, said", TYPED)
def test_what_a_stranger_types_names_what_he_means(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed.split()) == 2
    assert said in capsys.readouterr().err


def test_each_word_for_one_of_ours_has_one_to_name() -> None:
    groups = [one for one in declared_commands().values() if isinstance(one, Group)]
    ours = {
        "subcommand": {name for group in groups for name in group.commands},
        "option": {word for command in DECLARED.values() for one in command.parameters for word in one.on_words},
        "word": {word for command in DECLARED.values() for one in command.parameters for word in _words(one)},
    }
    for (kind, _), named in OTHER_WORDS.items():
        assert kind == "command" or set(named.split()) <= ours[kind], named


def _words(parameter: Parameter) -> tuple[str, ...]:
    return parameter.type.words if isinstance(parameter.type, OneOf) else ()


def test_the_first_page_names_how_a_past_block_is_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "receipt    Make a past block again, or compare two." in capsys.readouterr().out


@pytest.mark.parametrize("page", ["--help", "assemble --help"])
def test_the_example_of_a_block_has_what_the_readme_saves(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    note, *commands = re.findall(r"^\$ (.+)", readme[readme.index("## Three commands") :], re.M)[:3]
    subprocess.run(["sh", "-c", note], check=True)
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0
    run(page.split())
    example = re.search(r"ctxrank (assemble --session .+?\")\n", capsys.readouterr().out, re.S)
    assert example is not None and run(shlex.split(example[1])) == 0
    assert "### Relevant Packages (1/1)" in capsys.readouterr().out


@pytest.mark.needs(*EXTENSIONS)
def test_the_commands_and_options_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    options = [one for command in DECLARED.values() for one in command.parameters if one.is_option]
    assert len(DECLARED) <= 66 and len(options) <= 250
    assert run(["--help"]) == 0
    page = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " in page] == list(COMMANDS)[:COMMON]
    assert COMMON <= 20 and all(f"{name}," in page for name in list(COMMANDS)[COMMON:-1])


def test_the_page_on_upgrading_has_every_old_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "upgrading.md").read_text(encoding="utf-8")
    kinds = [
        f"{name} {inner}"
        for name, one in declared_commands().items()
        for inner, command in getattr(one, "commands", {}).items()
        if command.is_old
    ]
    missing = [name for name in (*OLD_NAMES, *kinds) if f"`{name}" not in page]
    assert kinds and not missing


def test_an_option_that_a_kind_does_not_have_is_refused(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", str(shop / ".ctxrank/ctxrank.db")]
    assert run([*db, "list", "sessions", "--priority", "high"]) == 2
    assert "'list sessions' has no --priority. It has --limit." in capsys.readouterr().err
    assert run([*db, "list", "groups"]) == 2
    assert "'list groups' needs --session." in capsys.readouterr().err
