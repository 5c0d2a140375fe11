"""One declaration of an answer: its fields are read from the record, and its schema says the same."""

import json
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from ctxrank.cli.declare import Extended, Fields, Nullable
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


def test_a_row_has_a_value_for_each_field() -> None:
    assert shaped({"at": "time", "path": "string"}, (0, "a.md")) == {"at": "1970-01-01T00:00:00Z", "path": "a.md"}
    for row in ((0,), (0, "a.md", "more")):
        with pytest.raises(ValueError, match="zip"):
            shaped({"at": "time", "path": "string"}, row)


def test_what_is_no_record_stays_and_one_of_several_forms_is_told_by_its_keys() -> None:
    forms: tuple[Fields, ...] = ({"one": {"at": "time"}}, {"other": Nullable({"at": "time"}), "more?": "any"})
    assert answer(forms, {"other": {"at": 0, "new": ""}, "more": 1}) == {
        "other": {"at": "1970-01-01T00:00:00Z", "new": ""},
        "more": 1,
    }
    assert answer(forms, {"other": None}) == {"other": None}


class Match(NamedTuple):
    pattern_id: int
    confidence: float
    moved: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    stale: int = 0


def test_a_field_that_may_be_left_out_is_where_it_is_empty_and_stays_where_it_is_given() -> None:
    shape = {"reason?": "string", "stale?": "integer", "team?": "any", "marks?": ["integer"]}
    assert shaped(shape, Match(1, 0.5, stale=3)) == {"stale": 3}
    assert shaped(shape, Extended(Match(1, 0.5), {"team": None, "marks": ()})) == {"marks": []}


def test_numbers_become_ids_of_their_kind_and_are_rounded_and_pairs_get_names() -> None:
    shape = {"id": "id:error", "confidence": "number:2", "moved": [{"from": "string", "to": "string?"}]}
    made = shaped(shape, Extended(Match(7, 0.123, (("a.md", ""),)), {"id": 7}))
    assert made == {"id": "error:7", "confidence": 0.12, "moved": [{"from": "a.md", "to": None}]}
    validator: Any = Draft202012Validator(value_schema(shape))
    validator.validate(made)
