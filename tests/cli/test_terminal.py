"""What only a person sees: on a terminal answers are indented and linked, elsewhere as short as can be."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from builders import copy_store

from ctxrank.cli.actions.upkeep.stores import proposals
from ctxrank.cli.call import Call
from ctxrank.cli.main import run

SEARCH = ("search", "why is the database locked")


@pytest.fixture
def shop(loaded_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_store(loaded_once, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _on_a_terminal(folder: Path, *arguments: str, errors: bool = False, **environment: str) -> str:
    """What a terminal of 24 rows shows of a call; with its stderr on request."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxrank.cli", *arguments],
        cwd=folder, env={**os.environ, **environment}, stdin=there, stdout=there,
        stderr=there if errors else subprocess.DEVNULL,
    )  # fmt: skip
    os.close(there)
    printed = b""
    try:
        while part := os.read(here, 65_536):
            printed += part
    except OSError:  # the other end was closed
        pass
    assert process.wait(30) == 0
    os.close(here)
    return printed.decode().replace("\r\n", "\n")


def test_json_is_one_line_in_a_pipe_and_indented_on_a_terminal(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, "--json"]) == 0
    printed = capsys.readouterr().out
    shown = _on_a_terminal(shop, *SEARCH, "--json")
    assert printed.count("\n") == 1 and shown.startswith('{\n  "schema_version": 1,\n')
    assert json.loads(printed) == json.loads(shown)
    assert len(printed) < 0.8 * len(shown)


def test_a_path_is_a_link_on_a_terminal_and_plain_elsewhere(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH]) == 0
    printed = capsys.readouterr().out
    shown = _on_a_terminal(shop, *SEARCH)
    assert "\x1b" not in printed
    assert "\x1b]8;;file://" in shown and f"{shop}/" in shown
    assert "\x1b]8;;" not in _on_a_terminal(shop, *SEARCH, NO_COLOR="1")


def test_a_name_in_a_link_cannot_end_it() -> None:
    assert Call().linked("x", "/a b/\x1b\\c%").split("\x1b")[1].endswith("/a%20b/%1B%5Cc%25")


@pytest.mark.slow
@pytest.mark.needs("transcripts")
@pytest.mark.parametrize(
    ("words", "label"),
    [
        (("rebuild",), "rebuilding"), (("index",), "indexing"), (("import", "jsonl", "all.jsonl"), "importing"),
        (("import", "transcripts", "log"), "reading bytes"),
    ],
)  # fmt: skip
def test_what_takes_long_says_how_far_it_is_and_how_fast(shop: Path, words: tuple[str, ...], label: str) -> None:
    (shop / "log").mkdir()
    line = {"type": "user", "sessionId": "s", "cwd": str(shop), "message": {"content": "Why is the queue so slow now?"}}
    (shop / "log" / "s.jsonl").write_text(json.dumps(line) + "\n")
    assert run(["export", "--output", "all.jsonl"]) == 0
    shown = _on_a_terminal(shop, *words, errors=True)
    assert f"{label}  [####" in shown and "100%" in shown


def test_index_names_what_it_skips_says_that_there_is_more_and_is_silent_when_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(30):
        (tmp_path / f"{number}.bin").write_bytes(b"\0")
    assert run(["init", "-q"]) == 0
    for options, lines, more in (([], 21, True), (["-v"], 30, False), (["-q"], 0, False)):
        capsys.readouterr()
        assert run(["index", *options]) == 0
        skipped = [line for line in capsys.readouterr().err.splitlines() if line.startswith("skipped")]
        assert (len(skipped), any("… and 10 more (-v lists them)" in line for line in skipped)) == (lines, more)


def test_a_group_called_none_is_none(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "a.md").write_text("# A\n\nwalrus\n")
    words = ("--type", "research", "--producer", "developer", "--summary", "x")
    assert run(["package", "save", "a.md", "--session", "shop-2026-10", "--group", "none", *words]) == 0
    capsys.readouterr()
    assert run(["search", "walrus", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["group_id"] is None


def test_init_names_what_it_found_and_the_command_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(proposals(str(tmp_path))) == []
    kept = tmp_path / "claude" / "projects" / "".join(c if c.isalnum() else "-" for c in os.path.realpath(tmp_path))
    for folder in (tmp_path / "docs", tmp_path / "bazinga", kept):
        folder.mkdir(parents=True)
    (tmp_path / "bazinga" / "bazinga.db").write_bytes(b"")
    (kept / "one.jsonl").write_text("{}\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    found = "\n".join(proposals(str(tmp_path)))
    for command in ("import bazinga bazinga/bazinga.db --root .", "import transcripts"):
        assert f"'ctxrank {command}'" in found
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    assert "found 1 sessions of Claude Code" in capsys.readouterr().err
    assert run(["init", "docs"]) == 0
    assert f"found a store in {tmp_path}: calls from here do not use it any more" in capsys.readouterr().err
    linked = tmp_path.parent / f"{tmp_path.name}-linked"
    own = tmp_path / ".git" / "worktrees" / "linked"
    for folder in (linked, own):
        folder.mkdir(parents=True)
    (own / "gitdir").write_text(f"{linked / '.git'}\n")
    (linked / ".git").write_text(f"gitdir: {own}\n")
    assert next(proposals(str(linked))).startswith(f"a store in {tmp_path}: ")
