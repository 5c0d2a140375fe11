"""The JSON that every answer comes in."""

import json
import re
import sys
from collections.abc import Mapping

from ctxrank.indexer.exceptions import CtxrankError, DamagedError
from ctxrank.indexer.light_typing import cast, is_dict, is_list
from ctxrank.indexer.text.lines import WIPED, shown_json

SCHEMA_VERSION = 1
_ROW_IDS = 1 << 31  # a number below minus that is no count of anything
_WIPED = "\\u0000" * len(WIPED)  # as JSON writes it


def envelope(payload: Mapping[str, object], *, outcome: str = "matched", engine: str = "") -> dict[str, object]:
    """An answer as it is printed: the envelope's fields first; no engine where no index was asked."""
    asked = {"engine": engine} if engine else {}
    return {"schema_version": SCHEMA_VERSION, "outcome": outcome, **asked, **payload}


def failure(error: CtxrankError) -> dict[str, object]:
    """A failure as it is printed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "error": {
            "code": error.exit_code, "kind": error.kind, "message": error.message, "hint": error.hint,
            "retryable": error.retryable,
        },
    }  # fmt: skip


def is_read_by_a_person() -> bool:
    """Whether stdout is a terminal: indentation is a fifth of an answer's tokens, and only a person needs it."""
    return sys.stdout.isatty()


def _with_origins(value: object) -> object:
    """The same with the row ids of other stores' records as their numbers there: "12@9f3c27ab"."""
    if isinstance(value, int) and value < -_ROW_IDS:
        from ctxrank.indexer.store.ids import numbered  # noqa: PLC0415  only other stores' records need it

        return numbered(value)
    if is_dict(value):
        return {name: _with_origins(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_with_origins(item) for item in cast("tuple[object, ...]", value)]
    if is_list(value):
        return [_with_origins(item) for item in value]
    return value


def print_json(value: object) -> None:
    """Print an answer or a failure."""
    if not is_read_by_a_person():
        sys.stdout.write(as_json(value) + "\n")
        return
    # A pair in a list of pairs, such as a mark, is on one line. No string of JSON has a newline in it.
    sys.stdout.write(re.sub(r"\n( +)\[\n +(\d+),\n +(\d+)\n +\]", r"\n\1[\2, \3]", as_json(value, 2)) + "\n")


def as_json(value: object, indent: int | None = None) -> str:
    """A value as JSON, on one line unless it is indented.

    Escaped are control characters, invisible characters and lone surrogates (a path's undecodable bytes); all else
    stays readable.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:  # an infinite number
        text = ""
    if not text or re.search(r"-\d{10}", text):  # perhaps the row id of a record that another store made
        from ctxrank.indexer.text.json_numbers import finite  # noqa: PLC0415  rare, as are other stores' records

        text = json.dumps(finite(_with_origins(value)), ensure_ascii=False, indent=indent, allow_nan=False)
    if _WIPED in text:
        from ctxrank.indexer.store.connection import DAMAGED_STEP  # noqa: PLC0415  only a damaged store needs it

        raise DamagedError("The store is damaged (a text in it was wiped).", DAMAGED_STEP)
    return shown_json(text)
