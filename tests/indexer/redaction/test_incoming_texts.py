"""Texts on their way in: what was seen to be clean is not looked at twice, and comes in as `redact` gives it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES, RedactionMode

PARTS = [
    "password", "=", ": ", '"', "Hunter2", "hunter2!x", "token", "plain words", "\x1b[31m", "\u200b", "\uff21\uff2b",
    "\0", "é", "<private>", "</private>", "a" * 20, "Zq8vT1m" * 3, "\n", "REDACTED",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


@pytest.mark.parametrize("mode", REDACTION_MODES, ids=lambda mode: mode.value)
@example(["plain\0words"])
@given(st.lists(TEXT, min_size=1, max_size=4))
def test_a_text_of_a_record_comes_in_as_it_would_alone_or_with_the_secrets_of_the_others(
    mode: RedactionMode, fields: list[str]
) -> None:
    texts = IncomingTexts(mode)
    for _ in range(2):  # the second time all that is clean is remembered
        record = texts.of_record(fields)
        for field in fields:
            stored = field.replace("\0", "\ufffd")
            known = IncomingTexts(mode).of_record(fields)._known  # pyright: ignore[reportPrivateUsage] # what it learnt
            assert record.text(field) == redact(stored, mode, known).text


def test_a_short_word_of_letters_behind_a_command_goes_from_a_record() -> None:
    texts = IncomingTexts(RedactionMode.PATTERN_ONLY)
    for command in ("requirepass", "crackmapexec -p", "keytool -storepass", "the password is"):
        said = f"{command} {'aBcDe' + 'FgHij'}"
        record = texts.of_record((said,))
        assert "FgHij" not in record.text(said)


@each_row(
    "text, kept",
    [
        ("", "[]"), ("null", "[]"), (" null ", "[]"), ("[]", "[]"), ("[1, \"a\"]", "[1, \"a\"]"), ("3", "[3]"),
        ("\"a\"", "[\"a\"]"), ("{\"a\": 1}", "[{\"a\": 1}]"), ("not json", "[\"not json\"]"), ("nulls", "[\"nulls\"]"),
    ],
)  # fmt: skip
def test_what_should_be_a_list_of_json_is_one(text: str, kept: str) -> None:
    assert IncomingTexts(RedactionMode.PATTERN_ONLY).json_list(text) == kept
