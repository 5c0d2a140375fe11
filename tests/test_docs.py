"""The documents are true: every command is in them, every link leads somewhere, every command helps."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from tables import each_row

from ctxrank.cli.click_commands import whole_cli
from ctxrank.cli.main import COMMANDS as TABLE
from ctxrank.cli.main import run
from ctxrank.indexer.extensions import EXTENSIONS

ROOT = Path(__file__).parent.parent
FOLDERS = (".", "docs", "benchmarks", "tests/torture", "fixtures")
PAGES = [page for folder in FOLDERS for page in (ROOT / folder).glob("*.md")]


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        elif not command.hidden:  # an old name
            yield (*path, name), command


COMMANDS = dict(_commands(whole_cli(TABLE)))


@pytest.mark.needs(*EXTENSIONS)
@each_row("path", COMMANDS)
def test_every_command_has_one_sentence_and_one_example(path: tuple[str, ...]) -> None:
    text = COMMANDS[path].help or ""
    assert text.split("\n")[0].endswith((".", ":")) and f"Example: ctxrank {' '.join(path)}" in text


@each_row("path", COMMANDS)
def test_every_option_says_what_it_does(path: tuple[str, ...]) -> None:
    silent = [p.name for p in COMMANDS[path].params if isinstance(p, click.Option) and not p.help]
    assert silent == []


@each_row("path", COMMANDS)
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    row = next((line for line in page.split("\n") if line.startswith("|") and f"`{path[0]}" in line), "")
    assert all(re.search(rf"\b{word}\b", row) for word in path), f"docs/cli.md has no row of {' '.join(path)}"


@each_row("page", PAGES)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.needs(*EXTENSIONS)
@each_row("page", [page for page in PAGES if page.parent in (ROOT, ROOT / "docs")])
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    folders = "ctxrank|indexer|ranking|cli|extensions|tests|benchmarks"
    for name in set(re.findall(rf"`((?:{folders})/[\w./-]+)(?:::\w+)?`", text)):
        assert (ROOT / name).exists(), name


@each_row("path", COMMANDS)
def test_help_is_printed_and_ends_well(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: ctxrank {' '.join(path)}")


SHOWN = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The kinds of block that hold commands. `console` has `$ command` and all that it prints, a line of … standing for any
# lines; `sh` is a script whose output is not shown, unless `not run` says that it is no command of ours; a
# `synopsis` is the form of a command. A comment of the page (`run: …`, `start: …`) makes what the next block needs.
_BLOCK = re.compile(
    r"^(?P<not_run><!-- not run -->\n)?```(?P<kind>[a-z]+)\n(?P<block>.*?)^```$"
    r"|^<!-- (?P<comment>run|start):\s(?P<script>.*?)\s?-->$",
    re.MULTILINE | re.DOTALL,
)
_RUN_KINDS = ("console", "sh", "python", "run", "start")
_A_COMMAND = re.compile(r"^\s*(\$ )?ctxrank ", re.MULTILINE)
_LIMIT_S = 60
_LONG = ("docs/agents.md", "docs/exchange.md")  # seconds, most of them of processes that serve or are copied


class Step(NamedTuple):
    """A block of a page, or a comment that is run."""

    kind: str
    text: str


def _steps(page: Path) -> list[Step]:
    found = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Step(_kind(one), one["block"] or one["script"] or "") for one in found]


def _kind(found: re.Match[str]) -> str:
    return "not run" if found["not_run"] else found["kind"] or found["comment"]


@each_row("page", SHOWN)
def test_every_command_is_in_a_block_that_is_run_or_is_a_synopsis(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    allowed = (*_RUN_KINDS, "synopsis")
    outside = _BLOCK.sub(lambda block: "" if _kind(block) in allowed else block[0], text)
    assert _A_COMMAND.findall(outside) == []
    assert "not run" not in {step.kind for step in _steps(page)} or page.name == "README.md"
    assert not [step for step in _steps(page) if step.kind == "console" and not step.text.startswith("$ ")]


class Page:
    """The folder of a reader who types what a page shows, and a port in place of the page's own."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "shop"
        self.folder.mkdir()
        programs = tmp_path / "bin"
        programs.mkdir()
        for name, words in (("ctxrank", "-m ctxrank.cli"), ("python3", "")):  # of this environment
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        tests = str(Path(__file__).parent)
        self.environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "PYTHONPATH": tests}
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.started: list[subprocess.Popen[bytes]] = []

    def here(self, text: str) -> str:
        """A text of the page with this folder and port in it."""
        return text.replace("/home/me/shop", str(self.folder)).replace("8733", str(self.port))

    def run(self, *command: str) -> str:
        """What a command prints that must go well."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=_LIMIT_S,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def printed(self, command: str) -> str:
        """What a command of a `console` block prints; one of ours that needs no shell starts no process."""
        words = shlex.split(command)
        if words[0] != "ctxrank" or "--" in words or set("|<>;&$`") & set(command):
            return self.run("sh", "-c", command)
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as notes:
            assert run(words[1:]) == 0, (command, out.getvalue(), notes.getvalue())
        return out.getvalue()

    def start(self, script: str) -> None:
        """Start a process that answers at the port, and wait until it does."""
        self.started.append(subprocess.Popen(["sh", "-c", f"exec {script}"], cwd=self.folder, env=self.environment))
        for _ in range(_LIMIT_S * 50):
            with closing(socket.socket()) as asked:
                if asked.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(script)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    page = Page(tmp_path)
    monkeypatch.chdir(page.folder)
    yield page
    for process in page.started:
        process.terminate()
        process.communicate(timeout=_LIMIT_S)


@pytest.mark.needs(*EXTENSIONS)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=pytest.mark.slow) if (name := page.relative_to(ROOT).as_posix()) in _LONG else name
        for page in SHOWN
        if {*_RUN_KINDS} & {step.kind for step in _steps(page)}
    ],
)
def test_the_commands_of_a_page_print_what_it_says(reader: Page, page: str) -> None:
    """In an empty folder, one after the other; days, times and the folder are the reader's own. A `text` block is what
    the Python before it prints, or a part of what the command before it printed.
    """
    printed = ""
    awaits_text = False
    for kind, text in _steps(ROOT / page):
        script = reader.here(text)
        if kind == "console":
            for command in re.split(r"^\$ ", script, flags=re.MULTILINE)[1:]:
                line, _, wanted = command.partition("\n")
                printed = _without_days(reader.printed(line))
                assert _form(wanted).fullmatch(printed), (line, wanted, printed)
        elif kind in ("sh", "run"):
            reader.run("sh", "-ec", script)
        elif kind == "start":
            reader.start(script)
        elif kind == "python":
            printed, awaits_text = reader.run(sys.executable, "-c", text), True
        elif kind == "text":
            assert text == printed if awaits_text else _without_days(script) in printed
            awaits_text = False
    assert not awaits_text


def _form(wanted: str) -> re.Pattern[str]:
    """What a command may print where a page shows this; white space at the end does not count."""
    lines = _without_days(wanted).rstrip("\n").split("\n")
    return re.compile("\n".join("(?s:.*)" if line == "…" else re.escape(line) for line in lines) + r"\n*")


def _without_days(text: str) -> str:
    """A text without what is the reader's own: days, times, and the origins of stores."""
    return re.sub(r"@[0-9a-f]{8}\b", "@ORIGIN", re.sub(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "DAY", text))


def test_every_check_of_the_doctor_is_on_its_page() -> None:
    table = (ROOT / "indexer" / "care" / "findings.tsv").read_text(encoding="utf-8")
    checks = {line.split("\t")[0] for line in table.splitlines() if not line.startswith(("#", "*"))}
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    assert len(checks) > 30 and not [check for check in checks if f"`{check}`" not in page]


@pytest.mark.needs(*EXTENSIONS)
def test_every_guarantee_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("## What is promised")[1].split("\n") if line.startswith("| ")]
    named = [re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", row) for row in rows if "| proved by |" not in row]
    assert len(named) > 10
    for tests in named:
        assert tests and tests[0][0]
        for file, name in tests:
            assert f"def {name}(" in (ROOT / (file or tests[0][0])).read_text(encoding="utf-8")
