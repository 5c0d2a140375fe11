"""A user's own rules and allowed values: what is refused, what they do, and what a project may not."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import make_store
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row, first_quick

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.engine import Redacted, RedactionMode, redact
from ctxrank.indexer.redaction.linear_patterns import LinearPattern
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES, may_hold_secret
from ctxrank.indexer.redaction.user_rules import UserRules, parse_user_rules
from ctxrank.indexer.store.blocklist import block_secrets, blocked_secrets

WORD = "hunter" + "2" * 2
ACME = {"name": "acme-key", "pattern": "ACME-[0-9a-f]{8}", "keywords": ["acme-"]}


def _rules(value: object) -> UserRules:
    return parse_user_rules(value, "config.yaml")


def _redacted(text: str, rules: UserRules) -> Redacted:
    return redact(text, RedactionMode.PATTERN_ONLY.with_rules(rules))


def test_a_rule_takes_what_it_finds_and_names_it() -> None:
    clean = _redacted("key ACME-deadbeef here", _rules({"rules": [ACME]}))
    assert clean == Redacted("key [REDACTED:acme-key] here", ("acme-key",))


def test_a_rule_may_have_a_label_and_a_group_that_alone_goes() -> None:
    rules = _rules({"rules": [{"name": "id", "pattern": r"case no (?P<secret>\d{6})", "label": "[CASE]"}]})
    assert _redacted("case no 123456.", rules).text == "case no [CASE]."


def test_a_rule_counts_in_every_mode_but_off() -> None:
    rules = _rules({"rules": [ACME]})
    for mode in REDACTION_MODES:
        assert ("ACME-deadbeef" in redact("ACME-deadbeef", mode.with_rules(rules)).text) == mode.is_off


def test_what_the_user_allows_stays_whole_and_only_that() -> None:
    rules = _rules({"allow": [WORD, {"regex": r"test-\d{4}"}]})
    text = f"password={WORD} secret=test-1234"
    assert _redacted(text, rules).text == text
    assert _redacted(f"password={WORD}x secret=test-12345", rules).text == "password=REDACTED secret=REDACTED"


def test_what_was_purged_goes_even_where_the_user_allows_it(tmp_path: Path) -> None:
    rules = _rules({"allow": [WORD]})
    with make_store(tmp_path) as store:
        with store.write() as change:
            block_secrets(change.connection, [WORD])
        rules = rules._replace(blocked=blocked_secrets(store.primary))
    assert WORD not in _redacted(f"It says {WORD} here.", rules).text


def test_a_word_as_long_as_a_purged_one_and_with_its_first_letter_stays(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        with store.write() as change:
            block_secrets(change.connection, ["walrus"])
        rules = UserRules(blocked=blocked_secrets(store.primary))
    assert _redacted("a wombat and a walrus", rules).text == "a wombat and a [FORGOTTEN]"


def test_a_project_may_add_rules_and_not_allow_anything() -> None:
    project = _rules({"rules": [ACME], "allow": [WORD]})
    rules = UserRules().with_project(project)
    assert [rule.name for rule in rules.rules] == ["acme-key"]
    assert _redacted(f"password={WORD}", rules).text == "password=REDACTED"


def test_a_projects_rule_does_not_replace_the_users() -> None:
    user = _rules({"rules": [ACME]})
    project = _rules({"rules": [{"name": "acme-key", "pattern": "never-[0-9]{9}"}]})
    assert user.with_project(project).rules == user.rules


def test_nothing_given_is_no_rules() -> None:
    assert parse_user_rules(None, "x") == parse_user_rules({}, "x") == UserRules()


@each_row(
    "value, word",
    [
        ("on", "rules"),
        ({"rule": []}, "rules and allow"),
        ({"rules": {}}, "list"),
        ({"rules": ["x"]}, "name and pattern"),
        ({"rules": [{"name": "A b", "pattern": "x"}]}, "lower-case"),
        ({"rules": [{"name": "a"}]}, "regular expression"),
        ({"rules": [{"name": "a", "pattern": "x", "regex": "y"}]}, "A rule may have"),
        ({"rules": [{"name": "a", "pattern": "("}]}, "RE2"),
        ({"rules": [{"name": "a", "pattern": "x*"}]}, "at least one character"),
        ({"rules": [{"name": "a", "pattern": "x", "keywords": "x"}]}, "list"),
        ({"rules": [{"name": "a", "pattern": "x", "keywords": [1]}]}, "words"),
        ({"rules": [{"name": "a", "pattern": "x", "label": 'a"b'}]}, "letters"),
        ({"rules": [{"name": "a", "pattern": "RED", "label": "[REDACTED]"}]}, "does not match"),
        ({"rules": [ACME, ACME]}, "its own name"),
        ({"rules": [ACME] * 101}, "At most"),
        ({"rules": [{"name": "a", "pattern": "x" * 1001}]}, "At most"),
        ({"allow": "x"}, "list"),
        ({"allow": [1]}, "regex"),
        ({"allow": [{"regex": "(x"}]}, "missing )"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(value: object, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        _rules(value)
    assert "config.yaml" in str(caught.value)
    assert word in f"{caught.value} {caught.value.hint}"


@each_row(
    "pattern, reason, advice",
    [
        ("(?=a)b", "a lookahead", "what is around"),
        ("a(?!b)", "a lookahead", "what is around"),
        ("(?<=key )a", "a lookbehind", "what is around"),
        ("(?<!x)y", "a lookbehind", "what is around"),
        (r"(a)\1", "a backreference", "what is around"),
        ("(?P<x>a)(?P=x)", "a backreference", "what is around"),
        (r"(a)\8", r"a backreference (\8)", "what is around"),
        (r"a\y", r"invalid escape sequence: \y", ""),
        ("(?>a)b", "an atomic group", "what is around"),
        (r"key\Z", r"\Z", r"\z"),
        (r"\u200bkey", r"\u", r"\x{200B}"),
        ("(?:(?:a|b|ab){1,30}){1,30}z", "too large", "Repeat fewer times"),
        ("key\ud800", "half a character", "UTF-8"),
    ],
)
def test_a_pattern_that_the_engine_does_not_have_is_refused_with_what_to_write_instead(
    pattern: str, reason: str, advice: str
) -> None:
    for value in ({"rules": [{"name": "acme", "pattern": pattern}]}, {"allow": [{"regex": pattern}]}):
        with pytest.raises(UsageError) as caught:
            _rules(value)
        assert "config.yaml" in str(caught.value) and reason in str(caught.value) and advice in caught.value.hint
        assert ("(acme)" in str(caught.value)) == ("rules" in value)


def test_a_pattern_that_was_not_compiled_when_it_was_read_is_refused_when_a_text_needs_it() -> None:
    rules = parse_user_rules({"rules": [{"name": "acme", "pattern": "a(?!b)"}]}, "config.yaml", is_compiled=False)
    with pytest.raises(UsageError, match="acme"):
        _redacted("a", rules)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [
    "(?:a?){60}a{60}z", "(?:a|b|ab){1,200}z", "(a+)+b", "(a|aa)+b", "(?:a|a){1,50}b", "(?:[a-z]+-)+x", r"\w+\s*=\s*x",
    "[a-z]+Q", ".*secret", "a{0,900}b", "[ab]*a[ab]{200}c",
])  # fmt: skip
def test_no_pattern_takes_long_on_any_text(pattern: str) -> None:
    """0.1 s where this was written; `re` needs years for some."""
    rules = _rules({"rules": [{"name": "a", "pattern": pattern, "label": "[X]"}]}).rules
    rng = random.Random(pattern)
    for text in ("a" * 100_000, "".join(rng.choices("ab", k=100_000)), "a-" * 50_000, "b" + "a" * 99_999):
        start = time.process_time()
        for _ in rules[0].pattern.spans(text):
            pass
        assert time.process_time() - start < 2


@pytest.mark.slow
@pytest.mark.parametrize("pattern", first_quick(["a.*b|a", "a[^b]*c|a", "a(?:.*b)?"], 1))
def test_no_pattern_looks_at_all_that_follows_again_and_again(pattern: str) -> None:
    """0.4 s where this was written, and 6 s with one look at the rest of the text for each match."""
    start = time.process_time()
    assert len(list(LinearPattern(pattern, "a rule").spans("a" * 80_000))) == 80_000
    assert time.process_time() - start < 3


@each_row(
    "pattern", [r"\bacme_[\w-]{20,60}\b", r"[A-Z]{3}-\d{4}-\d{4}", r"x(?:[a-z]{1,9}-){1,5}y", r"key-(?P<secret>\w+)"]
)
def test_a_pattern_with_bounds_is_taken(pattern: str) -> None:
    assert _rules({"rules": [{"name": "a", "pattern": pattern}]}).rules


@each_row("before", ["", "日本語 ", "🙂", "e\u0301 ", "\ue000", "\0", "é" * 3000])
def test_places_are_in_characters_whatever_precedes_them(before: str) -> None:
    rules = _rules({"rules": [ACME, {"name": "id", "pattern": r"case №(?P<secret>\d{6})", "label": "[CASE]"}]})
    text = f"{before}ACME-deadbeef 日本 case №123456 🙂 ACME-deadbeef"
    assert _redacted(text, rules).text == (f"{before}[REDACTED:acme-key] 日本 case №[CASE] 🙂 [REDACTED:acme-key]")


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(["ab1", "ab1xx", "xx", "日", "🙂", " ", "ab", "1", "y" * 700]), max_size=400))
def test_what_is_found_piece_by_piece_is_what_is_found_at_once(words: list[str]) -> None:
    text = "".join(words)
    pattern = LinearPattern("ab1x*", "a rule")
    assert list(pattern.spans(text * 3)) == [match.span() for match in re.finditer("ab1x*", text * 3)]


@each_row("count, longest", [(254, 3000), (255, 3000), (256, 1024), (300, 1024)])
def test_behind_256_matches_one_is_as_long_as_half_a_piece(count: int, longest: int) -> None:
    pattern = LinearPattern("k[0-9]+", "a rule")
    text = "k1 " * count + "x" * 2048
    spans = list(pattern.spans(f"{text}k{'2' * 2999} "))
    assert spans[:count] == [(at, at + 2) for at in range(0, 3 * count, 3)]
    assert ((len(text), len(text) + 3000) in spans[count:]) == (longest == 3000)
    assert list(pattern.spans(f"{text}k{'2' * (longest - 1)} "))[count:] == [(len(text), len(text) + longest)]


@pytest.mark.slow
def test_a_match_over_the_end_of_a_piece_is_found_whole() -> None:
    pattern = LinearPattern("k[0-9]{30,}", "a rule")
    for shift in range(0, 2100, 7):
        text = "k" + "1" * 30 + " "
        text = text * 300 + "x" * shift + "k" + "2" * 900 + " "
        assert list(pattern.spans(text))[-1] == (len(text) - 902, len(text) - 1)


def test_letters_digits_and_borders_of_words_are_those_of_ascii_and_case_is_that_of_unicode() -> None:
    for pattern, text, is_found in (
        (r"\d", "٣", False), (r"x\w", "xé", False), (r"é\b", "é ", False), (r"\pL\pL", "日é", True),
        ("(?i)straÉe", "STRAée", True), (r"x\z", "x\n", False), ("(?m)^b$", "a\nb\nc", True),
    ):  # fmt: skip
        assert bool(LinearPattern(pattern, "a rule").compiled().search(text)) == is_found, pattern


def test_the_engine_is_loaded_only_where_a_text_meets_a_rule_of_a_users() -> None:
    code = (
        "import sys; from ctxrank.indexer.redaction.engine import redact, RedactionMode as M\n"
        "from ctxrank.indexer.redaction.user_rules import parse_user_rules\n"
        "rules = parse_user_rules({'rules': [{'name': 'a', 'pattern': 'acme'}]}, 'x', is_compiled=False)\n"
        "redact('acme'); assert 're2' not in sys.modules\n"
        "assert redact('acme', M.BOTH.with_rules(rules)).text == '[REDACTED:a]' and 're2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_mode_is_known_by_its_name_and_its_rules() -> None:
    rules = _rules({"rules": [ACME]})
    both = RedactionMode("both")
    assert both == RedactionMode.BOTH
    assert both.with_rules(rules) == RedactionMode.BOTH.with_rules(_rules({"rules": [ACME]}))
    assert both.with_rules(rules) not in {*REDACTION_MODES}
    assert both.with_rules(rules).with_rules(None) in {*REDACTION_MODES}


def test_with_a_rule_of_the_users_any_text_may_hold_a_secret() -> None:
    rules = _rules({"rules": [ACME]})
    assert not may_hold_secret("plain words")
    assert may_hold_secret("plain words", RedactionMode.PATTERN_ONLY.with_rules(rules))
    assert not may_hold_secret("plain words", RedactionMode.PATTERN_ONLY.with_rules(_rules({"allow": [WORD]})))


def test_a_rule_sees_what_another_one_has_left() -> None:
    """The rules run until nothing changes: a replacement can bring together what a rule then sees as one."""
    chain = [{"name": f"r{n}", "pattern": rf"\[R{n - 1}\]-\d", "label": f"[R{n}]"} for n in range(1, 9)]
    rules = _rules({"rules": [*chain, {"name": "r0", "pattern": "ACME-[0-9a-f]{8}", "label": "[R0]"}]})
    clean = _redacted("key ACME-deadbeef-1-2-3-4 here", rules)
    assert clean == Redacted("key [R4] here", ("r0", "r1", "r2", "r3", "r4"))
    assert "[R7]-8" in _redacted("ACME-deadbeef-1-2-3-4-5-6-7-8", rules).text, "eight passes, and no more"
