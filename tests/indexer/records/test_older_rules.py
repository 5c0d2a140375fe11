"""What was stored under older redaction rules is redacted again by every command that shows it."""

import secrets
from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank import assemble
from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.cli.main import run
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy

_WORD = "walrus"
_TEXTS = (
    ("documents", "body"), ("packages", "summary"), ("reasoning", "content"), ("reasoning", "refs"),
    ("error_patterns", "solution"), ("error_patterns", "context_hints"), ("strategies", "insight"),
    ("skill_outputs", "output"),
)  # fmt: skip
_COMMANDS = (
    "show package:1", "list packages", "package show 1", "list errors", "error show 1", "show error:1",
    "list reasoning --session S", "list timeline --session S", "show reasoning:1", "list strategies",
    "show strategy:1", "list skills --session S", "skill latest lint --session S", "show session:S --related",
    "search the", "receipt show 1", "list receipts",
)  # fmt: skip


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret that stands in each record of the store of this folder."""
    token = "ghp_" + secrets.token_hex(18)
    with make_store(tmp_path) as store:
        save(store, "a.md", f"# A\n\nof the {_WORD}\n", session="S", summary=f"the {_WORD}")
        new = NewReasoning("S", None, "developer", "decisions", f"the {_WORD}", references=f'["{_WORD}"]')
        save_reasoning(store, new)
        save_error(store, NewKnownError("ValueError: a thing is wrong", f"the {_WORD}", hints=(_WORD,)))
        save_strategy(store, NewStrategy(project="default", insight=f"the {_WORD}", topic="general"))
        save_skill_output(store, "S", "lint", f'{{"said": "the {_WORD}"}}', agent="developer")
        for table, column in _TEXTS:
            store.primary.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (_WORD, token))
        store.primary.execute("UPDATE documents SET ruleset = 1")
        assemble(store, session="S", agent="developer", task="the walrus")
        store.primary.execute("UPDATE receipts SET inputs = replace(inputs, ?, ?)", (_WORD, token))
    monkeypatch.chdir(tmp_path)
    return token


def test_no_command_shows_what_older_rules_have_left(token: str, capsys: pytest.CaptureFixture[str]) -> None:
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
    (tmp_path / "a.py").write_text(f"def {_WORD}():\n    return 1\n")
    with make_store(tmp_path) as store:
        bring_up_to_date(store)
        save(store, "b.md", f"# The {_WORD}\n\n`{_WORD}()` in a.py is slow.\n", summary=f"the {_WORD}")
        save_error(store, NewKnownError("ValueError: a thing is wrong", f"call `{_WORD}()` in a.py"))
        (tmp_path / "a.py").unlink()
        bring_up_to_date(store)
        for table, column in (*_TEXTS, ("documents", "title"), ("anchors", "name")):
            store.primary.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (_WORD, token))
        store.primary.execute("UPDATE documents SET ruleset = 1")
    monkeypatch.chdir(tmp_path)
    block = ["assemble", "--session", "S", "--agent", "developer", "--task", "a slow thing"]
    known = ["error", "match", "--type", "ValueError", "--message", "a thing is wrong"]
    for command in (["drifted"], ["drifted", "--json"], block, known):
        assert run(command) == 0, command
        said = capsys.readouterr().out
        assert "_REDACTED" in said and "gone" in said.lower() and token not in said, command
