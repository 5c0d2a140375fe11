"""The documents are true: every command is in them, every link leads somewhere, every command helps."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tables import each_row

from ctxrank.cli.click_commands import whole_cli
from ctxrank.cli.main import COMMANDS as TABLE
from ctxrank.cli.main import run

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
        else:
            yield (*path, name), command


COMMANDS = dict(_commands(whole_cli(TABLE)))


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
    row = next(line for line in page.split("\n") if line.startswith("|") and f"`{path[0]}" in line)
    assert all(re.search(rf"\b{word}\b", row) for word in path)


@each_row("page", PAGES)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@each_row("page", [page for page in PAGES if page.parent in (ROOT, ROOT / "docs")])
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"`((?:ctxrank|indexer|ranking|cli|tests|benchmarks)/[\w./-]+)(?:::\w+)?`", text)):
        assert (ROOT / name).exists(), name


@each_row("path", COMMANDS)
def test_help_is_printed_and_ends_well(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: ctxrank {' '.join(path)}")


_RUN = [page.relative_to(ROOT).as_posix() for page in PAGES if "```console\n" in page.read_text(encoding="utf-8")]


def test_a_command_that_is_shown_with_its_output_is_in_a_block_that_is_run() -> None:
    assert {"README.md", "docs/orchestrator.md", "docs/errors.md", "docs/doctor.md", "docs/purge.md"} <= {*_RUN}
    for page in (ROOT / "docs").glob("*.md"):
        blocks = page.read_text(encoding="utf-8").split("```console\n")
        outside = blocks[0] + "".join(block.partition("\n```\n")[2] for block in blocks[1:])
        assert not re.search(r"^\$ ", outside, re.MULTILINE), page


@pytest.mark.parametrize("page", _RUN)
def test_the_commands_of_a_page_print_what_it_says(tmp_path: Path, page: str) -> None:
    """In an empty folder, one after the other; days, times, scores, origins and the folder are the reader's own. A
    page's Python runs after them in the same folder, and prints the block that follows it.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    script = "".join(part.split("\n```\n")[0] + "\n" for part in text.split("```console\n")[1:])
    entry = tmp_path / "bin" / "ctxrank"
    entry.parent.mkdir()
    entry.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ctxrank.cli "$@"\n')
    python = entry.with_name("python3")  # that of the environment in which ctxrank is installed
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in (entry, python):
        program.chmod(0o755)
    folder = tmp_path / "shop"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{entry.parent}:{os.environ['PATH']}"}
    for command in script.split("$ ")[1:]:
        line, _, wanted = command.partition("\n")
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        wanted = wanted.replace("/home/me/shop", str(folder)).rstrip("\n")
        assert _without_days(done.stdout).startswith(_without_days(wanted))
    for part in text.split("```python\n")[1:]:
        code, _, rest = part.partition("\n```\n")
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.stdout == rest.split("```text\n")[1].split("```")[0], done.stderr


def _without_days(text: str) -> str:
    return re.sub(r"@[0-9a-f]{8}\b", "@ORIGIN", re.sub(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "DAY", text))


def test_every_guarantee_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("## What is promised")[1].split("\n") if line.startswith("| ")]
    named = [re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", row) for row in rows if "| proved by |" not in row]
    assert len(named) > 10
    for tests in named:
        assert tests and tests[0][0]
        for file, name in tests:
            assert f"def {name}(" in (ROOT / (file or tests[0][0])).read_text(encoding="utf-8")
