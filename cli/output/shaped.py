"""Records as JSON, by the answer that a command declares: the declaration is the one place that says a field.

    shaped({"hits": [{"id": "row", "group_id": "string?", "created_at": "time"}]}, {"hits": (hit,)})

A field is the record's attribute of that name, or `is_redacted` for `redacted`, `group` for `group_id`, `path` for
`file_path`; the id of a record's own kind is its `name`. A "time" becomes ISO time, and an empty "string?" null. A dict
is no record: its fields stay as they are, in their order.
"""

from collections.abc import Mapping

from ctxrank.cli.declare import Fields, Nullable, Shape
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list, is_tuple

_ABSENT = object()
_ANY: Fields = {}


class Extended(NamedTuple):
    """A record with fields that are not its own."""

    record: object
    more: Mapping[str, object]


def answer(forms: tuple[Fields, ...], payload: object) -> dict[str, object]:
    """A command's payload as JSON: a record, or a dict of what an answer has. A record is of the first form."""
    if not is_dict(payload):
        return {
            name.removesuffix("?"): _of_record(one, name.removesuffix("?"), payload) for name, one in forms[0].items()
        }
    named = (form for form in forms if payload.keys() <= {key.removesuffix("?") for key in form})
    fields: Fields = next(named, _ANY)
    return {str(name): shaped(_field(fields, str(name)), value) for name, value in payload.items()}


def shaped(shape: Shape, value: object) -> object:
    """A value as JSON."""
    if isinstance(shape, Nullable):
        return None if value is None else shaped(shape.shape, value)
    if isinstance(shape, str) and shape.startswith("time") and isinstance(value, int):
        return format_us(value)
    if is_list(shape) and (is_list(value) or is_tuple(value)):
        return [shaped(shape[0], one) for one in value]
    if not is_dict(shape):
        return value
    fields = {str(name): one for name, one in shape.items()}
    if is_dict(value):
        return {name: shaped(_field(fields, str(name)), one) for name, one in value.items()}
    return {name: _of_record(one, name, value) for name, one in fields.items()}


def _field(fields: Fields, name: str) -> Shape:
    return fields.get(name, fields.get(f"{name}?", fields.get("*", "any")))


def _of_record(shape: Shape, name: str, record: object) -> object:
    found = _found(name, record)
    assert found is not _ABSENT, f"{type(record).__name__} has no {name}"
    return None if found == "" and isinstance(shape, str) and shape.endswith("?") else shaped(shape, found)


def _found(name: str, record: object) -> object:
    if isinstance(record, Extended):
        return record.more[name] if name in record.more else _found(name, record.record)
    stem = name.removesuffix("_id")
    for attribute in (name, f"is_{name}", stem, name.removeprefix("file_"), "name" if stem != name else ""):
        if attribute and hasattr(record, attribute):
            return getattr(record, attribute)
    return _ABSENT
