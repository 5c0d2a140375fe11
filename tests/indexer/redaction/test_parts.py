"""A long text is looked through in parts: nothing is lost or doubled where two of them meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.redaction import copies, engine
from ctxrank.indexer.redaction.copies import find_copies
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.named_values import ANCHORS as NAME_ANCHORS
from ctxrank.indexer.redaction.rules import FORMAT_RULES, RULES

_VALUES = ("abcab", "bcabcab", "cabß", "aaaa")
_REPEATED = "-".join(f"k{number * 7919 % 9973:04x}" for number in range(4))


@given(text=st.text("abcß ", max_size=60))
def test_parts_find_the_copies_that_the_whole_has(text: str) -> None:
    whole = list(find_copies(text, _VALUES))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(copies, "_PART_CHARS", 7)
        assert list(find_copies(text, _VALUES)) == whole


@given(before=st.integers(0, 40), between=st.text("aİΣß \n", max_size=30))
def test_a_secret_is_taken_wherever_a_part_ends(before: int, between: str) -> None:
    text = f"{'ß' * before}\npassword = {_REPEATED}\n{between}\nit was {_REPEATED} then\n"
    whole = redact(text)
    assert _REPEATED not in whole.text
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(copies, "_PART_CHARS", 11)
        patched.setattr(engine, "_LOWERED_CHARS", 5)
        assert redact(text) == whole


_ANCHORS = [anchor for rule in (*RULES, *FORMAT_RULES) for anchor in rule.anchors]
_PIECES = st.one_of(
    st.sampled_from(_ANCHORS), st.sampled_from([*NAME_ANCHORS, " = ", "\n"]), st.text("aK7ß", max_size=40)
)


@given(text=st.lists(_PIECES, max_size=12).map("".join))
def test_a_short_text_is_redacted_as_it_is_with_an_automaton(text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "_looked_through", [0])
        searched = redact(text)
        patched.setattr(engine, "_CHARS_WITHOUT_AUTOMATON", -1)
        assert redact(text) == searched
