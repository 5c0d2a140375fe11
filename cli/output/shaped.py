"""Records as JSON, by the answer that a command declares: the declaration is the one place that says a field.

    shaped({"hits": [{"id": "row", "group_id": "string?", "created_at": "time"}]}, {"hits": (hit,)})

A field is the record's attribute of that name, or `is_redacted` for `redacted`, `group` for `group_id`, `path` for
`file_path`; the id of a record's own kind is its `name`. A field "reason?" is left out where it is empty, or None in
what extends a record. A tuple without names has its fields in their order. A "time" becomes ISO time, a number of
"id:error" error:3, "number:4" has four decimals, and an empty text is null where the shape allows that. A dict is no
record: its fields stay in their order.
"""

from collections.abc import Iterable

from ctxrank.cli.declare import Extended, Fields, Nullable, Shape
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.light_typing import cast, is_dict, is_list, is_tuple

_ABSENT = object()
_ANY: Fields = {}
_AS_IT_IS = frozenset(("string", "integer", "boolean", "row", "id", "any"))
_attributes: dict[tuple[type, str], str] = {}  # of a type of records, which one a field is


def answer(forms: tuple[Fields, ...], payload: object) -> dict[str, object]:
    """A command's payload as JSON: a record, or a dict of what an answer has. A record is of the first form."""
    if not is_dict(payload):
        return _of_record(forms[0], payload)
    named = (form for form in forms if payload.keys() <= {key.removesuffix("?") for key in form})
    return _of_dict(next(named, _ANY), payload.items())


def shaped(shape: Shape, value: object) -> object:
    """A value as JSON."""
    if isinstance(shape, str):
        return value if shape in _AS_IT_IS else _of_word(shape, value)
    if isinstance(shape, Nullable):
        return None if value is None else shaped(shape.shape, value)
    if is_list(shape) and (is_list(value) or is_tuple(value)):
        return [shaped(shape[0], one) for one in value]
    if not is_dict(shape):
        return None if value == "" and is_tuple(shape) and None in shape else value
    fields = cast("Fields", shape)
    if is_dict(value):
        return _of_dict(fields, value.items())
    if is_tuple(value) and not hasattr(value, "_fields"):
        return _of_dict(fields, zip(fields, value, strict=True))
    as_json = getattr(value, "as_json", None)
    return _of_record(fields, value) if as_json is None else as_json()


def _of_word(shape: str, value: object) -> object:
    if value == "" and shape.endswith("?"):
        return None
    word, _, more = shape.removesuffix("?").partition(":")
    if word == "time" and isinstance(value, int):
        return format_us(value)
    if word == "id" and isinstance(value, int):
        from ctxrank.indexer.store.ids import public_id  # noqa: PLC0415  what declarations say has no ids

        return public_id(more, value)
    return round(value, int(more)) if more and isinstance(value, float) else value


def _of_dict(fields: Fields, items: Iterable[tuple[object, object]]) -> dict[str, object]:
    shapes = {name.removesuffix("?"): one for name, one in fields.items()}
    others = shapes.get("*", "any")
    return {str(name): shaped(shapes.get(str(name), others), one) for name, one in items}


def _of_record(fields: Fields, record: object) -> dict[str, object]:
    value: dict[str, object] = {}
    for declared, shape in fields.items():
        name = declared.removesuffix("?")
        found = _found(name, record, is_optional=name != declared)
        if found is _ABSENT and name != declared:
            continue
        assert found is not _ABSENT, f"{type(record).__name__} has no {name}"
        value[name] = shaped(shape, found)
    return value


def _found(name: str, record: object, *, is_optional: bool) -> object:
    while isinstance(record, Extended):
        if name in record.more:
            found = record.more[name]
            return _ABSENT if found is None and is_optional else found
        record = record.record
    key = (type(record), name)
    if key not in _attributes:
        stem = name.removesuffix("_id")
        meant = (name, f"is_{name}", stem, name.removeprefix("file_"), "name" if stem != name else "")
        _attributes[key] = next((one for one in meant if one and hasattr(record, one)), "")
    found = getattr(record, _attributes[key]) if _attributes[key] else _ABSENT
    return found if found or not is_optional else _ABSENT
