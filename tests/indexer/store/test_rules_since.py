"""What was stored before the user's rules of today is known by the change log's number of the moment they changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank.indexer.redaction.user_rules import UserRules, parse_user_rules
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.rules_since import note_all_redacted, note_rules, rules_hold_since
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        save(store, "a.md")
        yield store


def _rules(name: str) -> UserRules:
    return parse_user_rules({"rules": [{"name": name, "pattern": f"{name}-[0-9]{{8}}"}]}, "config.yaml")


def _ask(store: Store, monkeypatch: pytest.MonkeyPatch, rules: UserRules | None) -> int:
    mode = Config().redaction_mode.with_rules(rules)
    monkeypatch.setattr(Store, "config", property(lambda _: Config(redaction_mode=mode)))
    return rules_hold_since(store)


def test_rules_hold_since_they_were_noted_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _rules("one"), _rules("other")
    first = store.last_seq()
    assert first > 0 and _ask(store, monkeypatch, None) == 0
    note_rules(store, one)
    save(store, "b.md")
    assert first < store.last_seq()
    assert _ask(store, monkeypatch, one) == first and _ask(store, monkeypatch, other) == store.last_seq()
    note_rules(store, one)
    assert _ask(store, monkeypatch, one) == first, "the same rules again change nothing"
    note_rules(store, other)
    assert _ask(store, monkeypatch, other) == store.last_seq() == _ask(store, monkeypatch, one)


def test_what_went_through_the_rules_is_not_older_than_they(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _rules("one"), _rules("other")
    note_all_redacted(store, one)
    assert _ask(store, monkeypatch, one) == 0 and _ask(store, monkeypatch, other) == store.last_seq()
    note_all_redacted(store, None)
    assert _ask(store, monkeypatch, one) == store.last_seq()
    note_rules(store, one)
    note_all_redacted(store, one)
    assert _ask(store, monkeypatch, one) == 0
