"""How deep a JSON text is, is known before it is parsed."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.bounds import MAX_DEPTH
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.text.light_json import is_deep

_VALUES = st.recursive(
    st.text(alphabet='[]{}"\\a,:', max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def _depth(value: object) -> int:
    if is_dict(value):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if is_list(value) else 0


@given(_VALUES, st.integers(0, 6))
def test_it_is_what_a_parser_would_find(value: object, limit: int) -> None:
    assert is_deep(json.dumps(value), limit) == (_depth(value) > limit)


@pytest.mark.slow
def test_what_is_deep_or_wide_is_told_soon() -> None:
    texts = {
        "[" * 1_000_000: True, "[" * 500_000 + "]" * 500_000: True, ("[" * 400 + "]" * 400) * 1250: True,
        '{"a":' * 150_000 + "1" + "}" * 150_000: True, ("[" * MAX_DEPTH + "]" * MAX_DEPTH) * 5000: False,
        '"' + "[" * 1_000_000 + '"': False, '"' + "\\" * 1_000_000: False,
    }  # fmt: skip
    for text, wanted in texts.items():
        began = time.process_time()
        assert is_deep(text) == wanted, text[:20]
        assert time.process_time() - began < 2
