"""What the light reader and writer of JSON say is what the library says."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.text.light_json import dumps, loads

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
def test_a_value_is_written_and_read_as_by_the_library(value: object, ensure_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    assert dumps(value, ensure_ascii=ensure_ascii) == text
    assert loads(f" \n{text}\t") == json.loads(text) == value


@pytest.mark.parametrize("is_library_there", [True, False])
@pytest.mark.parametrize("text", ["", "  ", "{", '{"a" 1}', "[1,]", "1 2", "nul", "\ufeff{}", "[1]x", '"\n"', '"a'])
def test_what_is_no_json_is_said_to_be_none(monkeypatch: pytest.MonkeyPatch, text: str, is_library_there: bool) -> None:
    if not is_library_there:  # as in a hook
        monkeypatch.delitem(sys.modules, "json.decoder")
    with pytest.raises(ValueError):
        loads(text)


def test_what_json_has_not_is_not_written() -> None:
    with pytest.raises(TypeError):
        dumps({"a": {1}})
