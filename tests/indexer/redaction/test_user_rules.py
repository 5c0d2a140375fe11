"""A user's own rules and allowed values: what is refused, what they do, and what a project may not."""

from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.engine import Redacted, RedactionMode, redact
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
        ({"rules": [{"name": "a", "pattern": "("}]}, "Python"),
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
        ({"allow": [{"regex": "(x+)+y"}]}, "Bound it"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(value: object, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        _rules(value)
    assert "config.yaml" in str(caught.value)
    assert word in f"{caught.value} {caught.value.hint}"


@each_row(
    "pattern",
    ["(a+)+b", "(a|aa)+b", "(?:a|a){1,50}b", "(?:[a-z]+-)+x", r"\w+\s*=\s*x", "[a-z]+Q", ".*secret", "a{0,5000}b"],
)
def test_a_pattern_that_some_text_could_make_slow_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        _rules({"rules": [{"name": "a", "pattern": pattern}]})


@each_row(
    "pattern", [r"\bacme_[\w-]{20,60}\b", r"[A-Z]{3}-\d{4}-\d{4}", r"x(?:[a-z]{1,9}-){1,5}y", r"key-(?P<secret>\w+)"]
)
def test_a_pattern_with_bounds_is_taken(pattern: str) -> None:
    assert _rules({"rules": [{"name": "a", "pattern": pattern}]}).rules


def test_a_mode_is_known_by_its_name_and_its_rules() -> None:
    rules = _rules({"rules": [ACME]})
    both = RedactionMode.of("both")
    assert both == RedactionMode.BOTH
    assert both.with_rules(rules) == RedactionMode.BOTH.with_rules(_rules({"rules": [ACME]}))
    assert both.with_rules(rules) not in {*REDACTION_MODES}
    assert both.with_rules(rules).with_rules(None) in {*REDACTION_MODES}
    with pytest.raises(ValueError, match="strong"):
        RedactionMode.of("strong")


def test_with_a_rule_of_the_users_any_text_may_hold_a_secret() -> None:
    rules = _rules({"rules": [ACME]})
    assert not may_hold_secret("plain words")
    assert may_hold_secret("plain words", RedactionMode.PATTERN_ONLY.with_rules(rules))
    assert not may_hold_secret("plain words", RedactionMode.PATTERN_ONLY.with_rules(_rules({"allow": [WORD]})))
