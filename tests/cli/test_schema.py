"""Every command says what it takes and answers, and real answers are what it says.

Real answers are the frozen ones, which `test_frozen.py` holds against what the commands print today.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tables import each_row

from ctxrank.cli import declare
from ctxrank.cli.main import COMMANDS, declared_commands, run
from ctxrank.cli.schema import answer_schema, commands_of, failure_schema, value_schema

FROZEN = Path(__file__).parent.parent / "frozen"
DECLARED = dict(commands_of(declared_commands()))
_NAME = re.compile(r"^\$ (?:\w+=\S+ )*ctxrank (.*)$")
_GLOBAL_VALUES = {word for one in declare.GLOBALS if not one.is_flag for word in one.on_words}


def _validator(schema: dict[str, object]) -> Any:
    return Draft202012Validator(schema)


def _answers() -> Iterator[tuple[str, str, Any]]:
    """(command, call, answer) of each frozen call that printed one JSON answer of ours."""
    for page in sorted(FROZEN.glob("*.txt")):
        for transcript in re.split(r"\n(?=\$ )", page.read_text(encoding="utf-8")):
            first, _, rest = transcript.partition("\n")
            called = _NAME.match(first)
            text = rest.partition("--- stdout\n")[2].partition("\n--- stderr\n")[0]
            if called is None or not text.startswith('{\n  "schema_version"'):
                continue
            text = text.replace("<n>", "0")  # a size that differs by machine
            yield _command(shlex.split(called[1])), called[1], json.loads(text)


def _command(words: list[str]) -> str:
    """The whole name of the command that a call names; '' for none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_VALUES else 1
    names = words[at : at + 2]
    return next((name for name in (" ".join(names), *names[:1]) if name in DECLARED), "")


ANSWERS = list(_answers())


@each_row("name", DECLARED)
def test_every_command_has_a_valid_schema_of_its_answer_or_says_what_it_prints(name: str) -> None:
    answer = DECLARED[name].answer
    if isinstance(answer, declare.NoJson):
        assert name in ("error run", "bazinga", "hook", "mcp", "serve", "team follow", "web") and answer.stdout
    else:
        Draft202012Validator.check_schema(answer_schema(answer))


@each_row("name, call, answer", [row for row in ANSWERS if "outcome" in row[2]])
def test_real_answers_are_as_the_schema_says(name: str, call: str, answer: Any) -> None:
    declared = DECLARED[name].answer
    assert not isinstance(declared, declare.NoJson), call
    _validator(answer_schema(declared)).validate(answer)


@each_row("name, call, answer", [row for row in ANSWERS if "outcome" not in row[2]])
def test_real_failures_are_as_the_schema_says(name: str, call: str, answer: Any) -> None:
    _validator(failure_schema()).validate(answer)


def test_every_command_that_answers_in_json_is_among_the_real_answers() -> None:
    seen = {name for name, _, answer in ANSWERS if "outcome" in answer}
    without = {name for name, one in DECLARED.items() if isinstance(one.answer, declare.NoJson)}
    # Those of a team are in tests/team, which has a log to ask.
    assert {name for name in DECLARED.keys() - seen - without if not name.startswith(("team ", "wide "))} <= {
        "completion"
    }


def test_a_script_for_a_shell_as_json_is_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    declared = DECLARED["completion"].answer
    assert run(["--json", "completion", "bash"]) == 0 and not isinstance(declared, declare.NoJson)
    _validator(answer_schema(declared)).validate(json.loads(capsys.readouterr().out))


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
        (declare.AnyOf({"a": "string"}, {"b": "string"}), {"b": "x"}, {"c": "x"}),
    ],
)
def test_a_shape_takes_what_it_names_and_refuses_the_rest(shape: object, good: Any, bad: Any) -> None:
    validator = _validator(value_schema(shape))
    assert validator.is_valid(good) and not validator.is_valid(bad)


def test_an_answer_without_its_own_key_or_with_another_outcome_is_refused() -> None:
    declared = DECLARED["package list"].answer
    assert not isinstance(declared, declare.NoJson)
    validator = _validator(answer_schema(declared))
    good: dict[str, object] = {
        "schema_version": 1,
        "outcome": "no_match",
        "packages": [],
        "total": 0,
        "has_more": False,
        "more": 1,
    }
    assert validator.is_valid(good)
    assert not any(validator.is_valid({key: good[key] for key in good if key != left}) for left in ("total", "outcome"))
    assert not validator.is_valid({**good, "outcome": "perhaps"})


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
    names = ["save", "list", "show", "supersede", "consume"]
    assert list(json.loads(capsys.readouterr().out)["commands"]) == [f"package {name}" for name in names]
