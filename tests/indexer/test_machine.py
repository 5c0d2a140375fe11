"""What the administrator of a machine has switched off, and who may say so."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxrank.cli.main import run
from ctxrank.extensions.bazinga.run import ask
from ctxrank.indexer import machine
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.extensions import is_in_use
from ctxrank.indexer.store.hook_settings import hook_settings

Switch = Callable[..., Path]


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Switch:
    file = tmp_path / "off"
    monkeypatch.setattr(machine, "FILE", str(file))
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        """Root's, whoever runs the tests."""
        values = list(real(path))
        values[4] = 0 if path == str(file) else values[4]
        return os.stat_result(values)

    monkeypatch.setattr(os, "lstat", lstat)

    def written(*lines: str) -> Path:
        file.write_text("".join(f"{line}\n" for line in lines))
        file.chmod(0o644)
        return file

    return written


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "plain").write_text("")
    monkeypatch.setattr(machine, "FILE", str(tmp_path / "plain" / "off"))  # no folder
    assert machine.switched_off() == frozenset()
    monkeypatch.setattr(machine, "FILE", str(tmp_path / "circle" / "off"))
    with pytest.raises(UsageError, match="cannot be read"):
        machine.switched_off()


def test_nothing_is_off_where_there_is_no_file(switch: Switch) -> None:
    assert machine.switched_off() == frozenset()
    assert is_in_use("web")
    assert hook_settings({}).enabled
    assert hook_settings({}).folders == ("notes",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import", ["import", "jsonl", "x.jsonl"]),
        ("error  run  # a comment", ["error", "run", "--", "true"]),
        ("team", ["team", "status"]),
        ("extensions", ["web"]),
        ("search", ["search", "x"]),
    ],
)
def test_what_is_off_is_refused_and_says_by_whom(
    line: str, words: list[str], switch: Switch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = switch("# what this machine has not", line)
    assert run(words) == 2
    assert f"This is switched off on this machine. The administrator's file {file} says so." in capsys.readouterr().err


def test_the_rest_of_a_group_and_its_help_stay(switch: Switch, capsys: pytest.CaptureFixture[str]) -> None:
    switch("error run")
    assert run(["error", "--help"]) == 0
    assert run(["error", "match", "--help"]) == 0
    capsys.readouterr()


def test_hooks_and_folders_of_notes_are_off_whatever_a_configuration_has(switch: Switch) -> None:
    switch("hooks", "notes")
    settings = hook_settings({"enabled": True, "folders": ("notes", "docs")})
    assert not settings.enabled
    assert settings.folders == ()


def test_an_extension_is_off_behind_each_door(switch: Switch) -> None:
    switch("team", "bazinga")
    assert not is_in_use("team")
    assert is_in_use("web")
    assert ask(("help",))[0] == 2


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_write_stops_every_command(
    mode: int, switch: Switch, capsys: pytest.CaptureFixture[str]
) -> None:
    switch("import").chmod(mode)
    assert run(["search", "x"]) == 2
    assert "is not root's alone" in capsys.readouterr().err
    with pytest.raises(UsageError):
        hook_settings({})


def test_a_link_and_bytes_that_are_no_text_stop_every_command(switch: Switch, tmp_path: Path) -> None:
    file = switch()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        machine.switched_off()
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="root's alone"):
        machine.switched_off()


def test_a_file_of_another_user_is_not_the_administrators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "off"
    file.write_text("import\n")
    monkeypatch.setattr(machine, "FILE", str(file))
    values = list(os.lstat(file))
    values[4] = 1000

    def lstat(_path: str) -> os.stat_result:
        return os.stat_result(values)

    monkeypatch.setattr(os, "lstat", lstat)
    with pytest.raises(UsageError, match="root's alone"):
        machine.switched_off()
