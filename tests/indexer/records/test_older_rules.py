"""What was stored under older redaction rules is redacted again by every command that shows it."""

import secrets
from pathlib import Path

import pytest
from builders import make_store, save
from older_rules import WORD, leave_token, make_older

from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.cli.main import run
from ctxrank.indexer.errors.solutions import NewKnownError, save_error

_COMMANDS = (
    "show package:1", "list packages", "package show 1", "list errors", "error show 1", "show error:1",
    "list reasoning --session S", "list timeline --session S", "show reasoning:1", "list strategies",
    "show strategy:1", "list skills --session S", "skill latest lint --session S", "show session:S --related",
    "search the", "receipt show 1", "list receipts",
)  # fmt: skip


def test_no_command_shows_what_older_rules_have_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = leave_token(tmp_path)
    monkeypatch.chdir(tmp_path)
    said: dict[str, str] = {}
    for command in _COMMANDS:
        for form in ((), ("--json",)):
            assert run([*command.split(), *form]) == 0, command
            said[f"{command} {form}"] = capsys.readouterr().out
    assert [command for command, text in said.items() if token in text] == []
    assert "_REDACTED" in said["list packages ()"]


def test_what_findings_name_of_the_code_is_redacted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_" + secrets.token_hex(18)
    (tmp_path / "a.py").write_text(f"def {WORD}():\n    return 1\n")
    with make_store(tmp_path) as store:
        bring_up_to_date(store)
        save(store, "b.md", f"# The {WORD}\n\n`{WORD}()` in a.py is slow.\n", summary=f"the {WORD}")
        save_error(store, NewKnownError("ValueError: a thing is wrong", f"call `{WORD}()` in a.py"))
        (tmp_path / "a.py").unlink()
        bring_up_to_date(store)
        make_older(store, token)
    monkeypatch.chdir(tmp_path)
    block = ["assemble", "--session", "S", "--agent", "developer", "--task", "a slow thing"]
    known = ["error", "match", "--type", "ValueError", "--message", "a thing is wrong"]
    for command in (["drifted"], ["drifted", "--json"], block, known):
        assert run(command) == 0, command
        said = capsys.readouterr().out
        assert "_REDACTED" in said and "gone" in said.lower() and token not in said, command
