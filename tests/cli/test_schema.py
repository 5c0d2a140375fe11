"""Every command says what it takes and answers, and real answers are what it says.

Real answers are the frozen ones: `test_frozen.py` holds each against its schema, also where it keeps a digest.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from declared_answers import DECLARED, checked_command, validator
from jsonschema import Draft202012Validator
from tables import each_row

from ctxrank.cli import declare
from ctxrank.cli.main import COMMANDS, run
from ctxrank.cli.schema import answer_schema, value_schema
from ctxrank.indexer.extensions import EXTENSIONS

FROZEN = Path(__file__).parent.parent / "frozen"


@pytest.mark.needs(*EXTENSIONS)
@each_row("name", DECLARED)
def test_every_command_has_a_valid_schema_of_its_answer_or_says_what_it_prints(name: str) -> None:
    command = DECLARED[name]
    if command.answer:
        Draft202012Validator.check_schema(answer_schema(command.answer))
    else:
        assert name in ("error run", "bazinga", "hook", "mcp", "serve", "web") and command.prints


@pytest.mark.needs(*EXTENSIONS)
def test_every_command_that_answers_in_json_is_among_the_real_answers() -> None:
    pages = [page.read_text(encoding="utf-8") for page in FROZEN.glob("*.txt")]
    seen = {checked_command(transcript) for page in pages for transcript in re.split(r"\n(?=\$ )", page)}
    without = {name for name, one in DECLARED.items() if not one.answer}
    # Those of a team are in tests/extensions/team, which has a log to ask.
    assert {name for name in DECLARED.keys() - seen - without if not name.startswith(("team ", "wide "))} <= {
        "completion"
    }


def test_a_script_for_a_shell_as_json_is_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    declared = DECLARED["completion"].answer
    assert run(["--json", "completion", "bash"]) == 0
    validator(answer_schema(declared)).validate(json.loads(capsys.readouterr().out))


@each_row(
    "shape, good, bad",
    [
        ("string", "x", 1),
        ("integer?", None, "1"),
        ("id", "package:12@9f3c27ab", "package"),
        (("high", "low"), "low", "medium"),
        (["integer"], [1, 2], [1, "2"]),
        ("row", "12@9f3c27ab", "12"),
        (["row?"], [None, 3, "12@9f3c27ab"], [1.5]),
        ({"a": "string", "b?": "integer"}, {"a": "x", "more": 1}, {"b": 1}),
        ({"*": "integer"}, {"any": 1}, {"any": "one"}),
        (declare.Nullable({"a": "string"}), None, {}),
    ],
)
def test_a_shape_takes_what_it_names_and_refuses_the_rest(shape: object, good: Any, bad: Any) -> None:
    checker = validator(value_schema(shape))
    assert checker.is_valid(good) and not checker.is_valid(bad)


def test_an_answer_without_its_own_key_or_with_another_outcome_is_refused() -> None:
    checker = validator(answer_schema(DECLARED["package list"].answer))
    good: dict[str, object] = {
        "schema_version": 1,
        "outcome": "no_match",
        "packages": [],
        "total": 0,
        "has_more": False,
        "more": 1,
    }
    assert checker.is_valid(good)
    assert not any(checker.is_valid({key: good[key] for key in good if key != left}) for left in ("total", "outcome"))
    assert not checker.is_valid({**good, "outcome": "perhaps"})


@pytest.mark.needs(*EXTENSIONS)
def test_all_commands_are_described_with_their_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {name.split()[0] for name in answer["commands"]} == COMMANDS.keys()
    described = {one["name"]: one for one in answer["commands"]["context"]["parameters"]}
    assert described["depth"]["choices"] == ["meta", "summary", "full"] and described["depth"]["default"] == "full"
    assert (described["task"]["kind"], described["task"]["required"], described["budget"]["minimum"]) == (
        "argument", True, 1,
    )  # fmt: skip
    assert answer["commands"]["purge"]["exit_codes"]["7"] == "not yet purged"
    assert answer["global_options"][0]["words"] == ["--db"]


def test_a_group_is_described_with_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "package"]) == 0
    names = ["save", "supersede", "consume"]
    assert list(json.loads(capsys.readouterr().out)["commands"]) == [f"package {name}" for name in names]
    example = DECLARED["schema"].help.partition("Example: ctxrank ")[2]
    assert run(example.split()) == 0
