"""One declaration of an answer: its fields are read from the record, and its schema says the same."""

import json
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from ctxrank.cli.call import Extended
from ctxrank.cli.declare import Fields, Nullable
from ctxrank.cli.output.shaped import answer, shaped
from ctxrank.cli.schema import value_schema

FIELDS = {
    "id": "row", "group_id": "string?", "file_path": "string", "redacted": "boolean", "tags": ["string"],
    "created_at": "time", "state": ("new", None),
}  # fmt: skip


class Note(NamedTuple):
    id: int
    group: str
    path: str
    is_redacted: bool
    tags: tuple[str, ...]
    created_at: int


def test_a_record_becomes_what_its_declaration_says() -> None:
    note = Extended(Note(3, "", "a.md", True, ("x",), 0), {"state": "new"})
    made = shaped({"notes": [FIELDS]}, {"notes": (note,)})
    assert made == {
        "notes": [
            {
                "id": 3, "group_id": None, "file_path": "a.md", "redacted": True, "tags": ["x"],
                "created_at": "1970-01-01T00:00:00Z", "state": "new",
            }
        ]
    }  # fmt: skip
    validator: Any = Draft202012Validator(value_schema({"notes": [FIELDS]}))  # its methods are typed in part
    validator.validate(json.loads(json.dumps(made)))


def test_a_field_that_a_record_does_not_have_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="Note has no colour"):
        shaped({"colour": "string"}, Note(3, "", "a.md", True, (), 0))


def test_what_is_no_record_stays_and_one_of_several_forms_is_told_by_its_keys() -> None:
    forms: tuple[Fields, ...] = ({"one": {"at": "time"}}, {"other": Nullable({"at": "time"}), "more?": "any"})
    assert answer(forms, {"other": {"at": 0, "new": ""}, "more": 1}) == {
        "other": {"at": "1970-01-01T00:00:00Z", "new": ""},
        "more": 1,
    }
    assert answer(forms, {"other": None}) == {"other": None}
